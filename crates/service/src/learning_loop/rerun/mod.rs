//! Reading again: turns that were read before go through extraction once more, because the extractor, its rubric or a
//! setting changed. What was learned from them already is recognised and merged.
//!
//! One job of an organization, or of one person, puts streams back and waits until they are read. Extraction reads for
//! profiles and playbooks together: the two names that clients know differ in how they choose the turns.

pub mod http;
mod job;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::sessions::TurnSelection;
use base::owner::{OrgId, UserId};
use storage::error::{Error, Result};
use storage::jobs::{self, JobState, NewJob, OnDuplicate};
use storage::subjects::barrier;

pub use job::RerunGeneration;

base::vocabulary! {
    /// An operation by the name under which its status is asked for.
    pub enum Generation {
        Profiles = "profile_generation",
        Playbooks = "playbook_generation",
    }
}

impl Generation {
    /// The kind of its job, which reads turns again, or only those that wait.
    fn kind(self, again: bool) -> &'static str {
        match (self, again) {
            (Generation::Profiles, true) => "rerun_profile_generation",
            (Generation::Playbooks, true) => "rerun_playbook_generation",
            (Generation::Profiles, false) => "manual_profile_generation",
            (Generation::Playbooks, false) => "manual_playbook_generation",
        }
    }
}

base::vocabulary! {
    /// State of an operation.
    pub enum OperationState {
        InProgress = "in_progress",
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

/// The payload of the job: what is read, and how far it came.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Rerun {
    turns: TurnSelection,
    /// Turns that were read before are read again; otherwise only those that wait.
    again: bool,
    /// All streams were put back.
    is_put_back: bool,
    total_users: usize,
    processed_users: usize,
}

/// Status of the newest operation of a name.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = OperationStatusInfo)]
pub struct Operation {
    pub service_name: Generation,
    pub status: OperationState,
    pub started_at: i64,
    pub completed_at: Option<i64>,
    /// People with turns that are read.
    pub total_users: usize,
    pub processed_users: usize,
    pub error_message: Option<String>,
    /// 0 to 100.
    pub progress_percentage: f64,
}

/// Starts an operation over the turns that are selected, of one person or of all; false if the same is running.
/// With `again` turns are read that were read before, without it only those that wait.
pub async fn start(
    app: &Arc<App>,
    org_id: &OrgId,
    generation: Generation,
    user_id: Option<UserId>,
    turns: TurnSelection,
    again: bool,
) -> Result<bool> {
    let rerun = Rerun { turns, again, ..Rerun::default() };
    let input = (app.clone(), org_id.clone(), user_id, rerun);
    let started = app
        .db
        .write("learnings.rerun", input, move |tx, (app, org_id, user_id, rerun)| {
            Box::pin(async move {
                let kind = generation.kind(rerun.again);
                let newest = jobs::newest(tx, org_id, kind).await?;
                if newest.is_some_and(|job| job.state == JobState::Open) {
                    return Ok(false);
                }
                let subject = match user_id {
                    None => None,
                    Some(user_id) => {
                        let users = std::slice::from_ref(user_id);
                        let mut open = barrier::open_known(tx, org_id, users).await?;
                        Some(open.remove(user_id).ok_or_else(|| Error::not_found("user"))?)
                    }
                };
                let job = NewJob {
                    kind,
                    org_id,
                    subject: subject.as_ref(),
                    parent_id: None,
                    payload: jobs::stored(rerun),
                    dedupe_key: Some(generation.as_str().to_owned()),
                    on_duplicate: OnDuplicate::Keep,
                    run_at: app.clock.now(),
                    max_attempts: 12,
                };
                jobs::enqueue(tx, app, job).await?;
                Ok(true)
            })
        })
        .await?;
    app.db.announce_work().await;
    Ok(started)
}

/// The newest reading again of a name; nothing if there was none lately.
#[allow(clippy::cast_precision_loss)] // numbers of people
pub async fn status(
    app: &App,
    org_id: &OrgId,
    generation: Generation,
) -> Result<Option<Operation>> {
    let newest = app
        .db
        .read("learnings.rerun_status", org_id.clone(), move |tx, org_id| {
            Box::pin(jobs::newest(tx, org_id, generation.kind(true)))
        })
        .await?;
    let Some(job) = newest else { return Ok(None) };
    let rerun: Rerun = job.payload(generation.kind(true))?;
    let status = match job.state {
        JobState::Open => OperationState::InProgress,
        JobState::Done => OperationState::Completed,
        JobState::Dead => OperationState::Failed,
        JobState::Cancelled => OperationState::Cancelled,
    };
    let share = rerun.processed_users as f64 / rerun.total_users.max(1) as f64;
    Ok(Some(Operation {
        service_name: generation,
        status,
        started_at: job.created_at,
        completed_at: job.finished_at,
        total_users: rerun.total_users,
        processed_users: rerun.processed_users,
        error_message: job.last_error.filter(|_| status == OperationState::Failed),
        progress_percentage: if status == OperationState::Completed {
            100.0
        } else {
            share * 100.0
        },
    }))
}
