//! The job of an organization: look at the scores, propose what to do about learnings that hurt.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::draft::{self, TuningDraft};
use super::score::{self, LearningStanding, Score, ScorecardQuery};
use crate::app::App;
use crate::evaluation::LEARNING_VERDICTS_CHANGED;
use crate::learning_loop::sql::tuning as sql;
use crate::learnings::PlaybookStatus;
use crate::organization;
use base::owner::UserId;
use storage::db::Tx;
use storage::error::Result;
use storage::jobs::{self, Claim, Handler, Outcome};
use storage::subjects::barrier;

/// Proposals made in one run; the rest wait for the next verdicts.
const PROPOSALS: usize = 20;
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
    let input = (job.org_id.clone(), app.clock.now());
    let (config, scores, known) = app
        .db
        .read("learnings.tune", input, |tx, (org_id, now)| {
            Box::pin(async move {
                let config = organization::config_in(tx, org_id).await?.config;
                let query = ScorecardQuery { limit: usize::MAX, ..ScorecardQuery::default() };
                let scores = score::scores(tx, org_id, &query, *now).await?;
                Ok((config, scores, sql::proposed(tx, org_id).await?))
            })
        })
        .await?;
    let least = config.learning.tuning_min_sessions;
    let harmful = scores.into_iter().filter(|score| {
        let key = (score.kind, score.learning_id.clone(), score.digest.clone());
        score.standing == LearningStanding::Hurts
            && score.sessions >= least
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
        let id = app.ids.uuid();
        if !sql::insert_proposal(tx, &job.org_id, owner, &id, score, draft, now).await? {
            continue;
        }
        for verdict in score.against.iter().take(EVIDENCE) {
            if let Some(subject) = subjects.get(&verdict.user_id) {
                sql::insert_evidence(tx, subject, &id, verdict).await?;
            }
        }
        let action = draft.action.as_str();
        metrics::counter!("evenhand_tuning_proposals_total", "action" => action).increment(1);
    }
    jobs::finish(tx, job, now).await
}
