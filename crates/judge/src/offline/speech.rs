//! The user's own words: said to the agent, by themselves, and meant.
//!
//! Quotations, code, texts to be written for others and what follows a colon are somebody's words, but no order and
//! no fact of the user. What is pretended, ironic or taken back is not meant.

use super::cues::orders::{ANNOUNCING, ASKING, EACH_TIME, FUTURE, LEAD_INS};
use super::cues::speech::*;
use super::cues::{REQUEST, WISH};
use super::evidence::{complains, is_question};
use super::pasted::own_text;
use super::standing::without_lead_ins;
use super::words::{has, heard, is_one_of, mentions, plain, sentences, starts};

const QUOTES: [char; 7] = ['"', '“', '”', '„', '«', '»', '`'];
const TITLES: [&str; 7] = [" Dr.", " Mr.", " Mrs.", " Ms.", " Prof.", " Sr.", " Sra."];
/// Lines that begin so are quoted, or comments of code.
const QUOTED_LINES: [&str; 5] = [">", "#", "//", "/*", "<!--"];

/// The sentences of a turn that are the user's own.
pub fn own_sentences(turn: &str) -> Vec<String> {
    let text = own_text(turn);
    let (mut sentences, mut sentence) = (Vec::new(), String::new());
    for part in heard(&text) {
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push_str(part);
        // A quotation may have ends of sentences in it, a title or an initial a full stop.
        let is_title =
            TITLES.iter().any(|title| sentence.ends_with(title)) || ends_in_initial(&sentence);
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

/// Whether the words before a colon only lead to what follows: "one more thing", "new rule".
fn announces(plain: &str) -> bool {
    let mut rest = plain;
    while let Some(after) = starts(rest, &LEAD_INS)
        .or_else(|| starts(rest, &ASKING))
        .or_else(|| starts(rest, &FUTURE))
        .or_else(|| starts(rest, &ANNOUNCING))
    {
        rest = after;
    }
    rest.is_empty()
}

/// "M. Haddad".
fn ends_in_initial(sentence: &str) -> bool {
    let mut end = sentence.chars().rev();
    end.next() == Some('.')
        && end.next().is_some_and(char::is_uppercase)
        && end.next().is_some_and(|c| !c.is_alphanumeric())
}

/// Whether a sentence gives, or announces, words that are not for the agent: up to the end of the turn.
fn is_for_others(sentence: &str) -> bool {
    let sentence = unquoted(sentence);
    let words = plain(&sentence);
    let dictates = sentence.match_indices(':').any(|(at, _)| {
        let after = &sentence[at + 1..];
        (after.is_empty() || after.starts_with(char::is_whitespace))
            && !announces(plain(&sentence[..at]).trim())
    });
    dictates || mentions(&words, &WRITING) && !mentions(&words, &OF_ANSWERS)
}

/// Whether a sentence orders a thing to be made: "build me an app that always …". A rule says when it holds at its end:
/// "add a test whenever you fix something".
pub fn commissions(sentence: &str) -> bool {
    let words = plain(&unquoted(sentence));
    let mut rest = words.trim();
    while let Some(after) = starts(rest, &LEAD_INS).or_else(|| starts(rest, &ASKING)) {
        rest = after;
    }
    let Some(mut thing) = starts(rest, &MAKING) else { return false };
    if let Some(after) = starts(thing, &FOR_WHOM) {
        thing = after;
    }
    let holds = mentions(rest, &EACH_TIME)
        || FUTURE.phrases().iter().any(|end| rest.ends_with(end))
        || rest.ends_with(" always");
    starts(thing, &A_NEW_ONE).is_some() && !holds
}

/// Whether a clause says what something else than the agent should do: "the button must …".
pub fn is_of_others(clause: &str) -> bool {
    let words = plain(clause);
    let words: Vec<&str> = without_lead_ins(words.trim()).split(' ').collect();
    let modal = words.iter().position(|word| is_one_of(word, &SHOULD));
    modal.is_some_and(|at| {
        at > 0
            && !words[..at].iter().chain(words.get(at + 1)).any(|word| is_one_of(word, &SPOKEN_TO))
    })
}

/// A sentence without what it quotes.
pub fn unquoted(sentence: &str) -> String {
    sentence.split(QUOTES).step_by(2).collect::<Vec<_>>().join(" ")
}

/// Whether the turn makes a play of what follows.
pub fn pretends(turn: &str) -> bool {
    mentions(&plain(turn), &PRETENDING)
}

/// Whether the agent says that it will not.
pub fn declines(reply: &str) -> bool {
    mentions(&plain(reply), &DECLINED)
}

/// Whether the agent answers an order with what it cannot or will not do.
pub fn refuses(reply: &str) -> bool {
    let first = sentences(reply).first().map(|first| plain(first)).unwrap_or_default();
    starts(without_lead_ins(first.trim()), &REFUSED).is_some()
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

/// Whether a sentence asks the agent for something.
pub fn requests(sentence: &str) -> bool {
    let words = plain(sentence);
    is_question(sentence)
        || has(&words, &WISH)
        || has(&words, &REQUEST)
        || mentions(&words, &SEEKING)
}

/// Whether somebody else's words are told, or what might be.
pub fn is_told(plain: &str) -> bool {
    mentions(plain, &REPORTED) || mentions(plain, &IMAGINED)
}

/// Whether an order is no one's to give or to mean: it takes checks away, or asks for what nobody wants.
pub fn is_out_of_place(plain: &str) -> bool {
    mentions(plain, &OVERREACHING)
        || mentions(plain, &UNWANTED)
        || (mentions(plain, &UNCHECKED) || mentions(plain, &HARMFUL)) && !mentions(plain, &NEGATIVE)
}

/// Whether it holds something that no memory should: secrets, identifiers, money, illness.
pub fn is_private(plain: &str) -> bool {
    mentions(plain, &SECRET) || mentions(plain, &HEALTH) && !mentions(plain, &OF_MEALS)
}
