//! Summing users up in the background, so that whoever looks after a long time does not wait for all of them.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{refresh, sql};
use crate::app::App;
use crate::error::Result;
use crate::jobs::{Claim, Handler, Outcome, recurring};

const KIND: &str = "sum_up_experiments";
const EVERY_SECONDS: i64 = 300;

pub struct SumUp;

impl Handler for SumUp {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(recurring::ensure(app, KIND, EVERY_SECONDS))
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
            recurring::again(app, KIND, EVERY_SECONDS).await?;
            Ok(Outcome::Done)
        })
    }
}
