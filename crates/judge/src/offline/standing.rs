//! Standing orders: rules for the future that a user gives the agent in so many words.
//!
//! A rule names what to do and for how long: "from now on", "in future", or "always" and "never" before a verb of the
//! agent's work. Everything else that sounds like one is none: "Never heard of it", "Always the same with you", an order
//! for the matter at hand, an answer to the agent's question, a retort.

use super::cues::orders::*;
use super::evidence::{complains, is_question};
use super::words::plain;

/// A rule for the future.
#[derive(Debug, PartialEq, Eq)]
pub struct StandingOrder {
    /// The condition it names; empty if it holds always.
    pub trigger: String,
    pub content: String,
}

/// How a sentence came about.
#[derive(Clone, Copy)]
pub struct Setting {
    /// The agent asked, and the turn answers.
    pub is_answer: bool,
    /// It stands beside a complaint.
    pub is_retort: bool,
}

impl Setting {
    /// The setting of the sentence at `place` among those of its turn.
    pub fn of(sentences: &[&str], place: usize, is_answer: bool) -> Self {
        let around = &sentences[place.saturating_sub(1)..(place + 2).min(sentences.len())];
        let is_retort = around.iter().any(|sentence| complains(&plain(sentence)));
        Setting { is_answer, is_retort }
    }

    /// Only words that cannot be meant otherwise count.
    fn is_doubtful(self) -> bool {
        self.is_answer || self.is_retort
    }
}

const FEWEST_WORDS: usize = 3;
const MOST_WORDS: usize = 60;
/// So many words behind the verb may name the person who gives the order.
const NEAR: usize = 5;

/// Words of another language that make a standing order.
struct Elsewhere {
    future: &'static [&'static str],
    habit: &'static [&'static str],
    please: &'static [&'static str],
    /// The speaker's own plans are no order.
    plans: &'static [&'static str],
    /// Endings of a verb right after `habit`, or at the end of a German sentence.
    infinitive: &'static [&'static str],
    verb_is_last: bool,
}

const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere {
        future: &["ab jetzt", "ab sofort", "von jetzt an", "in zukunft", "künftig", "zukünftig"],
        habit: &["immer", "nie", "niemals", "nur noch", "nicht mehr"],
        please: &["bitte"],
        plans: &["ich werde", "werde ich", "wir werden", "werden wir", "ich kaufe", "kaufe ich"],
        infinitive: &["en", "ern", "eln"],
        verb_is_last: true,
    },
    Elsewhere {
        future: &["à partir de maintenant", "désormais", "dorénavant", "à lavenir"],
        habit: &["toujours", "jamais", "ne jamais"],
        please: &["sil vous plaît", "sil te plaît", "veuillez", "merci de"],
        plans: &["je vais", "je ne", "nous allons", "jirai", "jachèterai"],
        infinitive: &["er", "ir", "re"],
        verb_is_last: false,
    },
    Elsewhere {
        future: &["a partir de ahora", "de ahora en adelante", "en el futuro", "en adelante"],
        habit: &["siempre", "nunca", "jamás"],
        please: &["por favor"],
        plans: &["voy a", "vamos a", "compraré", "yo no"],
        infinitive: &["ar", "er", "ir"],
        verb_is_last: false,
    },
    Elsewhere {
        future: &["a partir de agora", "de agora em diante", "daqui para a frente", "no futuro"],
        habit: &["sempre", "nunca"],
        please: &["por favor", "favor"],
        plans: &["eu vou", "vamos", "vou"],
        infinitive: &["ar", "er", "ir"],
        verb_is_last: false,
    },
    Elsewhere {
        future: &["dora in poi", "da ora in poi", "dora in avanti", "in futuro"],
        habit: &["sempre", "mai", "non mai"],
        please: &["per favore", "per piacere"],
        plans: &["andrò", "comprerò", "farò", "noi"],
        infinitive: &["are", "ere", "ire"],
        verb_is_last: false,
    },
];

