//! Work of the whole installation that comes back: one open job per kind.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;

use super::{Claim, Context, Handler, NewJob, OnDuplicate, Outcome, rules};
use crate::error::Result;
use base::owner::OrgId;

/// Work that is done every so often, by whichever replica comes to it first.
pub trait Recurring<C: Context>: Send + Sync {
    const KIND: &'static str;
    const EVERY_SECONDS: i64;
    /// Delay of the first run after the start of an installation.
    const FIRST_AFTER_SECONDS: i64 = Self::EVERY_SECONDS;

    /// True if the settings ask for it.
    fn is_wanted(_context: &C) -> bool {
        true
    }

    fn work(context: &Arc<C>) -> BoxFuture<'_, Result<()>>;
}

impl<C: Context, T: Recurring<C>> Handler<C> for T {
    fn kind(&self) -> &'static str {
        T::KIND
    }

    fn schedule<'a>(&'a self, context: &'a Arc<C>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if !T::is_wanted(context) {
                return Ok(());
            }
            plan::<C, T>(context, T::FIRST_AFTER_SECONDS, OnDuplicate::Keep).await
        })
    }

    /// Moves the job while it runs, so that finishing opens it again.
    fn run<'a>(&'a self, context: &'a Arc<C>, _job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            if T::is_wanted(context) {
                T::work(context).await?;
                plan::<C, T>(context, T::EVERY_SECONDS, OnDuplicate::Move).await?;
            }
            Ok(Outcome::Done)
        })
    }
}

async fn plan<C: Context, T: Recurring<C>>(
    context: &Arc<C>,
    after_seconds: i64,
    on_duplicate: OnDuplicate,
) -> Result<()> {
    let input = (context.clone(), context.clock.now() + after_seconds);
    context
        .db
        .write("jobs.plan_recurring", input, move |tx, (context, run_at)| {
            Box::pin(async move {
                let job = NewJob {
                    kind: T::KIND,
                    org_id: &OrgId::default(),
                    subject: None,
                    parent_id: None,
                    payload: json!({}),
                    dedupe_key: Some("all".to_owned()),
                    on_duplicate,
                    run_at: *run_at,
                    max_attempts: 1000,
                };
                rules::enqueue(tx, context, job).await.map(drop)
            })
        })
        .await
}
