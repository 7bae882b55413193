//! SQL of aggregation: the playbooks that are compared.

use crate::learning_loop::aggregation::Member;
use crate::learnings::AgentPlaybook;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::{row, rows};

/// Profiles, and playbooks, of a cluster's people that are looked at for names.
const KNOWN: i64 = 5000;

/// The next current user playbooks of an agent version after the one with number `after`, oldest first, with their
/// vectors by `model`. The vector is a subquery: joined, PostgreSQL reads all vectors of the organization for each
/// playbook while it has no statistics of the tables.
pub async fn members(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_version: &str,
    model: &str,
    after: i64,
    limit: i64,
) -> Result<Vec<Member>> {
    rows!(
        tx,
        Member,
        "SELECT b.user_playbook_id, {user_of:b} AS user_id, b.content, b.\"trigger\", b.source_interaction_ids,
                (SELECT v.vector FROM user_playbook_vectors v
                  WHERE v.org_id = b.org_id AND v.subject = b.subject AND v.user_playbook_id = b.user_playbook_id
                    AND v.revision = b.revision AND v.model = $3) AS vector
         FROM user_playbooks b
         WHERE b.org_id = $1 AND b.agent_version = $2 AND b.status = 'current' AND b.user_playbook_id > $4
         ORDER BY b.user_playbook_id LIMIT $5 + 0",
        org_id,
        agent_version,
        model,
        after,
        limit
    )
}

/// True if a member is still current with the same text; locked until the transaction ends.
pub async fn still_says(tx: &mut Tx, org_id: &OrgId, member: &Member) -> Result<bool> {
    let found = row!(
        tx,
        (String, String),
        "SELECT content, \"trigger\" FROM user_playbooks
         WHERE org_id = $1 AND subject = $2 AND user_playbook_id = $3 AND status = 'current' {lock:SHARE}",
        org_id,
        &member.user_id,
        member.user_playbook_id
    )?;
    Ok(found
        .is_some_and(|(content, trigger)| content == member.content && trigger == member.trigger))
}

/// Agent playbooks of a version that are served or may be.
pub async fn served(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_version: &str,
) -> Result<Vec<AgentPlaybook>> {
    rows!(
        tx,
        AgentPlaybook,
        "SELECT agent_playbook_id, playbook_name, agent_version, created_at, content, \"trigger\", rationale,
                playbook_status, playbook_metadata, status, tags
         FROM agent_playbooks WHERE org_id = $1 AND agent_version = $2 AND playbook_status <> 'rejected'
            AND status IN ('current', 'pending') ORDER BY agent_playbook_id",
        org_id,
        agent_version
    )
}

/// `(user, text)` of what is stored about these people: their profiles and playbooks.
pub async fn known_of(
    tx: &mut Tx,
    org_id: &OrgId,
    users: &[UserId],
) -> Result<Vec<(UserId, String)>> {
    let users = tx.subjects_json(org_id, users.iter())?;
    let mut found = rows!(
        tx,
        (UserId, String),
        "SELECT {user_of:b}, content FROM profiles b WHERE org_id = $1 AND subject IN {subjects:$2}
         ORDER BY profile_no DESC LIMIT $3 + 0",
        org_id,
        &users,
        KNOWN
    )?;
    found.extend(rows!(
        tx,
        (UserId, String),
        "SELECT {user_of:b}, \"trigger\" || ' ' || content FROM user_playbooks b
         WHERE org_id = $1 AND subject IN {subjects:$2} ORDER BY user_playbook_id DESC LIMIT $3 + 0",
        org_id,
        &users,
        KNOWN
    )?);
    Ok(found)
}
