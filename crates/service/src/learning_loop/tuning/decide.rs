//! People decide about tuning proposals.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use utoipa::ToSchema;

use super::{TuningAction, TuningStatus};
use crate::app::App;
use crate::evaluation::effects::FailedSession;
use crate::evaluation::{self, VerdictOnLearning};
use crate::learning_loop::sql::tuning as sql;
use crate::learnings::decisions::Decider;
use crate::learnings::requests::PlaybookChange;
use crate::learnings::rows::profiles as profile_rows;
use crate::learnings::{LearningStatus, PlaybookStatus, agent_playbooks, user_playbooks};
use base::owner::{OrgId, UserId};
use judge::{DiagnosisCategory, LearningKind};
use storage::db::Tx;
use storage::error::{Code, Error, Result};
use storage::subjects::barrier;

/// A learning that hurts, and what is proposed to do about it.
#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct TuningProposal {
    pub proposal_id: String,
    pub kind: LearningKind,
    pub learning_id: String,
    /// Owner; null for agent playbooks.
    pub user_id: Option<UserId>,
    pub action: TuningAction,
    /// The proposed wording, for an edit.
    pub content: String,
    pub trigger: String,
    pub rationale: String,
    /// `rules`, or provider/model as reported.
    pub drafted_by: String,
    /// Verdicts it rests on, their mean impact, and the upper end of its 95 % interval.
    pub judged: i64,
    pub impact: f64,
    pub impact_upper: f64,
    pub status: TuningStatus,
    pub created_at: i64,
    pub decided_at: Option<i64>,
    /// The result of its trial; null if it rests on verdicts alone.
    #[schema(value_type = Option<TrialFinding>)]
    pub trial: Option<Json<TrialFinding>>,
    #[serde(skip)]
    pub digest: String,
    /// The turns that show it, of people who are still there.
    #[sqlx(skip)]
    pub evidence: Vec<TuningEvidence>,
}

/// The effect of a playbook by a trial, in percentage points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrialFinding {
    /// Success with it minus success without it.
    pub effect: f64,
    /// 95 % over all looks together.
    pub always_valid_lower: f64,
    pub always_valid_upper: f64,
    pub e_value: f64,
    /// Users with a judged session who got it, and from whom it was withheld.
    pub served_users: u64,
    pub withheld_users: u64,
}

impl TrialFinding {
    /// The result of the trial of a playbook that hurts, in words.
    pub fn sentence(&self) -> String {
        format!(
            "Success was {:.1} points lower for users who got it than for users chosen at random from whom it was \
             withheld (95 % interval {:.1} to {:.1} points; {} users with it, {} without).",
            -self.effect,
            self.always_valid_lower,
            self.always_valid_upper,
            self.served_users,
            self.withheld_users
        )
    }
}

/// A verdict that counts against a learning, or an example of a session that got it and failed.
#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct TuningEvidence {
    #[serde(skip)]
    pub proposal_id: String,
    pub user_id: UserId,
    pub session_id: String,
    /// The turn the learning was judged at.
    pub interaction_id: i64,
    /// The verified diagnosis; empty without one.
    pub category: String,
    pub reason: String,
    /// Turns that the diagnosis cites.
    #[schema(value_type = Vec<i64>)]
    pub interaction_ids: Json<Vec<i64>>,
}

impl TuningEvidence {
    pub fn of_verdict(proposal_id: &str, verdict: &VerdictOnLearning) -> Self {
        let category = verdict.verified_diagnosis().map_or("", DiagnosisCategory::as_str);
        TuningEvidence {
            proposal_id: proposal_id.to_owned(),
            user_id: verdict.user_id.clone(),
            session_id: verdict.session_id.clone(),
            interaction_id: verdict.interaction_id,
            category: category.to_owned(),
            reason: verdict.diagnosis_reason().to_owned(),
            interaction_ids: Json(verdict.evidence().to_vec()),
        }
    }

    /// A session that got the learning and failed.
    pub fn of_failure(proposal_id: &str, failed: FailedSession) -> Self {
        TuningEvidence {
            proposal_id: proposal_id.to_owned(),
            user_id: failed.user_id,
            session_id: failed.session_id,
            interaction_id: failed.last_interaction_id,
            category: String::new(),
            reason: failed.failure_reason,
            interaction_ids: Json(Vec::new()),
        }
    }
}

/// Proposals: what a trial found to hurt first, the worst first; then the newest first.
pub async fn list(
    app: &App,
    org_id: &OrgId,
    status: Option<TuningStatus>,
) -> Result<Vec<TuningProposal>> {
    app.db
        .read("learnings.list_tuning", (org_id.to_owned(), status), |tx, (org_id, status)| {
            Box::pin(async move {
                let mut proposals = sql::list(tx, org_id, *status).await?;
                for evidence in sql::evidence(tx, org_id).await? {
                    let of = |p: &&mut TuningProposal| p.proposal_id == evidence.proposal_id;
                    if let Some(proposal) = proposals.iter_mut().find(of) {
                        proposal.evidence.push(evidence);
                    }
                }
                let effect =
                    |p: &TuningProposal| p.trial.as_ref().map_or(0.0, |trial| trial.0.effect);
                proposals.sort_by(|a, b| effect(a).total_cmp(&effect(b)));
                Ok(proposals)
            })
        })
        .await
}

