//! Replaying the judge over a closed window: a durable parent, one child per sampled session.
//!
//! The parent, its children and the row that describes them are written in one transaction. Progress is counted
//! from the children while it runs and frozen when it ends. `driver.rs` does the work.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::driver::{CHILD, PARENT};
use crate::app::App;
use crate::evaluation::results::{on_demand, sampling};
use crate::evaluation::shadow::SHADOW_COMPARISON;
use crate::evaluation::{AGENT_SUCCESS, learned, sql};
use crate::organization;
use crate::sessions::{self, SessionInWindow};
use crate::webhooks::{self, Event};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::{Code, Error, Result};
use storage::jobs::{self, Claim, JobView, NewChild, NewJob, OnDuplicate};
use storage::subjects::barrier;

/// Failures shown, newest first.
const FAILURES: i64 = 50;
const REASON_LENGTH: usize = 200;
/// The parent decides itself when to give up: it has an end to write.
const ATTEMPTS: i64 = i32::MAX as i64;

base::vocabulary! {
    /// Status of a regeneration.
    pub enum RegenerationStatus {
        Running = "running",
        Completed = "completed",
        Cancelled = "cancelled",
        /// Given up.
        Error = "error",
    }
}

/// Payload of one session's child job.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ChildPayload {
    pub session_id: String,
    /// The chance of its stratum to be drawn.
    #[serde(default = "certain")]
    pub chance: i64,
    /// Cost of judging it; absent before, and if the model is unpriced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

fn certain() -> i64 {
    sampling::CERTAIN
}

/// Parameters of a regeneration.
#[derive(Clone, Debug)]
pub struct NewRegeneration {
    pub evaluation_name: String,
    pub from_ts: i64,
    pub to_ts: i64,
    /// Stop when this much is spent; what is done is kept.
    pub max_cost_usd: Option<f64>,
    /// A version of the session rubric to compare with the live verdicts, which stay as they are.
    pub candidate_version: Option<String>,
}

/// A regeneration as it is stored.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Regeneration {
    pub job_id: String,
    pub evaluation_name: String,
    pub candidate_version: Option<String>,
    pub from_ts: i64,
    pub to_ts: i64,
    pub seed: String,
    pub sample_per_stratum: i64,
    pub concurrency_limit: i64,
    pub max_cost_usd: Option<f64>,
    pub estimated_cost_usd: Option<f64>,
    pub total_candidates: i64,
    pub total: i64,
    pub status: RegenerationStatus,
    pub reason: Option<String>,
    pub started_at: i64,
    pub finished_at: Option<i64>,
    pub completed: Option<i64>,
    pub failed: Option<i64>,
    pub cost_usd: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = RegenerateFailure)]
pub struct Failure {
    pub session_id: String,
    pub reason: String,
}

/// Progress of a regeneration.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = RegenerateStatusResponse)]
pub struct Progress {
    pub job_id: String,
    pub evaluation_name: String,
    /// The window: of the sessions' first requests, both ends included.
    pub from_ts: i64,
    pub to_ts: i64,
    pub status: RegenerationStatus,
    /// Sessions to be judged.
    pub total: i64,
    pub completed: i64,
    pub failed: i64,
    /// The newest 50.
    pub failures: Vec<Failure>,
    pub started_at: f64,
    pub finished_at: Option<f64>,
    /// Sessions of the window, before sampling.
    pub total_candidates: i64,
    pub sampled_count: i64,
    pub concurrency_limit: i64,
    /// Reason for an early end or a wait.
    pub reason: Option<String>,
    /// US dollars; null while unknown or if the model is unpriced.
    pub estimated_cost_usd: Option<f64>,
    pub cost_usd: f64,
    pub max_cost_usd: Option<f64>,
    /// The candidate's rubric version, for a judge diff.
    pub candidate_version: Option<String>,
}

/// So many new rows at once that what the planner knew of the queue is wrong.
const MANY: i64 = 1000;

