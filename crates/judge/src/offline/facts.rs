//! Durable facts that a person states about themselves: how they must or want to be served, next month too.
//!
//! A fact has the person as its subject, a verb of a lasting state, and something that belongs to it: a diet, a place,
//! a tool with a name. Wishes, places and moods of the moment are no facts.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::cues::facts::*;
use super::cues::orders::{ASKING, LEAD_INS};
use super::cues::people::*;
use super::cues::speech::CONDITIONAL;
use super::evidence::is_question;
use super::speech::{is_private, is_told, unquoted};
use super::standing::{Setting, as_said_without_lead_ins, is_year, names_a_case};
use super::words::{behind, is_one_of, mentions, plain, starts};

const MOST_WORDS: usize = 40;
/// So many words behind its verb say what a person is or has.
const NEAR: usize = 4;

/// The durable facts that a sentence states about the person, each as it was said. A preference in an answer is a
/// choice.
pub fn durable_facts(sentence: &str, setting: Setting) -> Vec<&str> {
    let words = plain(&unquoted(sentence));
    if !(2..=MOST_WORDS).contains(&words.split_whitespace().count()) {
        return Vec::new();
    }
    let facts = match asked_to_remember(words.trim()) {
        Some(fact) if starts(fact, &ONESELF).is_some() && !mentions(fact, &SAID_BEFORE) => {
            vec![sentence]
        }
        _ => clauses_with_facts(sentence, setting),
    };
    let is_of_now =
        |words| [&FOR_NOW, &CONDITIONAL, &OTHERS].iter().any(|list| mentions(words, list));
    let is_none = facts.is_empty()
        || setting.is_ironic
        || names_a_case(sentence)
        || is_private(&words)
        || is_told(&words)
        || is_of_now(&words);
    if is_none { Vec::new() } else { facts }
}

fn clauses_with_facts(sentence: &str, setting: Setting) -> Vec<&str> {
    let breaks = breaks(sentence);
    let starts = std::iter::once(0).chain(breaks.iter().map(|at| at.next));
    let is_fact = |text: &str| is_fact(text, setting);
    let mut facts: Vec<&str> = Vec::new();
    for start in starts {
        let later = breaks.iter().filter(|at| at.end > start);
        let mut ends = later.filter(|at| at.cuts(sentence, &is_fact));
        let end = ends.next().map_or(sentence.len(), |at| at.end);
        let clause = as_said_without_lead_ins(&sentence[start..end]);
        // The clause has no mark of its own, but the sentence may end in a question mark.
        let asks = end == sentence.len() && is_question(sentence.trim());
        if !asks && is_fact(clause) && !facts.iter().any(|fact| fact.ends_with(clause)) {
            facts.push(clause);
        }
    }
    facts
}

fn asked_to_remember(mut plain: &str) -> Option<&str> {
    loop {
        if let Some(fact) = starts(plain, &REMEMBER) {
            return Some(fact);
        }
        plain = starts(plain, &LEAD_INS).or_else(|| starts(plain, &ASKING))?;
    }
}

/// A place in a sentence between two clauses, or two things.
struct Break {
    end: usize,
    next: usize,
    joint: Joint,
}

enum Joint {
    Comma,
    Turn,
    And,
}

impl Break {
    /// Whether a fact before this place is over.
    fn cuts(&self, sentence: &str, is_fact: &impl Fn(&str) -> bool) -> bool {
        let rest = &sentence[self.next..];
        let words = plain(rest);
        let mut next = words.split_whitespace();
        let goes_on = |word: &str| is_one_of(word, &ONESELF) || is_one_of(word, &TURNS);
        match self.joint {
            Joint::Turn => true,
            Joint::And => next.next().is_some_and(goes_on) || is_fact(rest),
            // "Go, Rust and Python" is one thing.
            Joint::Comma => {
                next.next().is_none_or(goes_on)
                    || !next.take(2).any(|word| word != "i" && is_one_of(word, &ANDS))
            }
        }
    }
}

