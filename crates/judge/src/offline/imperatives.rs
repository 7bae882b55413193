//! Orders by their grammar: a verb of the agent's work in a form that orders, and words that say for how long.

use super::cues::orders::*;
use super::speech::is_of_others;
use super::standing::Setting;
use super::words::{Cues, behind, is_one_of, mentions, plain, starts};

/// So many words behind the verb may name the person who gives the order.
const NEAR: usize = 5;

/// Whether a clause, in plain words, orders something for the future.
pub fn orders(plain: &str, setting: Setting, is_question: bool) -> bool {
    orders_in_english(plain, setting, is_question)
        || !is_question && ELSEWHERE.iter().any(|words| words.order(plain, setting))
}

fn orders_in_english(plain: &str, setting: Setting, is_question: bool) -> bool {
    let (mut rest, mut asks, mut future, mut habit) = (plain, false, false, false);
    loop {
        rest = if let Some(after) = starts(rest, &ASKING) {
            asks = true;
            after
        } else if let Some(after) = starts(rest, &FUTURE) {
            future = true;
            after
        } else if let Some(after) = starts(rest, &LATER).filter(|_| !is_question) {
            future = true;
            after
        } else if let Some(after) = starts(rest, &HABIT).filter(|_| !habit) {
            habit = true;
            // "Never" may begin a story, "don't ever" only an order.
            asks |= starts(rest, &DONT_EVER).is_some();
            after
        } else if let Some(after) = starts(rest, &LEAD_INS).or_else(|| starts(rest, &ADVERBS)) {
            after
        } else if let Some(after) = starts(rest, &ALLOWING).filter(|_| mentions(rest, &FUTURE)) {
            asks = true;
            after
        } else {
            break;
        };
    }
    if let Some(wish) = starts(rest, &WISHING).filter(|wish| future || mentions(wish, &FUTURE)) {
        return !["", "to", "you", "it", "that", "this"]
            .contains(&wish.split(' ').next().unwrap_or_default());
    }
    // "Every message should begin with the number."
    if future && starts(rest, &ALL_SUCH).is_some() {
        let mut subject = rest.split(' ').take(NEAR + 1);
        return subject.any(|word| is_one_of(word, &NECESSARY));
    }
    if let Some(what) = behind(rest, "no more").or_else(|| behind(rest, "no")) {
        let holds = future || [&EVER, &FUTURE, &IN_ANSWERS].iter().any(|list| mentions(what, list));
        let first = what.split(' ').next().unwrap_or_default();
        return holds
            && first.len() > 1
            && ![&NO_VERBS, &NO_THINGS].iter().any(|l| is_one_of(first, l));
    }
    // "Use simple words, always."
    habit |= asks && rest.ends_with(" always");
    let forbids = starts(rest, &FORBIDDING);
    let stops = behind(rest, "stop").filter(|rest| is_form(rest.split(' ').next(), "ing"));
    let mut words = forbids.or(stops).unwrap_or(rest).split_whitespace();
    let Some(verb) = words.next() else { return false };
    let objects: Vec<&str> = words.collect();
    let object = objects.first().copied().unwrap_or_default();
    let points_away = is_one_of(object, &POINTING_AWAY) && !(object == "that" && objects.len() > 3)
        || object == "to" && objects.get(1).is_some_and(|word| is_one_of(word, &POINTING_AWAY));
    let is_elsewhere = rest.ends_with(" there") || object == "instead";
    if object.is_empty() || points_away || is_elsewhere {
        return false;
    }
    let later = !is_question && mentions(rest, &LATER);
    let is_work = is_one_of(verb, &WORK);
    let of_oneself = objects.iter().take(NEAR).any(|word| ["me", "us"].contains(word));
    let each_time = is_work
        && (asks || of_oneself || mentions(rest, &ANY_OF_YOURS))
        && mentions(rest, &EACH_TIME)
        && !mentions(rest, &AT_LEISURE);
    let each_time = each_time || mentions(rest, &IN_ALL_ANSWERS) && (is_work || forbids.is_some());
    future |= mentions(rest, &FUTURE)
        || each_time
        || later && (asks || habit || forbids.or(stops).is_some());
    // "Sing" and "need" are verbs, "singing", "needed" and "makes" forms of such that order nothing.
    let is_form = is_form(Some(verb), "ing")
        || is_form(Some(verb), "ed")
        || is_form(Some(verb), "s") && !verb.ends_with("ss");
    let may_be_verb = !is_one_of(verb, &NO_VERBS) && !is_form;
    // "Give" and "let" are orders with a person behind them: "always give me", "never let us".
    let to_oneself = ["me", "us"].contains(&object);
    let may_be_order = may_be_verb || to_oneself && ["give", "let", "say"].contains(&verb);
    if future {
        let is_verb = is_work || is_one_of(verb, &WITH_FUTURE);
        let orders = is_verb || may_be_order && (asks || habit || forbids.is_some());
        return orders || stops.is_some();
    }
    // Without a word about the future an answer or a retort means the matter at hand.
    let is_general = !is_one_of(object, &DEFINITE);
    if is_question || setting.is_retort || setting.is_answer && !is_general {
        return false;
    }
    if setting.is_of_a_thing && !of_oneself {
        return false;
    }
    let no_more = mentions(rest, &EVER) || mentions(rest, &NO_MORE) && (to_oneself || is_general);
    habit && (is_work || may_be_order && (asks || of_oneself) && !setting.is_answer)
        || forbids.is_some() && no_more && is_work
        || stops.is_some() && (to_oneself || asks && is_general && is_work_of(verb))
}

