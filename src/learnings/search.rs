//! Search: full text and vectors, ranked apart and fused, within one read transaction.
//!
//! Latency depends on how much one person has, never on the others: their rows are read by their key or, when
//! they are many, the index is asked for that person's words alone. The rows that win are read in the transaction
//! that ranked them.

use std::collections::HashMap;
use std::sync::Arc;

use super::rank::Candidate;
use super::sql::{self, Filter, Owned};
use super::vectors::{Compact, nearest};
use super::{Kind, Learnings, rank, words};
use crate::app::App;
use crate::db::{TextTerm, Tx};
use crate::error::{Error, Result};
use crate::governance::barrier;

/// A person who has no more rows of one kind has all of them ranked, read by their key: that is quicker than any
/// index. Of one who has more, the index gives the newest that match.
const FEW: usize = 300;
const CANDIDATES: i64 = 500;
/// Vectors that are read of one person, the newest.
const VECTORS: i64 = 20_000;
/// How many of an organization's rows are noted for each term: the newest.
const POSTINGS: i64 = 400;
/// How many of the organization's rows are ranked at a time, beginning with those that have the rarer terms.
const LOOKED_AT: usize = 40;
/// How deep each ranking goes into the fusion.
const DEPTH: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Hybrid,
    Vector,
    Fts,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Hybrid => "hybrid",
            Mode::Vector => "vector",
            Mode::Fts => "fts",
        }
    }
}

/// What to look for.
#[derive(Clone, Debug)]
pub struct Search {
    /// Without one, the newest rows that pass the filter.
    pub query: Option<String>,
    pub top_k: usize,
    /// The least similarity of a vector match; full-text matches have no such scale.
    pub threshold: Option<f64>,
    pub mode: Mode,
    pub kinds: Vec<Kind>,
    pub filter: Filter,
}

/// What was found, and by which means.
#[derive(Debug)]
pub struct Found {
    pub learnings: Learnings,
    /// Whether a part that was asked for, or is configured, could not take part.
    pub degraded: bool,
    pub effective: Mode,
    pub msg: Option<String>,
}

/// What the transaction needs.
struct Plan {
    app: Arc<App>,
    search: Search,
    terms: Vec<TextTerm>,
    by_text: bool,
    vector: Option<Compact>,
}

pub async fn search(app: &Arc<App>, search: Search) -> Result<Found> {
    let Some(query) = search.query.clone() else {
        return newest(app, search).await;
    };
    let terms = words::query_terms(&query);
    if terms.is_empty() {
        return Ok(Found {
            learnings: Learnings::default(),
            degraded: false,
            effective: match app.embedder.model() {
                Some(_) => search.mode,
                None => Mode::Fts,
            },
            msg: Some("The query has no words to search for.".to_owned()),
        });
    }
    // Before the query leaves for an embedder: it is the person's too.
    if let Some(user_id) = &search.filter.user_id {
        let input = (app.clone(), search.filter.org_id.clone(), user_id.clone());
        app.db
            .lookup("learnings.may_search", input, |tx, (app, org_id, user_id)| {
                Box::pin(barrier::not_erasing(tx, &app.subject_keys, org_id, user_id))
            })
            .await?;
    }
    let (vector, mut degraded) = query_vector(app, &query, search.mode).await;
    let effective = match (search.mode, &vector) {
        (_, None) => Mode::Fts,
        (mode, Some(_)) => mode,
    };
    let plan = Plan { app: app.clone(), search, terms, by_text: effective != Mode::Vector, vector };
    let (learnings, unembedded) =
        app.db.read("learnings.search", plan, |tx, plan| Box::pin(run(tx, plan))).await?;
    // Full text finds what has no vector yet; a search by vectors alone misses it, and says so.
    degraded |= effective == Mode::Vector && unembedded;
    let msg = degraded
        .then(|| "Part of the search could not take part; results may be incomplete.".to_owned());
    Ok(Found { learnings, degraded, effective, msg })
}

