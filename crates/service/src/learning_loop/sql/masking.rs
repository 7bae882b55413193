//! SQL of what is compared with a person's words, and masked, before the person is erased.

use sqlx::types::Json;

use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::{rows, run};

/// The texts of a tuning proposal for an agent playbook.
#[derive(Clone, Debug, PartialEq, sqlx_macros::FromRow)]
pub struct ProposalTexts {
    pub proposal_id: String,
    pub learning_id: String,
    pub content: String,
    pub trigger: String,
    pub rationale: String,
}

/// Agent playbooks that a person was a source of before `epoch`.
pub async fn linked(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    epoch: i64,
    limit: i64,
) -> Result<Vec<i64>> {
    let found = rows!(
        tx,
        (i64,),
        "SELECT DISTINCT agent_playbook_id FROM agent_playbook_sources
         WHERE org_id = $1 AND subject = $2 AND epoch < $3 ORDER BY agent_playbook_id LIMIT $4 + 0",
        org_id,
        user_id,
        epoch,
        limit
    )?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}

/// `(agent playbook, text)` of the sources that are other people's.
pub async fn others(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    ids: &[i64],
) -> Result<Vec<(i64, String)>> {
    rows!(
        tx,
        (i64, String),
        "SELECT s.agent_playbook_id, b.playbook_name || ' ' || b.\"trigger\" || ' ' || b.content
         FROM agent_playbook_sources s JOIN user_playbooks b
            ON b.org_id = s.org_id AND b.subject = s.subject AND b.user_playbook_id = s.user_playbook_id
         WHERE s.org_id = $1 AND s.subject <> $2 AND s.agent_playbook_id IN {integers:$3}
         ORDER BY s.agent_playbook_id, s.user_playbook_id",
        org_id,
        user_id,
        Json(ids)
    )
}

pub async fn drafts(tx: &mut Tx, org_id: &OrgId, ids: &[i64]) -> Result<Vec<ProposalTexts>> {
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    rows!(
        tx,
        ProposalTexts,
        "SELECT proposal_id, learning_id, content, \"trigger\", rationale FROM tuning_proposals
         WHERE org_id = $1 AND kind = 'agent_playbook' AND epoch IS NULL AND learning_id IN {texts:$2}
         ORDER BY proposal_id",
        org_id,
        Json(ids)
    )
}

pub async fn rewrite_draft(tx: &mut Tx, org_id: &OrgId, draft: &ProposalTexts) -> Result<()> {
    run!(
        tx,
        "UPDATE tuning_proposals SET content = $3, \"trigger\" = $4, rationale = $5
         WHERE org_id = $1 AND proposal_id = $2 AND epoch IS NULL",
        org_id,
        &draft.proposal_id,
        &draft.content,
        &draft.trigger,
        &draft.rationale
    )?;
    Ok(())
}

/// The texts learned about a person, in all versions.
pub async fn learned(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<Vec<String>> {
    let found = rows!(
        tx,
        (String,),
        "SELECT content || ' ' || COALESCE(CAST(custom_features AS TEXT), '') FROM profiles
         WHERE org_id = $1 AND subject = $2
         UNION ALL SELECT playbook_name || ' ' || \"trigger\" || ' ' || content FROM user_playbooks
         WHERE org_id = $1 AND subject = $2
         UNION ALL SELECT \"trigger\" || ' ' || content FROM learning_proposals
         WHERE org_id = $1 AND subject = $2",
        org_id,
        user_id
    )?;
    Ok(found.into_iter().map(|(text,)| text).collect())
}