/// Whether "adding" is of "add", "using" of "use".
fn is_work_of(doing: &str) -> bool {
    doing
        .strip_suffix("ing")
        .is_some_and(|verb| is_one_of(verb, &WORK) || is_one_of(&format!("{verb}e"), &WORK))
}

fn is_form(verb: Option<&str>, ending: &str) -> bool {
    verb.is_some_and(|verb| verb.len() > ending.len() + 2 && verb.ends_with(ending))
}

/// Whether a clause orders something to be done, be it only once.
pub fn is_work(plain: &str) -> bool {
    let mut rest = plain;
    while let Some(after) = starts(rest, &ASKING).or_else(|| starts(rest, &ADVERBS)) {
        rest = after;
    }
    let mut words = starts(rest, &FORBIDDING).unwrap_or(rest).split(' ');
    let (verb, object) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    (is_one_of(verb, &WORK) || is_one_of(verb, &WITH_FUTURE))
        && (!is_one_of(verb, &NOUNS_TOO) || is_one_of(object, &ITS_OBJECT))
        || ELSEWHERE.iter().any(|words| words.is_work(rest))
}

/// The place at which an order begins behind a condition that no comma ends: "every time I ask for a word give me …".
pub fn place_of_order(clause: &str) -> Option<usize> {
    let mut next = 0;
    let words: Vec<(usize, String)> = clause
        .split_inclusive(char::is_whitespace)
        .map(|word| {
            let at = next;
            next += word.len();
            (at, plain(word).trim().to_owned())
        })
        .filter(|(_, word)| !word.is_empty())
        .collect();
    words.windows(3).skip(2).find_map(|three| {
        let [(_, before), (at, verb), (_, object)] = three else { return None };
        let is_verb = is_one_of(verb, &WORK) || is_one_of(verb, &WITH_FUTURE);
        let has_object = is_one_of(object, &ITS_OBJECT) || verb == "use";
        let in_english = is_verb && has_object && !is_one_of(before, &BEFORE_A_VERB);
        // "Explícame", "dimmi": the person is part of the verb.
        let is_to_oneself = (verb.ends_with("me") || verb.ends_with("mi")) && verb.len() > 4;
        let elsewhere =
            is_to_oneself && ELSEWHERE.iter().any(|words| is_one_of(verb, &words.orders));
        (in_english || elsewhere).then_some(*at)
    })
}

