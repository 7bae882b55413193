//! Token counts of what was said (cl100k_base).

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
    i64::try_from(tokens::count(text)).unwrap_or(i64::MAX)
}
