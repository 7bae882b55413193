//! Words as people are told apart by them: which stand where in a text, and which could name somebody.

use std::collections::BTreeSet;

pub use base::addresses::{is_address, tokens};
use base::owner::UserId;
use base::words::is_common;

/// A word of a text and the bytes it takes there.
#[derive(Clone, Debug)]
pub struct Word {
    pub lower: String,
    pub start: usize,
    pub end: usize,
    pub has_digit: bool,
    /// Written as a name may be: with a capital letter that no sentence begins with, and not a word of everybody's.
    pub is_name_like: bool,
}

/// Three words one after the other.
pub type Run = [String; 3];

/// Parts of user ids that name nobody.
const GENERIC: &[&str] = &[
    "user", "users", "customer", "client", "guest", "account", "agent", "test", "admin", "member",
    "person", "mail", "com", "org", "net", "gmail", "example", "the", "and",
];
/// Words that come right before a name.
const BEFORE_NAMES: &[&str] = &[
    "my name is ",
    "name is ",
    "name: ",
    "call me ",
    "i am called ",
    "ich heiße ",
    "mein name ist ",
    "je m'appelle ",
    "me llamo ",
    "i'm ",
    "i am ",
    "called ",
    "named ",
];
/// Words that come right after a name at the beginning of a sentence.
const AFTER_NAMES: &[&str] = &[
    "is", "was", "has", "wants", "lives", "works", "uses", "prefers", "likes", "needs", "asked",
    "said", "ist", "hat", "will", "est", "es",
];
const PRONOUNS: &[&str] = &["he", "she", "they", "it", "this", "that", "user", "who", "what"];
/// Words that are written with a capital letter, or in capital letters, and name nobody; sorted.
const CAPITALISED: &[&str] = &[
    "ai",
    "allways",
    "always",
    "am",
    "api",
    "april",
    "arabic",
    "asap",
    "august",
    "bcc",
    "black",
    "cc",
    "ceo",
    "chf",
    "chinese",
    "christmas",
    "cod",
    "crm",
    "csv",
    "danish",
    "december",
    "dhl",
    "do",
    "don",
    "dutch",
    "easter",
    "email",
    "english",
    "eta",
    "eu",
    "eur",
    "european",
    "faq",
    "february",
    "finnish",
    "french",
    "friday",
    "gb",
    "gbp",
    "gdpr",
    "german",
    "gmt",
    "greek",
    "hebrew",
    "hindi",
    "html",
    "http",
    "https",
    "i",
    "iban",
    "id",
    "ids",
    "ii",
    "iii",
    "internet",
    "invoice",
    "ios",
    "italian",
    "iva",
    "january",
    "japanese",
    "json",
    "july",
    "june",
    "kg",
    "km",
    "korean",
    "latin",
    "llm",
    "mail",
    "march",
    "may",
    "monday",
    "must",
    "mwst",
    "never",
    "no",
    "norwegian",
    "not",
    "november",
    "october",
    "ok",
    "okay",
    "only",
    "pc",
    "pdf",
    "pin",
    "please",
    "pm",
    "polish",
    "portuguese",
    "ps",
    "qr",
    "rma",
    "russian",
    "saturday",
    "sepa",
    "september",
    "sim",
    "sku",
    "sms",
    "spanish",
    "sql",
    "stop",
    "sunday",
    "swedish",
    "thursday",
    "tuesday",
    "turkish",
    "tv",
    "uk",
    "ups",
    "url",
    "us",
    "usa",
    "usb",
    "usd",
    "utc",
    "vat",
    "wednesday",
    "wifi",
    "wlan",
    "xml",
    "yes",
    "zip",
];

/// The words of a text in their order.
pub fn words(text: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let (mut start, mut begins) = (None, true);
    let ends = text.char_indices().chain(std::iter::once((text.len(), ' ')));
    for (at, c) in ends {
        match (start, c.is_alphanumeric()) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                found.push(word(text, from, at, begins));
                (start, begins) = (None, false);
            }
            _ => {}
        }
        begins |= matches!(c, '.' | '!' | '?' | '\n' | '。');
    }
    found
}

