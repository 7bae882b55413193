//! Token counts of what was said (cl100k_base), in time linear in the text whatever the text is.

/// Texts above this size are counted on a thread of their own.
const LARGE: usize = 32 * 1024;

/// Tokens of each text.
pub async fn count_all(texts: Vec<String>) -> Vec<i64> {
    let count = |texts: &[String]| texts.iter().map(|text| count(text)).collect();
    if texts.iter().map(String::len).sum::<usize>() <= LARGE {
        return count(&texts);
    }
    let lengths = texts.len();
    tokio::task::spawn_blocking(move || count(&texts)).await.unwrap_or_else(|_| vec![0; lengths])
}

fn count(text: &str) -> i64 {
    if text.is_empty() {
        return 0;
    }
    i64::try_from(bpe_openai::cl100k_base().count(text)).unwrap_or(i64::MAX)
}

/// Loads the vocabulary, so that the first publish need not.
pub fn warm() {
    let _ = count("warm");
}

#[cfg(test)]
mod tests {
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
        assert!(count(&"a".repeat(1_000_000)) > 0);
    }
}
