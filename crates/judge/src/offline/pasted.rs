//! Parts of a turn that were pasted into it: letters, lists, logs, code, and what a request points at.
//!
//! They are told by their form. What follows them is not heard either: nobody can say where a document ends.

use super::cues::pasted::*;
use super::words::{Cues, is_one_of, mentions, plain, starts};

/// A longer turn is a document.
const LONGEST_TURN: usize = 2000;
/// So is one of more lines.
const MOST_LINES: usize = 12;
/// A salutation or a closing formula has no more words.
const SHORT: usize = 6;

/// The lines of a turn that its author wrote for the agent.
pub fn own_text(turn: &str) -> String {
    let text = turn.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if turn.chars().count() > LONGEST_TURN || lines.len() > MOST_LINES {
        return String::new();
    }
    let is_signed = lines.len() > 1 && lines.iter().skip(1).any(|line| is_formula(line, &CLOSINGS));
    let mut own: Vec<&str> = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let is_later = place > 0;
        let to_others = opens_letter(line, &SALUTATIONS_TO_MANY)
            || is_later && (opens_letter(line, &SALUTATIONS) || greets_by_name(line));
        // A letter with a closing formula is the user's own only if it begins the turn.
        let in_letter = is_later && is_signed && !greets(lines[0]);
        if is_rule(line) || is_heading(line) || to_others || in_letter {
            break;
        }
        if !is_item(line) && !is_code(line) && !is_log(line) {
            own.push(line);
        }
        let more_follows = place + 1 < lines.len();
        if more_follows && mentions(&plain(line), &POINTING_DOWN) {
            break;
        }
    }
    own.join("\n")
}

/// A line of dashes or the like.
fn is_rule(line: &str) -> bool {
    line.len() > 2 && line.chars().all(|c| "-=_*~—".contains(c))
}

fn is_heading(line: &str) -> bool {
    let marks = line.chars().take_while(|c| *c == '#').count();
    (1..=6).contains(&marks) && line[marks..].starts_with(' ')
}

/// An item of a list: after a dash, a dot, or a number.
fn is_item(line: &str) -> bool {
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_number.len() < line.len() && after_number.starts_with([')', '.']);
    let bullets = ["- ", "* ", "• ", "+ ", "– "];
    bullets.iter().any(|mark| line.starts_with(mark))
        || is_numbered && after_number[1..].starts_with(' ')
}

/// Code and settings: marks that no sentence has.
fn is_code(line: &str) -> bool {
    let marks = ["{", "}", "=>", "();", "</", "/>", " == ", " != ", " = ", "::", "->", "&&", "||"];
    marks.iter().any(|mark| line.contains(mark)) || line.ends_with(';')
}

/// A line of a log begins with a date, a time or a level.
fn is_log(line: &str) -> bool {
    let mut words = line.split_whitespace().map(|word| word.trim_matches(['[', ']', ':']));
    let first = words.next().unwrap_or_default();
    let digits = first.chars().filter(char::is_ascii_digit).count();
    let is_time =
        digits >= 6 && first.contains(['-', ':', '/']) && !first.contains(char::is_alphabetic);
    let is_stamp = digits >= 8 && first.contains('T') && first.contains(':');
    is_time
        || is_stamp
        || ["ERROR", "WARN", "WARNING", "INFO", "DEBUG", "TRACE", "FATAL"].contains(&first)
}

/// Whether the line, or what stands before its first comma, is one of the formulas of a letter.
fn is_formula(line: &str, formulas: &Cues) -> bool {
    let head = plain(line.split([',', '!', ':']).next().unwrap_or_default());
    head.split_whitespace().count() <= SHORT && starts(head.trim(), formulas).is_some()
}

/// "Hi all, please …", "Dear Sir or Madam,": a formula with a mark or the end of the line behind it.
fn opens_letter(line: &str, formulas: &Cues) -> bool {
    let ends = line.contains([',', '!', ':']) || line.split_whitespace().count() <= SHORT;
    ends && is_formula(line, formulas)
}

/// "Hi John," at the end of a line.
fn greets_by_name(line: &str) -> bool {
    let Some(line) = line.strip_suffix([',', '!', ':']) else { return false };
    let words: Vec<&str> = line.split_whitespace().collect();
    let named = |word: &&str| word.starts_with(char::is_uppercase);
    words.len() <= SHORT && greets(line) && words.get(1).is_some_and(named)
}

fn greets(line: &str) -> bool {
    plain(line).split_whitespace().next().is_some_and(|word| is_one_of(word, &GREETINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pasted_is_not_the_users_own() {
        for (turn, own) in [
            ("tl;dr?\n---\nHi all, use the VPN.", "tl;dr?"),
            ("Can you sum up?\n\nHi team,\nalways lock.\n\nBest,\nJo", "Can you sum up?"),
            ("Was will er?\n\nSehr geehrte Frau Koch,\nnur per Post.", "Was will er?"),
            ("I got a mail\n\nfrom now on use the side door\n\nKind regards\nSam", "I got a mail"),
            ("Liebe Kollegen, ab jetzt immer abschließen.", ""),
            ("Is that so?\n# Rules\nAlways knock.", "Is that so?"),
            ("My flat has\n- no oven\n2. no heating\nOk?", "My flat has\nOk?"),
            ("Review this\nAlways return a list.", "Review this"),
            ("Why?\nconst x = 1\n2026-01-04 12:01:33 never retry\nWARN always stale", "Why?"),
            ("[12:01:33] never retry\nWhy?", "Why?"),
        ] {
            assert_eq!(own_text(turn), own, "{turn}");
        }
        assert_eq!(own_text(&"Always lock the door.\n".repeat(13)), "");
    }

    #[test]
    fn what_the_user_wrote_in_lines_is() {
        for turn in [
            "Hello,\nfrom now on send invoices by mail.\nBest regards\nTom",
            "Dear support team,\nplease always call first.",
            "Thanks!\nFrom now on reply in German.",
            "Hi, I'm vegan.",
            "10:30. We are 2-3 people.",
        ] {
            assert_eq!(own_text(turn), turn, "{turn}");
        }
    }
}
