//! In-memory search index of an organization's agent playbooks: their words, their vectors, and the columns
//! that searches filter by.
//!
//! An index never changes; the next one is made of it. Rows keep their places: one that changed or went leaves
//! its place dead and its words forgotten, and the new text gets a new one. An index only proposes: what is
//! returned is read from the database afterwards.

use std::collections::{BTreeMap, HashMap};

use super::rank::{self, Bm25};
use super::sql::{Filter, agent_playbooks::Traits};
use super::vectors::Compact;
use storage::db::TextTerm;

#[derive(Clone, Default)]
pub struct PlaybookIndex {
    /// The database's version counter when this was read.
    pub version: i64,
    rows: Vec<IndexedPlaybook>,
    /// The places of living rows by their numbers.
    places: HashMap<i64, usize>,
    /// Postings by word, in the order of places.
    postings: BTreeMap<Box<str>, Vec<Posting>>,
    /// Words of all living rows together.
    length: f64,
}

#[derive(Clone)]
struct IndexedPlaybook {
    traits: Traits,
    is_alive: bool,
    length: f64,
    vector: Option<Box<[u8]>>,
}

#[derive(Clone, Copy)]
struct Posting {
    place: u32,
    count: u32,
}

impl PlaybookIndex {
    /// True if most rows are dead, so that reading all anew is better than going on.
    pub fn is_worn(&self) -> bool {
        self.rows.len() > 2 * self.places.len()
    }

    /// Takes over everything but the words and vectors of the rows that there are now. Gives the numbers of
    /// those whose words are missing.
    pub fn keep(&mut self, there: Vec<Traits>) -> Vec<i64> {
        let (mut missing, mut kept) = (Vec::new(), HashMap::with_capacity(there.len()));
        for traits in there {
            let number = traits.no;
            match self.places.remove(&number) {
                Some(place) if self.rows[place].traits.revision == traits.revision => {
                    self.rows[place].traits = traits;
                    kept.insert(number, place);
                }
                outdated => {
                    outdated.into_iter().for_each(|place| self.bury(place));
                    kept.insert(number, self.rows.len());
                    self.rows.push(IndexedPlaybook {
                        traits,
                        is_alive: true,
                        length: 0.0,
                        vector: None,
                    });
                    missing.push(number);
                }
            }
        }
        for place in std::mem::replace(&mut self.places, kept).into_values() {
            self.bury(place);
        }
        self.forget_words_of_the_dead();
        missing
    }

    /// Words that stood in rows that changed or went: they may be somebody's who was erased.
    fn forget_words_of_the_dead(&mut self) {
        let rows = &self.rows;
        self.postings.retain(|_, postings| {
            postings.retain(|posting| rows[posting.place()].is_alive);
            !postings.is_empty()
        });
    }

    fn bury(&mut self, place: usize) {
        let row = &mut self.rows[place];
        (row.is_alive, row.vector) = (false, None);
        self.length -= row.length;
    }

    /// Puts in the words of a row that [`PlaybookIndex::keep`] asked for.
    pub fn add_terms(&mut self, number: i64, terms: &str) {
        let Some(place) = self.places.get(&number).copied() else {
            return;
        };
        let mut counts: HashMap<&str, u32> = HashMap::new();
        for word in rank::words(terms) {
            *counts.entry(word).or_default() += 1;
            self.rows[place].length += 1.0;
        }
        self.length += self.rows[place].length;
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        for (word, count) in counts {
            let posting = Posting { place, count };
            match self.postings.get_mut(word) {
                Some(postings) => postings.push(posting),
                None => drop(self.postings.insert(word.into(), vec![posting])),
            }
        }
    }

    pub fn set_vector(&mut self, number: i64, revision: i64, vector: Vec<u8>) {
        let row = self.places.get(&number).map(|place| &mut self.rows[*place]);
        if let Some(row) = row.filter(|row| row.traits.revision == revision) {
            row.vector = Some(vector.into_boxed_slice());
        }
    }

