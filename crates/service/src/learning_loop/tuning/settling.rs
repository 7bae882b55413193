//! Trials that have an answer: a playbook that is called `helps` reaches nearly everybody from then on, and goes on being
//! watched; one that is called `hurts` becomes a proposal, which a person decides.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::draft::{self, TuningDraft};
use super::job::{PROPOSALS, store};
use super::score::{Present, Score, ScorecardQuery, scores};
use super::{TrialFinding, TuningEvidence};
use crate::app::App;
use crate::evaluation::effects::{self, Effect, FailedSession, ListedEffect, NamedEffects};
use crate::evaluation::learning_digest;
use crate::learning_loop::sql::tuning::{self as sql, NewProposal};
use crate::learnings::{PlaybookStatus, trials};
use crate::organization::{self, OrganizationConfig};
use crate::webhooks::{self, Event, TrialNews};
use base::owner::{OrgId, UserId};
use judge::LearningKind;
use stats::learning_trials::TrialState;
use storage::db::Tx;
use storage::error::Result;
use storage::jobs::Recurring;
use storage::subjects::barrier;

/// Failed sessions that a proposal shows.
const EXAMPLES: i64 = 3;

/// Kind of the job that looks for answers.
pub const SETTLE_TRIALS: &str = "settle_trials";

pub struct SettleTrials;

impl Recurring<App> for SettleTrials {
    const KIND: &'static str = SETTLE_TRIALS;
    const EVERY_SECONDS: i64 = 3600;

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            for org_id in effects::organizations(app).await? {
                settle(app, &org_id).await?;
            }
            Ok(())
        })
    }
}

async fn settle(app: &Arc<App>, org_id: &OrgId) -> Result<()> {
    let config = organization::recent(app, org_id).await?;
    if !config.learning_trials.enabled {
        return Ok(());
    }
    let named = effects::list(app, org_id, None).await?;
    let all = named.all.effects.iter();
    let helps = all.filter(|effect| effect.state == TrialState::Helps && !effect.is_settled);
    let helps: Vec<TrialNews> = helps.map(news).collect();
    if !helps.is_empty() {
        trials::settle(app, org_id, &config.learning_trials, helps).await?;
    }
    let hurts = hurting(&named);
    if !hurts.is_empty() {
        propose(app, org_id, &config, hurts).await?;
    }
    Ok(())
}

fn news(effect: &Effect) -> TrialNews {
    TrialNews {
        agent_playbook_id: effect.agent_playbook_id,
        effect: effect.estimate.effect,
        always_valid_lower: effect.estimate.always_valid_lower,
        always_valid_upper: effect.estimate.always_valid_upper,
        served_users: effect.served.users,
        withheld_users: effect.withheld.users,
    }
}

/// Playbooks that hurt and are served, the worst first.
fn hurting(named: &NamedEffects) -> Vec<(ListedEffect, TrialFinding)> {
    let hurts = named.listed().filter(|listed| {
        listed.effect.state == TrialState::Hurts
            && listed.playbook_status == Some(PlaybookStatus::Approved)
    });
    let mut hurts: Vec<_> =
        hurts.filter_map(|listed| finding(&listed).map(|found| (listed, found))).collect();
    hurts.reverse();
    hurts
}

fn finding(listed: &ListedEffect) -> Option<TrialFinding> {
    let estimate = &listed.effect.estimate;
    Some(TrialFinding {
        effect: estimate.effect?,
        always_valid_lower: estimate.always_valid_lower?,
        always_valid_upper: estimate.always_valid_upper?,
        e_value: estimate.e_value,
        served_users: listed.effect.served.users,
        withheld_users: listed.effect.withheld.users,
    })
}

/// A playbook that hurts, with what is known of it.
struct Hurting {
    found: TrialFinding,
    news: TrialNews,
    present: Present,
    digest: String,
    score: Option<Score>,
    examples: Vec<FailedSession>,
}

