//! From text to terms: what full-text search, likeness and hashed vectors compare.
//!
//! Text is normalised (NFKC, lower case, without accents), cut into words at everything that is neither letter
//! nor digit, and English endings are taken off. Scripts that write without spaces are cut into pairs of
//! neighbouring characters, which finds any substring of two or more; the last character of a run stands alone
//! too, so that a single character is found as the beginning of a pair.

use std::collections::BTreeSet;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::decompose_canonical;

/// Terms kept of one text; what comes later is stored but not found.
const INDEXED_TERMS: usize = 20_000;
/// Terms looked for; a query is a question, not a document.
const QUERY_TERMS: usize = 32;
/// Longer words are cut here, in the index and in queries.
const TERM_CHARS: usize = 40;

/// A term that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextTerm {
    pub text: String,
    /// Terms that begin with it are found too.
    pub prefix: bool,
}

/// The terms of a text, in order and with repetitions.
pub fn terms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    each_run(text, |run| {
        match run {
            Run::Word(word) => found.push(stem(word)),
            Run::Unspaced(chars) => {
                found.extend(chars.windows(2).map(String::from_iter));
                found.extend(chars.last().map(char::to_string));
            }
        }
        found.len() < INDEXED_TERMS
    });
    found.truncate(INDEXED_TERMS);
    found
}

/// The terms of several texts, one after the other.
pub fn terms_of(texts: &[&str]) -> Vec<String> {
    let all = texts.iter().flat_map(|text| terms(text));
    all.take(INDEXED_TERMS).collect()
}

/// The distinct terms of a text, without words that are everywhere.
pub fn distinct(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_run(text, |run| {
        match run {
            Run::Word(word) if is_common(word) && word != "nicht" => {}
            Run::Word(word) => {
                found.insert(stem(word));
            }
            Run::Unspaced(chars) => {
                found.extend(chars.windows(2).map(String::from_iter));
            }
        }
        found.len() < INDEXED_TERMS
    });
    found
}

