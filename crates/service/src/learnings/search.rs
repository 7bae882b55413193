//! Search: full text and vectors, ranked apart and fused.
//!
//! One statement reads what a person's learnings are ranked by, and how often the organization's have changed; the
//! rankings are made of that and of the index in memory; a second statement reads the winners, as far as they are
//! still there and pass. Latency depends on how much one person has, never on the others.

use std::sync::Arc;

use super::Learnings;
use super::rankings::{self, Ranker};
use super::sql::search::{Asked, Owns, Winners};
use super::sql::{self, Filter};
use super::vectors::Compact;
use crate::app::App;
use crate::experiments;
use base::words;
use judge::LearningKind;
use storage::error::Result;
use storage::subjects::barrier;

base::vocabulary! {
    /// By what learnings are found: vectors, full text, or both.
    pub enum SearchMode {
        Hybrid = "hybrid",
        Vector = "vector",
        Fts = "fts",
    }
}

/// Parameters of a search.
#[derive(Clone, Debug)]
pub struct Search {
    /// Without one, the newest rows that pass the filter.
    pub query: Option<String>,
    pub top_k: usize,
    /// The least similarity of a vector match; full-text matches have no such scale.
    pub threshold: Option<f64>,
    pub mode: SearchMode,
    pub kinds: Vec<LearningKind>,
    pub filter: Filter,
}

/// Learnings found, and the search mode that found them.
#[derive(Debug)]
pub struct SearchResult {
    pub learnings: Learnings,
    /// True if an experiment of the organization was active when they were read.
    pub experiment_runs: bool,
    /// True if a part that was asked for, or is configured, could not take part.
    pub degraded: bool,
    pub effective: SearchMode,
    pub msg: Option<String>,
}

pub async fn search(app: &Arc<App>, search: Search) -> Result<SearchResult> {
    let Some(query) = search.query.clone() else {
        return newest(app, search).await;
    };
    let terms = words::query_terms(&query);
    if terms.is_empty() {
        return Ok(SearchResult {
            learnings: Learnings::default(),
            experiment_runs: experiments::is_active(app, &search.filter.org_id).await?,
            degraded: false,
            effective: match app.embedder.model() {
                Some(_) => search.mode,
                None => SearchMode::Fts,
            },
            msg: Some("The query has no words to search for.".to_owned()),
        });
    }
    // Refused for a person who is being erased, before the query, which is theirs too, leaves for an embedder.
    let owns = owned(app, &search).await?;
    let (vector, mut degraded) = query_vector(app, &query, search.mode).await;
    let effective = match (search.mode, &vector) {
        (_, None) => SearchMode::Fts,
        (mode, Some(_)) => mode,
    };
    let by_text = effective != SearchMode::Vector;
    let ranker = Ranker { app, search: &search, terms: &terms, by_text, vector: vector.as_ref() };
    let (winners, unembedded) = rank(&ranker, owns).await?;
    let (learnings, experiment_runs) = read(app, &search.filter, winners).await?;
    // Full text finds what has no vector yet; a search by vectors alone misses it, and says so.
    degraded |= effective == SearchMode::Vector && unembedded;
    let msg = degraded
        .then(|| "Part of the search could not take part; results may be incomplete.".to_owned());
    Ok(SearchResult { learnings, experiment_runs, degraded, effective, msg })
}

/// A person's learnings with the terms and vectors they are ranked by.
async fn owned(app: &App, search: &Search) -> Result<Owns> {
    let filter = &search.filter;
    let kinds: Vec<LearningKind> = search.kinds_within_reach().collect();
    let limit = |kind: LearningKind| if kinds.contains(&kind) { rankings::FEW + 1 } else { 0 };
    let asked = Asked {
        model: app.embedder.model().filter(|_| search.mode != SearchMode::Fts),
        profiles: limit(LearningKind::Profile),
        user_playbooks: limit(LearningKind::UserPlaybook),
    };
    let owns = app
        .db
        .lookup("learnings.search", (filter, asked), |tx, (filter, asked)| {
            Box::pin(sql::search::owned(tx, filter, asked))
        })
        .await?;
    match owns.is_erasing {
        true => Err(barrier::is_erasing()),
        false => Ok(owns),
    }
}

/// The query's vector if the mode wants one, and whether it is missing against expectation.
async fn query_vector(app: &App, query: &str, mode: SearchMode) -> (Option<Compact>, bool) {
    if mode == SearchMode::Fts {
        return (None, false);
    }
    if app.embedder.model().is_none() {
        return (None, mode == SearchMode::Vector);
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

async fn newest(app: &Arc<App>, search: Search) -> Result<SearchResult> {
    let org_id = search.filter.org_id.clone();
    let learnings = app
        .db
        .read("learnings.newest", search, |tx, search| {
            Box::pin(async move {
                let limit = i64::try_from(search.top_k).unwrap_or(i64::MAX);
                let filter = &search.filter;
                let mut learnings = Learnings::default();
                for kind in search.kinds_within_reach() {
                    match kind {
                        LearningKind::Profile => {
                            learnings.profiles = sql::profiles::list(tx, filter, limit).await?
                        }
                        LearningKind::UserPlaybook => {
                            learnings.user_playbooks =
                                sql::user_playbooks::list(tx, filter, limit).await?;
                        }
                        LearningKind::AgentPlaybook => {
                            learnings.agent_playbooks =
                                sql::agent_playbooks::list(tx, filter, limit).await?;
                        }
                    }
                }
                Ok(learnings)
            })
        })
        .await?;
    Ok(SearchResult {
        learnings,
        experiment_runs: experiments::is_active(app, &org_id).await?,
        degraded: false,
        effective: SearchMode::Fts,
        msg: None,
    })
}

impl Search {
    /// Without a user there are no profiles and no user playbooks to look at.
    fn kinds_within_reach(&self) -> impl Iterator<Item = LearningKind> {
        let with_user = self.filter.user_id.is_some();
        let kinds = self.kinds.iter().copied();
        kinds.filter(move |kind| with_user || *kind == LearningKind::AgentPlaybook)
    }
}

/// The best of each kind, and whether some row that passes the filter has no vector yet.
async fn rank(ranker: &Ranker<'_>, owns: Owns) -> Result<(Winners, bool)> {
    let (profiles, first) = ranker.own(LearningKind::Profile, owns.profiles).await?;
    let (user_playbooks, second) =
        ranker.own(LearningKind::UserPlaybook, owns.user_playbooks).await?;
    let (agent_playbooks, third) = match ranker.search.kinds.contains(&LearningKind::AgentPlaybook)
    {
        true => ranker.organization(owns.version).await?,
        false => (Vec::new(), false),
    };
    Ok((Winners { profiles, user_playbooks, agent_playbooks }, first || second || third))
}

/// The winners themselves, the best first, and whether an experiment runs that decides who gets them.
async fn read(app: &App, filter: &Filter, winners: Winners) -> Result<(Learnings, bool)> {
    let input = (filter, &winners);
    let (mut found, experiment_runs) = app
        .db
        .lookup("learnings.found", input, |tx, (filter, winners)| {
            Box::pin(sql::search::won(tx, filter, winners))
        })
        .await?;
    let place = |winners: &[i64], number: i64| winners.iter().position(|no| *no == number);
    found.profiles.sort_by_key(|row| place(&winners.profiles, row.profile_no));
    found.user_playbooks.sort_by_key(|row| place(&winners.user_playbooks, row.user_playbook_id));
    found.agent_playbooks.sort_by_key(|row| place(&winners.agent_playbooks, row.agent_playbook_id));
    Ok((found, experiment_runs))
}
