//! The job of an organization: look at the scores, propose what to do about learnings that hurt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::TuningEvidence;
use super::draft::{self, TuningDraft};
use super::score::{self, LearningStanding, Score, ScorecardQuery};
use crate::app::App;
use crate::evaluation::{self, LEARNING_VERDICTS_CHANGED};
use crate::learning_loop::sql::tuning::{self as sql, NewProposal};
use crate::learnings::PlaybookStatus;
use crate::organization;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::jobs::{self, Claim, Handler, Outcome};
use storage::subjects::{SubjectWrite, barrier};

/// Proposals made in one run; the rest wait for the next verdicts.
pub const PROPOSALS: usize = 20;
/// Verdicts kept as evidence of one proposal.
const EVIDENCE: usize = 50;

pub struct TuneLearnings;

impl Handler<App> for TuneLearnings {
    fn kind(&self) -> &'static str {
        LEARNING_VERDICTS_CHANGED
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(tune(app, job))
    }
}

async fn tune(app: &Arc<App>, job: &Claim) -> Result<Outcome> {
    let input = (app.clone(), job.org_id.clone(), app.clock.now());
    let (config, scores, known) = app
        .db
        .read("learnings.tune", input, |tx, (app, org_id, now)| {
            Box::pin(async move {
                let config = organization::config_in(tx, org_id).await?.config;
                let effects = evaluation::effects::in_transaction(app, tx, org_id, None).await?;
                let query = ScorecardQuery { limit: usize::MAX, ..ScorecardQuery::default() };
                let scores = score::scores(tx, org_id, &query, &effects, *now).await?;
                Ok((config, scores, sql::proposed(tx, org_id).await?))
            })
        })
        .await?;
    let least = config.learning.tuning_min_sessions;
    let harmful = scores.into_iter().filter(|score| {
        let key = (score.kind, score.learning_id.clone(), score.digest.clone());
        score.standing == LearningStanding::Hurts
            && score.sessions >= least
            && score.is_marked
            && score.status.is_none()
            && score.playbook_status != Some(PlaybookStatus::Rejected)
            && !known.contains(&key)
    });
    let mut proposals = Vec::new();
    for score in harmful.take(PROPOSALS) {
        let draft = draft::make(app, &job.org_id, &config, &score).await?;
        proposals.push((score, draft));
    }
    let input = (app.clone(), job.clone(), proposals);
    app.db
        .write("learnings.save_tuning", input, |tx, (app, job, proposals)| {
            Box::pin(save(tx, app, job, proposals))
        })
        .await?;
    Ok(Outcome::Closed)
}

async fn save(
    tx: &mut Tx,
    app: &App,
    job: &Claim,
    proposals: &[(Score, TuningDraft)],
) -> Result<()> {
    let now = app.clock.now();
    jobs::hold(tx, job).await?;
    let users: BTreeSet<UserId> = proposals
        .iter()
        .flat_map(|(score, _)| {
            score.user_id.iter().chain(score.against.iter().map(|verdict| &verdict.user_id))
        })
        .cloned()
        .collect();
    let users: Vec<UserId> = users.into_iter().collect();
    let subjects = barrier::open_known(tx, &job.org_id, &users).await?;
    for (score, draft) in proposals {
        let owner = score.user_id.as_ref().map(|user| subjects.get(user));
        // Erased meanwhile: there is nothing left to propose about.
        let Some(owner) = owner.map_or(Some(None), |found| found.map(Some)) else { continue };
        let impact = &score.attributable_impact;
        let proposal_id = app.ids.uuid();
        let proposal = NewProposal {
            proposal_id: &proposal_id,
            kind: score.kind,
            learning_id: &score.learning_id,
            digest: &score.digest,
            draft,
            judged: impact.judged,
            impact: impact.mean.unwrap_or(0.0),
            impact_upper: impact.ci95.map_or(0.0, |(_, upper)| upper),
            trial: None,
        };
        let against = score.against.iter().take(EVIDENCE);
        let evidence = against.map(|verdict| TuningEvidence::of_verdict(&proposal_id, verdict));
        store(tx, &job.org_id, owner, &proposal, evidence, &subjects, now).await?;
    }
    jobs::finish(tx, job, now).await
}

/// Stores a proposal, with the evidence of those who are still there; false if it was made before.
pub async fn store(
    tx: &mut Tx,
    org_id: &OrgId,
    owner: Option<&SubjectWrite>,
    proposal: &NewProposal<'_>,
    evidence: impl Iterator<Item = TuningEvidence>,
    subjects: &BTreeMap<UserId, SubjectWrite>,
    now: i64,
) -> Result<bool> {
    if !sql::insert_proposal(tx, org_id, owner, proposal, now).await? {
        return Ok(false);
    }
    for evidence in evidence {
        if let Some(subject) = subjects.get(&evidence.user_id) {
            sql::insert_evidence(tx, subject, &evidence).await?;
        }
    }
    let action = proposal.draft.action.as_str();
    metrics::counter!("evenhand_tuning_proposals_total", "action" => action).increment(1);
    Ok(true)
}
