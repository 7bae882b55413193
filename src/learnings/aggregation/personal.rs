//! What must not be carried over from the people a playbook came from.
//!
//! Two passes that know nothing of each other. [`People::impersonal`] takes out e-mail addresses, links, numbers, ids,
//! and names: words with a capital letter that no other source person uses, and what is known to identify one of them.
//! [`People::is_impersonal`] then looks for every identifier of every source person, however it is written, and refuses
//! a text that still has one. A word that at least two of the people use is part of what they share.

use std::collections::BTreeSet;

/// One source person, as far as they can be recognised.
#[derive(Clone, Debug, Default)]
pub struct Person {
    pub user_id: String,
    /// Their playbooks in the cluster.
    pub texts: Vec<String>,
    /// What is known about them.
    pub profiles: Vec<String>,
}

/// The people a text came from.
pub struct People {
    people: Vec<Person>,
    /// The words each of them uses, lower case.
    words: Vec<BTreeSet<String>>,
    identifiers: BTreeSet<String>,
}

/// Parts of user ids that name nobody.
const GENERIC: &[&str] = &[
    "user", "users", "customer", "client", "guest", "account", "agent", "test", "admin", "member",
    "person", "mail", "com", "org", "net", "gmail", "example", "the", "and",
];
/// What stands before a name.
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
/// What stands after a name at the beginning of a sentence.
const AFTER_NAMES: &[&str] = &[
    "is", "was", "has", "wants", "lives", "works", "uses", "prefers", "likes", "needs", "asked",
    "said", "ist", "hat", "will", "est", "es",
];
const PRONOUNS: &[&str] = &["he", "she", "they", "it", "this", "that", "user", "who", "what"];
/// Numbers of more digits say who or which; shorter ones that several people use say how many.
const FEW_DIGITS: usize = 4;

impl People {
    pub fn new(people: Vec<Person>) -> Self {
        let words = people
            .iter()
            .map(|person| person.texts.iter().flat_map(|text| cores(text)).collect())
            .collect();
        let mut all = People { people, words, identifiers: BTreeSet::new() };
        let found: Vec<BTreeSet<String>> =
            (0..all.people.len()).map(|place| all.identifiers_of(place)).collect();
        all.identifiers = found.into_iter().flatten().collect();
        all
    }

    /// Whether at least two of the people use this word.
    fn is_shared(&self, word: &str) -> bool {
        self.words.iter().filter(|words| words.contains(word)).count() >= 2
    }

    /// What identifies one of them, lower case.
    fn identifiers_of(&self, place: usize) -> BTreeSet<String> {
        let person = &self.people[place];
        let id = person.user_id.to_lowercase();
        let others = self.people.iter().enumerate().filter(|(other, _)| *other != place);
        let elsewhere: Vec<BTreeSet<String>> =
            others.map(|(_, other)| parts(&other.user_id.to_lowercase())).collect();
        let mut found: BTreeSet<String> = parts(&id)
            .into_iter()
            .filter(|part| part.chars().count() >= 3 && !GENERIC.contains(&part.as_str()))
            .filter(|part| !elsewhere.iter().any(|parts| parts.contains(part)))
            .collect();
        for text in person.profiles.iter().chain(&person.texts) {
            found.extend(stated_names(text));
        }
        for text in &person.profiles {
            found.extend(capitalised(text).filter(|name| !self.is_shared(name)));
            found
                .extend(cores(text).filter(|word| word.contains('@') || digits(word) > FEW_DIGITS));
        }
        found.insert(id);
        found
    }

    /// The text without anything that belongs to one of them.
    pub fn impersonal(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut begins = true;
        for chunk in text.split_inclusive(char::is_whitespace) {
            let word = chunk.trim_end();
            let space = &chunk[word.len()..];
            let core = core(word);
            match self.stand_in(core, begins) {
                // A plus before a number says that it is a telephone's.
                Some(stand_in) => {
                    out.push_str(&word.trim_start_matches('+').replacen(core, stand_in, 1));
                }
                None => out.push_str(word),
            }
            out.push_str(space);
            begins = word.ends_with(['.', '!', '?', ':', '。']) || (begins && core.is_empty());
        }
        out.trim().to_owned()
    }

