//! Ranking: BM25 over the candidates that the full-text index gave, and the fusion of two rankings.
//!
//! The engines only find candidates. What comes first is decided here, so it is the same on both. Frequencies
//! are counted among the candidates: they are all the rows of one person (or organization) that have any of the
//! query's terms, so nobody else's texts weigh in.

use std::cmp::Reverse;

use storage::db::TextTerm;

/// A row that has some of the query's terms.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Candidate {
    pub no: i64,
    /// The row's terms behind their scope, separated by spaces.
    pub terms: String,
}

const K1: f64 = 1.2;
const B: f64 = 0.5;
/// Weight of a word that is only similar, relative to an exact match.
pub const SIMILAR_WEIGHT: f64 = 0.6;
/// The constant of reciprocal rank fusion.
const FUSION_K: f64 = 60.0;

/// BM25 among `rows` rows of `length` words together.
pub struct Bm25 {
    rows: f64,
    average: f64,
}

impl Bm25 {
    pub fn new(rows: usize, length: f64) -> Self {
        let rows = rows as f64;
        Bm25 { rows, average: (length / rows.max(1.0)).max(1.0) }
    }

    /// IDF weight of a term found in `having` rows.
    pub fn rarity(&self, having: usize) -> f64 {
        let having = having as f64;
        (1.0 + (self.rows - having + 0.5) / (having + 0.5)).ln()
    }

    /// BM25 weight of a term frequency, normalized by the row's length.
    pub fn share(&self, frequency: f64, length: f64) -> f64 {
        let norm = K1 * (1.0 - B + B * length / self.average);
        frequency * (K1 + 1.0) / (frequency + norm)
    }
}

/// The best candidates first; ties go to the newer row. Terms that no candidate has stand for
/// words that begin with them or differ by a slip.
pub fn by_text(candidates: &[Candidate], query: &[TextTerm], most: usize) -> Vec<i64> {
    let counted = count(candidates, query);
    let missing = missing_terms(&counted, query);
    let bm25 = Bm25::new(counted.len(), counted.iter().map(|c| c.length).sum());
    let mut scores = vec![0.0; counted.len()];
    for (index, term) in query.iter().enumerate() {
        let similar = missing[index] && is_forgiving(term);
        let frequencies: Vec<f64> = if similar {
            counted.iter().map(|row| similar_words(row, &term.text)).collect()
        } else {
            counted.iter().map(|c| c.frequencies[index]).collect()
        };
        let rarity = bm25.rarity(frequencies.iter().filter(|f| **f > 0.0).count());
        let weight = rarity * if similar { SIMILAR_WEIGHT } else { 1.0 };
        for ((score, frequency), row) in scores.iter_mut().zip(frequencies).zip(&counted) {
            *score += weight * bm25.share(frequency, row.length);
        }
    }
    let scored = scores.into_iter().zip(candidates).filter(|(score, _)| *score > 0.0);
    best(scored.map(|(score, candidate)| (score, candidate.no)).collect(), most)
}

/// The numbers of the `most` that scored best; ties go to the newer row.
pub fn best(mut scored: Vec<(f64, i64)>, most: usize) -> Vec<i64> {
    let better = |a: &(f64, i64), b: &(f64, i64)| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1));
    if scored.len() > most {
        scored.select_nth_unstable_by(most, better);
        scored.truncate(most);
    }
    scored.sort_unstable_by(better);
    scored.into_iter().map(|(_, number)| number).collect()
}

/// The beginnings to look for when some terms were found nowhere: of those terms, as typed words may go on and
/// slips come late.
pub fn forgiving_terms(candidates: &[Candidate], query: &[TextTerm]) -> Vec<TextTerm> {
    let counted = count(candidates, query);
    let missing = missing_terms(&counted, query);
    let wanted = query.iter().zip(missing);
    wanted
        .filter(|(term, missing)| *missing && is_forgiving(term))
        .map(|(term, _)| TextTerm { text: beginning(&term.text).to_owned(), prefix: true })
        .collect()
}

/// Fuses rankings by reciprocal rank: one over sixty plus the place, summed.
pub fn fuse(rankings: &[&[i64]]) -> Vec<i64> {
    let share = |(place, no): (usize, &i64)| (*no, 1.0 / (FUSION_K + 1.0 + place as f64));
    let mut fused: Vec<(i64, f64)> =
        rankings.iter().flat_map(|ranking| ranking.iter().enumerate().map(share)).collect();
    // The sort keeps the order of the rankings, so that shares are always added up in the same one.
    fused.sort_by_key(|(no, _)| *no);
    fused.dedup_by(|next, first| {
        let same = next.0 == first.0;
        first.1 += if same { next.1 } else { 0.0 };
        same
    });
    fused.sort_by(|a, b| b.1.total_cmp(&a.1).then(Reverse(a.0).cmp(&Reverse(b.0))));
    fused.into_iter().map(|(no, _)| no).collect()
}

