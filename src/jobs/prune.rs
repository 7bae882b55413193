//! Forgetting finished jobs after the time that `jobs.keep_finished_days` says.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;

use super::{Claim, Handler, NewJob, OnDuplicate, Outcome, rules, sql};
use crate::app::App;
use crate::error::Result;

const KIND: &str = "prune_jobs";
const EVERY_SECONDS: i64 = 3600;
/// Rows per transaction: small enough that publishes do not wait.
const BATCH: i64 = 500;

pub struct Prune;

impl Handler for Prune {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(plan(app, app.clock.now() + EVERY_SECONDS, OnDuplicate::Keep))
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, _job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            let before = app.clock.now() - app.settings.jobs.keep_finished_days * 86_400;
            loop {
                let deleted = app
                    .db
                    .write("jobs.prune", before, |tx, before| {
                        Box::pin(sql::delete_finished_before(tx, *before, BATCH))
                    })
                    .await?;
                if deleted < BATCH as u64 {
                    break;
                }
            }
            // The open job takes the next turn: it is moved while it runs, so finishing opens it again.
            plan(app, app.clock.now() + EVERY_SECONDS, OnDuplicate::Move).await?;
            Ok(Outcome::Done)
        })
    }
}

async fn plan(app: &Arc<App>, run_at: i64, on_duplicate: OnDuplicate) -> Result<()> {
    let input = (app.clone(), run_at, on_duplicate);
    app.db
        .write("jobs.plan_prune", input, |tx, (app, run_at, on_duplicate)| {
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
                rules::enqueue(tx, app, job).await.map(drop)
            })
        })
        .await
}
