//! Folding the overview's deltas in the background.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::sql;
use crate::app::App;
use storage::error::Result;
use storage::jobs::Recurring;

/// Deltas that are folded in one transaction: a few milliseconds of a writer's time.
const AT_ONCE: i64 = 5_000;

/// After so many deltas tables are looked after at once, see [`look_after_tables`].
const MANY: usize = 5_000;

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
    let mut all = 0;
    loop {
        let folded = app
            .db
            .write("evaluation.fold_sums", sql::Mark::new(&app.ids), |tx, mark| {
                Box::pin(sql::fold(tx, AT_ONCE, *mark))
            })
            .await?;
        if folded == 0 {
            break;
        }
        all += folded;
    }
    if all >= MANY {
        look_after_tables(app).await;
    }
    Ok(())
}

/// After many rows, which PostgreSQL would take for a few until it looks by itself: the rules of a version of the agent
/// are then looked up among all rows for each of them. And each overview counts the deltas, which is to walk over all that
/// were folded: 2 ms for 100,000 of them.
pub async fn look_after_tables(app: &App) {
    for table in ["evaluation_results", "cited_rules"] {
        app.db.refresh_statistics(table).await;
    }
    for deltas in super::DELTAS {
        app.db.reclaim_room(deltas).await;
    }
}
