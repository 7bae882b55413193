//! Reviewing user playbooks: the sessions that taught one are read once more, by the extractor and the rubric of today.
//! A playbook that it would learn again is accepted; one that it would word otherwise is edited; one that it would not
//! learn is rejected.

pub mod http;

use std::sync::Arc;

use serde::Serialize;
use sqlx::types::Json;
use utoipa::ToSchema;

use super::extraction::{Window, stood_by};
use super::sql::streams::Stream;
use crate::app::App;
use crate::judging::{self, SubjectConsent};
use crate::learnings::likeness::{Likeness, Relation};
use crate::learnings::rows::{self, Filter};
use crate::learnings::{LearningStatus, UserPlaybook, user_playbooks};
use crate::organization::{self, OrganizationConfig};
use crate::sessions::{self, Arrival};
use base::owner::OrgId;
use judge::prompts::Kind;
use judge::proposals::Proposal;
use judge::{JudgeError, LearningKind};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::barrier;

/// Turns of the sessions behind one playbook that are read.
const TURNS: i64 = 200;

base::vocabulary! {
    /// The decision on a playbook.
    pub enum ReviewDecision {
        Accept = "accept",
        Edit = "edit",
        Reject = "reject",
        /// It could not be reviewed, and stays as it is.
        Skip = "skip",
    }
}

base::vocabulary! {
    /// The reason for a decision.
    pub enum ReviewReason {
        GroundedUseful = "grounded_useful",
        UnsupportedEvidence = "unsupported_evidence",
        EvidenceUnavailable = "evidence_unavailable",
    }
}

/// Playbooks that are reviewed: current ones made within a time, the newest.
#[derive(Clone, Copy, Debug)]
pub struct ReviewSelection {
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub top_k: i64,
    /// Rejected ones are archived and edited ones replaced; otherwise nothing changes.
    pub apply: bool,
}

/// A better wording.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReviewEdit {
    pub content: String,
    pub trigger: String,
    pub rationale: String,
}

/// A playbook and what was decided.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReviewResult {
    pub user_playbook_id: i64,
    pub decision: ReviewDecision,
    pub reason_code: ReviewReason,
    pub reason: Option<String>,
    pub edit: Option<ReviewEdit>,
    /// True if the decision was carried out.
    pub applied: bool,
    /// The playbook that took its place.
    pub successor_user_playbook_id: Option<i64>,
}

/// Reviews playbooks, the newest first.
pub async fn review(
    app: &Arc<App>,
    org_id: &OrgId,
    selection: ReviewSelection,
) -> Result<Vec<ReviewResult>> {
    let filter = Filter {
        org_id: org_id.clone(),
        statuses: vec![LearningStatus::Current],
        from: selection.from,
        to: selection.to,
        now: app.clock.now(),
        ..Filter::default()
    };
    let (config, playbooks) = app
        .db
        .read("learnings.reviewed", filter, move |tx, filter| {
            Box::pin(async move {
                let config = organization::config_in(tx, &filter.org_id).await?.config;
                Ok((config, rows::user_playbooks::list(tx, filter, selection.top_k).await?))
            })
        })
        .await?;
    let mut results = Vec::with_capacity(playbooks.len());
    for playbook in playbooks {
        let mut result = review_one(app, org_id, &config, &playbook).await?;
        let changes = matches!(result.decision, ReviewDecision::Edit | ReviewDecision::Reject);
        if selection.apply && changes {
            apply(app, org_id, playbook, &mut result).await?;
        }
        results.push(result);
    }
    Ok(results)
}

/// Reads the sessions behind a playbook, and compares what they teach with it.
async fn review_one(
    app: &Arc<App>,
    org_id: &OrgId,
    config: &OrganizationConfig,
    playbook: &UserPlaybook,
) -> Result<ReviewResult> {
    let input = (org_id.clone(), playbook.clone());
    let (epoch, arrivals) = app
        .db
        .read("learnings.review_turns", input, |tx, (org_id, playbook)| {
            Box::pin(evidence(tx, org_id, playbook))
        })
        .await?;
    let result = |decision, reason_code, reason: &str| ReviewResult {
        user_playbook_id: playbook.user_playbook_id,
        decision,
        reason_code,
        reason: Some(reason.to_owned()),
        edit: None,
        applied: false,
        successor_user_playbook_id: None,
    };
    let Some((epoch, arrivals)) = epoch.zip(arrivals) else {
        let reason = "the turns it came from are not there";
        return Ok(result(ReviewDecision::Skip, ReviewReason::EvidenceUnavailable, reason));
    };
    let consent = Arc::new(SubjectConsent {
        db: app.db.clone(),
        org_id: org_id.clone(),
        user_id: playbook.user_id.clone(),
        epoch,
    });
    let window = Window { config: config.clone(), stream: Stream::default(), arrivals };
    let pinned = config.learning.extraction_prompt_version.as_deref();
    let rubric = judging::rubric(Kind::LearningExtraction, pinned)?;
    let context = judging::context(config, Some(consent));
    let graded = match app.extractor.extraction(rubric, &context, &window.shown()).await {
        Ok(graded) => graded,
        Err(JudgeError::Withdrawn) => {
            let reason = "its person is being erased";
            return Ok(result(ReviewDecision::Skip, ReviewReason::EvidenceUnavailable, reason));
        }
        Err(error) => return Err(judging::judge_error(&error)),
    };
    let proposals = stood_by(&window, graded.verdict);
    let reviewed = match closest(playbook, &proposals) {
        Some((Relation::Same, _)) => {
            let reason = "the extractor of today learns it from the same sessions";
            result(ReviewDecision::Accept, ReviewReason::GroundedUseful, reason)
        }
        Some((_, proposal)) => ReviewResult {
            edit: Some(ReviewEdit {
                content: proposal.content.clone(),
                trigger: proposal.trigger.clone(),
                rationale: proposal.rationale.clone(),
            }),
            ..result(
                ReviewDecision::Edit,
                ReviewReason::GroundedUseful,
                "the extractor of today words it otherwise",
            )
        },
        None => {
            let reason = "the extractor of today does not learn it from the same sessions";
            result(ReviewDecision::Reject, ReviewReason::UnsupportedEvidence, reason)
        }
    };
    Ok(reviewed)
}