/// The terms of a query: distinct, without words that are everywhere unless there are no others.
pub fn query_terms(query: &str) -> Vec<TextTerm> {
    let (mut kept, mut common, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    each_run(query, |run| {
        let mut take = |text: String, prefix: bool, is_common: bool| {
            if seen.insert((text.clone(), prefix)) {
                let list = if is_common { &mut common } else { &mut kept };
                list.push(TextTerm { text, prefix });
            }
        };
        match run {
            Run::Word(word) => take(stem(word), false, is_common(word)),
            Run::Unspaced([alone]) => take(alone.to_string(), true, false),
            Run::Unspaced(chars) => {
                for pair in chars.windows(2) {
                    take(String::from_iter(pair), false, false);
                }
            }
        }
        kept.len() < QUERY_TERMS
    });
    let mut terms = if kept.is_empty() { common } else { kept };
    terms.truncate(QUERY_TERMS);
    terms
}

enum Run<'a> {
    Word(&'a str),
    Unspaced(&'a [char]),
}

/// Calls `take` for each word and each run of characters without spaces, until it says to stop.
fn each_run(text: &str, mut take: impl FnMut(Run<'_>) -> bool) {
    let (mut word, mut length, mut unspaced) = (String::new(), 0, Vec::new());
    let mut go_on = true;
    // A space at the end closes the last run.
    for c in text.nfkc().chain(std::iter::once(' ')) {
        if !go_on {
            return;
        }
        let is_unspaced = is_unspaced(c);
        if !is_unspaced && !unspaced.is_empty() {
            go_on = take(Run::Unspaced(&unspaced));
            unspaced.clear();
        }
        if is_unspaced || !c.is_alphanumeric() {
            if !word.is_empty() {
                go_on &= take(Run::Word(&word));
                word.clear();
                length = 0;
            }
            if is_unspaced {
                unspaced.push(c);
            }
        } else if length < TERM_CHARS {
            for lower in c.to_lowercase() {
                push_plain(&mut word, lower);
                length += 1;
            }
        }
    }
}

/// Latin, Greek and Cyrillic letters lose their accents; others keep them, where they often are letters.
fn push_plain(word: &mut String, c: char) {
    match c {
        'ß' => word.push_str("ss"),
        'ø' => word.push('o'),
        'æ' => word.push_str("ae"),
        'œ' => word.push_str("oe"),
        'ł' => word.push('l'),
        c if c.is_ascii() || c > '\u{1fff}' || ('\u{530}'..'\u{1e00}').contains(&c) => {
            if c.is_alphanumeric() {
                word.push(c);
            }
        }
        c => {
            let mut base = None;
            decompose_canonical(c, |part| base = base.or(Some(part)));
            word.extend(base.filter(|c| c.is_alphanumeric()));
        }
    }
}

/// Scripts that write without spaces between words, and Hangul, whose words carry their particles.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e01}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' // Thai, Lao, Burmese, Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' // Hangul
        | '\u{20000}'..='\u{323af}')
        && c != '\u{30fb}'
}

/// True if a lower-case word is a stop word.
pub fn is_common(word: &str) -> bool {
    COMMON.binary_search(&word).is_ok()
}

fn stem(word: &str) -> String {
    if word.len() > 2 && word.bytes().all(|b| b.is_ascii_lowercase()) {
        Stemmer::create(Algorithm::English).stem(word).into_owned()
    } else {
        word.to_owned()
    }
}

/// Words that carry little meaning in English, German, French and Spanish, as they stand after normalisation;
/// sorted.
const COMMON: &[&str] = &[
    "a", "about", "an", "and", "any", "are", "as", "at", "au", "aux", "avec", "be", "been", "but",
    "by", "can", "con", "could", "da", "dans", "das", "de", "del", "dem", "den", "der", "des",
    "did", "die", "do", "does", "du", "ein", "eine", "einem", "einen", "einer", "el", "en", "er",
    "es", "est", "et", "for", "from", "fur", "had", "has", "have", "he", "her", "his", "how", "i",
    "ich", "if", "il", "im", "in", "ist", "it", "its", "je", "la", "las", "le", "les", "los", "me",
    "mein", "meine", "mi", "mit", "mon", "my", "nicht", "of", "on", "or", "our", "para", "pour",
    "que", "qui", "s", "se", "she", "should", "sich", "sie", "sind", "so", "su", "sur", "that",
    "the", "their", "them", "there", "they", "this", "to", "un", "und", "une", "us", "von", "vous",
    "was", "we", "were", "what", "when", "where", "which", "who", "why", "wie", "will", "with",
    "would", "you", "your", "zu", "zum", "zur",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn looked_for(query: &str) -> Vec<String> {
        query_terms(query).into_iter().map(|t| t.text).collect()
    }

    #[test]
    fn words_are_folded_and_stemmed() {
        assert_eq!(terms("Refunds, refunded & REFUNDING!"), ["refund"; 3]);
        assert_eq!(terms("Größe Łódź œuvre"), ["gross", "lodz", "oeuvr"]);
        assert_eq!(terms("ﬁle Ａ１ ½"), ["file", "a1", "1", "2"]);
        assert_eq!(terms("Привет, мир"), ["привет", "мир"]);
        assert!(terms(" \u{0}-?!\"*() ").is_empty());
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        assert_eq!(terms("東京都で"), ["東京", "京都", "都で", "で"]);
        assert_eq!(looked_for("京都"), ["京都"]);
        assert_eq!(terms("ｶﾞｽ"), ["ガス", "ス"]);
        let alone = query_terms("猫");
        assert_eq!(alone, [TextTerm { text: "猫".to_owned(), prefix: true }]);
        assert_eq!(terms("iOSアプリ v2"), ["io", "アプ", "プリ", "リ", "v2"]);
    }

    #[test]
    fn common_words_count_only_when_alone() {
        assert_eq!(looked_for("how do I get the refund for my kettle"), ["get", "refund", "kettl"]);
        assert_eq!(looked_for("who are you"), ["who", "are", "you"]);
        assert!(COMMON.is_sorted());
    }

    #[test]
    fn everything_is_bounded_and_no_term_carries_query_syntax() {
        assert_eq!(terms(&"x".repeat(5000)), ["x".repeat(TERM_CHARS)]);
        assert_eq!(terms(&"word ".repeat(30_000)).len(), INDEXED_TERMS);
        assert_eq!(terms(&"語".repeat(30_000)).len(), INDEXED_TERMS);
        let many: String = (0..500).map(|n| format!("w{n} ")).collect();
        assert_eq!(query_terms(&many).len(), QUERY_TERMS);
        let odd = "naïve' OR \"x\" NEAR/2 {col}: a*b ^c ١٢٣ नमस्ते ไทย é\u{301} İstanbul";
        for term in terms(odd) {
            let plain = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric();
            assert!(!term.is_empty() && term.chars().all(plain), "{term:?}");
        }
    }
}
