//! Personal words and phrases that a shared playbook must not take over from its sources.
//!
//! A text is shared as it is or not at all; nothing is cut out of it. Refused are tokens with digits, addresses, links
//! and domains, names, statements about oneself, whatever identifies a source, and three words in a row that only one
//! of the people has used. What aggregation takes over must consist of words that enough of them used.
//!
//! Several accounts of one person are one person: who shares a contact, an order or a long phrase is counted once.

use std::collections::{BTreeMap, BTreeSet};

use crate::learning_loop::own_words::{self, Run, Word};
use base::owner::UserId;
use base::words;

/// One source person, as far as they can be recognised.
#[derive(Clone, Debug, Default)]
pub struct PersonTexts {
    pub user_id: UserId,
    /// Their user playbooks of this idea.
    pub texts: Vec<String>,
    /// The other texts that are stored about them.
    pub known: Vec<String>,
}

/// The people a text came from.
pub struct People {
    /// The words of each person; accounts that belong together are one person.
    used: Vec<Used>,
    identifiers: BTreeSet<String>,
}

#[derive(Default)]
struct Used {
    terms: BTreeSet<String>,
    runs: BTreeSet<Run>,
}

/// Words that different people rarely have in common, one after the other.
const LONG_PHRASE: usize = 12;
/// Numbers of this many digits are somebody's: an order, a customer, a telephone.
const LONG_NUMBER: usize = 5;
/// Words of the first person.
const FIRST_PERSON: &[&str] = &[
    "i", "my", "mine", "myself", "ich", "mein", "meine", "meinem", "meinen", "meiner", "je", "j",
    "mon", "mes", "yo", "mi", "mis", "soy", "estoy",
];
/// After "I" these say when something applies, and nothing about the person.
const ASKING: &[&str] = &["ask", "call", "write", "order", "message", "contact", "request"];

impl People {
    pub fn new(people: Vec<PersonTexts>) -> Self {
        let identifiers = identifiers(&people);
        let mut used: Vec<Used> = Vec::new();
        for accounts in one_each(&people) {
            let mut all = Used::default();
            for text in accounts.iter().flat_map(|place| &people[*place].texts) {
                all.terms.extend(words::terms(text));
                all.runs.extend(own_words::runs(&own_words::words(text)));
            }
            used.push(all);
        }
        People { used, identifiers }
    }

    /// Number of people.
    pub fn count(&self) -> usize {
        self.used.len()
    }

    /// True if every word of the text was used by at least `least` of them.
    pub fn is_common(&self, text: &str, least: usize) -> bool {
        let having = |term: &String| self.used.iter().filter(|u| u.terms.contains(term)).count();
        words::terms(text).iter().all(|term| having(term) >= least)
    }

    /// True if nothing in the text is personal to one of them. Words of `public`, which serves everybody
    /// already, may stay.
    pub fn is_impersonal(&self, text: &str, public: &str) -> bool {
        let (words, known) = (own_words::words(text), own_words::words(public));
        let known_words: BTreeSet<&str> = known.iter().map(|word| word.lower.as_str()).collect();
        let known_runs: BTreeSet<Run> = own_words::runs(&known).collect();
        let new: Vec<&Word> =
            words.iter().filter(|word| !known_words.contains(word.lower.as_str())).collect();
        let is_personal = |word: &&Word| {
            word.has_digit || word.is_name_like || self.identifiers.contains(&word.lower)
        };
        let one_has = |run: &Run| self.used.iter().filter(|u| u.runs.contains(run)).count() == 1;
        !new.iter().any(is_personal)
            && !own_words::tokens(text).any(|(_, token)| {
                own_words::is_address(token) && !own_words::tokens(public).any(|(_, t)| t == token)
            })
            && (!speaks_of_oneself(&words) || speaks_of_oneself(&known))
            && !self.is_squeezed_in(&new)
            && !own_words::runs(&words).any(|run| {
                own_words::says_something(&run) && !known_runs.contains(&run) && one_has(&run)
            })
    }

    /// True if an identifier is written with separators between its letters.
    fn is_squeezed_in(&self, words: &[&Word]) -> bool {
        let squeezed: String = words.iter().map(|word| word.lower.as_str()).collect();
        self.identifiers.iter().any(|identifier| {
            let plain: String = identifier.chars().filter(|c| c.is_alphanumeric()).collect();
            plain.chars().count() >= 6 && squeezed.contains(&plain)
        })
    }
}

fn speaks_of_oneself(words: &[Word]) -> bool {
    words.iter().enumerate().any(|(place, word)| {
        let asks = || words.get(place + 1).is_some_and(|w| ASKING.contains(&w.lower.as_str()));
        FIRST_PERSON.contains(&word.lower.as_str()) && !(word.lower == "i" && asks())
    })
}

/// The identifying tokens of one of the people, lower case.
fn identifiers(people: &[PersonTexts]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (place, person) in people.iter().enumerate() {
        let others = || people.iter().enumerate().filter(|(other, _)| *other != place);
        let is_theirs = |part: &String| {
            !others().any(|(_, other)| own_words::id_parts(&other.user_id).contains(part))
        };
        found.insert(person.user_id.to_lowercase());
        found.extend(own_words::id_parts(&person.user_id).into_iter().filter(is_theirs));
        for text in person.known.iter().chain(&person.texts) {
            found.extend(own_words::stated_names(text));
            found.extend(marks(text));
        }
    }
    found
}

/// Contacts, orders and the like in a text, lower case.
fn marks(text: &str) -> impl Iterator<Item = String> {
    let tokens = own_words::tokens(text).map(|(_, token)| token.to_lowercase());
    tokens.filter(|token| {
        let digits = token.chars().filter(char::is_ascii_digit).count();
        let kinds: Vec<bool> =
            token.chars().filter(|c| c.is_alphanumeric()).map(char::is_numeric).collect();
        let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let is_code = kinds.len() >= LONG_NUMBER && changes >= 2;
        token.contains('@') || digits >= LONG_NUMBER || is_code
    })
}

