//! Tokens of a text by the vocabulary cl100k_base.
//!
//! A text is split into pieces (words with the space before them, numbers of up to three digits, runs of signs, white space),
//! and each piece into tokens by byte-pair encoding: neighbours are joined, the pair with the smallest number first, until
//! no two of them make a token. The vocabulary is a table inside the program that is read where it lies.

mod merges;
mod pieces;
mod table;
mod vocabulary;

/// Number of tokens of a text, in time nearly linear in its length whatever the text is.
pub fn count(text: &str) -> usize {
    pieces::of(text).map(|piece| merges::count(piece.as_bytes())).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::count;

    #[test]
    fn counts_match_the_published_vocabulary() {
        // Well-known examples of cl100k_base.
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("tiktoken is great!"), 6);
        assert_eq!(count("お誕生日おめでとう"), 9);
        assert_eq!(count("antidisestablishmentarianism"), 6);
    }

    #[test]
    fn a_million_equal_letters_are_counted_quickly() {
        // Quadratic tokenizers need minutes for this.
        assert_eq!(count(&"a".repeat(1_000_000)), 125_000);
        assert_eq!(count(&" ".repeat(1_000_000)), by_reference(&" ".repeat(1_000_000)));
    }

    fn by_reference(text: &str) -> usize {
        bpe_openai::cl100k_base().count(text)
    }

    /// Texts of the kinds that are split in different ways, and of any letters at all.
    fn texts() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "[a-zA-Z]{1,12}",
            " [a-z]{1,8}",
            "[ \t\r\n\u{a0}\u{2028}\u{3000}]{1,6}",
            "[0-9٣²Ⅷ½]{1,8}",
            "'(s|S|ſ|t|re|RE|ve|m|ll|d|x|é)",
            "[!-/:-@{-~…«»€😀]{1,5}",
            "[\\p{L}\\p{M}\\p{N}]{1,6}",
            "\\PC{1,6}",
            any::<String>(),
        ];
        proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn every_text_has_as_many_tokens_as_by_the_reference(text in texts()) {
            prop_assert_eq!(count(&text), by_reference(&text), "{:?}", text);
        }

        #[test]
        fn long_pieces_too(letters in "[ab]{200,900}|[a-z]{200,400}|(é|ü|ß){100,300}") {
            prop_assert_eq!(count(&letters), by_reference(&letters), "{:?}", letters);
        }
    }
}