async fn propose(
    app: &Arc<App>,
    org_id: &OrgId,
    config: &OrganizationConfig,
    hurts: Vec<(ListedEffect, TrialFinding)>,
) -> Result<()> {
    let input = (app.clone(), org_id.to_owned(), hurts);
    let (known, hurting) = app
        .db
        .read("learnings.hurting", input, |tx, (app, org_id, hurts)| {
            Box::pin(async move {
                let known = sql::proposed(tx, org_id).await?;
                Ok((known, look_up(tx, app, org_id, hurts).await?))
            })
        })
        .await?;
    let (mut told, mut new) = (Vec::new(), Vec::new());
    for one in hurting {
        let key =
            (LearningKind::AgentPlaybook, one.present.learning_id.clone(), one.digest.clone());
        if known.contains(&key) {
            told.push(one);
        } else if new.len() < PROPOSALS {
            let wording = match &one.score {
                Some(score) => Some(draft::make(app, org_id, config, score).await?),
                None => None,
            };
            let draft = TuningDraft::after_trial(wording, &one.found);
            new.push((one, draft));
        }
    }
    let input = (app.clone(), org_id.to_owned(), told, new);
    app.db
        .write("learnings.propose_after_trial", input, |tx, (app, org_id, told, new)| {
            Box::pin(async move {
                for one in told {
                    let (id, digest) = (&one.present.learning_id, &one.digest);
                    let rationale = one.found.sentence();
                    sql::set_trial(tx, org_id, id, digest, one.found, &rationale).await?;
                }
                save(tx, app, org_id, new).await
            })
        })
        .await
}

async fn look_up(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    hurts: &[(ListedEffect, TrialFinding)],
) -> Result<Vec<Hurting>> {
    let all = effects::in_transaction(app, tx, org_id, None).await?;
    let kind = Some(LearningKind::AgentPlaybook);
    let query = ScorecardQuery { kind, limit: usize::MAX, ..ScorecardQuery::default() };
    let mut scores = scores(tx, org_id, &query, &all, app.clock.now()).await?;
    let mut found = Vec::new();
    for (listed, finding) in hurts {
        let id = listed.effect.agent_playbook_id;
        let key = (LearningKind::AgentPlaybook, id.to_string());
        let Some(present) = sql::present(tx, org_id, [&key]).await?.into_iter().next() else {
            continue;
        };
        let score = scores.iter().position(|score| score.learning_id == key.1);
        found.push(Hurting {
            found: *finding,
            news: news(&listed.effect),
            digest: learning_digest(&present.content, &present.trigger),
            present,
            score: score.map(|place| scores.swap_remove(place)),
            examples: effects::failed_sessions(tx, org_id, id, EXAMPLES).await?,
        });
    }
    Ok(found)
}

async fn save(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    proposals: &[(Hurting, TuningDraft)],
) -> Result<()> {
    let examples = proposals.iter().flat_map(|(one, _)| &one.examples);
    let mut users: Vec<UserId> = examples.map(|failed| failed.user_id.clone()).collect();
    users.sort_unstable();
    users.dedup();
    let subjects = barrier::open_known(tx, org_id, &users).await?;
    for (one, draft) in proposals {
        let proposal_id = app.ids.uuid();
        let impact = one.score.as_ref().map(|score| &score.attributable_impact);
        let upper = impact.and_then(|impact| impact.ci95).map_or(0.0, |(_, upper)| upper);
        let proposal = NewProposal {
            proposal_id: &proposal_id,
            kind: LearningKind::AgentPlaybook,
            learning_id: &one.present.learning_id,
            digest: &one.digest,
            draft,
            judged: impact.map_or(0, |impact| impact.judged),
            impact: impact.and_then(|impact| impact.mean).unwrap_or(0.0),
            impact_upper: upper,
            trial: Some(one.found),
        };
        let examples = one.examples.iter().cloned();
        let evidence = examples.map(|failed| TuningEvidence::of_failure(&proposal_id, failed));
        let now = app.clock.now();
        if store(tx, org_id, None, &proposal, evidence, &subjects, now).await? {
            let event = Event::PlaybookHurts(one.news.clone());
            webhooks::emit(tx, app, org_id, None, &event).await?;
        }
    }
    Ok(())
}
