//! Retention by age: sessions whose last request is older than `governance.retention_days` are deleted, as one that
//! is deleted by hand is. Off unless it is set.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::app::App;
use crate::credentials::{Deletion, note_deletion};
use crate::intake;
use crate::sessions;
use base::owner::OrgId;
use storage::error::{Code, Result};
use storage::jobs::Recurring;

/// Sessions looked up at a time; each is deleted in a transaction of its own.
const BATCH: i64 = 200;

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
            let deleted = delete_older(app, app.clock.now() - days * 86_400).await?;
            if deleted > 0 {
                tracing::info!(deleted, "sessions past their retention were deleted");
            }
            Ok(())
        })
    }
}

async fn delete_older(app: &Arc<App>, before: i64) -> Result<u64> {
    let mut deleted = 0;
    loop {
        let mut by_organization: BTreeMap<OrgId, u64> = BTreeMap::new();
        let old = sessions::older_than(app, before, BATCH).await?;
        let count = old.len();
        for (org_id, user_id, session_id) in old {
            match intake::delete_session(app, &org_id, None, session_id, Some(user_id)).await {
                Ok(_) => {
                    deleted += 1;
                    *by_organization.entry(org_id).or_default() += 1;
                }
                // Somebody else was quicker.
                Err(error) if error.code() == Code::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        note(app, by_organization).await?;
        if count < usize::try_from(BATCH).unwrap_or(0) {
            metrics::counter!("evenhand_retention_sessions_deleted_total").increment(deleted);
            return Ok(deleted);
        }
    }
}

/// One audit event per organization and batch, with the number of sessions.
async fn note(app: &Arc<App>, deleted: BTreeMap<OrgId, u64>) -> Result<()> {
    if deleted.is_empty() {
        return Ok(());
    }
    app.db
        .write("governance.note_retention", (app.clone(), deleted), |tx, (app, deleted)| {
            Box::pin(async move {
                for (org_id, count) in deleted {
                    let actor = DeleteOldSessions::KIND.to_owned();
                    let deletion = Deletion { org_id: org_id.clone(), actor };
                    let counts = BTreeMap::from([("sessions".to_owned(), *count)]);
                    note_deletion(tx, app, &deletion, None, counts).await?;
                }
                Ok(())
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(())
}
