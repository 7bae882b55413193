//! Erasing a person: the operation, its beginning, and waiting for its end. `purge_job.rs` has the steps.
//!
//! - Operation, barrier and job are written in one transaction; the same (person, request id) is the same
//!   operation, however often and wherever it is asked for.
//! - From then on the person has no row under their id: the barrier is keyed by reference, and what the steps need
//!   is sealed. Rows are deleted by epoch, so that repeating never touches what came after.
//! - `complete` is written with the final empty check, the audit event and the subject's end, or not at all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::owner::{OrgId, UserId};
use base::vocabulary::Vocabulary;
use serde_json::json;
use sqlx::types::Json;

use super::purge_job;
use super::sql::{self, subjects::SubjectRow};
use crate::app::App;
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::jobs::{self, JobState, NewJob, OnDuplicate};
use storage::subjects::{Subject, rekey};

/// Rows by target.
pub type Counts = BTreeMap<String, u64>;

/// The name of the count of masked texts, in operations and audit events.
pub const SHARED_TEXTS: &str = "shared_texts_masked";
/// The names of the counts of models that had learned from the person, and of those trained without them.
pub const MODELS_DELETED: &str = "judge_models_deleted";
pub const MODELS_RETRAINED: &str = "judge_models_retrained";

/// Attempts never run out: an erasure ends when its faults do.
const ATTEMPTS: i64 = 1_000_000_000;

base::vocabulary! {
    /// Status of an erasure.
    pub enum PurgeStatus {
        Pending = "pending",
        Running = "running",
        /// It is tried again by itself.
        Failed = "failed",
        Complete = "complete",
    }
}

base::vocabulary! {
    /// Reason for a failed erasure. Says nothing of the person.
    pub enum PurgeErrorCode {
        DeleteFailed = "erase_delete_failed",
        NotEmpty = "erase_not_empty",
        AuditFailed = "erase_audit_failed",
        ScrubBusy = "erase_scrub_busy",
        IndexCorrupt = "erase_index_corrupt",
        StorageUnavailable = "erase_storage_unavailable",
    }
}

/// An erasure as it is stored.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Purge {
    pub purge_id: String,
    pub org_id: OrgId,
    pub subject: Subject,
    pub subject_ref: String,
    pub request_ref: String,
    pub actor_ref: String,
    pub status: PurgeStatus,
    pub sealed_user: Option<String>,
    /// The epoch that begins with it: rows of older ones go.
    pub epoch: i64,
    pub job_id: String,
    pub attempts: i64,
    /// Counts so far: rows deleted by target, and shared texts masked.
    pub deleted_counts: Json<Counts>,
    pub error_code: Option<PurgeErrorCode>,
    pub error_detail: Option<String>,
    /// Start of the erasure: data dated before it is not accepted again.
    pub fence_at: i64,
    /// Time at which the bytes were gone from the files of this server, if they are.
    pub physical_at: Option<i64>,
    pub audit_sequence: Option<i64>,
    pub audit_hash: Option<String>,
    pub created_at: i64,
    pub updated_at: i64,
    pub completed_at: Option<i64>,
}

impl Purge {
    pub fn is_complete(&self) -> bool {
        self.status == PurgeStatus::Complete
    }

    /// Rows deleted so far, by target.
    pub fn deleted(&self) -> Counts {
        let mut counts = self.deleted_counts.0.clone();
        for other in [SHARED_TEXTS, MODELS_DELETED, MODELS_RETRAINED] {
            counts.remove(other);
        }
        counts
    }

    /// Learned judges that were deleted because they had learned from the person.
    pub fn models_deleted(&self) -> u64 {
        self.deleted_counts.get(MODELS_DELETED).copied().unwrap_or(0)
    }

    /// Learned judges that were trained again, without the person.
    pub fn models_retrained(&self) -> u64 {
        self.deleted_counts.get(MODELS_RETRAINED).copied().unwrap_or(0)
    }

    /// The organization's texts in which words of the person were masked.
    pub fn shared_texts_masked(&self) -> u64 {
        self.deleted_counts.get(SHARED_TEXTS).copied().unwrap_or(0)
    }
}

/// Request to erase or export a person's data.
#[derive(Clone)]
pub struct EraseRequest {
    pub org_id: OrgId,
    pub user_id: UserId,
    pub request_id: String,
    /// A credential's id, or the command line.
    pub actor: String,
}

/// Erases a person, and returns when that is complete, failed, or not over after `patience`: the workers go on.
pub async fn erase(app: &Arc<App>, request: EraseRequest, patience: Duration) -> Result<Purge> {
    if let Some(purge) = find_pair(app, &request).await? {
        if purge.is_complete() {
            return Ok(purge);
        }
        if purge.error_code.is_none() && has_open_job(app, &purge).await? {
            return wait(app, purge, patience).await;
        }
    }
    app.faults.reach("erase.before_begin")?;
    // This process ends its work for the person before the barrier stands.
    let closing = app.in_flight.close(&request.org_id, &request.user_id).await;
    let purge = begin(app, request).await?;
    drop(closing);
    app.faults.reach("erase.after_begin")?;
    app.db.announce_work().await;
    wait(app, purge, patience).await
}