fn word(text: &str, start: usize, end: usize, begins: bool) -> Word {
    let written = &text[start..end];
    let lower = written.to_lowercase();
    let capital = written.chars().next().is_some_and(char::is_uppercase);
    // A code of capital letters is one wherever it stands.
    let in_capitals = written.chars().count() >= 2 && !written.chars().any(char::is_lowercase);
    let is_name_like = capital && (!begins || in_capitals) && !names_nobody(&lower);
    let has_digit = written.chars().any(char::is_numeric);
    Word { lower, start, end, has_digit, is_name_like }
}

/// True if a word identifies nobody, with or without a capital.
fn names_nobody(lower: &str) -> bool {
    is_common(lower) || CAPITALISED.binary_search(&lower).is_ok()
}

/// Every three words that follow one another.
pub fn runs(words: &[Word]) -> impl Iterator<Item = Run> {
    words.windows(3).map(|three| [0, 1, 2].map(|place| three[place].lower.clone()))
}

/// True if a run has a word that is no stop word.
pub fn says_something(run: &Run) -> bool {
    run.iter().any(|word| !is_common(word))
}

/// The parts of a user id that could name its person, lower case.
pub fn id_parts(user_id: &UserId) -> BTreeSet<String> {
    let parts = words(user_id).into_iter().map(|word| word.lower);
    parts.filter(|p| p.chars().count() >= 3 && !GENERIC.contains(&p.as_str())).collect()
}

/// Names that a text gives away by what stands around them, lower case.
pub fn stated_names(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let lower = text.to_lowercase();
    let is_name = |word: &str| {
        word.chars().next().is_some_and(char::is_uppercase) && word.chars().count() >= 2
    };
    for before in BEFORE_NAMES {
        for (at, _) in lower.match_indices(before) {
            // Lower case can be longer than the original: then the place is off and nothing is found here.
            let rest = text.get(at + before.len()..).unwrap_or("");
            let rest = rest.split(['.', '!', '?', ',', ';']).next().unwrap_or(rest);
            let names = tokens(rest).take(3).map(|(_, name)| name);
            let names = names.take_while(|name| is_name(name)).map(str::to_lowercase);
            found.extend(names.filter(|name| !names_nobody(name)));
        }
    }
    for sentence in text.split_inclusive(['.', '!', '?', '\n']) {
        let mut words = tokens(sentence).map(|(_, word)| word);
        if let (Some(first), Some(second)) = (words.next(), words.next())
            && AFTER_NAMES.contains(&second.to_lowercase().as_str())
            && is_name(first)
            && !PRONOUNS.contains(&first.to_lowercase().as_str())
            && !names_nobody(&first.to_lowercase())
        {
            found.insert(first.to_lowercase());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_where_they_stand_and_how_they_are_written() {
        assert!(CAPITALISED.is_sorted());
        let text = "Ask Mia about 3JA7XV. Send the PDF: Invoice on Monday, XKQPDL";
        let found = words(text);
        let names: Vec<&str> =
            found.iter().filter(|w| w.is_name_like).map(|w| &text[w.start..w.end]).collect();
        assert_eq!(names, ["Mia", "XKQPDL"]);
        let digits: Vec<&str> =
            found.iter().filter(|w| w.has_digit).map(|w| w.lower.as_str()).collect();
        assert_eq!(digits, ["3ja7xv"]);
        assert!(words("").is_empty() && words(" …!").is_empty());
    }

    #[test]
    fn addresses_are_told_from_words() {
        for address in ["a@b", "https://x", "shop.example", "pay.example.com/card", "www.acme.io"] {
            assert!(is_address(address), "{address}");
        }
        for word in ["e.g", "and/or", "tax", "1.5", "U.S", "a.m", "well-known"] {
            assert!(!is_address(word), "{word}");
        }
    }

    #[test]
    fn names_are_known_by_what_stands_around_them() {
        let of = |text: &str| stated_names(text).into_iter().collect::<Vec<_>>();
        assert_eq!(of("My name is Mia Li, I am in hospital."), ["li", "mia"]);
        assert_eq!(of("Grace works in Arlington. It is far."), ["grace"]);
        assert!(of("I am in hospital and I'm German.").is_empty());
        assert_eq!(
            id_parts(&"ada.lovelace@example.org".into()).into_iter().collect::<Vec<_>>(),
            ["ada", "lovelace"]
        );
    }
}