/// Starts one; gives its id and how many sessions will be judged.
pub async fn start(app: &Arc<App>, org_id: &OrgId, new: NewRegeneration) -> Result<(String, i64)> {
    let input = (app.clone(), org_id.to_owned(), new, app.ids.key_hex());
    let started = app
        .db
        .write("evaluation.start_regeneration", input, |tx, (app, org_id, new, seed)| {
            Box::pin(store(tx, app, org_id, new, seed))
        })
        .await;
    let started = match started {
        // Two that started at the same moment: the index let one through.
        Err(Error::Storage(cause))
            if cause.as_database_error().is_some_and(|e| e.is_unique_violation()) =>
        {
            return Err(already_running("another"));
        }
        started => started?,
    };
    let (estimated, org_id) = (app.clone(), org_id.to_owned());
    let job_id = started.0.clone();
    app.spawn(async move {
        if let Err(error) = super::estimate::estimate(&estimated, &org_id, &job_id).await {
            tracing::warn!(%error, "the cost of a regeneration is not estimated");
        }
    });
    if started.1 >= MANY {
        app.db.refresh_statistics("jobs").await;
    }
    app.db.announce_work().await;
    Ok(started)
}

fn already_running(job_id: &str) -> Error {
    let detail = format!("Regeneration {job_id} is running; wait for it or cancel it first.");
    Error::refused(Code::RegenerationRunning, detail)
}

async fn store(
    tx: &mut Tx,
    app: &Arc<App>,
    org_id: &OrgId,
    new: &NewRegeneration,
    seed: &str,
) -> Result<(String, i64)> {
    let now = app.clock.now();
    let name = new.evaluation_name.as_str();
    let is_shadow = name == SHADOW_COMPARISON;
    if !is_shadow {
        on_demand::check_name(tx, org_id, name).await?;
    }
    let is_judged = is_shadow || name == AGENT_SUCCESS;
    if new.max_cost_usd.is_some() && is_judged && !app.judge.is_priced() {
        return Err(Error::invalid_field(
            Code::InvalidInput,
            "/max_cost_usd",
            "The judge's model has no price, so this limit could not be kept; add it to judge.prices_file.",
        ));
    }
    if let Some(version) = &new.candidate_version
        && let Some(number) = learned::number_of(version)
        && learned::sql::current_number(tx, org_id).await? != Some(number)
    {
        return Err(Error::invalid_field(
            Code::InvalidInput,
            "/candidate_version",
            "There is no such model; /api/evaluations/learned_judge names the one in use.",
        ));
    }
    if let Some(running) = sql::running_regeneration(tx, org_id).await? {
        return Err(already_running(&running));
    }
    let config = organization::config_in(tx, org_id).await?.config;
    let to_ts = new.to_ts.min(now);
    let per_stratum = config.eval_sample_n_per_stratum;
    let window = (new.from_ts, to_ts);
    let (sampled, total_candidates) =
        sampled_sessions(tx, org_id, window, is_shadow, seed, per_stratum).await?;
    let users: Vec<UserId> = sampled
        .iter()
        .map(|(session, _)| session.user_id.clone())
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    let open = barrier::open_known(tx, org_id, &users).await?;
    let children: Vec<NewChild<'_>> = sampled
        .iter()
        .filter_map(|(session, chance)| {
            let subject = open.get(&session.user_id)?;
            let session_id = session.session_id.clone();
            let payload = ChildPayload { session_id, chance: *chance, cost_usd: None };
            Some(NewChild { job_id: app.ids.uuid(), subject, payload: jobs::stored(&payload) })
        })
        .collect();
    let parent = NewJob {
        kind: PARENT,
        org_id,
        subject: None,
        parent_id: None,
        payload: json!({}),
        dedupe_key: None,
        on_duplicate: OnDuplicate::Keep,
        run_at: now,
        max_attempts: ATTEMPTS,
    };
    let parent_id = jobs::enqueue(tx, app, parent).await?;
    jobs::enqueue_children(tx, org_id, CHILD, &parent_id, &children, now).await?;
    let total = count(children.len());
    let regeneration = Regeneration {
        job_id: parent_id.clone(),
        evaluation_name: name.to_owned(),
        candidate_version: new.candidate_version.clone(),
        from_ts: new.from_ts,
        to_ts,
        seed: seed.to_owned(),
        sample_per_stratum: per_stratum,
        concurrency_limit: config.eval_concurrency_limit,
        max_cost_usd: new.max_cost_usd,
        estimated_cost_usd: None,
        total_candidates,
        total,
        status: RegenerationStatus::Running,
        reason: None,
        started_at: now,
        finished_at: None,
        completed: None,
        failed: None,
        cost_usd: None,
    };
    sql::insert_regeneration(tx, org_id, &regeneration).await?;
    Ok((parent_id, total))
}

