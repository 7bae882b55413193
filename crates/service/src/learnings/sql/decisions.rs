//! SQL of the table `agent_playbook_decisions`.

use crate::learnings::PlaybookDecision;
use crate::learnings::decisions::{DeciderKind, DecisionKind};
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;
use storage::{rows, run};

#[allow(clippy::too_many_arguments)] // a row
pub async fn insert_decision(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_id: i64,
    decision_id: &str,
    decision: DecisionKind,
    actor: DeciderKind,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO agent_playbook_decisions
           (org_id, agent_playbook_id, decision_id, decision, actor, decided_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        org_id,
        agent_playbook_id,
        decision_id,
        decision,
        actor,
        now
    )?;
    Ok(())
}

/// Decisions about an agent playbook, oldest first; within one second the proposal comes first.
pub async fn decisions(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_id: i64,
) -> Result<Vec<PlaybookDecision>> {
    rows!(
        tx,
        PlaybookDecision,
        "SELECT decision, actor, decided_at FROM agent_playbook_decisions
         WHERE org_id = $1 AND agent_playbook_id = $2
         ORDER BY decided_at, CASE decision WHEN 'proposed' THEN 0 ELSE 1 END, decision_id",
        org_id,
        agent_playbook_id
    )
}