/// The query's vector if the mode wants one, and whether it is missing against expectation.
async fn query_vector(app: &App, query: &str, mode: Mode) -> (Option<Compact>, bool) {
    if mode == Mode::Fts {
        return (None, false);
    }
    if app.embedder.model().is_none() {
        return (None, mode == Mode::Vector);
    }
    match app.embedder.embed_query(query).await {
        Ok(vector) => (Compact::new(&vector), false),
        Err(error) => {
            metrics::counter!("evenhand_searches_degraded_total").increment(1);
            tracing::warn!(%error, "a search goes on without vectors");
            (None, true)
        }
    }
}

async fn newest(app: &Arc<App>, search: Search) -> Result<Found> {
    let effective = Mode::Fts;
    let learnings = app
        .db
        .read("learnings.newest", search, |tx, search| {
            Box::pin(async move {
                let limit = i64::try_from(search.top_k).unwrap_or(i64::MAX);
                let filter = &search.filter;
                let mut learnings = Learnings::default();
                for kind in search.kinds_within_reach() {
                    match kind {
                        Kind::Profile => {
                            learnings.profiles = sql::profiles::list(tx, filter, limit).await?
                        }
                        Kind::UserPlaybook => {
                            learnings.user_playbooks =
                                sql::user_playbooks::list(tx, filter, limit).await?;
                        }
                        Kind::AgentPlaybook => {
                            learnings.agent_playbooks =
                                sql::agent_playbooks::list(tx, filter, limit).await?;
                        }
                    }
                }
                Ok(learnings)
            })
        })
        .await?;
    Ok(Found { learnings, degraded: false, effective, msg: None })
}

impl Search {
    /// Without a user there are no profiles and no user playbooks to look at.
    fn kinds_within_reach(&self) -> impl Iterator<Item = Kind> {
        let with_user = self.filter.user_id.is_some();
        let kinds = self.kinds.iter().copied();
        kinds.filter(move |kind| with_user || *kind == Kind::AgentPlaybook)
    }
}

async fn run(tx: &mut Tx, plan: &Plan) -> Result<(Learnings, bool)> {
    let Search { filter, top_k, .. } = &plan.search;
    let (mut learnings, mut unembedded) = (Learnings::default(), false);
    for kind in plan.search.kinds_within_reach() {
        let (by_text, by_vector) = match kind {
            Kind::AgentPlaybook => organization_rankings(tx, plan).await?,
            kind => own_rankings(tx, plan, kind, &mut unembedded).await?,
        };
        let mut winners = match (by_text.is_empty(), by_vector.is_empty()) {
            (true, true) => continue,
            (false, true) => by_text,
            (true, false) => by_vector,
            (false, false) => rank::fuse(&[&by_text, &by_vector]),
        };
        winners.truncate(*top_k);
        match kind {
            Kind::Profile => {
                let rows = sql::profiles::by_numbers(tx, filter, &winners).await?;
                learnings.profiles = in_order(rows, &winners, |row| row.profile_no);
            }
            Kind::UserPlaybook => {
                let rows = sql::user_playbooks::by_numbers(tx, filter, &winners).await?;
                learnings.user_playbooks = in_order(rows, &winners, |row| row.user_playbook_id);
            }
            Kind::AgentPlaybook => {
                let rows = sql::agent_playbooks::by_numbers(tx, filter, &winners).await?;
                learnings.agent_playbooks = in_order(rows, &winners, |row| row.agent_playbook_id);
            }
        }
    }
    Ok((learnings, unembedded))
}