/// The sessions of a window that a regeneration with this seed judges, each with its chance, and how many there are in
/// all.
pub(super) async fn sampled_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    (from, to): (i64, i64),
    is_shadow: bool,
    seed: &str,
    per_stratum: i64,
) -> Result<(Vec<(SessionInWindow, i64)>, i64)> {
    let candidates = sessions::in_window(tx, org_id, from, to, is_shadow).await?;
    let total_candidates = count(candidates.len());
    let most = usize::try_from(per_stratum).unwrap_or(usize::MAX);
    Ok((sample(candidates, seed, most), total_candidates))
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// At most `most` sessions of each UTC day and source, chosen by hash of the seed, with the chance that they had.
fn sample(
    candidates: Vec<SessionInWindow>,
    seed: &str,
    most: usize,
) -> Vec<(SessionInWindow, i64)> {
    let mut strata: BTreeMap<(i64, String), Vec<(u64, SessionInWindow)>> = BTreeMap::new();
    for session in candidates {
        let stratum = (session.first_request_at.div_euclid(86_400), session.source.clone());
        let place = sampling::hash(seed, &[&session.user_id, &session.session_id]);
        strata.entry(stratum).or_default().push((place, session));
    }
    let mut sampled = Vec::new();
    for mut sessions in strata.into_values() {
        let mut chance = sampling::CERTAIN;
        if sessions.len() > most {
            #[allow(clippy::cast_precision_loss)] // numbers of sessions
            let share = most as f64 / sessions.len() as f64;
            chance = sampling::chance(share);
            sessions.sort_by_key(|(place, _)| *place);
            sessions.truncate(most);
        }
        sampled.extend(sessions.into_iter().map(|(_, session)| (session, chance)));
    }
    sampled
}

/// Reads the progress of a regeneration.
pub async fn progress(app: &App, org_id: &OrgId, job_id: &str) -> Result<Progress> {
    app.db
        .read(
            "evaluation.regeneration_progress",
            (org_id.to_owned(), job_id.to_owned()),
            |tx, (org_id, job_id)| {
                Box::pin(async move {
                    let found = sql::find_regeneration(tx, org_id, job_id).await?;
                    let found = found.ok_or_else(|| Error::not_found("regeneration"))?;
                    progress_in(tx, found).await
                })
            },
        )
        .await
}

/// The organization's newest regenerations, newest first.
pub async fn newest(app: &App, org_id: &OrgId, limit: i64) -> Result<Vec<Progress>> {
    app.db
        .read("evaluation.newest_regenerations", org_id.to_owned(), move |tx, org_id| {
            Box::pin(async move {
                let mut found = Vec::new();
                for one in sql::newest_regenerations(tx, org_id, limit).await? {
                    found.push(progress_in(tx, one).await?);
                }
                Ok(found)
            })
        })
        .await
}

pub async fn progress_in(tx: &mut Tx, regeneration: Regeneration) -> Result<Progress> {
    let r = regeneration;
    let parent = jobs::find(tx, &r.job_id).await?;
    let (completed, failed, cost, gone) = match (r.completed, r.failed) {
        (Some(completed), Some(failed)) => {
            let named = jobs::children(tx, &r.job_id).await?.dead;
            // Children are forgotten with their parent; until then, those that are missing were erased.
            let gone = if parent.is_some() { (failed - named).max(0) } else { 0 };
            (completed, failed, r.cost_usd.unwrap_or(0.0), gone)
        }
        _ => counts(tx, &r).await?,
    };
    let mut failures: Vec<Failure> = jobs::failed_children(tx, &r.job_id, FAILURES)
        .await?
        .into_iter()
        .map(|(payload, reason)| Failure {
            session_id: serde_json::from_value(payload)
                .map(|ChildPayload { session_id, .. }| session_id)
                .unwrap_or_default(),
            reason: reason.chars().take(REASON_LENGTH).collect(),
        })
        .collect();
    let left = usize::try_from(FAILURES).unwrap_or(0).saturating_sub(failures.len());
    failures.extend((0..gone).take(left).map(|_| Failure {
        // The session is no longer known, and must not be.
        session_id: String::new(),
        reason: "the user was erased or their data cleared".to_owned(),
    }));
    // While nobody works on it, its last error says why.
    let waits =
        |parent: &JobView| r.status == RegenerationStatus::Running && parent.lease_until.is_none();
    let waiting = parent.filter(waits).and_then(|parent| parent.last_error);
    #[allow(clippy::cast_precision_loss)] // unix seconds fit exactly
    Ok(Progress {
        evaluation_name: r.evaluation_name,
        from_ts: r.from_ts,
        to_ts: r.to_ts,
        status: r.status,
        total: r.total,
        completed,
        failed,
        failures,
        started_at: r.started_at as f64,
        finished_at: r.finished_at.map(|at| at as f64),
        total_candidates: r.total_candidates,
        sampled_count: r.total,
        concurrency_limit: r.concurrency_limit,
        reason: r.reason.or(waiting),
        estimated_cost_usd: r.estimated_cost_usd,
        cost_usd: cost,
        max_cost_usd: r.max_cost_usd,
        candidate_version: r.candidate_version,
        job_id: r.job_id,
    })
}

/// Judged, failed, spent; and how many children went with their person. Those count as failed.
pub async fn counts(tx: &mut Tx, r: &Regeneration) -> Result<(i64, i64, f64, i64)> {
    let children = jobs::children(tx, &r.job_id).await?;
    let there = children.open + children.done + children.dead + children.cancelled;
    let gone = (r.total - there).max(0);
    let cost = jobs::child_costs(tx, &r.job_id).await?;
    Ok((children.done, children.dead + gone, cost, gone))
}

/// Tells webhooks that a regeneration has ended, in the transaction that ends it.
pub async fn tell_end(
    tx: &mut Tx,
    app: &App,
    job: &Claim,
    status: RegenerationStatus,
    total: i64,
    (completed, failed, cost_usd): (i64, i64, f64),
) -> Result<()> {
    let (job_id, status) = (job.job_id.clone(), status.as_str());
    let event = Event::RegenerationDone { job_id, status, total, completed, failed, cost_usd };
    webhooks::emit(tx, app, &job.org_id, None, &event).await
}

/// Ends one at once: no verdict is written from now on, and the driver stops within a second. One that has ended
/// stays as it is.
pub async fn cancel(app: &Arc<App>, org_id: &OrgId, job_id: &str) -> Result<RegenerationStatus> {
    let input = (org_id.to_owned(), job_id.to_owned(), app.clock.now());
    app.db
        .write("evaluation.cancel_regeneration", input, |tx, (org_id, job_id, now)| {
            Box::pin(async move {
                let found = sql::find_regeneration(tx, org_id, job_id).await?;
                let found = found.ok_or_else(|| Error::not_found("regeneration"))?;
                if found.status != RegenerationStatus::Running {
                    return Ok(found.status);
                }
                jobs::cancel(tx, job_id, *now).await?;
                let (completed, failed, cost, _) = counts(tx, &found).await?;
                jobs::cancel_children(tx, job_id, *now).await?;
                let ended = (completed, failed, cost);
                let status = RegenerationStatus::Cancelled;
                sql::end_regeneration(tx, job_id, status, None, ended, *now).await?;
                Ok(status)
            })
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_and_source_has_its_own_sample() {
        let session = |n: i64, day: i64, source: &str| SessionInWindow {
            user_id: format!("u{n}").into(),
            session_id: "s".to_owned(),
            first_request_at: day * 86_400 + n,
            source: source.to_owned(),
        };
        let mut all = Vec::new();
        for n in 0..30 {
            all.extend([session(n, 1, "web"), session(n, 2, "web"), session(n, 2, "app")]);
        }
        all.push(session(0, 3, "web"));
        let of = |seed: &str| -> Vec<_> {
            let sampled = sample(all.clone(), seed, 10);
            sampled.into_iter().map(|(s, chance)| (s.first_request_at, s.source, chance)).collect()
        };
        assert_eq!(of("a").len(), 31);
        assert_eq!(of("a"), of("a"));
        // Ten of thirty, and the only one of its day.
        let chances: Vec<i64> = of("a").into_iter().map(|(_, _, chance)| chance).collect();
        assert_eq!(chances.iter().filter(|chance| **chance == 3333).count(), 30);
        assert_eq!(chances.last(), Some(&sampling::CERTAIN));
        assert_ne!(of("a"), of("b"));
        assert_eq!(sample(all.clone(), "a", 100).len(), all.len());
    }
}