    /// The best `most` of the rows that pass, by BM25; ties go to the newer row. A term that none of them has stands
    /// for words that begin with it or differ by a slip.
    pub fn by_text(&self, query: &[TextTerm], filter: &Filter, most: usize) -> Vec<i64> {
        let bm25 = Bm25::new(self.places.len(), self.length);
        let mut scores = vec![0.0; self.rows.len()];
        let mut passing = vec![None; self.rows.len()];
        let mut passes = |posting: &&Posting| {
            let row = &self.rows[posting.place()];
            let pass = || row.is_alive && row.traits.pass(filter);
            *passing[posting.place()].get_or_insert_with(pass)
        };
        for term in query {
            let (having, weight) = self.having(term, &mut passes);
            let weight = weight * bm25.rarity(having.len());
            for posting in having {
                let share = bm25.share(f64::from(posting.count), self.rows[posting.place()].length);
                scores[posting.place()] += weight * share;
            }
        }
        let scored = scores.into_iter().zip(&self.rows).filter(|(score, _)| *score > 0.0);
        rank::best(scored.map(|(score, row)| (score, row.traits.no)).collect(), most)
    }

    /// Postings of a term among the rows that pass, and their weight.
    fn having(
        &self,
        term: &TextTerm,
        mut passes: impl FnMut(&&Posting) -> bool,
    ) -> (Vec<Posting>, f64) {
        let mut among = |words: &mut dyn Iterator<Item = &Vec<Posting>>| {
            added_up(words.flatten().filter(&mut passes).copied().collect())
        };
        let text = term.text.as_str();
        let exact = match term.prefix {
            false => among(&mut self.postings.get(text).into_iter()),
            true => among(&mut self.beginning_with(text).map(|(_, postings)| postings)),
        };
        if !exact.is_empty() || !rank::is_forgiving(term) {
            return (exact, 1.0);
        }
        let similar = self
            .beginning_with(rank::beginning(text))
            .filter(|(word, _)| rank::is_similar(word, text))
            .map(|(_, postings)| postings);
        (among(&mut { similar }), rank::SIMILAR_WEIGHT)
    }

    fn beginning_with<'a>(
        &'a self,
        beginning: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Vec<Posting>)> {
        let from = std::ops::Bound::Included(beginning);
        self.postings
            .range::<str, _>((from, std::ops::Bound::Unbounded))
            .map(|(word, postings)| (&**word, postings))
            .take_while(move |(word, _)| word.starts_with(beginning))
    }

    /// The nearest `most` of the rows that pass; ties go to the newer row.
    pub fn by_vector(
        &self,
        query: &Compact,
        filter: &Filter,
        threshold: f32,
        most: usize,
    ) -> Vec<i64> {
        let near = self.rows.iter().filter_map(|row| {
            let similarity = query.similarity(row.vector.as_deref()?)?;
            (similarity >= threshold && row.traits.pass(filter))
                .then(|| (f64::from(similarity), row.traits.no))
        });
        rank::best(near.collect(), most)
    }

    /// True if some row that passes has no vector yet.
    pub fn lacks_vectors(&self, filter: &Filter) -> bool {
        let mut unembedded = self.rows.iter().filter(|row| row.is_alive && row.vector.is_none());
        unembedded.any(|row| row.traits.pass(filter))
    }
}

impl Posting {
    fn place(self) -> usize {
        self.place as usize
    }
}

