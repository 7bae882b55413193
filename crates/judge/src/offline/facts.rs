//! Durable facts that a person states about themselves: how they must or want to be served, next month too.
//!
//! What they want now, where they are and how they feel is none of them.

use super::evidence::is_question;
use super::standing::{names_a_case, starts};
use super::words::plain;

const MOST_WORDS: usize = 40;

const LEAD_INS: &[&str] = &[
    "and",
    "but",
    "so",
    "ok",
    "okay",
    "yes",
    "no",
    "also",
    "oh",
    "well",
    "hi",
    "hello",
    "fyi",
    "by the way",
    "btw",
    "just so you know",
    "you should know that",
    "you should know",
    "for the record",
    "one more thing",
    "please note that",
    "note that",
    "und",
    "aber",
    "übrigens",
    "et",
    "au fait",
    "y",
    "por cierto",
];
/// Words that ask for something to be remembered.
const REMEMBER: &[&str] = &[
    "please remember that",
    "please remember",
    "remember that",
    "for future reference",
    "for the future please remember that",
    "please keep in mind that",
    "keep in mind that",
    "please make a note that",
    "make a note that",
    "bitte merken sie sich dass",
    "merk dir bitte dass",
    "bitte merk dir dass",
    "merke dir dass",
];
/// What is asked to be remembered is about the person.
const ONESELF: &[&str] =
    &["i", "im", "ive", "my", "we", "were", "our", "ich", "wir", "mein", "meine", "unser"];
/// Reminders of what was said before are no facts.
const SAID_BEFORE: &[&str] = &[
    " said ",
    " told ",
    " asked ",
    " wanted ",
    " want ",
    " ordered ",
    " mentioned ",
    " already ",
    " will ",
    " gesagt ",
    " möchte ",
    " will ",
];

/// Beginnings that say by themselves that it lasts.
const LASTING: &[&str] = &[
    "im vegetarian",
    "i am vegetarian",
    "im a vegetarian",
    "i am a vegetarian",
    "im vegan",
    "i am vegan",
    "im a vegan",
    "i am a vegan",
    "im pescatarian",
    "im a pescatarian",
    "im allergic to",
    "i am allergic to",
    "im severely allergic to",
    "i am severely allergic to",
    "im lactose intolerant",
    "i am lactose intolerant",
    "im gluten intolerant",
    "i am gluten intolerant",
    "im diabetic",
    "i am diabetic",
    "im a diabetic",
    "i have diabetes",
    "i have celiac",
    "i have coeliac",
    "i have asthma",
    "i have dyslexia",
    "im dyslexic",
    "i am dyslexic",
    "i dont eat",
    "i do not eat",
    "i never eat",
    "i cant eat",
    "i cannot eat",
    "i dont drink alcohol",
    "i do not drink alcohol",
    "i keep kosher",
    "i keep halal",
    "i only eat",
    "im blind",
    "i am blind",
    "im deaf",
    "i am deaf",
    "im colorblind",
    "im colourblind",
    "i am colorblind",
    "i am colourblind",
    "im color blind",
    "im colour blind",
    "i am color blind",
    "i am colour blind",
    "im hard of hearing",
    "i am hard of hearing",
    "im visually impaired",
    "i am visually impaired",
    "i use a screen reader",
    "i use a wheelchair",
    "im in a wheelchair",
    "i am in a wheelchair",
    "im a wheelchair user",
    "i am a wheelchair user",
    "im left handed",
    "i am left handed",
    "my time zone is",
    "my timezone is",
    "my native language is",
    "my first language is",
    "my mother tongue is",
    "my pronouns are",
    "i only speak",
    "i speak only",
    "our team uses",
    "our company uses",
    "my team uses",
    "my company uses",
    "our stack is",
    "our standard is",
    "we only use",
    "i always prefer",
    "i generally prefer",
    "i usually prefer",
    "i normally prefer",
    "we always prefer",
    "we generally prefer",
    "we usually prefer",
    "ich bin vegetarier",
    "ich bin vegetarierin",
    "ich bin veganer",
    "ich bin veganerin",
    "ich bin allergisch",
    "ich bin diabetiker",
    "ich bin diabetikerin",
    "ich bin blind",
    "ich bin gehörlos",
    "ich esse kein",
    "ich esse keine",
    "ich esse keinen",
    "ich vertrage kein",
    "ich vertrage keine",
    "ich spreche nur",
    "wir benutzen",
    "wir verwenden",
    "wir nutzen",
    "je suis végétarien",
    "je suis végétarienne",
    "je suis végan",
    "je suis végane",
    "je suis allergique",
    "je suis diabétique",
    "je ne mange pas",
    "nous utilisons",
    "soy vegetariano",
    "soy vegetariana",
    "soy vegano",
    "soy vegana",
    "soy alérgico",
    "soy alérgica",
    "soy diabético",
    "soy diabética",
    "no como",
    "usamos",
    "sono vegetariano",
    "sono vegetariana",
    "sono allergico",
    "sono allergica",
    "sou vegetariano",
    "sou vegetariana",
    "sou alérgico",
    "sou alérgica",
];
/// Beginnings of a habit of the person's team, when something general follows: "We use Slack", not "We use it".
const TEAMS: &[&str] = &["we use"];
/// Beginnings of a preference, when something general follows that a service can heed: "I prefer aisle seats", neither
/// "I prefer the blue one" nor "I prefer tea".
const PREFERENCES: &[&str] = &["i prefer", "we prefer", "ich bevorzuge", "je préfère", "prefiero"];
const HEEDED: &[&str] = &[
    "aisle",
    "answers",
    "bullet",
    "call",
    "calls",
    "chat",
    "code",
    "delivery",
    "detailed",
    "details",
    "email",
    "emails",
    "e",
    "english",
    "examples",
    "explanations",
    "french",
    "german",
    "imperial",
    "invoices",
    "language",
    "letters",
    "mail",
    "meals",
    "messages",
    "metric",
    "phone",
    "pickup",
    "post",
    "replies",
    "rooms",
    "seat",
    "seats",
    "short",
    "sms",
    "spanish",
    "tables",
    "text",
    "texts",
    "units",
    "window",
    "antworten",
    "anrufe",
    "briefe",
    "réponses",
    "courriel",
    "respuestas",
    "correo",
    "llamadas",
];
/// Words that make what follows a choice of now.
const CHOICE_OF_NOW: &[&str] = &[
    "the", "this", "that", "these", "those", "it", "a", "an", "to", "not", "my", "your", "one",
    "them", "both", "if", "option", "exchange", "refund", "store", "credit", "den", "die", "das",
    "diese", "dieses", "le", "la", "les", "ce", "cette", "celui", "el", "los", "las", "ese", "esa",
    "este", "esta",
];
/// Words that bind a statement to today.
const FOR_NOW: &[&str] = &[
    " today ",
    " now ",
    " currently ",
    " tonight ",
    " tomorrow ",
    " yesterday ",
    " moment ",
    " this week ",
    " this time ",
    " just ",
    " heute ",
    " gerade ",
    " jetzt ",
    " momentan ",
    " maintenant ",
    " ahora ",
    " hoy ",
];

