//! Folding the overview's deltas in the background.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::sql;
use crate::app::App;
use storage::error::Result;
use storage::jobs::Recurring;

/// Deltas that are folded in one transaction: a few milliseconds of a writer's time.
const AT_ONCE: i64 = 5_000;

pub struct FoldSums;

impl Recurring<App> for FoldSums {
    const KIND: &'static str = "fold_sums";
    const EVERY_SECONDS: i64 = 30;

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>> {
        Box::pin(fold_all(app))
    }
}

/// Folds until nothing is left. An erasure does, so that no name that only the erased person used stays in a delta.
pub async fn fold_all(app: &App) -> Result<()> {
    loop {
        let folded = app
            .db
            .write("evaluation.fold_sums", (), |tx, ()| Box::pin(sql::fold(tx, AT_ONCE)))
            .await?;
        if folded == 0 {
            return Ok(());
        }
    }
}