/// A person's acceptance of a proposal, perhaps with a wording of their own.
#[derive(Clone, Debug, Default)]
pub struct Acceptance {
    pub proposal_id: String,
    pub content: Option<String>,
    pub trigger: Option<String>,
}

/// Carries a proposal out, on behalf of a person with this credential.
pub async fn accept(
    app: &Arc<App>,
    org_id: &OrgId,
    credential_id: &str,
    acceptance: Acceptance,
) -> Result<()> {
    let decider = Decider::Tuning { credential_id: credential_id.to_owned() };
    let input = (app.clone(), org_id.to_owned(), acceptance, decider);
    app.db
        .write("learnings.accept_tuning", input, |tx, (app, org_id, acceptance, decider)| {
            Box::pin(async move {
                let proposal = open(tx, org_id, &acceptance.proposal_id).await?;
                carry_out(tx, app, org_id, &proposal, acceptance, decider).await?;
                settle(tx, app, org_id, &proposal, TuningStatus::Accepted).await
            })
        })
        .await?;
    app.db.announce_work().await;
    Ok(())
}

/// Leaves the learning as it is. The same text is not proposed again.
pub async fn decline(app: &Arc<App>, org_id: &OrgId, proposal_id: String) -> Result<()> {
    let input = (app.clone(), org_id.to_owned(), proposal_id);
    app.db
        .write("learnings.decline_tuning", input, |tx, (app, org_id, proposal_id)| {
            Box::pin(async move {
                let proposal = open(tx, org_id, proposal_id).await?;
                settle(tx, app, org_id, &proposal, TuningStatus::Declined).await
            })
        })
        .await
}

async fn open(tx: &mut Tx, org_id: &OrgId, proposal_id: &str) -> Result<TuningProposal> {
    let found = sql::hold(tx, org_id, proposal_id).await?;
    let proposal = found.ok_or_else(|| Error::not_found("tuning proposal"))?;
    if proposal.status != TuningStatus::Open {
        let detail = format!("This proposal was {} already.", proposal.status);
        return Err(Error::refused(Code::ProposalDecided, detail));
    }
    Ok(proposal)
}

async fn settle(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    proposal: &TuningProposal,
    status: TuningStatus,
) -> Result<()> {
    let now = app.clock.now();
    // A person's proposal is theirs: it is changed through the barrier.
    let subject = match &proposal.user_id {
        Some(user_id) => Some(barrier::open(tx, org_id, user_id, now).await?),
        None => None,
    };
    sql::settle(tx, org_id, subject.as_ref(), &proposal.proposal_id, status, now).await
}

async fn carry_out(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    proposal: &TuningProposal,
    acceptance: &Acceptance,
    decider: &Decider,
) -> Result<()> {
    let key = (proposal.kind, proposal.learning_id.clone());
    let present = sql::present(tx, org_id, [&key]).await?.into_iter().next();
    let present = present.ok_or_else(|| Error::not_found("learning"))?;
    if evaluation::learning_digest(&present.content, &present.trigger) != proposal.digest {
        return Err(Error::refused(
            Code::ProposalStale,
            "The learning was changed since; decline the proposal and look at its new score.",
        ));
    }
    let own_words = acceptance.content.is_some() || acceptance.trigger.is_some();
    let is_edit = proposal.action == TuningAction::Edit || own_words;
    if proposal.kind == LearningKind::Profile {
        if own_words {
            let detail = "a profile is archived; change its text with update_user_profile";
            return Err(Error::invalid_field(Code::InvalidInput, "/content", detail));
        }
        let user_id = present.user_id.as_ref().unwrap_or_default();
        let now = app.clock.now();
        let subject = barrier::open(tx, org_id, user_id, now).await?;
        let (id, archived) = (&proposal.learning_id, LearningStatus::Archived);
        return profile_rows::set_status(tx, &subject, id, archived).await;
    }
    let or = |own: &Option<String>, drafted: &str, present: &str| {
        let drafted = if proposal.action == TuningAction::Edit { drafted } else { present };
        Some(own.clone().unwrap_or_else(|| drafted.to_owned()))
    };
    let mut change = PlaybookChange {
        id: proposal.learning_id.parse().unwrap_or(0),
        ..PlaybookChange::default()
    };
    if is_edit {
        change.content = or(&acceptance.content, &proposal.content, &present.content);
        change.trigger = or(&acceptance.trigger, &proposal.trigger, &present.trigger);
    } else if proposal.action == TuningAction::Reject {
        change.playbook_status = Some(PlaybookStatus::Rejected);
    } else {
        change.status = Some(LearningStatus::Archived);
    }
    if proposal.kind == LearningKind::UserPlaybook {
        user_playbooks::apply(tx, app, org_id, &change, app.clock.now()).await
    } else {
        agent_playbooks::apply(tx, app, org_id, &change, decider).await
    }
}
