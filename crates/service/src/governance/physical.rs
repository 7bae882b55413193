//! The bytes: after the rows are deleted, nothing of them may be left in the files.
//!
//! SQLite: merge the full-text index, compare it with its rows, clean the file, empty the write-ahead log. What would
//! take too long follows as a job of its own, and raises the level of the erasure then. PostgreSQL rewrites tables
//! and recycles its log in its own time: there, physically gone is a date (`certificate.rs`).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::json;

use super::purge::PurgeErrorCode;
use super::purge_job::{PurgeFailure, failing};
use super::sql;
use crate::app::App;
use crate::learnings;
use base::owner::OrgId;
use storage::db::{Engine, Scrub};
use storage::error::{Error, Result};
use storage::jobs::{self, Claim, Handler, NewJob, OnDuplicate, Outcome};

const KIND: &str = "scrub_files";

/// Measured on one disk of 2026; the estimate need not be better than its order of magnitude.
const BYTES_PER_SECOND: u64 = 100 << 20;
/// Longest wait of an erasure for readers of the write-ahead log.
const PATIENCE: Duration = Duration::from_secs(8);

/// Cleans the files and gives when that was done; nothing if it follows later.
pub async fn erase(app: &Arc<App>) -> Result<Option<i64>, PurgeFailure> {
    if app.db.engine() != Some(Engine::Sqlite) {
        return Ok(None);
    }
    let working = failing(PurgeErrorCode::StorageUnavailable);
    app.faults.reach("erase.before_index").map_err(&working)?;
    compact_index(app).await?;
    app.faults.reach("erase.after_index").map_err(&working)?;
    app.faults.reach("erase.before_scrub").map_err(&working)?;
    let bytes = app.db.live_bytes().await.map_err(&working)?;
    let done_at = if bytes / BYTES_PER_SECOND >= app.settings.governance.physical_seconds {
        plan(app).await.map_err(&working)?;
        None
    } else {
        scrub(app, bytes).await?;
        Some(app.clock.now())
    };
    app.faults.reach("erase.after_scrub").map_err(&working)?;
    Ok(done_at)
}

async fn compact_index(app: &App) -> Result<(), PurgeFailure> {
    let working = failing(PurgeErrorCode::StorageUnavailable);
    let mut first = true;
    loop {
        let more = app
            .db
            .write("governance.compact_index", first, |tx, first| {
                Box::pin(learnings::compact_index(tx, *first))
            })
            .await
            .map_err(&working)?;
        first = false;
        if !more {
            break;
        }
    }
    app.db
        .write("governance.check_index", (), |tx, ()| Box::pin(learnings::check_index(tx)))
        .await
        .map_err(failing(PurgeErrorCode::IndexCorrupt))
}

async fn scrub(app: &App, bytes: u64) -> Result<(), PurgeFailure> {
    let small = bytes >> 20 <= app.settings.governance.vacuum_up_to_mib;
    let how = if small { Scrub::Rewrite } else { Scrub::Gaps };
    app.db.scrub(how).await.map_err(failing(PurgeErrorCode::StorageUnavailable))?;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(5);
    loop {
        if app.db.empty_log().await.map_err(failing(PurgeErrorCode::StorageUnavailable))? {
            return Ok(());
        }
        if tokio::time::Instant::now() >= deadline {
            let cause = Error::unavailable("The write-ahead log is in use.", 1);
            return Err(PurgeFailure::new(PurgeErrorCode::ScrubBusy, cause));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(500));
    }
}

/// Cleans large files after the erasures that made it necessary are complete.
pub struct ScrubFiles;

impl Handler<App> for ScrubFiles {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(plan_if_needed(app))
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, _job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            let begun = app.clock.now();
            let bytes = app.db.live_bytes().await?;
            scrub(app, bytes).await.map_err(PurgeFailure::into_error)?;
            let input = (begun, app.clock.now());
            app.db
                .write("governance.set_physical", input, |tx, (begun, now)| {
                    Box::pin(sql::purges::set_physical(tx, *begun, *now))
                })
                .await?;
            // An erasure that became complete meanwhile gets its turn.
            plan_if_needed(app).await?;
            Ok(Outcome::Done)
        })
    }
}

async fn plan_if_needed(app: &Arc<App>) -> Result<()> {
    if app.db.engine() != Some(Engine::Sqlite) {
        return Ok(());
    }
    let needed = app
        .db
        .lookup("governance.unscrubbed", (), |tx, ()| Box::pin(sql::purges::any_unscrubbed(tx)))
        .await?;
    if needed { plan(app).await } else { Ok(()) }
}

async fn plan(app: &Arc<App>) -> Result<()> {
    app.db
        .write("governance.plan_scrub", app.clone(), |tx, app| {
            Box::pin(async move {
                let job = NewJob {
                    kind: KIND,
                    org_id: &OrgId::default(),
                    subject: None,
                    parent_id: None,
                    payload: json!({}),
                    dedupe_key: Some("all".to_owned()),
                    on_duplicate: OnDuplicate::Move,
                    // After the erasure that asks for it is complete.
                    run_at: app.clock.now() + 10,
                    max_attempts: 1_000_000_000,
                };
                jobs::enqueue(tx, app, job).await.map(drop)
            })
        })
        .await
}
