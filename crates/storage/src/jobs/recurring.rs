//! Work of the whole installation that comes back: one open job per kind.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;

use super::{Claim, Handler, NewJob, OnDuplicate, Outcome, rules};
use crate::app::App;
use crate::error::Result;

/// Work that is done every so often, by whichever replica comes to it first.
pub trait Recurring: Send + Sync {
    const KIND: &'static str;
    const EVERY_SECONDS: i64;
    /// How long after the start of an installation it is done first.
    const FIRST_AFTER_SECONDS: i64 = Self::EVERY_SECONDS;

    /// Whether the settings ask for it.
    fn is_wanted(_app: &App) -> bool {
        true
    }

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>>;
}

impl<T: Recurring> Handler for T {
    fn kind(&self) -> &'static str {
        T::KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if !T::is_wanted(app) {
                return Ok(());
            }
            plan::<T>(app, T::FIRST_AFTER_SECONDS, OnDuplicate::Keep).await
        })
    }

    /// Moves the job while it runs, so that finishing opens it again.
    fn run<'a>(&'a self, app: &'a Arc<App>, _job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            if T::is_wanted(app) {
                T::work(app).await?;
                plan::<T>(app, T::EVERY_SECONDS, OnDuplicate::Move).await?;
            }
            Ok(Outcome::Done)
        })
    }
}

async fn plan<T: Recurring>(
    app: &Arc<App>,
    after_seconds: i64,
    on_duplicate: OnDuplicate,
) -> Result<()> {
    let input = (app.clone(), app.clock.now() + after_seconds);
    app.db
        .write("jobs.plan_recurring", input, move |tx, (app, run_at)| {
            Box::pin(async move {
                let job = NewJob {
                    kind: T::KIND,
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