struct Counted<'a> {
    length: f64,
    frequencies: Vec<f64>,
    /// Words that begin like some term; the others are neither a term nor similar to one.
    promising: Vec<&'a str>,
}

fn count<'a>(candidates: &'a [Candidate], query: &[TextTerm]) -> Vec<Counted<'a>> {
    let mut begins = [false; 256];
    for term in query {
        begins[usize::from(first_byte(&term.text))] = true;
    }
    let count = |candidate: &'a Candidate| {
        let (mut length, mut frequencies) = (0.0, vec![0.0; query.len()]);
        let mut promising = Vec::new();
        for word in words(&candidate.terms) {
            length += 1.0;
            if !begins[usize::from(first_byte(word))] {
                continue;
            }
            promising.push(word);
            for (frequency, term) in frequencies.iter_mut().zip(query) {
                let found = match term.prefix {
                    true => word.starts_with(&term.text),
                    false => word == term.text,
                };
                *frequency += f64::from(u8::from(found));
            }
        }
        Counted { length, frequencies, promising }
    };
    candidates.iter().map(count).collect()
}

fn first_byte(word: &str) -> u8 {
    word.as_bytes().first().copied().unwrap_or(0)
}

fn missing_terms(counted: &[Counted<'_>], query: &[TextTerm]) -> Vec<bool> {
    (0..query.len()).map(|index| counted.iter().all(|c| c.frequencies[index] == 0.0)).collect()
}

/// The words without their scope, which ends at the first `x`. Byte by byte: words are too short for anything
/// cleverer to be quicker, and this is where a search spends its time.
pub fn words(terms: &str) -> impl Iterator<Item = &str> {
    let scope = terms.find('x').map_or(0, |at| at + 1);
    let mut rest = terms;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.bytes().position(|byte| byte == b' ');
        let (word, after) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, ""),
        };
        rest = after;
        word.get(scope..)
    })
}

/// Short words and numbers have too many neighbours, and pairs of characters are not words.
pub fn is_forgiving(term: &TextTerm) -> bool {
    !term.prefix
        && term.text.chars().count() >= 4
        && term.text.chars().all(|c| c.is_alphabetic() && c < '\u{2e80}')
}

fn similar_words(row: &Counted<'_>, term: &str) -> f64 {
    let beginning = beginning(term);
    let similar = |word: &&&str| word.starts_with(beginning) && is_similar(word, term);
    row.promising.iter().filter(similar).count() as f64
}

/// The first three characters: what a slip must leave alone.
pub fn beginning(term: &str) -> &str {
    term.char_indices().nth(3).map_or(term, |(end, _)| &term[..end])
}

/// True if one begins with the other, they share all but their endings, or they differ by a slip or two.
pub fn is_similar(word: &str, term: &str) -> bool {
    // By characters: the one with more bytes may have fewer.
    let (of_word, of_term) = (word.chars().count(), term.chars().count());
    let (longer, shorter) = if of_word > of_term { (word, term) } else { (term, word) };
    let (long, short) = (of_word.max(of_term), of_word.min(of_term));
    if short < 4 {
        return false;
    }
    if longer.starts_with(shorter) {
        return long - short <= 4 || word == longer;
    }
    let slips = if short >= 8 { 2 } else { 1 };
    long - short <= slips && within(longer, shorter, slips)
}

