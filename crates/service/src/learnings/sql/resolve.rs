//! Learnings by their ids, as evaluation shows them to a judge.

use crate::learnings::resolve::Resolved;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::rows;

pub async fn profiles(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    ids: &[&str],
    now: i64,
) -> Result<Vec<Resolved>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let ids = serde_json::to_string(ids).map_err(|e| Error::Internal(e.to_string()))?;
    rows!(
        tx,
        Resolved,
        "SELECT 'profile' AS kind, profile_id AS learning_id, content, '' AS \"trigger\" FROM profiles
         WHERE org_id = $1 AND subject = $2 AND profile_id IN {texts:$3} AND expiration_timestamp > $4",
        org_id,
        user_id,
        ids,
        now
    )
}

pub async fn user_playbooks(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    ids: &[i64],
) -> Result<Vec<Resolved>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let ids = serde_json::to_string(ids).map_err(|e| Error::Internal(e.to_string()))?;
    rows!(
        tx,
        Resolved,
        "SELECT 'user_playbook' AS kind, CAST(user_playbook_id AS TEXT) AS learning_id, content,
                \"trigger\" FROM user_playbooks
         WHERE org_id = $1 AND subject = $2 AND user_playbook_id IN {integers:$3}",
        org_id,
        user_id,
        ids
    )
}

pub async fn agent_playbooks(tx: &mut Tx, org_id: &OrgId, ids: &[i64]) -> Result<Vec<Resolved>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let ids = serde_json::to_string(ids).map_err(|e| Error::Internal(e.to_string()))?;
    rows!(
        tx,
        Resolved,
        "SELECT 'agent_playbook' AS kind, CAST(agent_playbook_id AS TEXT) AS learning_id, content,
                \"trigger\" FROM agent_playbooks
         WHERE org_id = $1 AND agent_playbook_id IN {integers:$2} AND playbook_status <> 'rejected'",
        org_id,
        ids
    )
}