fn breaks(sentence: &str) -> Vec<Break> {
    let mut next = 0;
    let found = sentence.split_inclusive(char::is_whitespace).filter_map(|word| {
        let begin = next;
        next += word.len();
        let bare = word.trim_end();
        let words = plain(bare);
        let word = words.trim();
        let (end, joint) = if bare.ends_with([',', ';']) {
            (begin + bare.len() - 1, Joint::Comma)
        } else if ["-", "–", "—"].contains(&bare) || is_one_of(word, &TURNS) {
            (begin, Joint::Turn)
        } else if is_one_of(word, &ANDS) && bare != "I" {
            (begin, Joint::And)
        } else {
            return None;
        };
        Some(Break { end, next, joint })
    });
    found.collect()
}

/// A word in lower case, and whether it was written like a name.
struct Word {
    plain: String,
    is_name: bool,
}

/// The words of a clause without fillers, with "I'm" and "don't" written out.
fn words(clause: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for said in clause.split_whitespace() {
        let capital = said.chars().find(|c| c.is_alphanumeric()).is_some_and(char::is_uppercase);
        let is_named = capital || said.chars().skip(1).any(char::is_uppercase);
        for word in plain(said).split_whitespace() {
            let whole = match word {
                "im" => "i am",
                "ive" => "i have",
                "weve" => "we have",
                "were" if said.contains(['\'', '’']) => "we are",
                "dont" => "do not",
                "cant" | "cannot" => "can not",
                word => word,
            };
            let is_name = is_named && !is_one_of(word, &NO_NAMES);
            let parts = whole.split(' ').filter(|part| !is_one_of(part, &FILLERS));
            words.extend(parts.map(|part| Word { plain: part.to_owned(), is_name }));
        }
    }
    words
}

/// The kind of words that must follow the beginning of a fact.
#[derive(Clone, Copy)]
enum Complement {
    Anything,
    General,
    Name,
    /// Words that say of what kind something is, then a name: "is written in Go".
    NamedKind,
    /// Something general that a service can heed.
    Heeded,
    Place,
    Food,
    Profession,
    Occupation,
    Business,
    Dependant,
}

impl Complement {
    /// Circumstances of life. They say how to serve when something is asked for, and are small talk otherwise.
    fn is_circumstance(self) -> bool {
        use Complement::{Business, Dependant, Occupation, Profession};
        matches!(self, Profession | Occupation | Business | Dependant)
    }
}

/// The beginning of a fact, the words at the end of its clause if there must be some, and what follows the beginning.
type Beginning = (&'static str, &'static str, Complement);

/// Beginnings of facts by their first word.
static BEGINNINGS: LazyLock<HashMap<&str, Vec<Beginning>>> = LazyLock::new(|| {
    let all = LASTING.iter().map(|list| (list, Complement::Anything));
    let all = all.chain(GENERAL.iter().map(|list| (list, Complement::General)));
    let all = all.chain(NAMED.iter().map(|list| (list, Complement::Name)));
    let more = [
        (&THINGS, Complement::NamedKind),
        (&PREFERENCES, Complement::Heeded),
        (&LIVING, Complement::Place),
        (&BEING, Complement::Profession),
        (&WORKING_AS, Complement::Occupation),
        (&RUNNING, Complement::Business),
        (&HAVING, Complement::Dependant),
        (&ABSTAINING, Complement::Food),
    ];
    let mut beginnings: HashMap<&str, Vec<Beginning>> = HashMap::new();
    for (phrase, complement) in
        all.chain(more).flat_map(|(list, kind)| list.phrases().iter().map(move |p| (*p, kind)))
    {
        let first = phrase.split(' ').next().unwrap_or_default();
        let (start, end) = phrase.split_once(" … ").unwrap_or((phrase, ""));
        beginnings.entry(first).or_default().push((start, end, complement));
    }
    beginnings
});