/// The best of a person's rows by words, and by vectors. Notes in `unembedded` when some row has no vector yet.
async fn own_rankings(
    tx: &mut Tx,
    plan: &Plan,
    kind: Kind,
    unembedded: &mut bool,
) -> Result<(Vec<i64>, Vec<i64>)> {
    let model = plan.vector.as_ref().and_then(|_| plan.app.embedder.model());
    let few = i64::try_from(FEW + 1).unwrap_or(i64::MAX);
    let mut rows = own_rows(tx, plan, kind, model, few).await?;
    let has_few = rows.len() <= FEW;
    if model.is_some() && !has_few {
        rows = own_rows(tx, plan, kind, model, VECTORS).await?;
    }
    let by_vector = match &plan.vector {
        Some(query) => {
            *unembedded |= rows.iter().any(|row| row.vector.is_none());
            let embedded = rows.iter().filter_map(|row| Some((row.no, row.vector.as_deref()?)));
            nearest(query, embedded, plan.threshold(), DEPTH)
        }
        None => Vec::new(),
    };
    let by_text = match (plan.by_text, has_few) {
        (false, _) => Vec::new(),
        (true, true) => {
            let candidate = |row: Owned| Candidate { no: row.no, terms: row.terms };
            let rows: Vec<Candidate> = rows.into_iter().map(candidate).collect();
            rank::by_text(&rows, &plan.terms)
        }
        (true, false) => {
            let Search { filter, .. } = &plan.search;
            let user_id = filter.user_id.as_deref().unwrap_or_default();
            match sql::scope(tx, &filter.org_id, user_id).await? {
                Some(scope) => text_ranking(tx, plan, kind, scope).await?,
                None => Vec::new(),
            }
        }
    };
    Ok((first(by_text), by_vector))
}

async fn own_rows(
    tx: &mut Tx,
    plan: &Plan,
    kind: Kind,
    model: Option<&str>,
    limit: i64,
) -> Result<Vec<Owned>> {
    let filter = &plan.search.filter;
    match kind {
        Kind::Profile => sql::profiles::all(tx, model, filter, limit).await,
        _ => sql::user_playbooks::all(tx, model, filter, limit).await,
    }
}

/// The best of the organization's rows by words, and by vectors.
async fn organization_rankings(tx: &mut Tx, plan: &Plan) -> Result<(Vec<i64>, Vec<i64>)> {
    let (app, filter) = (&plan.app, &plan.search.filter);
    let Some((scope, version)) = sql::organization_scope(tx, &filter.org_id).await? else {
        return Ok((Vec::new(), Vec::new()));
    };
    let by_text = match plan.by_text {
        true => text_ranking(tx, plan, Kind::AgentPlaybook, scope).await?,
        false => Vec::new(),
    };
    let by_vector = match (&plan.vector, app.embedder.model()) {
        (Some(query), Some(model)) => {
            let known = app.organization_vectors.at(tx, &filter.org_id, model, version).await?;
            // More than are needed: some may be filtered out, or gone.
            let near = nearest(query, known.rows(), plan.threshold(), 2 * DEPTH);
            passing(tx, filter, near).await?
        }
        _ => Vec::new(),
    };
    Ok((by_text, by_vector))
}

impl Plan {
    #[allow(clippy::cast_possible_truncation)] // from -1 to 1
    fn threshold(&self) -> f32 {
        let floor = self.app.settings.embedder.min_similarity;
        self.search.threshold.unwrap_or(floor) as f32
    }
}

fn first(mut ranking: Vec<i64>) -> Vec<i64> {
    ranking.truncate(DEPTH);
    ranking
}

/// The best rows by their words. When there are few, terms that were found nowhere are looked for by their
/// beginnings, so that a slip or an unfinished word does not hide a learning.
async fn text_ranking(tx: &mut Tx, plan: &Plan, kind: Kind, scope: i64) -> Result<Vec<i64>> {
    let mut found = candidates(tx, plan, kind, scope, &plan.terms).await?;
    if found.len() < plan.search.top_k {
        let beginnings = rank::forgiving_terms(&found, &plan.terms);
        if !beginnings.is_empty() {
            let more = candidates(tx, plan, kind, scope, &beginnings).await?;
            let known: Vec<i64> = found.iter().map(|row| row.no).collect();
            found.extend(more.into_iter().filter(|row| !known.contains(&row.no)));
        }
    }
    Ok(first(rank::by_text(&found, &plan.terms)))
}

