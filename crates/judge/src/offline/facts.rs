//! Durable facts that a person states about themselves: how they must or want to be served, next month too.
//!
//! Wishes, places and moods of the moment are no facts.

use super::cues::facts::*;
use super::cues::orders::LEAD_INS;
use super::evidence::is_question;
use super::standing::{names_a_case, starts};
use super::words::plain;

const MOST_WORDS: usize = 40;

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
        } else if let Some(after) = starts(rest, LEAD_INS).or_else(|| starts(rest, FACT_LEAD_INS)) {
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