/// The standing order of one sentence, if it is one.
pub fn standing_order(sentence: &str, setting: Setting) -> Option<StandingOrder> {
    let sentence = sentence.trim();
    let words = sentence.split_whitespace().count();
    if is_question(sentence) || !(FEWEST_WORDS..=MOST_WORDS).contains(&words) {
        return None;
    }
    if names_a_case(sentence) {
        return None;
    }
    let order = |trigger: &str, content: &str| {
        let (trigger, content) = (trigger.trim().to_owned(), content.trim().to_owned());
        Some(StandingOrder { trigger, content })
    };
    if orders(&plain(sentence), setting) {
        return order("", sentence);
    }
    let (condition, rest) = sentence.split_once(", ")?;
    let condition_words = plain(condition);
    let conditional = starts(condition_words.trim(), CONDITIONS).is_some();
    (conditional && orders(&plain(rest), setting)).then(|| order(condition, rest))?
}

/// True if a sentence is about one case: the matter at hand, or something with a number of its own.
pub fn names_a_case(sentence: &str) -> bool {
    let plain = plain(sentence);
    let numbered = |word: &str| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        digits >= 4 || digits > 0 && word.chars().any(|c| c == '#' || c == '_' || c == '@')
    };
    THIS_TIME.iter().any(|words| plain.contains(words)) || sentence.split_whitespace().any(numbered)
}

fn orders(plain: &str, setting: Setting) -> bool {
    let rest = plain.trim();
    orders_in_english(rest, setting) || ELSEWHERE.iter().any(|words| words.order(rest, setting))
}

fn orders_in_english(plain: &str, setting: Setting) -> bool {
    let (mut rest, mut asks, mut future, mut habit) = (plain, false, false, false);
    loop {
        rest = match (starts(rest, ASKING), starts(rest, FUTURE), starts(rest, HABIT)) {
            (Some(after), _, _) => {
                asks = true;
                after
            }
            (_, Some(after), _) => {
                future = true;
                after
            }
            (_, _, Some(after)) if !habit => {
                habit = true;
                after
            }
            _ => match starts(rest, LEAD_INS).or_else(|| starts(rest, ORDER_LEAD_INS)) {
                Some(after) => after,
                None => break,
            },
        };
    }
    future |= FUTURE.iter().any(|words| format!(" {rest} ").contains(&format!(" {words} ")));
    let forbids = starts(rest, FORBIDDING);
    let mut words = forbids.unwrap_or(rest).split_whitespace();
    let Some(verb) = words.next() else { return false };
    let objects: Vec<&str> = words.collect();
    let is_work = WORK.contains(&verb);
    // "Sing" and "need" are verbs, "singing" and "needed" forms of them that order nothing.
    let is_form = verb.len() > 4 && verb.ends_with("ed") || verb.len() > 5 && verb.ends_with("ing");
    let may_be_verb = !NO_VERBS.contains(&verb) && !is_form;
    // "Give" and "let" are orders with a person behind them: "always give me", "never let us".
    let to_oneself = objects.first().is_some_and(|word| ["me", "us"].contains(word));
    let may_be_order = may_be_verb || to_oneself && ["give", "let", "say"].contains(&verb);
    let of_oneself = objects.iter().take(NEAR).any(|word| ["me", "us"].contains(word))
        || objects.first().is_some_and(|word| ["my", "our"].contains(word));
    let points_away = objects.first().is_none_or(|word| POINTING_AWAY.contains(word))
        && !(objects.first() == Some(&"that") && objects.len() > 3);
    if points_away {
        return false;
    }
    if future {
        let is_verb = is_work || WITH_FUTURE.contains(&verb);
        return is_verb || may_be_order && (asks || habit || forbids.is_some());
    }
    habit && !setting.is_doubtful() && (is_work || may_be_order && (asks || of_oneself))
}