/// Whether a clause begins with a durable fact.
fn is_fact(clause: &str, setting: Setting) -> bool {
    let words = words(&unquoted(clause));
    let text = words.iter().map(|word| word.plain.as_str()).collect::<Vec<_>>().join(" ");
    let mut rest = text.as_str();
    loop {
        let first = rest.split(' ').next().unwrap_or_default();
        let mut beginnings = BEGINNINGS.get(first).into_iter().flatten();
        let found = beginnings.any(|(start, end, complement)| {
            let Some(after) = behind(rest, start).filter(|_| rest.ends_with(end)) else {
                return false;
            };
            if complement.is_circumstance() && !setting.is_request && !setting.is_answer {
                return false;
            }
            let next = &words[words.len() - after.split_whitespace().count()..];
            let is_article = |word: &Word| is_one_of(&word.plain, &ARTICLES);
            let is_general = match next {
                [article, name, ..] if is_article(article) && name.is_name => true,
                [first, ..] => !is_one_of(&first.plain, &CHOICE_OF_NOW),
                [] => false,
            };
            match complement {
                Complement::Anything => true,
                Complement::General | Complement::Occupation => is_general,
                // "I drive a 2016 Octavia."
                Complement::Name => {
                    next.iter().find(|next| !is_year(&next.plain)).is_some_and(|next| next.is_name)
                }
                Complement::Place => is_place(clause, next),
                Complement::Profession => is_profession(next),
                Complement::Business => {
                    let next: Vec<&str> =
                        next.iter().take(NEAR).map(|w| w.plain.as_str()).collect();
                    is_general && mentions(&next.join(" "), &BUSINESSES)
                }
                Complement::Food => next.first().is_some_and(|next| is_one_of(&next.plain, &FOODS)),
                Complement::Dependant => has_dependants(next),
                Complement::NamedKind => {
                    let named = next.iter().position(|word| !is_one_of(&word.plain, &OF_KIND));
                    named.is_some_and(|place| place > 0 && next[place].is_name)
                }
                Complement::Heeded => {
                    !setting.is_answer
                        && is_general
                        && next.iter().any(|word| is_one_of(&word.plain, &HEEDED))
                }
            }
        });
        if found {
            return true;
        }
        let Some(after) = starts(rest, &LEAD_INS).or_else(|| starts(rest, &FACT_LEAD_INS)) else {
            return false;
        };
        rest = after;
    }
}

/// A name behind "I live in", or any word of a clause without capital letters that is no common one.
fn is_place(clause: &str, next: &[Word]) -> bool {
    let Some(place) = next.first() else { return false };
    let is_small = !clause.chars().any(char::is_uppercase);
    let names = || {
        let said: Vec<&str> = clause.split_whitespace().collect();
        let at = said.iter().position(|word| plain(word).trim() == place.plain);
        let behind = at.and_then(|at| at.checked_sub(1)).map(|at| plain(said[at]));
        let is_one = behind.is_some_and(|word| is_one_of(word.trim(), &FILLERS));
        !is_one && place.plain.chars().count() > 2 && !is_one_of(&place.plain, &NO_PLACES)
    };
    place.is_name || is_small && names()
}

/// "A nurse", "a retired maths teacher", not "the teacher", "looking for a nurse".
fn is_profession(next: &[Word]) -> bool {
    // "Faccio l'elettricista."
    let is_profession = |word: &str| {
        is_one_of(word, &PROFESSIONS)
            || word.strip_prefix('l').is_some_and(|word| is_one_of(word, &PROFESSIONS))
    };
    let found = next.iter().take(NEAR).position(|word| is_profession(&word.plain));
    found.is_some_and(|at| !next[..at].iter().any(|word| is_one_of(&word.plain, &NOT_ONES_OWN)))
}