    /// What is written instead of a word, if it must not stand.
    fn stand_in(&self, core: &str, begins: bool) -> Option<&'static str> {
        let lower = core.to_lowercase();
        if core.contains('@') {
            return Some("[e-mail]");
        }
        if lower.contains("://") || lower.starts_with("www.") {
            return Some("[link]");
        }
        let digits = digits(core);
        if digits > 0 && (digits > FEW_DIGITS || !self.is_shared(&lower)) {
            let only = core.chars().all(|c| !c.is_alphabetic());
            return Some(if only { "[number]" } else { "[id]" });
        }
        if self.identifiers.contains(&lower)
            || parts(&lower).iter().any(|p| self.identifiers.contains(p))
        {
            return Some("[name]");
        }
        let capital = core.chars().next().is_some_and(char::is_uppercase);
        let acronym = core.chars().count() >= 2 && core.chars().all(|c| !c.is_lowercase());
        (capital && !acronym && !begins && !self.is_shared(&lower)).then_some("[name]")
    }

    /// Whether nothing in the text identifies one of them.
    pub fn is_impersonal(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        // Without separators, so that "a d a" and "ada.lovelace" are found too.
        let squeezed: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
        let words = parts(&lower);
        let identified = self.identifiers.iter().any(|identifier| {
            let plain: String = identifier.chars().filter(|c| c.is_alphanumeric()).collect();
            words.contains(identifier) || (plain.chars().count() >= 6 && squeezed.contains(&plain))
        });
        let longest_number =
            lower.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
        !identified && !lower.contains('@') && longest_number <= FEW_DIGITS
    }
}

/// A word without the punctuation around it.
fn core(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

fn cores(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace().map(|word| core(word).to_lowercase()).filter(|word| !word.is_empty())
}

fn parts(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn digits(word: &str) -> usize {
    word.chars().filter(char::is_ascii_digit).count()
}

/// Words with a capital letter that do not begin a sentence, lower case.
fn capitalised(text: &str) -> impl Iterator<Item = String> {
    let mut begins = true;
    text.split_whitespace().filter_map(move |word| {
        let core = core(word);
        let capital = core.chars().next().is_some_and(char::is_uppercase);
        let found = capital && !begins && core.chars().count() >= 3 && core != "I";
        begins = word.ends_with(['.', '!', '?', ':']);
        found.then(|| core.to_lowercase())
    })
}

/// Names that a text gives away by what stands around them, lower case.
fn stated_names(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let lower = text.to_lowercase();
    for before in BEFORE_NAMES {
        for (at, _) in lower.match_indices(before) {
            // Where lower case is longer than the original, the place is off and nothing is found here.
            let rest = text.get(at + before.len()..).unwrap_or("");
            let rest = rest.split(['.', '!', '?', ',', ';']).next().unwrap_or(rest);
            let names = rest.split_whitespace().take(3).map(core);
            let names = names.take_while(|n| n.chars().next().is_some_and(char::is_uppercase));
            found.extend(names.filter(|n| n.chars().count() >= 3).map(str::to_lowercase));
        }
    }
    for sentence in text.split_inclusive(['.', '!', '?', '\n']) {
        let mut words = sentence.split_whitespace().map(core);
        if let (Some(first), Some(second)) = (words.next(), words.next())
            && AFTER_NAMES.contains(&second.to_lowercase().as_str())
            && first.chars().next().is_some_and(char::is_uppercase)
            && first.chars().count() >= 3
            && !PRONOUNS.contains(&first.to_lowercase().as_str())
        {
            found.insert(first.to_lowercase());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people(sources: &[(&str, &str, &str)]) -> People {
        People::new(
            sources
                .iter()
                .map(|(user_id, text, profile)| Person {
                    user_id: (*user_id).to_owned(),
                    texts: vec![(*text).to_owned()],
                    profiles: vec![(*profile).to_owned()],
                })
                .collect(),
        )
    }

    #[test]
    fn what_is_one_persons_goes_and_what_is_shared_stays() {
        let text = "When Ada asks about order 48213 or K-77X, post to Slack within 14 days and write to \
                    ada@example.org, +49 170 1234567, see https://x.example/ada";
        let people = people(&[
            ("ada.lovelace@example.org", text, "Ada lives in London."),
            ("user-2", "Post it to Slack within 14 days", "Prefers short answers."),
        ]);
        let clean = people.impersonal(text);
        assert_eq!(
            clean,
            "When [name] asks about order [number] or [id], post to Slack within 14 days and write to \
             [e-mail], [number] [number] [number], see [link]"
        );
        assert!(people.is_impersonal(&clean));
        assert!(!people.is_impersonal(text));
    }

    #[test]
    fn the_check_finds_identifiers_however_they_are_written() {
        let people = people(&[
            (
                "grace.hopper",
                "Answer briefly",
                "My name is Grace Brewster. She works in Arlington.",
            ),
            ("u-99812345", "Answer briefly", ""),
        ]);
        for text in [
            "Ask grace first",
            "HOPPER wants it",
            "write Grace-Hopper",
            "g r a c e h o p p e r",
            "99812345",
            "As in arlington",
            "call brewster",
            "a@b",
            "order 123456",
            "see u-99812345",
        ] {
            assert!(!people.is_impersonal(text), "{text}");
        }
        for text in ["Answer briefly", "Give her 14 days of grave hope", "Users like short answers"]
        {
            assert!(people.is_impersonal(text), "{text}");
        }
    }
}