impl Elsewhere {
    fn order(&self, plain: &str, setting: Setting) -> bool {
        let text = format!(" {plain} ");
        let has = |list: &[&str]| list.iter().any(|words| text.contains(&format!(" {words} ")));
        if has(self.plans) {
            return false;
        }
        if has(self.future) {
            return has(self.habit) || has(self.please);
        }
        if setting.is_doubtful() {
            return false;
        }
        let mut rest = plain;
        while let Some(after) =
            [self.please, LEAD_INS, ORDER_LEAD_INS].iter().find_map(|list| starts(rest, list))
        {
            rest = after;
        }
        let is_verb = |word: &str| {
            word.chars().count() > 3 && self.infinitive.iter().any(|ending| word.ends_with(ending))
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        if self.verb_is_last {
            // "Bitte immer mit Steuer nennen", "Nennen Sie Preise immer mit Steuer".
            let bare = starts(rest, self.habit).is_some() && words.len() >= 4;
            let to_agent = words.get(1) == Some(&"sie") && is_verb(words[0]) && has(self.habit);
            return to_agent
                || bare && !has(&["wieder"]) && words.last().is_some_and(|w| is_verb(w));
        }
        let verb = starts(rest, self.habit).and_then(|after| after.split_whitespace().next());
        words.len() >= 4 && verb.is_some_and(is_verb)
    }
}

/// Rest of a text that begins with one of these, as whole words.
pub fn starts<'a>(text: &'a str, list: &[&str]) -> Option<&'a str> {
    list.iter().find_map(|words| {
        let after = text.strip_prefix(words)?;
        if after.is_empty() { Some(after) } else { after.strip_prefix(' ') }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: Setting = Setting { is_answer: false, is_retort: false };

    fn order(sentence: &str) -> bool {
        standing_order(sentence, CALM).is_some()
    }

    #[test]
    fn rules_for_the_future_are_standing_orders() {
        for sentence in [
            "Always quote prices with tax.",
            "Please always answer in metric units.",
            "Never send paper letters to me.",
            "From now on, reply in German.",
            "From now on please don't call me before nine.",
            "In the future, please ask before you cancel anything.",
            "I want you to always confirm the address first.",
            "You should never offer a voucher.",
            "Going forward, I'd like you to summarize every answer in one line.",
            "Please use SI units from now on.",
            "Always give me the tracking link.",
            "Always sing to me.",
            "Do not share my address with couriers in future.",
            "Always check that the size is in stock before you promise a date.",
            "Always refund within 14 days.",
            "Bitte immer alle Preise mit Steuer nennen.",
            "Ab jetzt bitte nur auf Deutsch antworten.",
            "Antworten Sie mir immer auf Deutsch.",
            "À partir de maintenant, toujours répondre en français.",
            "De ahora en adelante, por favor escríbame en español.",
            "Siempre responder en español, por favor.",
            "D'ora in poi rispondi sempre in italiano.",
        ] {
            assert!(order(sentence), "{sentence}");
        }
    }

    #[test]
    fn what_only_sounds_like_one_is_none() {
        for sentence in [
            "Never heard of it.",
            "No, not right now.",
            "Okay, never mind.",
            "Never mind, let's leave the kettle issue as it is.",
            "Never again will I order here.",
            "Never give up on your dreams.",
            "Always the same with you people.",
            "Always happy to help.",
            "Always a pleasure.",
            "Always wear sunscreen in summer.",
            "Never had a problem before.",
            "Never told me about the fee.",
            "Never asked me for it.",
            "Never say never.",
            "Never send it again.",
            "Always use it like that.",
            "I always order from you.",
            "You always send the wrong size.",
            "In the future I will buy elsewhere.",
            "From now on I'm shopping at your competitor.",
            "Maybe in the future.",
            "I might order more in the future.",
            "Please keep that in mind for the future.",
            "Please always use the original card for this order.",
            "Always refund order 48213 to my card.",
            "Do you always do that?",
            "Nie gehört.",
            "Nie wieder bei euch kaufen.",
            "Immer diese Werbung überall hier!",
            "In Zukunft werde ich woanders kaufen.",
            "Toujours pas reçu mon colis.",
            "Jamais entendu parler de cela.",
            "Siempre me pasa lo mismo.",
            "Nunca había oído eso antes.",
            "Mai sentito prima.",
        ] {
            assert!(!order(sentence), "{sentence}");
        }
    }

    #[test]
    fn answers_and_retorts_are_none_unless_they_speak_of_the_future() {
        let asked = Setting { is_answer: true, is_retort: false };
        assert_eq!(standing_order("Always use the blue one, please.", asked), None);
        assert!(standing_order("From now on always send invoices by mail.", asked).is_some());
        let turn = ["This is useless.", "Never call me.", "And always quote prices with tax."];
        let order = |place| standing_order(turn[place], Setting::of(&turn, place, false));
        assert_eq!(order(1), None);
        assert!(order(2).is_some());
    }

    #[test]
    fn a_condition_is_the_trigger() {
        let found =
            standing_order("When I ask for a refund, never offer a voucher.", CALM).unwrap();
        assert_eq!(found.trigger, "When I ask for a refund");
        assert_eq!(found.content, "never offer a voucher.");
        assert_eq!(standing_order("If it is too late, never mind.", CALM), None);
    }
}
