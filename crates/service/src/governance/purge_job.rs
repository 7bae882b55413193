//! The steps of an erasure: shared texts, deletes, physical, final. Each can be repeated, and each writes under the
//! job's lease: a worker that lost it changes nothing more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use super::purge::{
    Counts, MODELS_DELETED, MODELS_RETRAINED, Purge, PurgeErrorCode, SHARED_TEXTS, enqueue,
};
use super::{ledger, physical, sql};
use crate::app::App;
use crate::evaluation::{self, effects, learned};
use crate::experiments;
use crate::learning_loop;
use crate::user_tables::{LINKS, USER_TABLES};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::{Code, Error, Result};
use storage::jobs::{self, Claim, Handler, OnDuplicate, Outcome};
use storage::subjects::audit::{self, NewEvent, Operation};

pub const KIND: &str = "erase_user";

/// Longest work of a batch of deletes, its commit left out: publishes wait for one batch, or for two.
const BATCH_TIME: Duration = Duration::from_millis(8);
const SMALLEST_BATCH: u64 = 64;
const LARGEST_BATCH: u64 = 4096;
/// Rows after which the log is copied: about 4,000 of its pages, half of what it may have.
const ROWS_BETWEEN_COPIES: u64 = 32_768;

pub struct EraseUser;

impl Handler<App> for EraseUser {
    fn kind(&self) -> &'static str {
        KIND
    }

    /// At a start: every unfinished erasure has a job.
    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            app.db
                .write("governance.plan_purges", app.clone(), |tx, app| {
                    Box::pin(async move {
                        for purge in sql::purges::unfinished(tx).await? {
                            enqueue(tx, app, &purge, OnDuplicate::Keep).await?;
                        }
                        Ok(())
                    })
                })
                .await
        })
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(run(app, job))
    }
}

/// Reason for a failed erasure. Neither the code nor its text says anything of the person.
#[derive(Debug)]
pub struct PurgeFailure {
    code: PurgeErrorCode,
    cause: Error,
}

impl PurgeFailure {
    pub fn new(code: PurgeErrorCode, cause: Error) -> Self {
        // Without storage every step fails, so the step's own code would mislead.
        if cause.code() == Code::Unavailable && code != PurgeErrorCode::ScrubBusy {
            return PurgeFailure { code: PurgeErrorCode::StorageUnavailable, cause };
        }
        PurgeFailure { code, cause }
    }

    pub fn into_error(self) -> Error {
        self.cause
    }
}

/// The code for people.
fn detail(code: PurgeErrorCode) -> &'static str {
    match code {
        PurgeErrorCode::DeleteFailed => "rows could not be deleted",
        PurgeErrorCode::NotEmpty => "rows were found after the deletes",
        PurgeErrorCode::AuditFailed => "the audit event could not be written",
        PurgeErrorCode::ScrubBusy => "a long read keeps the write-ahead log from being emptied",
        PurgeErrorCode::IndexCorrupt => "the full-text index does not agree with its rows",
        PurgeErrorCode::StorageUnavailable => "the storage does not answer",
    }
}

/// Names a step's error.
pub fn failing(code: PurgeErrorCode) -> impl Fn(Error) -> PurgeFailure {
    move |cause| PurgeFailure::new(code, cause)
}

async fn run(app: &Arc<App>, job: &Claim) -> Result<Outcome> {
    let started = Instant::now();
    let purge = match take(app, job).await? {
        Taken::Purge(purge) => *purge,
        Taken::Over => return Ok(Outcome::Done),
        Taken::Waits => {
            let again_at = app.clock.now() + 1;
            let reason = "an older erasure of the same person comes first";
            jobs::postpone(app, job, again_at, reason, job.payload.0.clone()).await?;
            return Ok(Outcome::Closed);
        }
    };
    match steps(app, job, &purge).await {
        Ok(()) => {
            metrics::histogram!("evenhand_purge_seconds").record(started.elapsed().as_secs_f64());
            Ok(Outcome::Closed)
        }
        Err(PurgeFailure { cause: Error::LeaseLost, .. }) => Err(Error::LeaseLost),
        Err(failure) => {
            let PurgeFailure { code, cause } = failure;
            tracing::warn!(purge_id = purge.purge_id, %code, %cause, "an erasure did not get on");
            metrics::counter!("evenhand_purge_failures_total", "code" => code.as_str())
                .increment(1);
            let input = (job.clone(), purge.purge_id.clone(), app.clock.now());
            app.db
                .write("governance.fail_purge", input, move |tx, (job, purge_id, now)| {
                    Box::pin(async move {
                        jobs::hold(tx, job).await?;
                        sql::purges::set_failed(tx, purge_id, code, detail(code), *now).await
                    })
                })
                .await?;
            // Apart: what went wrong may be the audit itself, and the status is to tell.
            let input = (app.clone(), job.clone(), purge.purge_id);
            let audited = app
                .db
                .write("governance.audit_failed_purge", input, |tx, (app, job, purge_id)| {
                    Box::pin(async move {
                        jobs::hold(tx, job).await?;
                        match sql::purges::find(tx, purge_id).await? {
                            Some(purge) => purge.audit(tx, app, false).await.map(drop),
                            None => Ok(()),
                        }
                    })
                })
                .await;
            match audited {
                Ok(()) => app.sign_audit_head().await,
                Err(error) => tracing::warn!(%error, "a failed erasure is not in the audit"),
            }
            // The queue keeps this text and tries again after a growing pause.
            Err(Error::Internal(code.to_string()))
        }
    }
}

