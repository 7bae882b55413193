//! Writing and reading verdicts on sessions.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::grading::Ruling;
use super::learning_verdicts::{LearningQuery, LearningVerdict};
use crate::app::App;
use crate::evaluation::gaps::NewGap;
use crate::evaluation::shadow::{self, ShadowComparisonVerdict};
use crate::evaluation::sql::{self, Standing};
use crate::evaluation::{AGENT_SUCCESS, EvaluationResult, NewResult};
use crate::sessions::{self, CitationKind};
use base::owner::{OrgId, UserId};
use storage::db::{Changes, Tx};
use storage::error::{Error, Result};
use storage::subjects::SubjectWrite;

/// Filters of `get_agent_success_evaluation_results`. Times are those of the sessions' first requests.
#[derive(Default)]
pub struct ResultQuery {
    pub agent_version: Option<String>,
    pub evaluation_name: Option<String>,
    pub user_id: Option<UserId>,
    pub session_id: Option<String>,
    pub from: Option<i64>,
    pub to: Option<i64>,
    /// One verdict of each session: of those on a version that is asked for, or the verdict of the session.
    pub one_each: bool,
    pub limit: i64,
}

/// Verdicts, newest session first.
pub async fn list(app: &App, org_id: &OrgId, query: ResultQuery) -> Result<Vec<EvaluationResult>> {
    app.db
        .read_standby(
            "evaluation.list_results",
            (org_id.to_owned(), query),
            |tx, (org_id, query)| {
                Box::pin(async move {
                    let version = shadow::pinned(tx, org_id).await?;
                    sql::list_results(tx, org_id, query, &version).await
                })
            },
        )
        .await
}

/// Everything that was judged about one session.
#[derive(Serialize, ToSchema)]
pub struct SessionVerdicts {
    /// Newest first.
    pub evaluation_results: Vec<EvaluationResult>,
    /// Newest turn first; at most 1000.
    pub learning_verdicts: Vec<LearningVerdict>,
    /// Of the pinned rubric, oldest turn first.
    pub shadow_comparisons: Vec<ShadowComparisonVerdict>,
}

/// The verdicts on a session, its retrieved learnings and its shadow responses.
pub async fn of_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<SessionVerdicts> {
    let (user, session) = (Some(user_id.to_owned()), Some(session_id.to_owned()));
    let all = ResultQuery {
        user_id: user.clone(),
        session_id: session.clone(),
        limit: 1000,
        ..ResultQuery::default()
    };
    let learnings =
        LearningQuery { user_id: user, session_id: session, from: None, to: None, limit: 1000 };
    let version = shadow::pinned(tx, org_id).await?;
    Ok(SessionVerdicts {
        evaluation_results: sql::list_results(tx, org_id, &all, &version).await?,
        learning_verdicts: sql::list_learning_verdicts(tx, org_id, &learnings).await?,
        shadow_comparisons: shadow::sql::of_session(tx, org_id, user_id, session_id, &version)
            .await?,
    })
}