/// "Two kids", "a dog and a cat", not "a dog bed".
fn has_dependants(next: &[Word]) -> bool {
    let found = next.iter().take(NEAR).position(|word| is_one_of(&word.plain, &DEPENDANTS));
    found.is_some_and(|at| {
        let goes_on = |word: &Word| {
            is_one_of(&word.plain, &BEHIND_DEPENDANTS)
                || word.plain.starts_with(|c: char| c.is_ascii_digit())
        };
        !next[..at].iter().any(|word| is_one_of(&word.plain, &NOT_ONES_OWN))
            && next.get(at + 1).is_none_or(goes_on)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(sentence: &str, is_answer: bool) -> bool {
        !durable_facts(sentence, Setting { is_answer, ..Setting::default() }).is_empty()
    }

    #[test]
    fn facts_that_last_are_kept() {
        let mut missed = Vec::new();
        for sentence in [
            "I'm vegetarian.",
            "By the way, I am allergic to peanuts.",
            "I have a severe nut allergy.",
            "We use PostgreSQL for everything.",
            "Our team uses metric units.",
            "I prefer aisle seats.",
            "I generally prefer e-mail over phone calls.",
            "My time zone is CET.",
            "I use a screen reader.",
            "Please remember that I work night shifts.",
            "Remember that my dog is afraid of couriers.",
            "Ich bin Vegetarierin.",
            "Je suis allergique aux noix.",
            "Soy vegano.",
            "I'm a strict vegan, so no cheese please.",
            "I live in Oslo, so anything from there.",
            "I'm based in Leeds.",
            "We run Redis 7 and Kafka in production.",
            "Our database is PostgreSQL.",
            "Our servers run on Debian 12.",
            "My laptop is a MacBook Air.",
            "I use a Pixel 8 with GrapheneOS.",
            "I wear size 44.",
            "My shoe size is 38.",
            "I don't drive, is there a train?",
            "We don't have a car.",
            "I only buy organic food.",
            "I work from home and we use Jira.",
            "I'm a beginner in Spanish.",
            "I always travel with hand luggage only.",
            "Ich wohne in Graz.",
            "Ich esse kein Fleisch.",
            "Wir arbeiten mit SAP.",
            "Ich habe kein Auto, also lieber mit der Bahn.",
            "Unser Backend ist in Rust geschrieben.",
            "J'habite à Lille et je ne mange pas de porc.",
            "J'utilise un iPhone 13.",
            "Nous utilisons GitLab.",
            "Vivo en Sevilla y no tengo coche.",
            "Trabajo de noche.",
            "Moro em Braga.",
            "Não como carne.",
            "Sou vegetariana, por isso nada de frango.",
            "Abito a Torino.",
            "Non mangio carne.",
            "Usiamo MySQL.",
            "Usamos o Trello.",
            "We're a vegan household.",
            "Just so you know, I keep kosher.",
            "Ik woon in Utrecht.",
            "Ik eet geen vlees.",
            "Ik heb geen auto.",
            "Mieszkam w Gdańsku.",
            "Jestem weganką.",
            "Używamy Jiry.",
            "i can't have gluten",
            "as a vegetarian i can't do the set menu",
            "soy vegana, qué puedo pedir en este restaurante?",
            "I've got coeliac disease.",
            "Could you remember that I only fly with hand luggage.",
            "Wij eten thuis halal.",
            "We're a family of five.",
            "Been vegetarian since 2009, so no meat.",
            "I drive a 2016 Octavia.",
            "I already own Wingspan and Azul.",
            "I moved to Innsbruck two years ago.",
            "i live in tromso",
            "I always camp solo.",
            "We keep kosher at home.",
            "We're on self-hosted GitLab.",
            "English isn't my first language.",
            "I'm 190 cm tall.",
            "I'm colour blind.",
            "En mi empresa usamos Kubernetes.",
            "Tieni conto che sono vegetariana.",
            "Ik ben 1,96 lang.",
        ] {
            if !fact(sentence, false) {
                missed.push(sentence);
            }
        }
        assert_eq!(missed, Vec::<&str>::new());
        assert!(fact("Please remember that I work night shifts.", true));
    }

    #[test]
    fn circumstances_of_life_count_where_something_is_asked_for() {
        let asked = Setting { is_request: true, ..Setting::default() };
        for sentence in [
            "I'm a teacher and I have two dogs.",
            "I work as a paralegal at a law firm.",
            "I've been a nurse for 12 years.",
            "i teach 4th grade",
            "I'm a student at TU Delft.",
            "We run a small bakery.",
            "I run a small bakery in Ghent.",
            "my wife and i have twin girls, theyre 3.",
            "Ich bin Lehrerin an einer Grundschule.",
            "Je suis infirmière de nuit.",
            "On a deux enfants de 6 et 9 ans.",
            "Tengo dos perros.",
            "Sou professor de química.",
            "Faccio l'elettricista.",
            "Ik werk als kapper.",
            "Mam psa i dwa koty.",
            "Jestem nauczycielką.",
        ] {
            assert!(!durable_facts(sentence, asked).is_empty(), "{sentence}");
            assert!(fact(sentence, true), "{sentence}");
            assert!(!fact(sentence, false), "{sentence}");
        }
    }

    #[test]
    fn wishes_moods_and_places_of_now_are_not() {
        let mut learned = Vec::new();
        for sentence in [
            "I prefer that one.",
            "I prefer the blue one.",
            "I prefer a refund.",
            "I prefer tea, but coffee is fine too.",
            "I'd prefer the Mastercard.",
            "I'm in hospital.",
            "I am a bit confused.",
            "I'm a long-time customer.",
            "I'm fine, thanks.",
            "I live near the park.",
            "I love pizza.",
            "We use it a lot.",
            "I don't eat today.",
            "Remember that I said blue.",
            "I don't remember the order number.",
            "Are you vegetarian?",
            "My user ID is mia_li_3668.",
            "I'm allergic to order 48213.",
            "I live in a small town.",
            "We use about ten litres a day.",
            "I'm allergic to nonsense like this.",
            "He lives in Boston and we use Zoom with him.",
            "Je ne mange pas ici.",
            "I'm not vegetarian.",
            "I no longer live in Oslo.",
            "I live in Lisbon until May.",
            "I used to live in Bristol.",
            "If I lived in Madrid, I'd walk.",
            "I wish I lived in Japan.",
            "Say I'm vegan and live in Rome.",
            "My friend says I'm vegetarian at heart.",
            "She's vegan.",
            "My manager is Priya Raman.",
            "I'm diabetic.",
            "I have asthma and I use an inhaler.",
            "I'm allergic to penicillin.",
            "I'm six months pregnant.",
            "My password is Sunflower and I use Linux.",
            "I use PayPal.",
            "Remember that my card number is on file.",
            "Our server is down.",
            "Our office is closed on Monday.",
            "I use it every day.",
            "I don't own it.",
            "We might move to Canada.",
            "We're thinking about moving to MongoDB.",
            "I'm using a loaner laptop.",
            "I only want one.",
            "I work at a bakery.",
            "I always forget names.",
            "Ich bin gerade in München.",
            "Ich wohne in einer kleinen Wohnung.",
            "Ich bin Diabetiker.",
            "Je suis à Lyon jusqu'à demain.",
            "Antes vivía en Quito.",
            "Estoy en el aeropuerto.",
            "Mi contraseña es Girasol y uso Linux.",
            "Hoje não como carne.",
            "Ik ben nu in Gent.",
            "Jestem teraz w Krakowie.",
            "I'm looking for a doctor.",
            "I can't have it delivered.",
            "As a vegetarian you have little choice.",
            "I'm not a lawyer.",
            "I'm at the dentist.",
            "I'm the teacher's friend.",
            "I have a dog bed to return.",
            "I have a question about cat food.",
            "i live in a small town",
            "i live in my car",
            "I run a script every night.",
            "We have a shopping list.",
            "I own it.",
            "I've been waiting for an hour.",
            "Ich bin beim Arzt.",
            "Je suis chez le médecin.",
            "No soy médico.",
            "Sono dal dentista.",
            "vivo en un pueblo",
        ] {
            let asked = Setting { is_request: true, ..Setting::default() };
            if !durable_facts(sentence, asked).is_empty() {
                learned.push(sentence);
            }
        }
        assert_eq!(learned, Vec::<&str>::new());
        assert!(!fact("I prefer window seats.", true));
    }

    #[test]
    fn a_fact_is_kept_without_what_follows_from_it() {
        let kept = |sentence| durable_facts(sentence, Setting::default());
        assert_eq!(kept("Ok, I'm vegetarian, so no chicken."), ["I'm vegetarian"]);
        assert_eq!(kept("We use Go, Rust and Python."), ["We use Go, Rust and Python."]);
        let two = ["J'habite à Nantes", "je n'ai pas de voiture."];
        assert_eq!(kept("J'habite à Nantes et je n'ai pas de voiture."), two);
        assert_eq!(kept("I'm vegan but I'm tired."), ["I'm vegan"]);
    }
}
