//! Splitting a text into pieces, by the rules that belong to the vocabulary. The first rule that fits decides:
//!
//! 1. an English ending after an apostrophe: `'s 't 're 've 'm 'll 'd`, in capitals too
//! 2. letters, with one sign or space before them
//! 3. up to three digits
//! 4. signs, with one space before them and line ends after them
//! 5. white space up to its last line end
//! 6. white space without its last character, which belongs to what follows; all of it at the end of the text
//! 7. one white-space character

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Letter,
    Digit,
    LineEnd,
    Space,
    Sign,
}

fn kind(c: char) -> Kind {
    match c {
        'a'..='z' | 'A'..='Z' => Kind::Letter,
        '0'..='9' => Kind::Digit,
        '\r' | '\n' => Kind::LineEnd,
        _ if c.is_whitespace() => Kind::Space,
        _ if c.is_ascii() => Kind::Sign,
        _ => match c.general_category_group() {
            GeneralCategoryGroup::Letter => Kind::Letter,
            GeneralCategoryGroup::Number => Kind::Digit,
            _ => Kind::Sign,
        },
    }
}

/// The pieces of a text, which together are the text.
pub fn of(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(first(rest)?);
        rest = after;
        Some(piece)
    })
}

/// Length of the first piece.
fn first(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let c = chars.next()?;
    let (after, next) = (chars.as_str(), chars.next().map(kind));
    let ending = if c == '\'' { english_ending(after) } else { None };
    Some(match kind(c) {
        _ if let Some(ending) = ending => 1 + ending,
        Kind::Letter => run(text, |kind| kind == Kind::Letter),
        Kind::Space | Kind::Sign if next == Some(Kind::Letter) => {
            c.len_utf8() + run(after, |kind| kind == Kind::Letter)
        }
        Kind::Digit => {
            text.chars().take(3).take_while(|c| kind(*c) == Kind::Digit).map(char::len_utf8).sum()
        }
        Kind::Sign => signs(text),
        Kind::Space if c == ' ' && next == Some(Kind::Sign) => 1 + signs(after),
        Kind::Space | Kind::LineEnd => white_space(text),
    })
}

/// Length of the characters at the beginning whose kinds fit.
fn run(text: &str, fits: impl Fn(Kind) -> bool) -> usize {
    text.find(|c| !fits(kind(c))).unwrap_or(text.len())
}

fn signs(text: &str) -> usize {
    let signs = run(text, |kind| kind == Kind::Sign);
    signs + run(&text[signs..], |kind| kind == Kind::LineEnd)
}

fn white_space(text: &str) -> usize {
    let all = run(text, |kind| matches!(kind, Kind::Space | Kind::LineEnd));
    if let Some(last) = text[..all].rfind(['\r', '\n']) {
        return last + 1;
    }
    let last = text[..all].chars().next_back().map_or(0, char::len_utf8);
    match all - last {
        _ if all == text.len() => all,
        0 => all,
        without_last => without_last,
    }
}

/// Length of an ending that follows an apostrophe.
fn english_ending(text: &str) -> Option<usize> {
    let mut letters = text.chars();
    match letters.next()? {
        's' | 'S' | 't' | 'T' | 'm' | 'M' | 'd' | 'D' => Some(1),
        // The long s is an s in capitals.
        long @ 'ſ' => Some(long.len_utf8()),
        first @ ('r' | 'R' | 'v' | 'V' | 'l' | 'L') => {
            let second = if matches!(first, 'l' | 'L') { 'l' } else { 'e' };
            letters.next().filter(|letter| letter.eq_ignore_ascii_case(&second)).map(|_| 2)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn pieces_by_every_rule() {
        let text = "I'Ve don't: 12345 \r\n \t  x..\n\n  ";
        let pieces: Vec<&str> = of(text).collect();
        let wanted = [
            "I", "'Ve", " don", "'t", ":", " ", "123", "45", " \r\n", " \t ", " x", "..\n\n", "  ",
        ];
        assert_eq!(pieces, wanted);
        assert_eq!(pieces.concat(), text);
    }
}