enum Taken {
    Purge(Box<Purge>),
    /// An older erasure of the same person is unfinished.
    Waits,
    Over,
}

async fn take(app: &Arc<App>, job: &Claim) -> Result<Taken> {
    let purge_id = job.payload["purge_id"].as_str().unwrap_or_default().to_owned();
    let input = (job.clone(), purge_id, app.clock.now());
    app.db
        .write("governance.take_purge", input, |tx, (job, purge_id, now)| {
            Box::pin(async move {
                jobs::hold(tx, job).await?;
                let found = sql::purges::find(tx, purge_id).await?;
                let Some(purge) = found.filter(|purge| !purge.is_complete()) else {
                    return Ok(Taken::Over);
                };
                let of = sql::purges::unfinished_of(tx, &purge.org_id, purge.subject).await?;
                if of.first().is_some_and(|oldest| oldest.purge_id != purge.purge_id) {
                    return Ok(Taken::Waits);
                }
                sql::purges::set_running(tx, purge_id, *now).await?;
                Ok(Taken::Purge(Box::new(purge)))
            })
        })
        .await
}

async fn steps(app: &Arc<App>, job: &Claim, purge: &Purge) -> Result<(), PurgeFailure> {
    let user_id = match &purge.sealed_user {
        Some(sealed) => app.subject_keys.unseal(&purge.purge_id, sealed),
        None => Ok(UserId::default()),
    };
    let user_id = user_id.map_err(failing(PurgeErrorCode::DeleteFailed))?;
    let person = ErasureTarget { org_id: purge.org_id.clone(), user_id, epoch: purge.epoch };

    let deleting = failing(PurgeErrorCode::DeleteFailed);
    app.faults.reach("erase.before_deletes").map_err(&deleting)?;
    mask_shared(app, job, purge, &person).await.map_err(&deleting)?;
    app.faults.reach("erase.after_masking").map_err(&deleting)?;
    forget_models(app, job, purge, &person).await.map_err(&deleting)?;
    delete_all(app, job, purge, &person).await.map_err(&deleting)?;
    retrain(app, job, purge, &person).await.map_err(&deleting)?;
    app.faults.reach("erase.after_deletes").map_err(&deleting)?;
    evaluation::overview::fold_all(app).await.map_err(&deleting)?;
    let is_gone = app
        .db
        .read("governance.recount", person.clone(), |tx, person| Box::pin(person.is_gone(tx)))
        .await
        .map_err(&deleting)?;
    if !is_gone {
        let cause = Error::Internal("rows are left".to_owned());
        return Err(PurgeFailure::new(PurgeErrorCode::NotEmpty, cause));
    }
    forget_name(app, job, purge).await.map_err(&deleting)?;
    let physical_at = physical::erase(app).await?;
    let writing = failing(PurgeErrorCode::StorageUnavailable);
    app.faults.reach("erase.before_ledger").map_err(&writing)?;
    ledger::append(app, purge).map_err(&writing)?;
    app.faults.reach("erase.after_ledger").map_err(&writing)?;
    finish(app, job, purge, person, physical_at).await
}

impl Purge {
    /// Writes how it ended, or failed this time, into the audit.
    async fn audit(&self, tx: &mut Tx, app: &App, ok: bool) -> Result<(i64, String)> {
        let event = NewEvent {
            org_id: &self.org_id,
            operation: Operation::Erase,
            ok,
            actor_ref: &self.actor_ref,
            subject_ref: Some(&self.subject_ref),
            request_ref: Some(&self.request_ref),
            counts: self.deleted_counts.0.clone(),
            now: app.clock.now(),
        };
        audit::append(tx, &app.subject_keys, event).await
    }
}

/// A person whose rows from before `epoch` are deleted.
#[derive(Clone)]
struct ErasureTarget {
    org_id: OrgId,
    user_id: UserId,
    epoch: i64,
}

