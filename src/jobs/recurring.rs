//! Work of the whole installation that comes back: one open job per kind.

use std::sync::Arc;

use serde_json::json;

use super::{NewJob, OnDuplicate, rules};
use crate::app::App;
use crate::error::Result;

/// Makes sure that there is an open job of this kind: for [`super::Handler::schedule`].
pub async fn ensure(app: &Arc<App>, kind: &'static str, every_seconds: i64) -> Result<()> {
    plan(app, kind, every_seconds, OnDuplicate::Keep).await
}

/// Has the running job of this kind come back: it is moved while it runs, so finishing opens it again.
pub async fn again(app: &Arc<App>, kind: &'static str, every_seconds: i64) -> Result<()> {
    plan(app, kind, every_seconds, OnDuplicate::Move).await
}

async fn plan(
    app: &Arc<App>,
    kind: &'static str,
    every_seconds: i64,
    on_duplicate: OnDuplicate,
) -> Result<()> {
    let input = (app.clone(), app.clock.now() + every_seconds);
    app.db
        .write("jobs.plan_recurring", input, move |tx, (app, run_at)| {
            Box::pin(async move {
                let job = NewJob {
                    kind,
                    org_id: "",
                    subject: None,
                    parent_id: None,
                    payload: json!({}),
                    dedupe_key: Some("all".to_owned()),
                    on_duplicate,
                    run_at: *run_at,
                    max_attempts: 1000,
                };
                rules::enqueue(tx, app, job).await.map(drop)
            })
        })
        .await
}
