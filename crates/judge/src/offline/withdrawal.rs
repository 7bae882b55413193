//! Whether what was learned from a turn is taken back later in the session.

use std::collections::BTreeSet;

use super::cues::facts::{FACT_LEAD_INS, ONESELF};
use super::cues::orders::{LEAD_INS, THIS_TIME};
use super::cues::speech::NEGATIVE;
use super::cues::withdrawal::*;
use super::evidence::is_question;
use super::words::{content, mentions, plain, sentences, starts};

/// Whether these words, right behind a sentence or a turn, take it back.
pub fn withdraws(text: &str) -> bool {
    let words = plain(text);
    mentions(&words, &WITHDRAWN) || mentions(&words, &TAKEN_BACK)
}

/// Whether one of the user's later turns takes back what was learned: at once, by saying that it was not meant, or by
/// undoing, denying or allowing it by name.
pub fn is_taken_back<'a>(learned: &str, mut later: impl Iterator<Item = &'a str>) -> bool {
    let Some(next) = later.next() else { return false };
    if mentions(&plain(next), &WITHDRAWN) {
        return true;
    }
    let (words, things) = (plain(learned), content(learned));
    let forbids = mentions(&words, &NEGATIVE);
    std::iter::once(next).chain(later).flat_map(sentences).any(|sentence| {
        let later = plain(sentence);
        let undoes = mentions(&later, &UNDOING)
            || forbids && mentions(&later, &PERMITTING)
            || !forbids && orders_not_to(sentence)
            || denies_of_oneself(later.trim());
        mentions(&later, &TAKEN_BACK)
            || chooses_another_language(&words, &later)
            || undoes && !is_question(sentence) && shares_a_word(&content(sentence), &things)
    })
}

/// "English is better", after an order to write in French.
fn chooses_another_language(learned: &str, later: &str) -> bool {
    let asked = |words: &str| LANGUAGES.iter().position(|names| mentions(words, names));
    mentions(later, &CHOOSING)
        && !mentions(later, &THIS_TIME)
        && matches!((asked(learned), asked(later)), (Some(before), Some(now)) if before != now)
}

/// Whether two words begin alike, so that their endings may differ: "źródła" and "źródeł".
fn shares_a_word(later: &BTreeSet<String>, learned: &BTreeSet<String>) -> bool {
    let are_alike = |a: &str, b: &str| {
        let alike = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
        let (a, b) = (a.chars().count(), b.chars().count());
        alike >= 3 && 5 * alike >= 3 * a.min(b) && 2 * alike >= a.max(b)
    };
    later.iter().any(|a| learned.iter().any(|b| are_alike(a, b)))
}

/// "Or rather, don't send them."
fn orders_not_to(sentence: &str) -> bool {
    sentence.split([',', ';', '–', '—']).any(|clause| {
        let words = plain(clause);
        starts(unled(words.trim()), &FORBIDDEN_NOW).is_some_and(|rest| !rest.is_empty())
    })
}

fn unled(mut words: &str) -> &str {
    while let Some(after) = starts(words, &LEAD_INS).or_else(|| starts(words, &FACT_LEAD_INS)) {
        words = after;
    }
    words
}

/// "I've never been there", "I don't live there".
fn denies_of_oneself(words: &str) -> bool {
    let rest = unled(words);
    (starts(rest, &ONESELF).is_some() || mentions(words, &OF_ONESELF)) && mentions(rest, &DENYING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_kept(learned: &str, later: &[&str]) -> bool {
        !is_taken_back(learned, later.iter().copied())
    }

    #[test]
    fn later_turns_take_back() {
        let order = "From now on answer only in bullet points.";
        for later in [
            &["forget it"][..],
            &["What is moss?", "scrap that rule, write normally"],
            &["What is moss?", "And a fern?", "I don't want bullet points anymore"],
            &["What is moss?", "Bullet points are awful, drop them"],
            &["Only kidding!"],
            &["Just answer normally again, those bullet points were a bad idea after all"],
        ] {
            assert!(!is_kept(order, later), "{later:?}");
        }
        for (learned, later) in [
            ("Nie Tabellen verwenden.", &["Was kostet A?", "Tabellen sind doch ok"][..]),
            ("Réponds toujours en anglais.", &["what time is it?", "reviens au français"]),
            ("Nunca me mandes fotos.", &["¿Y el manual?", "Olvida lo de las fotos"]),
            ("Responda só em inglês.", &["Thanks", "pode voltar ao português"]),
            ("Rispondi sempre in inglese.", &["Thanks", "torniamo all'italiano"]),
            ("Always cc my boss on mails", &["Send it", "Please don't cc my boss, I'll do it"]),
            ("Stuur me voortaan een sms.", &["Ok", "laat die sms'jes toch zitten"]),
            ("Od teraz zawsze podawaj źródła.", &["Ok", "albo nie, nie podawaj już tych źródeł"]),
            ("Stuur me altijd een brief.", &["Ok", "die brief hoeft niet"]),
            ("Zawsze dodawaj tabelę.", &["Ok", "już nie chcę, zapomnij o tabelę"]),
            ("I live in Leipzig", &["Sorry, wrong chat."]),
            ("I live in Leipzig", &["Thanks", "I've never even been to Leipzig"]),
            ("From now on answer in French.", &["Merci", "hm, English is better"]),
            ("I'm a nurse.", &["that came out odd, I'm not a nurse yet"]),
            ("Duze mich ab jetzt bitte.", &["Ok", "Hm, bleiben wir doch beim Sie."]),
            ("I'm vegan", &["The falafel?", "I'm not vegan, my friend is"]),
        ] {
            assert!(!is_kept(learned, later), "{learned} {later:?}");
        }
    }

    #[test]
    fn other_matters_do_not() {
        let order = "From now on answer only in bullet points.";
        for later in [
            &["What is moss?", "never mind, found it"][..],
            &["Cancel my booking, I don't need the room anymore."],
            &["Thanks, the bullet points help."],
            &["No, I meant the other moss."],
            &["Can you send the bullet points again?"],
        ] {
            assert!(is_kept(order, later), "{later:?}");
        }
        assert!(is_kept("I live in Leipzig", &["Which bakery in Leipzig is not too far?"]));
        assert!(is_kept("I live in Leipzig", &[]));
        assert!(is_kept("Always answer in French.", &["This time rather in English, please."]));
    }
}