impl ErasureTarget {
    async fn is_gone(&self, tx: &mut Tx) -> Result<bool> {
        for table in USER_TABLES {
            if !table.is_empty(tx, &self.org_id, &self.user_id, self.epoch).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Takes the person's words out of the texts they helped to make, before the words themselves go. Texts, links and
/// their counts are one transaction.
async fn mask_shared(
    app: &Arc<App>,
    job: &Claim,
    purge: &Purge,
    person: &ErasureTarget,
) -> Result<()> {
    loop {
        let compared = app
            .db
            .read("governance.compare_shared", person.clone(), |tx, person| {
                let ErasureTarget { org_id, user_id, epoch } = person;
                Box::pin(learning_loop::compare_shared(tx, org_id, user_id, *epoch))
            })
            .await?;
        let Some(compared) = compared else { return Ok(()) };
        let input = (app.clone(), job.clone(), purge.purge_id.clone(), compared);
        app.db
            .write("governance.mask_shared", input, |tx, (app, job, purge_id, compared)| {
                Box::pin(async move {
                    jobs::hold(tx, job).await?;
                    let masked = learning_loop::mask_shared(tx, app, compared).await?;
                    let now = app.clock.now();
                    add_count(tx, purge_id, LINKS, masked.links, now).await?;
                    add_count(tx, purge_id, SHARED_TEXTS, masked.texts, now).await
                })
            })
            .await?;
    }
}

/// Deletes what the learned judge knows if it learned from the person.
async fn forget_models(
    app: &Arc<App>,
    job: &Claim,
    purge: &Purge,
    person: &ErasureTarget,
) -> Result<()> {
    let input = (app.clone(), job.clone(), purge.purge_id.clone(), person.clone());
    app.db
        .write("governance.forget_models", input, |tx, (app, job, purge_id, person)| {
            Box::pin(async move {
                jobs::hold(tx, job).await?;
                let ErasureTarget { org_id, user_id, epoch } = person;
                let deleted = learned::forget(tx, app, org_id, user_id, *epoch).await?;
                let now = app.clock.now();
                add_count(tx, purge_id, MODELS_DELETED, u64::from(deleted), now).await
            })
        })
        .await
}

/// Trains the learned judge again, without the person. Where that does not work now (somebody else is being erased as
/// well), the job that was enqueued with the deletion does it later.
async fn retrain(app: &Arc<App>, job: &Claim, purge: &Purge, person: &ErasureTarget) -> Result<()> {
    let input = purge.purge_id.clone();
    let found = app
        .db
        .lookup("governance.find_purge", input, |tx, id| Box::pin(sql::purges::find(tx, id)))
        .await?;
    let is_due = found.is_some_and(|p| p.models_deleted() > 0 && p.models_retrained() == 0);
    if !is_due {
        return Ok(());
    }
    let trained = match learned::retrain(app, &person.org_id).await {
        Ok(number) => number.is_some(),
        Err(error) => {
            tracing::warn!(%error, "the learned judge is trained again later");
            false
        }
    };
    let input = (app.clone(), job.clone(), purge.purge_id.clone());
    app.db
        .write("governance.count_retrained", input, move |tx, (app, job, purge_id)| {
            Box::pin(async move {
                jobs::hold(tx, job).await?;
                let now = app.clock.now();
                add_count(tx, purge_id, MODELS_RETRAINED, u64::from(trained), now).await
            })
        })
        .await
}

/// Adds to what an erasure has done.
async fn add_count(tx: &mut Tx, purge_id: &str, target: &str, count: u64, now: i64) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let found = sql::purges::find(tx, purge_id).await?;
    let mut counts: Counts = found.map(|purge| purge.deleted_counts.0).unwrap_or_default();
    *counts.entry(target.to_owned()).or_default() += count;
    sql::purges::set_counts(tx, purge_id, &counts, now).await
}

/// Deletes table by table in batches; each batch and its count are one transaction.
async fn delete_all(
    app: &Arc<App>,
    job: &Claim,
    purge: &Purge,
    person: &ErasureTarget,
) -> Result<()> {
    let mut limit = SMALLEST_BATCH;
    let mut since_copy = 0;
    for (place, _) in USER_TABLES.iter().enumerate() {
        loop {
            let input = (job.clone(), purge.purge_id.clone(), person.clone(), app.clock.now());
            let Batch { deleted, took } = app
                .db
                .write("governance.delete_batch", input, move |tx, (job, purge_id, person, now)| {
                    Box::pin(delete_some(tx, job, purge_id, person, place, limit, *now))
                })
                .await?;
            app.faults.reach("erase.amid_deletes")?;
            since_copy += deleted;
            if since_copy >= ROWS_BETWEEN_COPIES {
                app.db.copy_log().await?;
                since_copy = 0;
            }
            if deleted < limit {
                break;
            }
            limit = next_limit(limit, took);
        }
    }
    Ok(())
}

/// Rows of the batch after one of `limit` rows: more only where twice as many would not take too long.
fn next_limit(limit: u64, took: Duration) -> u64 {
    let next = match took {
        took if took > BATCH_TIME => limit / 2,
        took if took < BATCH_TIME / 2 => limit * 2,
        _ => limit,
    };
    next.clamp(SMALLEST_BATCH, LARGEST_BATCH)
}

/// A batch of deletes: its rows, and how long they took, without waiting for the writer and for the commit.
struct Batch {
    deleted: u64,
    took: Duration,
}

/// Takes the user id out of the only place that holds it, once no row of the person is left. Before the files are
/// cleaned: what is changed afterwards may leave copies in them.
async fn forget_name(app: &Arc<App>, job: &Claim, purge: &Purge) -> Result<()> {
    app.db
        .write("governance.forget_name", (job.clone(), purge.clone()), |tx, (job, purge)| {
            Box::pin(async move {
                // The subject before the job, as those who begin an erasure take them: nobody waits in a circle.
                sql::subjects::forget_name(tx, &purge.org_id, purge.subject).await?;
                jobs::hold(tx, job).await
            })
        })
        .await
}

async fn delete_some(
    tx: &mut Tx,
    job: &Claim,
    purge_id: &str,
    person: &ErasureTarget,
    place: usize,
    limit: u64,
    now: i64,
) -> Result<Batch> {
    let begun = Instant::now();
    jobs::hold(tx, job).await?;
    let table = &USER_TABLES[place];
    let ErasureTarget { org_id, user_id, epoch } = person;
    if table.table == "tuning_evidence" {
        learning_loop::forget_drafts(tx, org_id, user_id, None).await?;
    }
    let deleted = table.delete_batch(tx, org_id, user_id, *epoch, limit).await?;
    if table.table == "experiment_user_sums" && deleted > 0 {
        experiments::forget_strata(tx, org_id).await?;
    }
    add_count(tx, purge_id, table.target, deleted, now).await?;
    Ok(Batch { deleted, took: begun.elapsed() })
}

/// The final empty check, the audit event, the subject's end and the operation's: one transaction.
async fn finish(
    app: &Arc<App>,
    job: &Claim,
    purge: &Purge,
    person: ErasureTarget,
    physical_at: Option<i64>,
) -> Result<(), PurgeFailure> {
    app.faults.reach("erase.before_final").map_err(failing(PurgeErrorCode::AuditFailed))?;
    let input = (app.clone(), job.clone(), purge.purge_id.clone(), person);
    let ended = app
        .db
        .write("governance.finish_purge", input, move |tx, (app, job, purge_id, person)| {
            Box::pin(async move {
                let found = sql::purges::find(tx, purge_id).await?;
                let purge = found.ok_or_else(|| Error::not_found("purge operation"))?;
                // The subject before the job, as those who begin an erasure take them: nobody waits in a circle.
                sql::subjects::hold(tx, &purge.org_id, purge.subject).await?;
                jobs::hold(tx, job).await?;
                if !person.is_gone(tx).await? {
                    return Ok(Ended::NotEmpty);
                }
                let now = app.clock.now();
                let audited = purge.audit(tx, app, true).await?;
                app.faults.reach("erase.amid_final")?;
                if !sql::purges::set_complete(tx, purge_id, physical_at, &audited, now).await? {
                    return Err(Error::LeaseLost);
                }
                let policy = &app.settings.governance.return_policy;
                sql::subjects::set_erased(tx, &purge.org_id, purge.subject, policy).await?;
                jobs::finish(tx, job, now).await?;
                Ok(Ended::Complete)
            })
        })
        .await
        .map_err(failing(PurgeErrorCode::AuditFailed))?;
    if let Ended::NotEmpty = ended {
        let cause = Error::Internal("rows are left".to_owned());
        return Err(PurgeFailure::new(PurgeErrorCode::NotEmpty, cause));
    }
    effects::forget(app, &purge.org_id);
    app.sign_audit_head().await;
    // Before anybody is told: lists are read from there.
    if !app.db.await_standby().await.unwrap_or(false) {
        tracing::warn!(purge_id = purge.purge_id, "the standby does not know of an erasure yet");
    }
    app.faults.reach("erase.after_final").map_err(failing(PurgeErrorCode::AuditFailed))
}

enum Ended {
    Complete,
    NotEmpty,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_while_twice_as_many_rows_fit() {
        let after = |limit, share| next_limit(limit, BATCH_TIME.mul_f64(share));
        assert_eq!(after(512, 0.4), 1024);
        assert_eq!(after(512, 0.6), 512);
        assert_eq!(after(512, 1.1), 256);
        assert_eq!(after(SMALLEST_BATCH, 9.0), SMALLEST_BATCH);
        assert_eq!(after(LARGEST_BATCH, 0.1), LARGEST_BATCH);
    }
}
