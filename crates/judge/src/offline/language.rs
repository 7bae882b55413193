//! The language of a text, by script and function words: enough to know whether the rules' cues apply to it.

use std::collections::HashMap;
use std::sync::LazyLock;

base::vocabulary! {
    /// A language that the rules have cues of, or none of them.
    pub enum Language {
        English = "en",
        German = "de",
        French = "fr",
        Spanish = "es",
        Portuguese = "pt",
        Italian = "it",
        Chinese = "zh",
        Japanese = "ja",
        Korean = "ko",
        Russian = "ru",
        /// A language without cues.
        Other = "other",
        /// Too few words to tell.
        Unknown = "unknown",
    }
}

impl Language {
    /// Whether the rules know words of it. A text of a few words is taken at its word: a cue in it is one.
    pub fn is_covered(self) -> bool {
        self != Language::Other
    }
}

/// Words that are common in one language and rare in the others here. Dutch, Polish, Turkish, Swedish, Czech and
/// Vietnamese stand in for all that is written with the same letters and has no cues.
const FUNCTION_WORDS: &[(Language, &[&str])] = &[
    (
        Language::English,
        &[
            "the", "and", "is", "are", "was", "you", "your", "my", "it", "its", "this", "that",
            "to", "of", "for", "with", "have", "not", "can", "what", "how", "where", "please",
            "thanks", "thank", "i", "im", "ive", "yes", "would", "could", "be", "on", "a",
        ],
    ),
    (
        Language::German,
        &[
            "der", "die", "das", "und", "ist", "nicht", "ich", "sie", "mit", "für", "ein", "eine",
            "mein", "meine", "wie", "wo", "kann", "bitte", "danke", "zu", "auf", "den", "es",
            "auch", "noch", "haben", "habe", "wir",
        ],
    ),
    (
        Language::French,
        &[
            "le", "la", "les", "des", "et", "est", "une", "un", "pas", "pour", "je", "vous", "mon",
            "ma", "mes", "ne", "que", "avec", "merci", "cest", "jai", "sur", "dans", "votre", "du",
        ],
    ),
    (
        Language::Spanish,
        &[
            "el", "la", "los", "las", "una", "por", "para", "con", "mi", "no", "es", "que", "y",
            "gracias", "está", "cómo", "qué", "del", "su", "se", "pero", "muy", "favor",
        ],
    ),
    (
        Language::Portuguese,
        &[
            "o", "os", "uma", "um", "para", "com", "meu", "minha", "não", "é", "que", "e",
            "obrigado", "obrigada", "você", "está", "do", "da", "na", "seu", "mas", "favor",
        ],
    ),
    (
        Language::Italian,
        &[
            "il", "lo", "gli", "una", "un", "per", "con", "mio", "mia", "non", "è", "che", "e",
            "grazie", "della", "del", "sono", "ho", "come", "questo", "ma", "favore",
        ],
    ),
    (
        Language::Other,
        &[
            "het",
            "een",
            "niet",
            "ik",
            "mijn",
            "van",
            "dat",
            "naar",
            "maar",
            "bedankt",
            "wat",
            "nie",
            "jest",
            "się",
            "moje",
            "mój",
            "że",
            "dlaczego",
            "proszę",
            "dziękuję",
            "bir",
            "ve",
            "için",
            "değil",
            "bu",
            "det",
            "och",
            "inte",
            "jag",
            "tack",
            "som",
            "není",
            "jsem",
            "prosím",
            "không",
            "của",
            "tôi",
            "ini",
            "tidak",
            "saya",
            "yang",
        ],
    ),
];

/// The language with the most function words; other scripts by their letters.
pub fn language(plain: &str) -> Language {
    let (mut letters, mut other) = (0u32, 0u32);
    let (mut kana, mut han, mut hangul, mut cyrillic, mut latin) = (0u32, 0u32, 0u32, 0u32, 0u32);
    for c in plain.chars().filter(|c| c.is_alphabetic()) {
        letters += 1;
        match c {
            '\u{3040}'..='\u{30FF}' => kana += 1,
            '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' => han += 1,
            '\u{AC00}'..='\u{D7AF}' => hangul += 1,
            '\u{0400}'..='\u{04FF}' => cyrillic += 1,
            '\u{0041}'..='\u{024F}' | '\u{1E00}'..='\u{1EFF}' => latin += 1,
            _ => other += 1,
        }
    }
    let most = kana.max(han).max(hangul).max(cyrillic).max(latin).max(other);
    match most {
        _ if letters == 0 => Language::Unknown,
        n if n == other => Language::Other,
        // Japanese is written with Chinese characters too, Chinese without kana.
        _ if kana * 5 > letters || (kana > 0 && han > latin) => Language::Japanese,
        n if n == han => Language::Chinese,
        n if n == hangul => Language::Korean,
        n if n == cyrillic && plain.contains(['і', 'ї', 'є', 'ґ', 'ў', 'ј', 'љ', 'њ', 'ђ']) => {
            Language::Other
        }
        n if n == cyrillic => Language::Russian,
        _ => by_function_words(plain),
    }
}

fn by_function_words(plain: &str) -> Language {
    /// Which of the lists each word is in, by place.
    static LISTS: LazyLock<HashMap<&str, Vec<usize>>> = LazyLock::new(|| {
        let mut lists: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, (_, words)) in FUNCTION_WORDS.iter().enumerate() {
            for word in *words {
                lists.entry(word).or_default().push(place);
            }
        }
        lists
    });
    let mut counts = [0usize; FUNCTION_WORDS.len()];
    let mut words = 0;
    for word in plain.split_whitespace() {
        words += 1;
        for place in LISTS.get(word).into_iter().flatten() {
            counts[*place] += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    match counts.iter().position(|count| *count == most) {
        Some(place) if most > 0 => FUNCTION_WORDS[place].0,
        // Many words and no function word of any of them.
        _ if words >= 6 => Language::Other,
        _ => Language::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline::words::plain;

    #[test]
    fn languages_are_told_apart_and_strangers_are_other() {
        for (text, expected) in [
            ("Where is my order? I have been waiting for the parcel.", Language::English),
            ("Wo ist mein Paket? Ich warte auf die Lieferung.", Language::German),
            ("Où est mon colis ? Je ne le trouve pas.", Language::French),
            ("¿Dónde está el pedido? No lo encuentro.", Language::Spanish),
            ("Onde está o meu pedido? Não encontro.", Language::Portuguese),
            ("Dov'è il mio ordine? Non lo trovo.", Language::Italian),
            ("我的包裹在哪里？", Language::Chinese),
            ("荷物はどこですか？", Language::Japanese),
            ("제 소포는 어디에 있나요?", Language::Korean),
            ("Где моя посылка?", Language::Russian),
            ("मेरा पार्सल कहाँ है?", Language::Other),
            ("أين طردي؟", Language::Other),
            ("Waar is mijn pakket? Ik heb het niet gekregen.", Language::Other),
            ("Gdzie jest moje zamówienie? Nie działa.", Language::Other),
            ("Де моє замовлення? Я його не отримав.", Language::Other),
            ("42", Language::Unknown),
        ] {
            assert_eq!(language(&plain(text)), expected, "{text}");
        }
    }
}