/// The person's epoch, and the turns of the sessions that a playbook came from; nothing where they are gone.
async fn evidence(
    tx: &mut Tx,
    org_id: &OrgId,
    playbook: &UserPlaybook,
) -> Result<(Option<i64>, Option<Vec<Arrival>>)> {
    let (user_id, cited) = (&playbook.user_id, &playbook.source_interaction_ids.0);
    let epoch = barrier::open_epoch(tx, org_id, user_id).await?;
    let arrivals = sessions::arrivals_beside(tx, org_id, user_id, cited, TURNS).await?;
    let is_there = |id: &i64| arrivals.iter().any(|a| a.interaction.interaction_id == *id);
    let complete = !cited.is_empty() && cited.iter().all(is_there);
    Ok((epoch, complete.then_some(arrivals)))
}

/// The proposal that says the same as a playbook, or else something about the same.
fn closest<'a>(
    playbook: &UserPlaybook,
    proposals: &'a [Proposal],
) -> Option<(Relation, &'a Proposal)> {
    let text = |trigger: &str, content: &str| Likeness::of(&format!("{trigger} {content}"));
    let known = text(&playbook.trigger, &playbook.content);
    proposals
        .iter()
        .filter(|proposal| proposal.kind == LearningKind::UserPlaybook)
        .map(|proposal| (text(&proposal.trigger, &proposal.content), proposal))
        .map(|(likeness, proposal)| (likeness.relation(&known), likeness.common(&known), proposal))
        .filter(|(relation, ..)| *relation != Relation::Different)
        .max_by(|a, b| {
            let same = |relation| relation == Relation::Same;
            same(a.0).cmp(&same(b.0)).then(a.1.total_cmp(&b.1))
        })
        .map(|(relation, _, proposal)| (relation, proposal))
}

/// Carries a decision out, unless the playbook changed meanwhile.
async fn apply(
    app: &Arc<App>,
    org_id: &OrgId,
    playbook: UserPlaybook,
    result: &mut ReviewResult,
) -> Result<()> {
    let input = (app.clone(), org_id.clone(), playbook, result.edit.clone());
    let applied = app
        .db
        .write("learnings.apply_review", input, |tx, (app, org_id, playbook, edit)| {
            Box::pin(replace(tx, app, org_id, playbook, edit.as_ref()))
        })
        .await?;
    app.db.announce_work().await;
    if let Some(successor) = applied {
        result.applied = true;
        result.successor_user_playbook_id = successor;
    }
    Ok(())
}

/// Archives a playbook, or puts an edited one in its place; gives that one's number. Nothing if it changed meanwhile.
async fn replace(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    playbook: &UserPlaybook,
    edit: Option<&ReviewEdit>,
) -> Result<Option<Option<i64>>> {
    let now = app.clock.now();
    let subject = barrier::open(tx, org_id, &playbook.user_id, now).await?;
    let id = playbook.user_playbook_id;
    let held = rows::user_playbooks::hold(tx, org_id, id).await?;
    let is_same = |held: &UserPlaybook| {
        held.status == LearningStatus::Current && held.content == playbook.content
    };
    if !held.is_some_and(|held| is_same(&held)) {
        return Ok(None);
    }
    user_playbooks::announce_change(tx, app, org_id, &playbook.agent_version).await?;
    let Some(edit) = edit else {
        rows::user_playbooks::set_status(tx, &subject, id, LearningStatus::Archived).await?;
        return Ok(Some(None));
    };
    rows::user_playbooks::set_status(tx, &subject, id, LearningStatus::Superseded).await?;
    let successor = UserPlaybook {
        user_playbook_id: 0,
        created_at: now,
        content: edit.content.clone(),
        trigger: edit.trigger.clone(),
        rationale: edit.rationale.clone(),
        source_interaction_ids: Json(playbook.source_interaction_ids.0.clone()),
        ..playbook.clone()
    };
    Ok(Some(Some(user_playbooks::put(tx, &subject, successor).await?)))
}
