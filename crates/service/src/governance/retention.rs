//! Retention by age: sessions whose last request is older than `governance.retention_days` are deleted, as one that
//! is deleted by hand is. Off unless it is set.
//!
//! They are rows that are deleted, a few sessions at a time, and not months of a table that are dropped: decision 35
//! has the measurements.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream;

use crate::app::App;
use crate::credentials::{Deletion, note_deletion};
use crate::intake;
use crate::sessions;
use base::owner::OrgId;
use storage::error::Result;
use storage::jobs::Recurring;

/// Sessions looked up at a time; each is deleted in a transaction of its own, so that nobody waits for long.
const BATCH: i64 = 200;

/// Transactions at a time. PostgreSQL answers others meanwhile, SQLite commits them together.
const AT_ONCE: usize = 4;

pub struct DeleteOldSessions;

impl Recurring<App> for DeleteOldSessions {
    const KIND: &'static str = "delete_old_sessions";
    const EVERY_SECONDS: i64 = 3600;
    const FIRST_AFTER_SECONDS: i64 = 0;

    fn is_wanted(app: &App) -> bool {
        app.settings.governance.retention_days > 0
    }

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let days = app.settings.governance.retention_days;
            let before = app.clock.now() - days * 86_400;
            let (mut deleted, mut organization) = (0, String::new());
            while let Some(org_id) = sessions::next_organization(app, &organization).await? {
                deleted += delete_older(app, &org_id, before).await?;
                organization = org_id.to_string();
            }
            if deleted > 0 {
                tracing::info!(deleted, "sessions past their retention were deleted");
            }
            Ok(())
        })
    }
}

/// Deletes the sessions of an organization whose last request is from before `before`.
async fn delete_older(app: &Arc<App>, org_id: &OrgId, before: i64) -> Result<u64> {
    let (mut deleted, mut from) = (0, i64::MIN);
    loop {
        let idle = sessions::idle(app, org_id, from, before, BATCH).await?;
        // What the batches before deleted is in the way of an index scan for a while: it begins behind them.
        from = idle.last().map_or(before, |(_, _, last_request_at)| *last_request_at);
        let looked_up = idle.len();
        let deletions =
            idle.into_iter().map(|(user_id, session_id, _)| {
                let (app, org_id) = (app.clone(), org_id.clone());
                async move {
                    intake::delete_idle_session(&app, &org_id, user_id, session_id, before).await
                }
            });
        let results: Vec<Result<bool>> =
            stream::iter(deletions).buffer_unordered(AT_ONCE).collect().await;
        let count = results.iter().filter(|result| matches!(result, Ok(true))).count() as u64;
        metrics::counter!("evenhand_retention_sessions_deleted_total").increment(count);
        note(app, org_id, count).await?;
        deleted += count;
        results.into_iter().collect::<Result<Vec<_>>>()?;
        // Without a deletion the next batch would be the same.
        if looked_up < usize::try_from(BATCH).unwrap_or(0) || count == 0 {
            return Ok(deleted);
        }
    }
}

/// One audit event per batch, with the number of sessions.
async fn note(app: &Arc<App>, org_id: &OrgId, deleted: u64) -> Result<()> {
    if deleted == 0 {
        return Ok(());
    }
    let actor = DeleteOldSessions::KIND.to_owned();
    let deletion = Deletion { org_id: org_id.clone(), actor };
    app.db
        .write(
            "governance.note_retention",
            (app.clone(), deletion, deleted),
            |tx, (app, deletion, deleted)| {
                Box::pin(async move {
                    let counts = BTreeMap::from([("sessions".to_owned(), *deleted)]);
                    note_deletion(tx, app, deletion, None, counts).await
                })
            },
        )
        .await?;
    app.sign_audit_head().await;
    Ok(())
}