async fn find_pair(app: &App, request: &EraseRequest) -> Result<Option<Purge>> {
    let EraseRequest { org_id, user_id, request_id, .. } = request;
    let requests = list(&app.subject_keys.all_request_refs(org_id, request_id))?;
    let input = (org_id.clone(), user_id.clone(), requests);
    app.db
        .lookup("governance.find_purge", input, |tx, (org_id, user_id, requests)| {
            let subject = tx.subject(org_id, user_id);
            Box::pin(sql::purges::find_pair(tx, org_id, subject, requests))
        })
        .await
}

async fn has_open_job(app: &App, purge: &Purge) -> Result<bool> {
    let job = app
        .db
        .lookup("governance.find_purge_job", purge.job_id.clone(), |tx, job_id| {
            Box::pin(jobs::find(tx, job_id))
        })
        .await?;
    Ok(job.is_some_and(|job| job.state == JobState::Open))
}

pub(super) fn list(values: &[String]) -> Result<String> {
    serde_json::to_string(values).map_err(|e| Error::Internal(e.to_string()))
}

/// Writes operation, barrier and job, or finds that they are there.
async fn begin(app: &Arc<App>, request: EraseRequest) -> Result<Purge> {
    let input = (app.clone(), request, app.ids.uuid());
    app.db
        .write("governance.begin_purge", input, |tx, (app, request, purge_id)| {
            Box::pin(async move {
                let EraseRequest { org_id, user_id, request_id, actor } = request;
                let keys = &app.subject_keys;
                let requests = list(&keys.all_request_refs(org_id, request_id))?;
                let (subject, now) = (tx.subject(org_id, user_id), app.clock.now());
                let held = hold_subject(tx, org_id, subject, now).await?;
                let found = sql::purges::find_pair(tx, org_id, subject, &requests).await?;
                if let Some(mut purge) = found {
                    if !purge.is_complete() {
                        purge.job_id = enqueue(tx, app, &purge, OnDuplicate::Move).await?;
                    }
                    return Ok(purge);
                }
                let new = NewPurge {
                    purge_id,
                    subject_ref: keys.subject_ref(org_id, user_id),
                    request_ref: keys.all_request_refs(org_id, request_id).swap_remove(0),
                    actor_ref: keys.actor_ref(org_id, actor),
                    user_id: Some(user_id),
                    fence_at: now,
                };
                write(tx, app, org_id, &held, new).await
            })
        })
        .await
}

/// [`hold_subject`] for a subject that was noted outside of the database, perhaps under another key.
pub(super) async fn hold_noted_subject(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    noted: Subject,
) -> Result<SubjectRow> {
    let is_known = sql::subjects::hold(tx, org_id, noted).await?.is_some();
    let subject = match is_known {
        true => noted,
        false => rekey::find(tx, &app.subject_keys, org_id, noted).await?.unwrap_or(noted),
    };
    hold_subject(tx, org_id, subject, app.clock.now()).await
}

/// The person's row, made if there is none, held until the transaction ends.
pub(super) async fn hold_subject(
    tx: &mut Tx,
    org_id: &OrgId,
    subject: Subject,
    now: i64,
) -> Result<SubjectRow> {
    if let Some(held) = sql::subjects::hold(tx, org_id, subject).await? {
        return Ok(held);
    }
    sql::subjects::insert_closed(tx, org_id, subject, now).await?;
    sql::subjects::hold(tx, org_id, subject)
        .await?
        .ok_or_else(|| Error::Internal("a subject was not stored".to_owned()))
}

/// An erasure to be written for a subject that is held.
pub(super) struct NewPurge<'a> {
    pub purge_id: &'a str,
    pub subject_ref: String,
    pub request_ref: String,
    pub actor_ref: String,
    /// Nothing when nobody of that reference is known here.
    pub user_id: Option<&'a UserId>,
    pub fence_at: i64,
}

pub(super) async fn write(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    subject: &SubjectRow,
    new: NewPurge<'_>,
) -> Result<Purge> {
    let now = app.clock.now();
    let user_id = new.user_id.or(subject.user_id.as_ref());
    let sealed_user = user_id.map(|user_id| app.subject_keys.seal(new.purge_id, user_id));
    let mut purge = Purge {
        purge_id: new.purge_id.to_owned(),
        org_id: org_id.to_owned(),
        subject: subject.subject,
        subject_ref: new.subject_ref,
        request_ref: new.request_ref,
        actor_ref: new.actor_ref,
        status: PurgeStatus::Pending,
        sealed_user: sealed_user.transpose()?,
        epoch: subject.epoch + 1,
        job_id: String::new(),
        attempts: 0,
        deleted_counts: Json(Counts::new()),
        error_code: None,
        error_detail: None,
        fence_at: new.fence_at,
        physical_at: None,
        audit_sequence: None,
        audit_hash: None,
        created_at: now,
        updated_at: now,
        completed_at: None,
    };
    sql::subjects::close(tx, org_id, purge.subject, purge.epoch, purge.fence_at).await?;
    sql::purges::insert(tx, &purge).await?;
    purge.job_id = enqueue(tx, app, &purge, OnDuplicate::Move).await?;
    Ok(purge)
}

