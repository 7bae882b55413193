//! What people decided about agent playbooks. The one place that records it.

use serde::Serialize;
use utoipa::ToSchema;

use super::sql;
use crate::app::App;
use crate::db::Tx;
use crate::error::Result;

/// A decision about an agent playbook.
#[derive(Clone, Debug, Serialize, sqlx::FromRow, ToSchema)]
pub struct PlaybookDecision {
    /// `proposed`, `approved`, `rejected`, `pending` or `edited`.
    pub decision: String,
    /// Who: `dashboard` (a person), `aggregation` or `tuning` (a person who accepted a proposal).
    pub actor: String,
    pub decided_at: i64,
}

/// Records a decision in the transaction that carries it out.
pub async fn record(
    tx: &mut Tx,
    app: &App,
    org_id: &str,
    agent_playbook_id: i64,
    decision: &str,
    actor: &str,
) -> Result<()> {
    let id = app.ids.uuid();
    let now = app.clock.now();
    sql::aggregation::insert_decision(tx, org_id, agent_playbook_id, &id, decision, actor, now)
        .await
}
