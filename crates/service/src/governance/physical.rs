//! The bytes: after the rows are deleted, nothing of them may be left in the files.
//!
//! SQLite: merge the full-text index, compare it with its rows, clean the file, empty the write-ahead log. What would
//! take too long follows as a job of its own, which goes on where it was interrupted, and raises the level of the
//! erasure then. PostgreSQL rewrites tables and recycles its log in its own time: there, physically gone is a date
//! (`certificate.rs`).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::purge::PurgeErrorCode;
use super::purge_job::{PurgeFailure, failing};
use super::sql;
use crate::app::App;
use crate::learnings;
use base::owner::OrgId;
use storage::db::Engine;
use storage::error::{Error, Result};
use storage::jobs::{self, Claim, Handler, NewJob, OnDuplicate, Outcome};

const KIND: &str = "scrub_files";

/// Measured on one disk of 2026; the estimate need not be better than its order of magnitude.
const BYTES_PER_SECOND: u64 = 100 << 20;
/// Longest wait of an erasure for readers of the write-ahead log.
const PATIENCE: Duration = Duration::from_secs(8);
/// Seconds after which cleaning is overdue: six times what a file of 5 GB under load takes.
const EXPECTED_WITHIN: i64 = 3600;

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
        plan(app, OnDuplicate::Move).await.map_err(&working)?;
        None
    } else {
        match is_large(app, bytes) {
            false => app.db.rewrite_file().await.map_err(&working)?,
            true => {
                let mut pass = Pass::begin(app).await.map_err(&working)?;
                while pass.go_on(app).await.map_err(&working)? {}
            }
        }
        empty_log(app).await?;
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

/// True if writing the file anew would keep writers waiting for too long.
fn is_large(app: &App, bytes: u64) -> bool {
    bytes >> 20 > app.settings.governance.vacuum_up_to_mib
}

async fn empty_log(app: &App) -> Result<(), PurgeFailure> {
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

/// Payload of the job: how far it came.
#[derive(Default, Serialize, Deserialize)]
struct Progress {
    /// The pass over the file that is under way.
    pass: Option<Pass>,
}

/// One pass over the pages that the file had when it began, for the erasures that were complete then. Pages that come
/// later hold nothing of them.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Pass {
    begun: i64,
    next_page: i64,
    last_page: i64,
}

impl Pass {
    async fn begin(app: &App) -> Result<Self> {
        let begun = app.clock.now();
        Ok(Pass { begun, next_page: 1, last_page: app.db.page_count().await? })
    }

    /// Cleans the next pages; false at the end.
    async fn go_on(&mut self, app: &App) -> Result<bool> {
        let next_page = app.db.zero_gaps(self.next_page, self.last_page).await?;
        self.next_page = next_page.unwrap_or(self.last_page + 1);
        Ok(next_page.is_some())
    }
}

impl Handler<App> for ScrubFiles {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(plan_if_needed(app, OnDuplicate::Keep))
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            let begun = pass_over(app, job).await?;
            empty_log(app).await.map_err(PurgeFailure::into_error)?;
            let input = (begun, app.clock.now());
            app.db
                .write("governance.set_physical", input, |tx, (begun, now)| {
                    Box::pin(sql::purges::set_physical(tx, *begun, *now))
                })
                .await?;
            // An erasure that became complete meanwhile gets its turn.
            plan_if_needed(app, OnDuplicate::Move).await?;
            Ok(Outcome::Done)
        })
    }
}

/// Cleans all pages of the file, or those that an interrupted pass left, and gives when the pass began.
async fn pass_over(app: &Arc<App>, job: &Claim) -> Result<i64> {
    let mut pass = match job.payload::<Progress>()?.pass {
        Some(pass) => pass,
        None => Pass::begin(app).await?,
    };
    if !is_large(app, app.db.live_bytes().await?) {
        app.db.rewrite_file().await?;
        return Ok(pass.begun);
    }
    while pass.go_on(app).await? {
        let input = (job.clone(), Progress { pass: Some(pass) });
        app.db
            .write("governance.scrub_progress", input, |tx, (job, progress)| {
                Box::pin(jobs::remember(tx, job, progress))
            })
            .await?;
        app.faults.reach("scrub.amid_pages")?;
    }
    Ok(pass.begun)
}

async fn plan_if_needed(app: &Arc<App>, on_duplicate: OnDuplicate) -> Result<()> {
    match oldest_unscrubbed(app).await? {
        Some(_) => plan(app, on_duplicate).await,
        None => Ok(()),
    }
}

/// Seconds since the oldest erasure whose remains should have been cleaned out of the files by now; none if all are, or
/// their time has not come.
pub async fn overdue_seconds(app: &App) -> Result<Option<i64>> {
    let oldest = oldest_unscrubbed(app).await?;
    let age = oldest.map(|completed_at| app.clock.now() - completed_at);
    Ok(age.filter(|age| *age > EXPECTED_WITHIN))
}

async fn oldest_unscrubbed(app: &App) -> Result<Option<i64>> {
    if app.db.engine() != Some(Engine::Sqlite) {
        return Ok(None);
    }
    app.db
        .lookup("governance.unscrubbed", (), |tx, ()| Box::pin(sql::purges::oldest_unscrubbed(tx)))
        .await
}

/// A job that waits or runs starts anew after this with [`OnDuplicate::Move`]; otherwise it goes on where it is.
async fn plan(app: &Arc<App>, on_duplicate: OnDuplicate) -> Result<()> {
    app.db
        .write("governance.plan_scrub", app.clone(), move |tx, app| {
            Box::pin(async move {
                let job = NewJob {
                    kind: KIND,
                    org_id: &OrgId::default(),
                    subject: None,
                    parent_id: None,
                    payload: jobs::stored(&Progress::default()),
                    dedupe_key: Some("all".to_owned()),
                    on_duplicate,
                    // After the erasure that asks for it is complete.
                    run_at: app.clock.now() + 10,
                    max_attempts: 1_000_000_000,
                };
                jobs::enqueue(tx, app, job).await.map(drop)
            })
        })
        .await
}
