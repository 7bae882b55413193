//! A starting process learns what judging cost today, so that a restart does not begin a new daily budget.

use crate::app::App;
use crate::{evaluation, learning_loop};
use storage::error::Result;

/// Counts what the verdicts written and the windows read today (UTC) cost against the budget, if there is one.
/// Verdicts that were replaced meanwhile and calls that failed are not known any more.
pub async fn count_spent_today(app: &App) -> Result<()> {
    if app.db.engine().is_none() || app.settings.judge.daily_budget_usd <= 0.0 {
        return Ok(());
    }
    let midnight = app.clock.now().div_euclid(86_400) * 86_400;
    let spent = app
        .db
        .lookup("evaluation.spent_today", midnight, |tx, midnight| {
            Box::pin(evaluation::spent_since(tx, *midnight))
        })
        .await?;
    let on_learning = app
        .db
        .lookup("learnings.spent_today", midnight, |tx, midnight| {
            Box::pin(learning_loop::spent_since(tx, *midnight))
        })
        .await?;
    app.judge.add_spent(spent + on_learning);
    Ok(())
}