/// True if the edit distance is at most `most`: insertions, deletions, replacements and swaps of neighbours. What both
/// begin with is never worth an edit; then each edit that may come next is tried, of the few that are allowed.
fn within(mut a: &str, mut b: &str, most: usize) -> bool {
    let (mut a_rest, mut b_rest) = (a.chars(), b.chars());
    let (first_of_a, first_of_b) = loop {
        match (a_rest.next(), b_rest.next()) {
            (Some(x), Some(y)) if x == y => (a, b) = (a_rest.as_str(), b_rest.as_str()),
            (Some(x), Some(y)) => break (x, y),
            _ => return a.chars().count() + b.chars().count() <= most,
        }
    };
    let Some(left) = most.checked_sub(1) else { return false };
    within(a_rest.as_str(), b_rest.as_str(), left)
        || within(a_rest.as_str(), b, left)
        || within(a, b_rest.as_str(), left)
        || a_rest.next() == Some(first_of_b)
            && b_rest.next() == Some(first_of_a)
            && within(a_rest.as_str(), b_rest.as_str(), left)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(no: i64, words: &[&str]) -> Candidate {
        let terms: Vec<String> = words.iter().map(|w| format!("p17x{w}")).collect();
        Candidate { no, terms: terms.join(" ") }
    }

    fn query(words: &[&str]) -> Vec<TextTerm> {
        let term = |w: &&str| TextTerm { text: (*w).to_owned(), prefix: false };
        words.iter().map(term).collect()
    }

    #[test]
    fn rare_words_and_short_texts_come_first_and_ties_go_to_the_newer() {
        let rows = [
            row(1, &["refund", "order"]),
            row(2, &["refund", "kettle"]),
            row(3, &["refund", "order"]),
            row(4, &["refund", "order", "and", "many", "other", "words"]),
        ];
        assert_eq!(by_text(&rows, &query(&["refund", "kettle"]), 9), [2, 3, 1, 4]);
        assert!(by_text(&rows, &query(&["nothing"]), 9).is_empty());
        assert!(by_text(&[], &query(&["refund"]), 9).is_empty());
    }

    #[test]
    fn slips_are_forgiven_only_for_words_found_nowhere() {
        let rows = [row(1, &["subscription"]), row(2, &["cancel"])];
        let asked = query(&["cancel", "subscripton"]);
        assert_eq!(by_text(&rows, &asked, 9), [2, 1]);
        let beginnings = forgiving_terms(&rows, &asked);
        assert_eq!(beginnings, [TextTerm { text: "sub".to_owned(), prefix: true }]);
    }

    /// The table of edits, as books have it.
    fn distance(a: &str, b: &str) -> usize {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut edits = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                edits[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let replace = edits[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let one_side = edits[i - 1][j].min(edits[i][j - 1]) + 1;
                    let swap = match i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]
                    {
                        true => edits[i - 2][j - 2] + 1,
                        false => usize::MAX,
                    };
                    replace.min(one_side).min(swap)
                };
            }
        }
        edits[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn edits_are_counted_as_in_the_whole_table(a in "[abcé]{0,9}", b in "[abcé]{0,9}") {
            for most in 0..=2 {
                prop_assert_eq!(within(&a, &b, most), distance(&a, &b) <= most);
            }
        }

        #[test]
        fn slips_in_long_words_are_found(word in "[a-dя]{8,20}", slips in prop::collection::vec((0..4, 0..8usize), 0..4)) {
            let mut slipped: Vec<char> = word.chars().collect();
            for (kind, at) in slips {
                match kind {
                    0 => slipped.insert(at.min(slipped.len()), 'x'),
                    1 => drop(slipped.remove(at.min(slipped.len() - 1))),
                    2 => slipped[at.min(4)] = 'y',
                    _ => slipped.swap(at.min(3), at.min(3) + 1),
                }
            }
            let slipped = String::from_iter(slipped);
            for most in 0..=2 {
                prop_assert_eq!(within(&word, &slipped, most), distance(&word, &slipped) <= most);
            }
        }

        #[test]
        fn shares_of_a_fusion_are_summed_in_the_order_of_the_rankings(
            first in prop::collection::btree_set(0..40i64, 0..30),
            second in prop::collection::btree_set(0..40i64, 0..30),
            turn in 0..30usize,
        ) {
            let (first, mut second) = (Vec::from_iter(first), Vec::from_iter(second));
            let turn = turn % second.len().max(1);
            second.rotate_left(turn);
            let score = |no: i64| {
                let place = |ranking: &[i64]| ranking.iter().position(|n| *n == no);
                let share = |place: usize| 1.0 / (FUSION_K + 1.0 + place as f64);
                let shares = [place(&first), place(&second)].map(|place| place.map_or(0.0, share));
                shares[0] + shares[1]
            };
            let mut expected = [first.as_slice(), &second].concat();
            expected.sort_unstable();
            expected.dedup();
            expected.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(b.cmp(a)));
            prop_assert_eq!(fuse(&[&first, &second]), expected);
        }
    }

    #[test]
    fn similar_words() {
        for (word, term) in [
            ("refund", "refnud"),
            ("kubernetes", "kuberentes"),
            ("ruckerstattung", "ruckerstattungen"),
            ("international", "inter"),
        ] {
            assert!(is_similar(word, term), "{word} {term}");
        }
        // The last has fewer characters than the term and more bytes.
        for (word, term) in
            [("cat", "car"), ("post", "part"), ("in", "international"), ("привет", "privets")]
        {
            assert!(!is_similar(word, term), "{word} {term}");
        }
    }

    #[test]
    fn fusion_rewards_agreement() {
        assert_eq!(fuse(&[&[1, 2, 3], &[3, 4]]), [3, 1, 4, 2]);
        assert_eq!(fuse(&[&[7, 5]]), [7, 5]);
        assert!(fuse(&[]).is_empty());
    }
}
