//! E-mail addresses, links and domains in a text.

/// The text between spaces, without the punctuation around it, with the byte it begins at.
pub fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().filter_map(|token| {
        let core = token.trim_matches(|c: char| !c.is_alphanumeric());
        let at = core.as_ptr() as usize - text.as_ptr() as usize;
        (!core.is_empty()).then_some((at, core))
    })
}

/// True if a token is an e-mail address, a link or a domain.
pub fn is_address(token: &str) -> bool {
    let labels = token.split(['/', '?', '#', ':']).next().unwrap_or(token).rsplit_once('.');
    let is_domain = labels.is_some_and(|(before, last)| {
        last.chars().count() >= 2
            && last.chars().all(char::is_alphabetic)
            && before.chars().rev().take_while(|c| c.is_alphanumeric()).count() >= 2
    });
    is_domain || token.contains('@') || token.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_words() {
        for text in
            ["see pay.example", "https://a.example/card", "to mia@example.org.", "go to evil.io/x"]
        {
            assert!(tokens(text).any(|(_, token)| is_address(token)), "{text}");
        }
        for text in ["Wait. Then pay 3.50 EUR", "e.g. a refund", "at 10.30", "and/or"] {
            assert!(!tokens(text).any(|(_, token)| is_address(token)), "{text}");
        }
    }
}
