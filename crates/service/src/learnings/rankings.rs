//! The rankings of one search: a person's own rows, and the organization's playbooks.
//!
//! A person who has few rows of a kind has all of them ranked. Of one who has many, the engine's full-text index
//! gives the candidates. The organization's playbooks are ranked in memory.

use std::sync::Arc;

use super::rank::Candidate;
use super::search::Search;
use super::sql::search::Owned;
use super::vectors::{Compact, nearest};
use super::{known_playbooks, rank, scope_prefix, sql};
use crate::app::App;
use judge::LearningKind;
use storage::db::{TextTerm, Tx};
use storage::error::Result;

/// A person who has no more rows of one kind has all of them ranked: that is quicker than any index. Of one who has
/// more, the index gives the newest that match.
pub const FEW: i64 = 300;
const CANDIDATES: i64 = 500;
/// Vectors that are read of one person who has more, the newest.
const VECTORS: i64 = 20_000;
/// Number of rows of each ranking that enter the fusion.
const DEPTH: usize = 100;

/// A search with its terms and its query vector.
pub struct Ranker<'a> {
    pub app: &'a Arc<App>,
    pub search: &'a Search,
    pub terms: &'a [TextTerm],
    pub by_text: bool,
    pub vector: Option<&'a Compact>,
}

impl Ranker<'_> {
    /// The model of the vectors to compare, if any are.
    pub fn model(&self) -> Option<&str> {
        self.vector.and_then(|_| self.app.embedder.model())
    }

    /// The best of a person's rows of a kind, and whether one of them has no vector yet.
    pub async fn own(&self, kind: LearningKind, rows: Vec<Owned>) -> Result<(Vec<i64>, bool)> {
        let has_few = rows.len() as i64 <= FEW;
        let (vectors, texts): (Vec<_>, Vec<Candidate>) = rows
            .into_iter()
            .map(|(no, terms, vector)| ((no, vector), Candidate { no, terms }))
            .unzip();
        let vectors = match (self.model(), has_few) {
            (None, _) => Vec::new(),
            (Some(_), true) => vectors,
            (Some(model), false) => self.many_vectors(kind, model).await?,
        };
        let by_vector = self.vector.map_or(Vec::new(), |query| {
            let embedded = vectors.iter().filter_map(|(no, v)| Some((*no, v.as_deref()?)));
            nearest(query, embedded, self.threshold(), DEPTH)
        });
        let by_text = match (self.by_text, has_few) {
            (false, _) => Vec::new(),
            (true, true) => rank::by_text(&texts, self.terms, DEPTH),
            (true, false) => self.many_by_text(kind).await?,
        };
        let unembedded = vectors.iter().any(|(_, vector)| vector.is_none());
        Ok((self.winners(by_text, by_vector), unembedded))
    }

    /// The best of the organization's playbooks, after `version` changes of them, and whether one of them has no
    /// vector yet.
    pub async fn organization(&self, version: i64) -> Result<(Vec<i64>, bool)> {
        let filter = &self.search.filter;
        let index = known_playbooks::at(self.app, &filter.org_id, version).await?;
        let by_text = match self.by_text {
            true => index.by_text(self.terms, filter, DEPTH),
            false => Vec::new(),
        };
        let by_vector = self
            .vector
            .map_or(Vec::new(), |query| index.by_vector(query, filter, self.threshold(), DEPTH));
        // Only a search by vectors alone asks.
        let unembedded = !self.by_text && index.lacks_vectors(filter);
        Ok((self.winners(by_text, by_vector), unembedded))
    }

    fn winners(&self, by_text: Vec<i64>, by_vector: Vec<i64>) -> Vec<i64> {
        let mut winners = match (by_text.is_empty(), by_vector.is_empty()) {
            (_, true) => by_text,
            (true, false) => by_vector,
            (false, false) => rank::fuse(&[&by_text, &by_vector]),
        };
        winners.truncate(self.search.top_k);
        winners
    }

    #[allow(clippy::cast_possible_truncation)] // from -1 to 1
    fn threshold(&self) -> f32 {
        let floor = self.app.settings.embedder.min_similarity;
        self.search.threshold.unwrap_or(floor) as f32
    }

    async fn many_vectors(
        &self,
        kind: LearningKind,
        model: &str,
    ) -> Result<Vec<(i64, Option<Vec<u8>>)>> {
        let input = (&self.search.filter, model);
        self.app
            .db
            .lookup_many("learnings.many_vectors", input, move |tx, (filter, model)| match kind {
                LearningKind::Profile => {
                    Box::pin(sql::profiles::vectors(tx, model, filter, VECTORS))
                }
                _ => Box::pin(sql::user_playbooks::vectors(tx, model, filter, VECTORS)),
            })
            .await
    }

    async fn many_by_text(&self, kind: LearningKind) -> Result<Vec<i64>> {
        self.app
            .db
            .read("learnings.many_by_text", self, move |tx, ranker| {
                Box::pin(many_by_text(tx, ranker, kind))
            })
            .await
    }
}

/// The best rows by their words. When there are few, terms that were found nowhere are looked for by their
/// beginnings, so that a slip or an unfinished word does not hide a learning.
async fn many_by_text(tx: &mut Tx, ranker: &Ranker<'_>, kind: LearningKind) -> Result<Vec<i64>> {
    let filter = &ranker.search.filter;
    let user_id = filter.user_id.as_ref().unwrap_or_default();
    let Some(scope) = sql::scope(tx, &filter.org_id, user_id).await? else {
        return Ok(Vec::new());
    };
    let mut found = candidates(tx, ranker, kind, scope, ranker.terms).await?;
    if found.len() < ranker.search.top_k {
        let beginnings = rank::forgiving_terms(&found, ranker.terms);
        if !beginnings.is_empty() {
            let more = candidates(tx, ranker, kind, scope, &beginnings).await?;
            let known: Vec<i64> = found.iter().map(|row| row.no).collect();
            found.extend(more.into_iter().filter(|row| !known.contains(&row.no)));
        }
    }
    Ok(rank::by_text(&found, ranker.terms, DEPTH))
}

/// Rows that have any of the terms.
async fn candidates(
    tx: &mut Tx,
    ranker: &Ranker<'_>,
    kind: LearningKind,
    scope: i64,
    terms: &[TextTerm],
) -> Result<Vec<Candidate>> {
    let prefix = scope_prefix(kind, scope);
    let scoped: Vec<TextTerm> = terms
        .iter()
        .map(|term| TextTerm { text: format!("{prefix}{}", term.text), prefix: term.prefix })
        .collect();
    let query = tx.any_of(scoped.iter());
    let filter = &ranker.search.filter;
    match kind {
        LearningKind::Profile => sql::profiles::candidates(tx, &query, filter, CANDIDATES).await,
        _ => sql::user_playbooks::candidates(tx, &query, filter, CANDIDATES).await,
    }
}
