//! Retention by age: sessions whose last request is older than `governance.retention_days` are deleted, as one that
//! is deleted by hand is. Off unless it is set.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;

use crate::app::App;
use crate::error::{Code, Result};
use crate::jobs::{self, Claim, Handler, NewJob, OnDuplicate, Outcome};
use crate::sessions;

const KIND: &str = "delete_old_sessions";
const EVERY_SECONDS: i64 = 3600;
/// Sessions looked up at a time; each is deleted in a transaction of its own.
const BATCH: i64 = 200;

pub struct DeleteOldSessions;

impl Handler for DeleteOldSessions {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if app.settings.governance.retention_days == 0 {
                return Ok(());
            }
            plan(app, app.clock.now(), OnDuplicate::Keep).await
        })
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, _job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            let days = app.settings.governance.retention_days;
            if days == 0 {
                return Ok(Outcome::Done);
            }
            let deleted = delete_older(app, app.clock.now() - days * 86_400).await?;
            if deleted > 0 {
                tracing::info!(deleted, "sessions past their retention were deleted");
            }
            plan(app, app.clock.now() + EVERY_SECONDS, OnDuplicate::Move).await?;
            Ok(Outcome::Done)
        })
    }
}

async fn delete_older(app: &Arc<App>, before: i64) -> Result<u64> {
    let mut deleted = 0;
    loop {
        let old = sessions::older_than(app, before, BATCH).await?;
        let count = old.len();
        for (org_id, user_id, session_id) in old {
            match sessions::delete_session(app, &org_id, session_id, Some(user_id)).await {
                Ok(_) => deleted += 1,
                // Somebody else was quicker.
                Err(error) if error.code() == Code::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        if count < usize::try_from(BATCH).unwrap_or(0) {
            metrics::counter!("evenhand_retention_sessions_deleted_total").increment(deleted);
            return Ok(deleted);
        }
    }
}

async fn plan(app: &Arc<App>, run_at: i64, on_duplicate: OnDuplicate) -> Result<()> {
    let input = (app.clone(), run_at, on_duplicate);
    app.db
        .write("governance.plan_retention", input, |tx, (app, run_at, on_duplicate)| {
            Box::pin(async move {
                let job = NewJob {
                    kind: KIND,
                    org_id: "",
                    subject: None,
                    parent_id: None,
                    payload: json!({}),
                    dedupe_key: Some("all".to_owned()),
                    on_duplicate: *on_duplicate,
                    run_at: *run_at,
                    max_attempts: 1000,
                };
                jobs::enqueue(tx, app, job).await.map(drop)
            })
        })
        .await
}