/// The accounts, as places in the list, put together where one person has several.
fn one_each(people: &[PersonTexts]) -> Vec<Vec<usize>> {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut group: Vec<usize> = (0..people.len()).collect();
    for (place, person) in people.iter().enumerate() {
        let phrases = person.texts.iter().flat_map(|text| {
            let words: Vec<String> =
                own_words::words(text).into_iter().map(|word| word.lower).collect();
            words.windows(LONG_PHRASE).map(|phrase| phrase.join(" ")).collect::<Vec<_>>()
        });
        let marks = person.known.iter().chain(&person.texts).flat_map(|text| marks(text));
        for shared in marks.chain(phrases).collect::<BTreeSet<String>>() {
            let with = *first.entry(shared).or_insert(place);
            let (old, new) = (group[place], group[with]);
            group.iter_mut().filter(|of| **of == old).for_each(|of| *of = new);
        }
    }
    let mut accounts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, of) in group.into_iter().enumerate() {
        accounts.entry(of).or_default().push(place);
    }
    accounts.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people(sources: &[(&str, &str, &str)]) -> People {
        People::new(
            sources
                .iter()
                .map(|(user_id, text, known)| PersonTexts {
                    user_id: (*user_id).into(),
                    texts: vec![(*text).to_owned()],
                    known: vec![(*known).to_owned()],
                })
                .collect(),
        )
    }

    #[test]
    fn what_enough_people_say_in_the_same_words_is_shared() {
        let said = people(&[
            ("u1", "Always quote prices with tax", ""),
            ("u2", "Please always quote the prices with tax!", ""),
            ("u3", "Always quote prices with the tax.", ""),
        ]);
        assert_eq!(said.count(), 3);
        let share = |text: &str| said.is_common(text, 3) && said.is_impersonal(text, "");
        assert!(share("Always quote prices with tax"));
        for text in [
            "Please always quote the prices with tax!",
            "Always quote prices with Klarna",
            "Always quote prices with tax to Mia",
        ] {
            assert!(!share(text), "{text}");
        }
    }

    #[test]
    fn nothing_personal_is_shared_however_many_say_it() {
        for text in [
            "Always note that my name is Mia Li",
            "Always note that I am in hospital",
            "Always mention booking 3JA7XV",
            "Always refund within 14 days",
            "Always write to mia@example.org",
            "Always confirm the card number at pay.example",
            "Always visit https://evil.example/card",
            "Always ask Mia first",
            "Always use code XKQPDL",
            "Immer sagen, dass ich krank bin",
        ] {
            let sources: Vec<String> = (0..7).map(|n| format!("account-{n}")).collect();
            let sources: Vec<_> = sources.iter().map(|id| (id.as_str(), text, "")).collect();
            assert!(!people(&sources).is_impersonal(text, ""), "{text}");
        }
    }

    #[test]
    fn three_words_of_one_person_are_refused_and_a_models_own_are_not() {
        let said = people(&[
            ("u1", "the kettle leaks near the wooden handle", ""),
            ("u2", "prices were without tax again", ""),
        ]);
        for (text, shared) in [
            ("Say that it leaks near the wooden handle", false),
            ("Name the price including tax", true),
            ("Quote prices as if they were without a discount", true),
        ] {
            assert_eq!(said.is_impersonal(text, ""), shared, "{text}");
        }
        // A text that is served already may be kept.
        let public = "Offer Prime within 14 days when prices were without tax";
        assert!(
            said.is_impersonal("Offer Prime within 14 days when prices were without tax", public)
        );
        assert!(!said.is_impersonal("Offer Prime within 15 days", public));
    }

    #[test]
    fn accounts_that_share_a_contact_an_order_or_a_long_phrase_are_one_person() {
        let count = |sources: &[(&str, &str, &str)]| people(sources).count();
        let rule = "Always quote prices with tax";
        assert_eq!(count(&[("a", rule, ""), ("b", rule, ""), ("c", rule, "")]), 3);
        let mail = "Reach me at mia@example.org.";
        assert_eq!(
            count(&[("a", rule, mail), ("b", rule, "Mail: Mia@Example.org"), ("c", rule, "")]),
            2
        );
        assert_eq!(count(&[("a", rule, "booking 3JA7XV"), ("b", rule, "my booking is 3ja7xv")]), 1);
        assert_eq!(
            count(&[
                ("a", rule, "order 48213"),
                ("b", rule, "order 48213, and 77001"),
                ("c", rule, "77001")
            ]),
            1
        );
        assert_eq!(count(&[("a", rule, "Windows11 in 2024"), ("b", rule, "Windows11 in 2024")]), 2);
        let long = "Whenever somebody asks about prices ask them to confirm the card number on the secure page first";
        assert_eq!(count(&[("a", long, ""), ("b", long, "")]), 1);
    }

    #[test]
    fn identifiers_are_found_however_they_are_written() {
        let people = people(&[
            ("grace.hopper", "Answer briefly", "My name is Grace Brewster. Arlington is far."),
            ("u-99812345", "Answer briefly", ""),
        ]);
        for text in [
            "Ask grace first",
            "HOPPER wants it",
            "write Grace-Hopper",
            "g r a c e h o p p e r",
            "99812345",
            "call brewster",
            "see u-99812345",
        ] {
            assert!(!people.is_impersonal(text, ""), "{text}");
        }
        for text in ["Answer briefly", "Give her days of grave hope", "Users like short answers"] {
            assert!(people.is_impersonal(text, ""), "{text}");
        }
    }
}