/// Rows that have any of the terms.
async fn candidates(
    tx: &mut Tx,
    plan: &Plan,
    kind: Kind,
    scope: i64,
    terms: &[TextTerm],
) -> Result<Vec<Candidate>> {
    let prefix = kind.scope_prefix(scope);
    let scoped: Vec<TextTerm> = terms
        .iter()
        .map(|term| TextTerm { text: format!("{prefix}{}", term.text), prefix: term.prefix })
        .collect();
    let filter = &plan.search.filter;
    if kind == Kind::AgentPlaybook {
        return organization_candidates(tx, filter, &scoped, plan.search.top_k).await;
    }
    let query = tx.any_of(scoped.iter());
    match kind {
        Kind::Profile => sql::profiles::candidates(tx, &query, filter, CANDIDATES).await,
        _ => sql::user_playbooks::candidates(tx, &query, filter, CANDIDATES).await,
    }
}

/// An organization may have many playbooks, and a common word is in most of them. So each term is looked up
/// alone, to a bounded depth; what has the rarer terms is looked at first, until there is enough that passes.
async fn organization_candidates(
    tx: &mut Tx,
    filter: &Filter,
    terms: &[TextTerm],
    enough: usize,
) -> Result<Vec<Candidate>> {
    let queries: Vec<String> = terms.iter().map(|term| tx.any_of(std::iter::once(term))).collect();
    let queries = serde_json::to_string(&queries).map_err(|e| Error::Internal(e.to_string()))?;
    let (mut weights, mut cut): (HashMap<i64, f64>, bool) = (HashMap::new(), false);
    for having in sql::agent_playbooks::matching(tx, &queries, POSTINGS).await? {
        // What was cut off has the term too, unnoted: a common term must not outweigh a rare one.
        let is_cut = having.len() as i64 == POSTINGS;
        cut |= is_cut;
        let rarity = match is_cut {
            true => 0.01,
            false => (1.0 + 10_000.0 / having.len() as f64).ln(),
        };
        for number in having {
            *weights.entry(number).or_default() += rarity;
        }
    }
    let mut ordered: Vec<(i64, f64)> = weights.into_iter().collect();
    ordered.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    let ordered: Vec<i64> = ordered.into_iter().map(|(number, _)| number).collect();
    let mut found = Vec::new();
    for numbers in ordered.chunks(LOOKED_AT.max(2 * enough)) {
        found.extend(sql::agent_playbooks::candidates(tx, filter, numbers).await?);
        if found.len() >= enough {
            break;
        }
    }
    if cut && found.len() < enough {
        // A narrow filter lies deeper than the terms were looked up: ask for it together with them.
        let query = tx.any_of(terms.iter());
        found = sql::agent_playbooks::found(tx, &query, filter, CANDIDATES).await?;
    }
    Ok(found)
}

/// Those of the organization's rows that are still there and pass the filter, in their order.
async fn passing(tx: &mut Tx, filter: &Filter, near: Vec<i64>) -> Result<Vec<i64>> {
    if near.is_empty() {
        return Ok(near);
    }
    let passing = sql::agent_playbooks::passing(tx, filter, &near).await?;
    let mut kept: Vec<i64> = near.into_iter().filter(|no| passing.contains(no)).collect();
    kept.truncate(DEPTH);
    Ok(kept)
}

/// Rows in the order of their numbers in `winners`.
fn in_order<T>(rows: Vec<T>, winners: &[i64], number: impl Fn(&T) -> i64) -> Vec<T> {
    let mut placed: Vec<(usize, T)> = rows
        .into_iter()
        .filter_map(|row| {
            let place = winners.iter().position(|no| *no == number(&row))?;
            Some((place, row))
        })
        .collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, row)| row).collect()
}
