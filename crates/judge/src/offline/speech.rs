//! The user's own words: said to the agent, by themselves, and meant.
//!
//! Quotations, code, texts to be written for others and what follows a colon are somebody's words, but no order and
//! no fact of the user. What is pretended, ironic or taken back is not meant.

use super::cues::speech::*;
use super::evidence::complains;
use super::standing::without_lead_ins;
use super::words::{heard, mentions, plain};

/// A longer turn is a document that was pasted.
const LONGEST_TURN: usize = 2000;
const QUOTES: [char; 7] = ['"', '“', '”', '„', '«', '»', '`'];
const TITLES: [&str; 7] = [" Dr.", " Mr.", " Mrs.", " Ms.", " Prof.", " Sr.", " Sra."];
/// Lines that begin so are quoted, or comments of code.
const QUOTED_LINES: [&str; 5] = [">", "#", "//", "/*", "<!--"];

/// The sentences of a turn that are the user's own.
pub fn own_sentences(turn: &str) -> Vec<String> {
    if turn.chars().count() > LONGEST_TURN {
        return Vec::new();
    }
    let text: String = turn.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    let (mut sentences, mut sentence) = (Vec::new(), String::new());
    for part in heard(&text) {
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push_str(part);
        // A quotation may have ends of sentences in it, and a title a full stop.
        let is_title = TITLES.iter().any(|title| sentence.ends_with(title));
        if is_title || sentence.matches(QUOTES).count() % 2 == 1 {
            continue;
        }
        let said = std::mem::take(&mut sentence);
        if QUOTED_LINES.iter().any(|start| said.starts_with(start)) {
            continue;
        }
        if is_for_others(&said) {
            break;
        }
        sentences.push(said);
    }
    sentences
}

/// Whether a sentence gives, or announces, words that are not for the agent: up to the end of the turn.
fn is_for_others(sentence: &str) -> bool {
    let sentence = unquoted(sentence);
    let words = plain(&sentence);
    let dictates = sentence.match_indices(':').any(|(at, _)| {
        let after = &sentence[at + 1..];
        (after.is_empty() || after.starts_with(char::is_whitespace))
            && !without_lead_ins(plain(&sentence[..at]).trim()).is_empty()
    });
    dictates || mentions(&words, &WRITING) && !mentions(&words, &OF_ANSWERS)
}

/// A sentence without what it quotes.
pub fn unquoted(sentence: &str) -> String {
    sentence.split(QUOTES).step_by(2).collect::<Vec<_>>().join(" ")
}

/// Whether the turn makes a play of what follows.
pub fn pretends(turn: &str) -> bool {
    mentions(&plain(turn), &PRETENDING)
}

/// Whether these words take back what was said before.
pub fn withdraws(text: &str) -> bool {
    mentions(&plain(text), &WITHDRAWN)
}

/// Whether the agent says that it will not.
pub fn declines(reply: &str) -> bool {
    mentions(&plain(reply), &DECLINED)
}

/// Whether a sentence, between its neighbours, says the opposite of what it means.
pub fn is_ironic(around: &[String], sentence: &str) -> bool {
    sentence.ends_with("...")
        || sentence.ends_with(['…', '🙄', '🙃'])
        || around.iter().any(|sentence| mentions(&plain(sentence), &IRONY))
}

/// Whether one of the sentences complains.
pub fn is_retort(around: &[String]) -> bool {
    around.iter().any(|sentence| complains(&plain(sentence)))
}

/// Whether somebody else's words are told, or what might be.
pub fn is_told(plain: &str) -> bool {
    mentions(plain, &REPORTED) || mentions(plain, &IMAGINED)
}

/// Whether an order is no one's to give or to mean: it takes checks away, or asks for what nobody wants.
pub fn is_out_of_place(plain: &str) -> bool {
    mentions(plain, &OVERREACHING)
        || mentions(plain, &UNWANTED)
        || mentions(plain, &UNCHECKED) && !mentions(plain, &NEGATIVE)
}

/// Whether it holds something that no memory should: secrets, identifiers, money, illness.
pub fn is_private(plain: &str) -> bool {
    mentions(plain, &SECRET) || mentions(plain, &HEALTH)
}
