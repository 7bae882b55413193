//! Similarity of two learnings: by their words, and by their vectors where there are any.

use std::collections::BTreeSet;

use super::vectors::Compact;
use base::words;

/// From this share of common words on, two texts say the same.
const SAME_WORDS: f64 = 0.8;
/// From this share on, they are about the same thing.
const RELATED_WORDS: f64 = 0.6;
/// From this cosine of their vectors on, two texts say the same.
const SAME_VECTORS: f32 = 0.92;

/// A text as it is compared.
#[derive(Clone, Debug, Default)]
pub struct Likeness {
    terms: BTreeSet<String>,
    numbers: BTreeSet<String>,
    is_negative: bool,
    vector: Option<Compact>,
}

/// Relation of a new text to an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Same,
    /// About the same, but no longer the same: the newer holds.
    Changed,
    Different,
}

/// Words that turn a statement round. They do not count as common words.
const POLARITY: &[&str] = &[
    "always", "alway", "never", "not", "no", "don", "without", "stop", "avoid", "immer", "nie",
    "niemal", "nicht", "kein", "keine", "toujour", "jamai", "siempr", "nunca", "please", "bitte",
];
const NEGATIVE: &[&str] = &[
    "never", "not", "no", "don", "without", "stop", "avoid", "nie", "niemal", "nicht", "kein",
    "keine", "jamai", "nunca",
];

impl Likeness {
    pub fn of(text: &str) -> Self {
        let mut found = Likeness::default();
        for term in words::distinct(text) {
            found.is_negative |= NEGATIVE.contains(&term.as_str());
            if term.chars().any(|c| c.is_ascii_digit()) {
                found.numbers.insert(term.clone());
            }
            if !POLARITY.contains(&term.as_str()) {
                found.terms.insert(term);
            }
        }
        found
    }

    /// With a stored vector, as [`Compact::to_bytes`] writes it.
    pub fn with_vector(mut self, vector: Option<impl AsRef<[u8]>>) -> Self {
        self.vector = vector.and_then(|bytes| Compact::from_bytes(bytes.as_ref()));
        self
    }

    pub fn terms(&self) -> &BTreeSet<String> {
        &self.terms
    }

    /// The words that both have, as a share of all (Dice); 0 when one has none.
    pub fn common(&self, other: &Self) -> f64 {
        dice(&self.terms, &other.terms)
    }

    /// Relation of this text, the newer, to `older`.
    pub fn relation(&self, older: &Self) -> Relation {
        let words = self.common(older);
        let same = words >= SAME_WORDS || self.cosine(older) >= SAME_VECTORS;
        let agrees = self.is_negative == older.is_negative && self.numbers == older.numbers;
        match same {
            true if agrees => Relation::Same,
            true => Relation::Changed,
            false if words >= RELATED_WORDS => Relation::Changed,
            false => Relation::Different,
        }
    }

    /// True if both texts mean the same, from different people.
    pub fn agrees(&self, other: &Self) -> bool {
        self.agrees_by(self.common(other), other)
    }

    /// [`Likeness::agrees`] for those who know [`Likeness::common`] already.
    pub fn agrees_by(&self, common: f64, other: &Self) -> bool {
        self.is_negative == other.is_negative
            && (common >= RELATED_WORDS || self.cosine(other) >= SAME_VECTORS)
    }

    fn cosine(&self, other: &Self) -> f32 {
        let (Some(a), Some(b)) = (&self.vector, &other.vector) else { return -1.0 };
        a.cosine(b).unwrap_or(-1.0)
    }
}

/// Twice the common part over the sum of both.
pub fn dice(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    dice_of(a.intersection(b).count(), a.len(), b.len())
}

/// [`dice`] from the sizes of the common part and of both; 0 when one is empty.
pub fn dice_of(common: usize, a: usize, b: usize) -> f64 {
    if a == 0 || b == 0 {
        return 0.0;
    }
    2.0 * common as f64 / (a + b) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(newer: &str, older: &str) -> Relation {
        Likeness::of(newer).relation(&Likeness::of(older))
    }

    #[test]
    fn the_same_changed_and_other_statements() {
        let metric = "Always answer in metric units";
        assert_eq!(relation("Please always answer in metric units!", metric), Relation::Same);
        assert_eq!(relation("Never answer in metric units", metric), Relation::Changed);
        let slack = "We use Slack for alerts";
        assert_eq!(relation("We use Teams for alerts", slack), Relation::Changed);
        assert_eq!(relation("Refunds within 30 days", "Refunds within 14 days"), Relation::Changed);
        assert_eq!(relation("Always answer in German", metric), Relation::Different);
        assert_eq!(relation("", ""), Relation::Different);
    }

    #[test]
    fn vectors_find_what_words_do_not() {
        let vector = |v: &[f32]| Compact::new(v).map(|c| c.to_bytes());
        let one = Likeness::of("send it by post").with_vector(vector(&[1.0, 0.1]));
        let two = Likeness::of("mail the parcel").with_vector(vector(&[1.0, 0.12]));
        assert_eq!(one.relation(&two), Relation::Same);
        let other = Likeness::of("mail the parcel").with_vector(vector(&[0.0, 1.0]));
        assert_eq!(one.relation(&other), Relation::Different);
    }
}