impl Elsewhere {
    fn order(&self, plain: &str, setting: Setting) -> bool {
        let has = |list: &Cues| mentions(plain, list);
        let (always, never, future) = (has(&self.always), has(&self.never), has(&self.future));
        if !(always || never || future) || has(&STILL) || is_of_others(plain) {
            return false;
        }
        let (mut rest, mut forbids, mut asks) = (plain, false, self.verb_is_last);
        loop {
            let before = [&self.future, &self.always, &self.joints];
            rest = if let Some(after) = starts(rest, &self.please) {
                asks = true;
                after
            } else if let Some(after) = before.iter().find_map(|list| starts(rest, list)) {
                after
            } else if let Some(after) =
                starts(rest, &self.never).or_else(|| starts(rest, &self.not))
            {
                forbids = true;
                after
            } else if let Some(after) = starts(rest, &self.pronouns)
                && (forbids || asks)
            {
                after
            } else if let Some(after) = starts(rest, &LEAD_INS) {
                after
            } else {
                break;
            };
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return false };
        let states = starts(rest, &self.subjects).is_some()
            || self.verb_is_last
                && !is_one_of(first, &PREPOSITIONS)
                && words.get(1).is_some_and(|word| is_one_of(word, &self.subjects))
            || self.own_endings.iter().any(|ending| first.ends_with(ending));
        let is_cue = |word: &&str| {
            [&self.always, &self.never, &self.please].iter().any(|list| is_one_of(word, list))
        };
        let points_away = words.get(1).is_some_and(|word| is_one_of(word, &self.pointing))
            && words.get(2).is_none_or(is_cue);
        if future && let Some(wish) = starts(rest, &self.wishes) {
            return self.is_wish_for_a_thing(wish);
        }
        if states || points_away {
            return false;
        }
        let verbs = if forbids && !self.forbids.phrases().is_empty() {
            &self.forbids
        } else {
            &self.orders
        };
        let is_order = words.len() >= if future || has(&self.please) { 2 } else { 3 }
            && (is_one_of(first, verbs)
                || self.verb_is_last && last.ends_with('n') && is_one_of(last, &self.orders));
        if future {
            // "Plan voortaan niets": in Germanic languages only an order begins with its verb.
            let begins = |words: &[&str]| starts(&words.join(" "), &self.future).is_some();
            let is_verb_first = self.verb_is_last
                && !is_one_of(first, &NO_IMPERATIVES)
                && (1..=2).any(|place| words.len() > place + 1 && begins(&words[place..]));
            let forbids = forbids && words.len() >= 2;
            return is_order || is_verb_first || forbids || always || never || has(&self.please);
        }
        is_order && !setting.is_retort && !setting.is_answer && !setting.is_of_a_thing
    }

    /// Whether a clause orders something, be it only once.
    fn is_work(&self, plain: &str) -> bool {
        let mut rest = plain;
        let mut forbids = false;
        loop {
            rest = if let Some(after) = starts(rest, &self.please).or_else(|| starts(rest, &TOO)) {
                after
            } else if let Some(after) = starts(rest, &self.not) {
                forbids = true;
                after
            } else if let Some(after) = starts(rest, &self.pronouns) {
                after
            } else {
                break;
            };
        }
        let first = rest.split(' ').next().unwrap_or_default();
        let own = self.own_endings.iter().any(|ending| first.ends_with(ending));
        rest.contains(' ')
            && !own
            && (is_one_of(first, &self.orders) || forbids && is_one_of(first, &self.forbids))
    }

    /// "I want the summaries in three sentences", not "I want to buy elsewhere".
    fn is_wish_for_a_thing(&self, wish: &str) -> bool {
        let mut words = wish
            .split(' ')
            .skip_while(|word| is_one_of(word, &self.subjects) || is_one_of(word, &self.pronouns));
        let first = words.next().unwrap_or_default();
        let last = words.last().unwrap_or_default();
        let is_verb = |word: &str| self.infinitives.iter().any(|ending| word.ends_with(ending));
        !is_one_of(first, &self.pointing)
            && last.len() > 1
            && !(if self.verb_is_last { is_verb(last) } else { is_verb(first) })
    }
}
