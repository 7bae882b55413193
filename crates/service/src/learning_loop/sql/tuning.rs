//! SQL of the tables `tuning_proposals` and `tuning_evidence`, and of learnings as they are scored.

use std::collections::BTreeSet;

use sqlx::types::Json;

use crate::learning_loop::tuning::{
    Present, TrialFinding, TuningDraft, TuningEvidence, TuningProposal, TuningStatus,
};
use base::owner::{OrgId, UserId};
use judge::LearningKind;
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::{Subject, SubjectWrite};
use storage::{row, rows, run};

macro_rules! columns {
    () => {
        columns!("{user_of:tuning_proposals}")
    };
    ($user_id:literal) => {
        concat!(
            "proposal_id, kind, learning_id, ",
            $user_id,
            " AS user_id, action, content, \"trigger\", rationale, drafted_by, judged, impact, impact_upper, \
             status, created_at, decided_at, trial, digest"
        )
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
        "SELECT 'profile' AS kind, profile_id AS learning_id, {user_of:b} AS user_id, '' AS agent_version,
                content, '' AS \"trigger\", status, NULL AS playbook_status
         FROM profiles b WHERE org_id = $1 AND profile_id IN {texts:$2}",
        org_id,
        Json(of(LearningKind::Profile))
    )?;
    found.extend(rows!(
        tx,
        Present,
        "SELECT 'user_playbook' AS kind, CAST(user_playbook_id AS TEXT) AS learning_id, {user_of:b} AS user_id,
                agent_version, content, \"trigger\", status, NULL AS playbook_status
         FROM user_playbooks b WHERE org_id = $1 AND user_playbook_id IN {integers:$2}",
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

/// A proposal about one text of a learning.
pub struct NewProposal<'a> {
    pub proposal_id: &'a str,
    pub kind: LearningKind,
    pub learning_id: &'a str,
    pub digest: &'a str,
    pub draft: &'a TuningDraft,
    /// Verdicts it rests on, their mean impact, and the upper end of its interval.
    pub judged: i64,
    pub impact: f64,
    pub impact_upper: f64,
    pub trial: Option<TrialFinding>,
}

/// Stores a proposal; false when this text was proposed before.
pub async fn insert_proposal(
    tx: &mut Tx,
    org_id: &OrgId,
    owner: Option<&SubjectWrite>,
    proposal: &NewProposal<'_>,
    now: i64,
) -> Result<bool> {
    let draft = proposal.draft;
    let stored = run!(
        tx,
        "INSERT INTO tuning_proposals
           (proposal_id, org_id, subject, epoch, kind, learning_id, digest, action, content, \"trigger\",
            rationale, drafted_by, judged, impact, impact_upper, trial, status, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, 'open', $17)
         ON CONFLICT (org_id, kind, learning_id, digest, subject) DO NOTHING",
        proposal.proposal_id,
        org_id,
        tx.owner(org_id, owner),
        owner.map(SubjectWrite::epoch),
        proposal.kind,
        proposal.learning_id,
        proposal.digest,
        draft.action,
        &draft.content,
        &draft.trigger,
        &draft.rationale,
        &draft.drafted_by,
        proposal.judged,
        proposal.impact,
        proposal.impact_upper,
        proposal.trial.map(Json),
        now
    )?;
    Ok(stored == 1)
}

/// Says in the open proposal about an agent playbook's text what a trial has found by now.
pub async fn set_trial(
    tx: &mut Tx,
    org_id: &OrgId,
    learning_id: &str,
    digest: &str,
    trial: TrialFinding,
    rationale: &str,
) -> Result<()> {
    run!(
        tx,
        "UPDATE tuning_proposals SET trial = $4, rationale = CASE WHEN action = 'reject' THEN $5 ELSE rationale END
         WHERE org_id = $1 AND kind = 'agent_playbook' AND learning_id = $2 AND digest = $3 AND status = 'open'",
        org_id,
        learning_id,
        digest,
        Json(trial),
        rationale
    )?;
    Ok(())
}

/// Stores evidence, which is of the person who is written for.
pub async fn insert_evidence(
    tx: &mut Tx,
    subject: &SubjectWrite,
    evidence: &TuningEvidence,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO tuning_evidence
           (org_id, subject, proposal_id, session_id, interaction_id, epoch, category, reason, interaction_ids)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
        subject.org_id(),
        subject.user_id(),
        &evidence.proposal_id,
        &evidence.session_id,
        evidence.interaction_id,
        subject.epoch(),
        &evidence.category,
        &evidence.reason,
        &evidence.interaction_ids
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
        "SELECT proposal_id, {user_of:e} AS user_id, session_id, interaction_id, category, reason, interaction_ids
         FROM tuning_evidence e WHERE org_id = $1 ORDER BY proposal_id, subject, session_id, interaction_id",
        org_id
    )
}

/// One proposal, held until the transaction ends.
pub async fn hold(
    tx: &mut Tx,
    org_id: &OrgId,
    proposal_id: &str,
) -> Result<Option<TuningProposal>> {
    let sql = "SELECT subject FROM tuning_proposals WHERE org_id = $1 AND proposal_id = $2";
    let Some((owner,)) = row!(tx, (Subject,), sql, org_id, proposal_id)? else { return Ok(None) };
    row!(
        tx,
        TuningProposal,
        concat!(
            "SELECT ",
            columns!("(SELECT u.user_id FROM subjects u WHERE u.org_id = $1 AND u.subject = $2)"),
            " FROM tuning_proposals WHERE org_id = $1 AND subject = $2 AND proposal_id = $3 {lock:UPDATE}"
        ),
        org_id,
        owner,
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
        "UPDATE tuning_proposals SET status = $4, decided_at = $5, epoch = $6
         WHERE org_id = $1 AND subject = $2 AND proposal_id = $3",
        org_id,
        tx.owner(org_id, owner),
        proposal_id,
        status,
        now,
        owner.map(SubjectWrite::epoch)
    )?;
    Ok(())
}

/// A text that a model drafted for everybody from somebody's sessions goes when one of these does: to be called before
/// evidence of a person, or of one of their sessions, is deleted. On one server a trigger does it; on Citus the
/// organization's proposals are on another one.
pub async fn forget_drafts(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: Option<&str>,
) -> Result<()> {
    if !tx.is_spread() {
        return Ok(());
    }
    let found = rows!(
        tx,
        (String,),
        "SELECT DISTINCT proposal_id FROM tuning_evidence
         WHERE org_id = $1 AND subject = $2 AND ($3 IS NULL OR session_id = $3)",
        org_id,
        user_id,
        session_id
    )?;
    for (proposal_id,) in found {
        run!(
            tx,
            "UPDATE tuning_proposals
                SET content = '', \"trigger\" = '', rationale = 'What it was drafted from is gone.',
                    drafted_by = 'rules', action = CASE WHEN status = 'open' THEN 'archive' ELSE action END
              WHERE org_id = $1 AND subject = $2 AND proposal_id = $3 AND epoch IS NULL AND action = 'edit'",
            org_id,
            tx.owner(org_id, None),
            proposal_id
        )?;
    }
    Ok(())
}

/// Evidence goes with the session it is of.
pub async fn forget_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<()> {
    forget_drafts(tx, org_id, user_id, Some(session_id)).await?;
    run!(
        tx,
        "DELETE FROM tuning_evidence WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        org_id,
        user_id,
        session_id
    )?;
    Ok(())
}