/// The job of an erasure. It is nobody's: it must outlive what it deletes.
pub(super) async fn enqueue(
    tx: &mut Tx,
    app: &App,
    purge: &Purge,
    on_duplicate: OnDuplicate,
) -> Result<String> {
    let job = NewJob {
        kind: purge_job::KIND,
        org_id: &purge.org_id,
        subject: None,
        parent_id: None,
        payload: json!({"purge_id": purge.purge_id}),
        dedupe_key: Some(purge.purge_id.clone()),
        on_duplicate,
        run_at: app.clock.now(),
        max_attempts: ATTEMPTS,
    };
    let job_id = jobs::enqueue(tx, app, job).await?;
    sql::purges::set_job(tx, &purge.purge_id, &job_id).await?;
    Ok(job_id)
}

/// Waits for the end of an erasure, and does its steps if nobody else does: those of older erasures of the same
/// person first.
pub(super) async fn wait(app: &Arc<App>, begun: Purge, patience: Duration) -> Result<Purge> {
    let deadline = tokio::time::Instant::now() + patience;
    let mut pause = Duration::from_millis(20);
    loop {
        let (purge, unfinished) = look(app, &begun).await?;
        let has_failed_now = purge.status == PurgeStatus::Failed && purge.attempts > begun.attempts;
        if purge.is_complete() || has_failed_now || tokio::time::Instant::now() >= deadline {
            return Ok(purge);
        }
        let next = unfinished.first().unwrap_or(&purge);
        if let Some(job) = jobs::claim_one(app, &next.job_id).await? {
            // Tracked by the app, so that it ends well when this client hangs up or loses patience.
            let work = app.clone();
            let driven = app.spawn(async move {
                jobs::drive(&work, Arc::new(purge_job::EraseUser), job).await;
            });
            let _ = tokio::time::timeout_at(deadline, driven).await;
            continue;
        }
        tokio::time::sleep(pause.mul_f64(1.0 + app.ids.fraction())).await;
        pause = (pause * 2).min(Duration::from_millis(500));
    }
}

/// The erasure as it is now, and all unfinished ones of its person, the oldest first.
async fn look(app: &App, begun: &Purge) -> Result<(Purge, Vec<Purge>)> {
    app.db
        .read("governance.purge_state", begun.clone(), |tx, begun| {
            Box::pin(async move {
                let purge = sql::purges::find(tx, &begun.purge_id).await?;
                let purge = purge.ok_or_else(|| Error::not_found("purge operation"))?;
                let of = sql::purges::unfinished_of(tx, &begun.org_id, begun.subject);
                Ok((purge, of.await?))
            })
        })
        .await
}

/// An organization's erasure.
pub async fn find(app: &App, org_id: &OrgId, purge_id: &str) -> Result<Purge> {
    let found = app
        .db
        .lookup("governance.get_purge", purge_id.to_owned(), |tx, purge_id| {
            Box::pin(sql::purges::find(tx, purge_id))
        })
        .await?;
    found.filter(|purge| purge.org_id == org_id).ok_or_else(|| Error::not_found("purge operation"))
}

/// An organization's newest erasures, the newest first.
pub async fn newest(app: &App, org_id: &OrgId, limit: i64) -> Result<Vec<Purge>> {
    app.db
        .read("governance.newest_purges", org_id.to_owned(), move |tx, org_id| {
            Box::pin(sql::purges::newest(tx, org_id, limit))
        })
        .await
}

/// Puts the state of erasures into the metrics.
pub async fn record_gauges(app: &Arc<App>) {
    if app.db.engine().is_none() {
        return;
    }
    let summary =
        app.db.read("governance.summary", (), |tx, ()| Box::pin(sql::purges::summary(tx))).await;
    let Ok(summary) = summary else { return };
    let now = app.clock.now();
    let mut oldest = 0;
    for status in PurgeStatus::ALL {
        let found = summary.iter().find(|(found, ..)| found == status);
        let (count, since) = found.map_or((0, now), |(_, count, since)| (*count, *since));
        metrics::gauge!("evenhand_purges", "status" => status.as_str()).set(count as f64);
        if *status != PurgeStatus::Complete {
            oldest = oldest.max(now - since);
        }
    }
    metrics::gauge!("evenhand_purge_oldest_unfinished_seconds").set(oldest as f64);
}
