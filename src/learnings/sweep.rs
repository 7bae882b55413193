//! Deleting profiles whose time to live is over. Reads pass over them from that second on; the sweep makes them
//! gone from the disk.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;

use super::sql;
use crate::app::App;
use crate::error::Result;
use crate::jobs::{self, Claim, Handler, NewJob, OnDuplicate, Outcome};

const KIND: &str = "sweep_profiles";
const EVERY_SECONDS: i64 = 900;
/// Rows per transaction: small enough that publishes do not wait.
const BATCH: i64 = 500;

pub struct Sweep;

impl Handler for Sweep {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(schedule(app))
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, _job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            let now = app.clock.now();
            loop {
                let deleted = app
                    .db
                    .write("learnings.sweep", now, |tx, now| {
                        Box::pin(sql::profiles::delete_expired(tx, *now, BATCH))
                    })
                    .await?;
                if deleted < BATCH as u64 {
                    break;
                }
            }
            // The open job takes the next turn: it is moved while it runs, so finishing opens it again.
            plan(app, OnDuplicate::Move).await?;
            Ok(Outcome::Done)
        })
    }
}

/// Makes sure there is an open job of this kind.
async fn schedule(app: &Arc<App>) -> Result<()> {
    plan(app, OnDuplicate::Keep).await
}

async fn plan(app: &Arc<App>, on_duplicate: OnDuplicate) -> Result<()> {
    let input = (app.clone(), app.clock.now() + EVERY_SECONDS, on_duplicate);
    app.db
        .write("learnings.plan_sweep", input, |tx, (app, run_at, on_duplicate)| {
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