/// One posting for each place.
fn added_up(mut having: Vec<Posting>) -> Vec<Posting> {
    having.sort_unstable_by_key(|posting| posting.place);
    having.dedup_by(|next, first| {
        let same = next.place == first.place;
        first.count += if same { next.count } else { 0 };
        same
    });
    having
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sqlx::types::Json;

    use super::*;
    use crate::learnings::rank::Candidate;
    use crate::learnings::{LearningStatus, PlaybookStatus};

    fn traits(no: i64, revision: i64) -> Traits {
        Traits {
            no,
            revision,
            status: LearningStatus::Current,
            playbook_status: PlaybookStatus::Approved,
            agent_version: "v1".to_owned(),
            playbook_name: String::new(),
            created_at: 100,
            tags: Json(vec!["tea".to_owned()]),
        }
    }

    fn filter() -> Filter {
        Filter {
            statuses: vec![LearningStatus::Current],
            playbook_statuses: vec![PlaybookStatus::Approved],
            ..Filter::default()
        }
    }

    fn scoped(words: &[String]) -> String {
        words.iter().map(|word| format!("a7x{word}")).collect::<Vec<_>>().join(" ")
    }

    fn index(rows: &[(i64, &str)]) -> PlaybookIndex {
        let mut index = PlaybookIndex::default();
        index.keep(rows.iter().map(|(no, _)| traits(*no, 1)).collect());
        rows.iter().for_each(|(no, terms)| index.add_terms(*no, terms));
        index
    }

    fn query(words: &[&str]) -> Vec<TextTerm> {
        let term = |word: &&str| TextTerm { text: (*word).to_owned(), prefix: false };
        words.iter().map(term).collect()
    }

    proptest! {
        /// There is one ranking: rows in memory come in the order in which rows of a person would.
        #[test]
        fn ranks_as_candidates_are_ranked(
            rows in prop::collection::vec(prop::collection::vec("ref(und)?|te[ab]|order(s|ing)?|ketlte", 1..9), 1..12),
            words in prop::collection::vec("refun|refund|tea|orders|kettle|or", 1..5),
            prefix: bool,
        ) {
            let texts: Vec<String> = rows.iter().map(|row| scoped(row)).collect();
            let numbered: Vec<(i64, &str)> = (1..).zip(texts.iter().map(String::as_str)).collect();
            let candidates: Vec<Candidate> =
                numbered.iter().map(|(no, terms)| Candidate { no: *no, terms: (*terms).to_owned() }).collect();
            let query: Vec<TextTerm> = words.into_iter().map(|text| TextTerm { text, prefix }).collect();
            let expected = crate::learnings::rank::by_text(&candidates, &query, 9);
            prop_assert_eq!(index(&numbered).by_text(&query, &filter(), 9), expected);
        }
    }

    #[test]
    fn what_changed_or_went_is_found_no_more() {
        let mut index = index(&[(1, "a7xtea"), (2, "a7xtea"), (3, "a7xtea a7xtea")]);
        assert_eq!(index.by_text(&query(&["tea"]), &filter(), 9), [3, 2, 1]);
        assert_eq!(index.keep(vec![traits(1, 1), traits(3, 2), traits(4, 1)]), [3, 4]);
        index.add_terms(3, "a7xcoffe");
        index.add_terms(4, "a7xtea");
        assert_eq!(index.by_text(&query(&["tea"]), &filter(), 9), [4, 1]);
        assert_eq!(index.by_text(&query(&["coffe"]), &filter(), 9), [3]);
        assert!(!index.is_worn());
        index.keep(vec![traits(4, 1)]);
        assert!(index.is_worn());
        assert_eq!(index.by_text(&query(&["tea"]), &filter(), 9), [4]);
        assert_eq!(index.postings.len(), 1, "no word of what went is kept");
    }

    #[test]
    fn filters_narrow_words_and_vectors() {
        let mut index = index(&[(1, "a7xtea"), (2, "a7xtea")]);
        let mut other = traits(2, 1);
        (other.agent_version, other.created_at, other.tags) =
            ("v2".to_owned(), 200, Json(Vec::new()));
        assert!(index.keep(vec![traits(1, 1), other]).is_empty());
        let vector = Compact::new(&[1.0, 0.5]).unwrap();
        index.set_vector(1, 1, vector.to_bytes());
        let second = Filter { agent_version: Some("v2".to_owned()), ..filter() };
        assert!(index.lacks_vectors(&filter()) && index.lacks_vectors(&second));
        index.set_vector(2, 7, Vec::new());
        assert!(index.lacks_vectors(&second), "a vector of another text is none");
        index.set_vector(2, 1, vector.to_bytes());
        assert!(!index.lacks_vectors(&filter()));
        for (narrowed, expected) in [
            (filter(), vec![2, 1]),
            (second, vec![2]),
            (Filter { playbook_name: Some("other".to_owned()), ..filter() }, vec![]),
            (Filter { from: Some(101), ..filter() }, vec![2]),
            (Filter { to: Some(101), ..filter() }, vec![1]),
            (Filter { tags: Some(vec!["tea".to_owned(), "no".to_owned()]), ..filter() }, vec![1]),
            (Filter { playbook_statuses: vec![PlaybookStatus::Rejected], ..filter() }, vec![]),
            (Filter { statuses: vec![LearningStatus::Archived], ..filter() }, vec![]),
        ] {
            assert_eq!(index.by_text(&query(&["tea"]), &narrowed, 9), expected, "{narrowed:?}");
            assert_eq!(index.by_vector(&vector, &narrowed, 0.9, 9), expected, "{narrowed:?}");
        }
    }
}