/// Whether a sentence states a durable fact about the person. In an answer to a question only what is asked to be
/// remembered does.
pub fn is_durable_fact(sentence: &str, is_answer: bool) -> bool {
    let words = plain(sentence);
    let count = words.split_whitespace().count();
    if is_question(sentence.trim()) || !(2..=MOST_WORDS).contains(&count) || names_a_case(sentence)
    {
        return false;
    }
    if FOR_NOW.iter().any(|word| words.contains(word)) {
        return false;
    }
    let mut rest = words.trim();
    let mut asked_to_remember = false;
    loop {
        if let Some(after) = starts(rest, REMEMBER) {
            (rest, asked_to_remember) = (after, true);
        } else if let Some(after) = starts(rest, LEAD_INS) {
            rest = after;
        } else {
            break;
        }
    }
    if asked_to_remember {
        let is_reminder = SAID_BEFORE.iter().any(|word| words.contains(word));
        return starts(rest, ONESELF).is_some() && !is_reminder;
    }
    let general = |beginnings: &[&str]| {
        let rest = starts(rest, beginnings)?;
        let next = rest.split_whitespace().next()?;
        (!CHOICE_OF_NOW.contains(&next)).then_some(rest)
    };
    let is_heeded = |rest: &str| rest.split_whitespace().any(|word| HEEDED.contains(&word));
    !is_answer
        && (starts(rest, LASTING).is_some()
            || has_allergy(rest)
            || general(TEAMS).is_some()
            || general(PREFERENCES).is_some_and(is_heeded))
}

fn has_allergy(plain: &str) -> bool {
    let words = ["allergy", "allergies", "intolerance", "allergie", "unverträglichkeit", "alergia"];
    starts(plain, &["i have", "ich habe", "jai", "tengo"])
        .is_some_and(|rest| rest.split_whitespace().any(|word| words.contains(&word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_that_last_are_kept() {
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
        ] {
            assert!(is_durable_fact(sentence, false), "{sentence}");
        }
        assert!(is_durable_fact("Please remember that I work night shifts.", true));
    }

    #[test]
    fn wishes_moods_and_places_of_now_are_not() {
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
            "I'm a teacher and I have two dogs.",
            "I love pizza.",
            "We use it a lot.",
            "I don't eat today.",
            "Remember that I said blue.",
            "I don't remember the order number.",
            "Are you vegetarian?",
            "My user ID is mia_li_3668.",
            "I'm allergic to order 48213.",
        ] {
            assert!(!is_durable_fact(sentence, false), "{sentence}");
        }
        assert!(!is_durable_fact("I prefer window seats.", true));
    }
}
