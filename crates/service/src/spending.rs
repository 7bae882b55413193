//! Spending on judging and learning: the sum of today, so that a restart does not begin a new daily budget, and a sum for
//! each day.

use crate::app::App;
use crate::{evaluation, learning_loop};
use base::owner::OrgId;
use storage::error::Result;

const DAY: i64 = 86_400;

/// Counts what the verdicts written and the windows read today (UTC) cost against the budget, if there is one.
/// Verdicts that were replaced meanwhile and calls that failed are not known any more.
pub async fn count_spent_today(app: &App) -> Result<()> {
    if app.db.engine().is_none() || app.settings.judge.daily_budget_usd <= 0.0 {
        return Ok(());
    }
    let midnight = app.clock.now().div_euclid(DAY) * DAY;
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

/// US dollars that an organization paid on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DaySpent {
    pub judging: f64,
    pub learning: f64,
}

/// Payments of the last days (UTC) up to today, the oldest first. As at a start: replaced verdicts and calls that failed
/// are not known.
pub async fn by_day(app: &App, org_id: &OrgId, days: i64) -> Result<Vec<(i64, DaySpent)>> {
    let first = (app.clock.now().div_euclid(DAY) - (days - 1)) * DAY;
    let (judging, learning) = app
        .db
        .read("spending.by_day", (org_id.to_owned(), first), |tx, (org_id, first)| {
            Box::pin(async move {
                let judging = evaluation::spent_by_day(tx, org_id, *first).await?;
                Ok((judging, learning_loop::spent_by_day(tx, org_id, *first).await?))
            })
        })
        .await?;
    let on = |spent: &[(i64, f64)], day: i64| {
        spent.iter().find(|(number, _)| number * DAY == day).map_or(0.0, |(_, dollars)| *dollars)
    };
    let of_day = |day| (day, DaySpent { judging: on(&judging, day), learning: on(&learning, day) });
    Ok((0..days).map(|n| of_day(first + n * DAY)).collect())
}
