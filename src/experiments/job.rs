//! Summing users up in the background, so that whoever looks after a long time does not wait for all of them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;

use super::{refresh, sql};
use crate::app::App;
use crate::error::Result;
use crate::jobs::{self, Claim, Handler, NewJob, OnDuplicate, Outcome};

const KIND: &str = "sum_up_experiments";
const EVERY_SECONDS: i64 = 300;

pub struct SumUp;

impl Handler for SumUp {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(plan(app, OnDuplicate::Keep))
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, _job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            let stale = app
                .db
                .lookup("experiments.stale_experiments", (), |tx, ()| {
                    Box::pin(sql::stale_experiments(tx))
                })
                .await?;
            for (org_id, experiment_id) in stale {
                refresh::refresh(app, &org_id, &experiment_id).await?;
            }
            // The open job takes the next turn: it is moved while it runs, so finishing opens it again.
            plan(app, OnDuplicate::Move).await?;
            Ok(Outcome::Done)
        })
    }
}

async fn plan(app: &Arc<App>, on_duplicate: OnDuplicate) -> Result<()> {
    let input = (app.clone(), app.clock.now() + EVERY_SECONDS, on_duplicate);
    app.db
        .write("experiments.plan_sums", input, |tx, (app, run_at, on_duplicate)| {
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
