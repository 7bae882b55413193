//! SQL of the tables `tuning_proposals` and `tuning_evidence`, and of learnings as they are scored.

use std::collections::BTreeSet;

use sqlx::types::Json;

use crate::evaluation::VerdictOnLearning;
use crate::learning_loop::tuning::{
    Present, Score, TuningDraft, TuningEvidence, TuningProposal, TuningStatus,
};
use base::owner::{OrgId, UserId};
use judge::{DiagnosisCategory, LearningKind};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

macro_rules! columns {
    () => {
        "proposal_id, kind, learning_id, user_id, action, content, \"trigger\", rationale, drafted_by, judged, \
         impact, impact_upper, status, created_at, decided_at, digest"
    };
}

/// These learnings, `(kind, id)`, as they are now.
pub async fn present<'a>(
    tx: &mut Tx,
    org_id: &OrgId,
    keys: impl IntoIterator<Item = &'a (LearningKind, String)>,
) -> Result<Vec<Present>> {
    let keys: Vec<&(LearningKind, String)> = keys.into_iter().collect();
    let of = |kind: LearningKind| -> Vec<&str> {
        keys.iter().filter(|(k, _)| *k == kind).map(|(_, id)| id.as_str()).collect()
    };
    let numbers = |kind: LearningKind| -> Vec<i64> {
        of(kind).into_iter().filter_map(|id| id.parse().ok()).collect()
    };
    let mut found = rows!(
        tx,
        Present,
        "SELECT 'profile' AS kind, profile_id AS learning_id, user_id, '' AS agent_version, content,
                '' AS \"trigger\", status, NULL AS playbook_status
         FROM profiles WHERE org_id = $1 AND profile_id IN {texts:$2}",
        org_id,
        Json(of(LearningKind::Profile))
    )?;
    found.extend(rows!(
        tx,
        Present,
        "SELECT 'user_playbook' AS kind, CAST(user_playbook_id AS TEXT) AS learning_id, user_id, agent_version,
                content, \"trigger\", status, NULL AS playbook_status
         FROM user_playbooks WHERE org_id = $1 AND user_playbook_id IN {integers:$2}",
        org_id,
        Json(numbers(LearningKind::UserPlaybook))
    )?);
    found.extend(rows!(
        tx,
        Present,
        "SELECT 'agent_playbook' AS kind, CAST(agent_playbook_id AS TEXT) AS learning_id, NULL AS user_id,
                agent_version, content, \"trigger\", status, playbook_status
         FROM agent_playbooks WHERE org_id = $1 AND agent_playbook_id IN {integers:$2}",
        org_id,
        Json(numbers(LearningKind::AgentPlaybook))
    )?);
    Ok(found)
}

/// `(kind, learning, proposal)` of what is open.
pub async fn open_proposals(
    tx: &mut Tx,
    org_id: &OrgId,
) -> Result<Vec<(LearningKind, String, String)>> {
    rows!(
        tx,
        (LearningKind, String, String),
        "SELECT kind, learning_id, proposal_id FROM tuning_proposals WHERE org_id = $1 AND status = 'open'",
        org_id
    )
}

/// `(kind, learning, digest)` of everything that was ever proposed.
pub async fn proposed(
    tx: &mut Tx,
    org_id: &OrgId,
) -> Result<BTreeSet<(LearningKind, String, String)>> {
    let found = rows!(
        tx,
        (LearningKind, String, String),
        "SELECT kind, learning_id, digest FROM tuning_proposals WHERE org_id = $1",
        org_id
    )?;
    Ok(found.into_iter().collect())
}

/// Stores a proposal; false when this text was proposed before.
pub async fn insert_proposal(
    tx: &mut Tx,
    org_id: &OrgId,
    owner: Option<&SubjectWrite>,
    proposal_id: &str,
    score: &Score,
    draft: &TuningDraft,
    now: i64,
) -> Result<bool> {
    let impact = &score.attributable_impact;
    let stored = run!(
        tx,
        "INSERT INTO tuning_proposals
           (proposal_id, org_id, user_id, epoch, kind, learning_id, digest, action, content, \"trigger\",
            rationale, drafted_by, judged, impact, impact_upper, status, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'open', $16)
         ON CONFLICT (org_id, kind, learning_id, digest) DO NOTHING",
        proposal_id,
        org_id,
        owner.map(SubjectWrite::user_id),
        owner.map(SubjectWrite::epoch),
        score.kind,
        &score.learning_id,
        &score.digest,
        draft.action,
        &draft.content,
        &draft.trigger,
        &draft.rationale,
        &draft.drafted_by,
        impact.judged,
        impact.mean.unwrap_or(0.0),
        impact.ci95.map_or(0.0, |(_, upper)| upper),
        now
    )?;
    Ok(stored == 1)
}

pub async fn insert_evidence(
    tx: &mut Tx,
    subject: &SubjectWrite,
    proposal_id: &str,
    verdict: &VerdictOnLearning,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO tuning_evidence
           (org_id, user_id, proposal_id, session_id, interaction_id, epoch, category, reason, interaction_ids)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
        subject.org_id(),
        subject.user_id(),
        proposal_id,
        &verdict.session_id,
        verdict.interaction_id,
        subject.epoch(),
        verdict.verified_diagnosis().map_or("", DiagnosisCategory::as_str),
        verdict.diagnosis_reason(),
        Json(verdict.evidence())
    )?;
    Ok(())
}

pub async fn list(
    tx: &mut Tx,
    org_id: &OrgId,
    status: Option<TuningStatus>,
) -> Result<Vec<TuningProposal>> {
    rows!(
        tx,
        TuningProposal,
        concat!(
            "SELECT ",
            columns!(),
            " FROM tuning_proposals WHERE org_id = $1 AND ($2 IS NULL OR status = $2)
              ORDER BY created_at DESC, proposal_id DESC LIMIT 1000"
        ),
        org_id,
        status
    )
}

/// The evidence of all proposals of an organization.
pub async fn evidence(tx: &mut Tx, org_id: &OrgId) -> Result<Vec<TuningEvidence>> {
    rows!(
        tx,
        TuningEvidence,
        "SELECT proposal_id, user_id, session_id, interaction_id, category, reason, interaction_ids
         FROM tuning_evidence WHERE org_id = $1 ORDER BY proposal_id, user_id, session_id, interaction_id",
        org_id
    )
}

/// One proposal, held until the transaction ends.
pub async fn hold(
    tx: &mut Tx,
    org_id: &OrgId,
    proposal_id: &str,
) -> Result<Option<TuningProposal>> {
    row!(
        tx,
        TuningProposal,
        concat!(
            "SELECT ",
            columns!(),
            " FROM tuning_proposals WHERE org_id = $1 AND proposal_id = $2 {lock:UPDATE}"
        ),
        org_id,
        proposal_id
    )
}

/// Records what was decided; a person's proposal through the right to write for them.
pub async fn settle(
    tx: &mut Tx,
    org_id: &OrgId,
    owner: Option<&SubjectWrite>,
    proposal_id: &str,
    status: TuningStatus,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "UPDATE tuning_proposals SET status = $3, decided_at = $4, epoch = $5
         WHERE org_id = $1 AND proposal_id = $2",
        org_id,
        proposal_id,
        status,
        now,
        owner.map(SubjectWrite::epoch)
    )?;
    Ok(())
}

/// Evidence goes with the session it is of.
pub async fn forget_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<()> {
    run!(
        tx,
        "DELETE FROM tuning_evidence WHERE org_id = $1 AND user_id = $2 AND session_id = $3",
        org_id,
        user_id,
        session_id
    )?;
    Ok(())
}
