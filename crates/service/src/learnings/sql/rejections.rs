//! SQL of the table `rejected_ideas`.

use std::collections::BTreeSet;

use sqlx::types::Json;

use crate::learnings::AgentPlaybook;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;
use storage::{rows, run};

pub async fn put_rejected(
    tx: &mut Tx,
    org_id: &OrgId,
    playbook: &AgentPlaybook,
    fingerprint: &str,
    terms: &BTreeSet<String>,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO rejected_ideas (org_id, agent_version, agent_playbook_id, fingerprint, terms, rejected_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (org_id, agent_version, agent_playbook_id) DO UPDATE SET
            fingerprint = excluded.fingerprint, terms = excluded.terms, rejected_at = excluded.rejected_at",
        org_id,
        &playbook.agent_version,
        playbook.agent_playbook_id,
        fingerprint,
        Json(terms),
        now
    )?;
    Ok(())
}

pub async fn delete_rejected(tx: &mut Tx, org_id: &OrgId, agent_playbook_id: i64) -> Result<()> {
    run!(
        tx,
        "DELETE FROM rejected_ideas WHERE org_id = $1 AND agent_playbook_id = $2",
        org_id,
        agent_playbook_id
    )?;
    Ok(())
}

/// The words of ideas that were rejected for this agent version.
pub async fn rejected(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_version: &str,
) -> Result<Vec<BTreeSet<String>>> {
    let found = rows!(
        tx,
        (Json<BTreeSet<String>>,),
        "SELECT terms FROM rejected_ideas WHERE org_id = $1 AND agent_version = $2",
        org_id,
        agent_version
    )?;
    Ok(found.into_iter().map(|(Json(terms),)| terms).collect())
}