/// Writes a judgement of success, after `before`, in one hand-over. The session must be held since `there` was read.
pub async fn save_ruling<'a>(
    tx: &mut Tx,
    mut before: Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
    (ruling, there): (&'a Ruling, &Standing),
    now: i64,
) -> Result<()> {
    let titles = match there.cites {
        true => cited(tx, subject, session_id).await?,
        false => CitedTitles::new(),
    };
    if there.is_clear() {
        before.all_together();
    }
    if there.is_under_way {
        sql::end_turn(&mut before, subject, session_id);
    }
    match ruling {
        Ruling::Decided(result) => {
            if there.has_gap {
                sql::close_gap(&mut before, subject, session_id, &result.agent_version);
            }
            let result_id = match there.result_id.or(there.withdrawn_result_id) {
                None => number_from_afar(tx).await?,
                known => known,
            };
            sql::put_result(&mut before, subject, session_id, result, result_id, now)?;
        }
        // Withdraws the verdict, if there is one, and writes the gap in its place.
        Ruling::Undecided(gap) => {
            if there.result_id.is_some() {
                let version = &gap.agent_version;
                sql::delete_result(&mut before, subject, session_id, AGENT_SUCCESS, version);
            }
            sql::put_gap(&mut before, subject, session_id, gap, there.result_id, now);
        }
    }
    if there.has_other_versions {
        sql::mark_newest(&mut before, subject, session_id);
        sql::mark_gaps(&mut before, subject, session_id);
    }
    if there.cites || there.has_cited_rules {
        sql::replace_cited_rules(&mut before, subject, session_id, &titles);
    }
    match (ruling, tx.apply(before).await?.as_slice()) {
        (Ruling::Decided(_), [_]) | (Ruling::Undecided(_), []) => Ok(()),
        _ => Err(not_stored()),
    }
}

/// Id of a new verdict, where rows are not numbered as they are stored.
async fn number_from_afar(tx: &mut Tx) -> Result<Option<i64>> {
    let numbers = tx.numbers_from_afar("evaluation_results_result_id_seq", 1).await?;
    Ok(numbers.and_then(|numbers| numbers.first().copied()))
}

fn not_stored() -> Error {
    Error::Internal("a verdict was not stored".to_owned())
}

/// Writes that the judge failed on a session, unless a verdict is there: that stays.
pub async fn save_failure(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    gap: &NewGap,
    now: i64,
) -> Result<()> {
    let (org_id, user_id, version) = (subject.org_id(), subject.user_id(), &gap.agent_version);
    let there = sql::find_result(tx, org_id, user_id, session_id, AGENT_SUCCESS, version).await?;
    if there.is_some() {
        return Ok(());
    }
    let mut changes = Changes::default();
    sql::put_gap(&mut changes, subject, session_id, gap, None, now);
    sql::mark_gaps(&mut changes, subject, session_id);
    tx.apply(changes).await.map(drop)
}

/// Writes the verdict of a rule. The session must be held.
pub async fn save_rule(
    tx: &mut Tx,
    mut before: Changes<'_>,
    subject: &SubjectWrite,
    session_id: &str,
    new: &NewResult,
    now: i64,
) -> Result<()> {
    let result_id = number_from_afar(tx).await?;
    sql::put_result(&mut before, subject, session_id, new, result_id, now)?;
    match tx.apply(before).await?.as_slice() {
        [_] => Ok(()),
        _ => Err(not_stored()),
    }
}

/// After turns were deleted: what they cited, and the verdicts on them, go with them, and another verdict may be that of
/// the session.
pub async fn session_shrank(tx: &mut Tx, subject: &SubjectWrite, session_id: &str) -> Result<()> {
    if sql::newest_success(tx, subject, session_id).await?.is_some() {
        let titles = cited(tx, subject, session_id).await?;
        let mut changes = Changes::default();
        sql::mark_newest(&mut changes, subject, session_id);
        sql::replace_cited_rules(&mut changes, subject, session_id, &titles);
        tx.apply(changes).await?;
    }
    shadow::turns_deleted(tx, subject, session_id).await
}

/// Titles of cited rules, by the kind and the id of the rule.
pub type CitedTitles = BTreeMap<(CitationKind, String), String>;

/// The rules, each a kind and an id, that the session's turns cite, each under its newest title.
async fn cited(tx: &mut Tx, subject: &SubjectWrite, session_id: &str) -> Result<CitedTitles> {
    let mut titles = CitedTitles::new();
    let cited = sessions::citations(tx, subject.org_id(), subject.user_id(), session_id).await?;
    for citation in cited {
        let title = titles.entry((citation.kind, citation.real_id)).or_default();
        if !citation.title.is_empty() {
            *title = citation.title;
        }
    }
    Ok(titles)
}
