//! Reading verdicts on sessions.

use super::{AGENT_SUCCESS, EvaluationResult, sql};
use crate::app::App;
use crate::error::Result;

/// What `get_agent_success_evaluation_results` is asked for. Times are those of the sessions' first requests.
#[derive(Default)]
pub struct ResultQuery {
    pub agent_version: Option<String>,
    pub evaluation_name: Option<String>,
    pub user_id: Option<String>,
    pub session_id: Option<String>,
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub limit: i64,
}

/// Verdicts, newest session first.
pub async fn list(app: &App, org_id: &str, query: ResultQuery) -> Result<Vec<EvaluationResult>> {
    app.db
        .read("evaluation.list_results", (org_id.to_owned(), query), |tx, (org_id, query)| {
            Box::pin(sql::list_results(tx, org_id, query))
        })
        .await
}

/// Successes and verdicts of the judge over the sessions that began in `[from, to)`.
pub async fn success_rate(app: &App, org_id: &str, from: i64, to: i64) -> Result<(i64, i64)> {
    app.db
        .lookup(
            "evaluation.success_rate",
            (org_id.to_owned(), from, to),
            |tx, (org_id, from, to)| {
                Box::pin(sql::success_counts(tx, org_id, AGENT_SUCCESS, *from, *to))
            },
        )
        .await
}
