//! Epochs: times in which neither the text nor the share of a playbook changes. The newest of each playbook is known in
//! memory, for at most ten seconds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::assignment::SHARE_UNIT;
use super::{is_on_trial, sql};
use crate::app::App;
use crate::learnings::AgentPlaybook;
use crate::organization::LearningTrialsConfig;
use crate::webhooks::{self, Event, TrialNews};
use base::owner::OrgId;
use stats::learning_trials::planned_users;
use storage::db::Tx;
use storage::error::Result;

const FRESH_SECONDS: i64 = 10;
/// Organizations remembered; more than that are forgotten together.
const REMEMBERED: usize = 1_000;
/// Traffic of a playbook is counted over this time.
const TRAFFIC_WEEKS: i64 = 4;
const WEEK: i64 = 7 * 86_400;

/// One epoch of a playbook.
#[derive(Clone, Debug, PartialEq, Eq, sqlx_macros::FromRow)]
pub struct Epoch {
    pub agent_playbook_id: i64,
    /// From 1.
    pub epoch_no: i64,
    /// Digest of the text: epochs with the same one are of one revision.
    pub digest: String,
    /// Share of users from whom it is withheld, in 10,000ths.
    pub share: i64,
    /// It is known to help, so that nearly everybody gets it.
    pub is_settled: bool,
    /// The number of users at which its e-value is most sensitive.
    pub planned_users: i64,
    pub started_at: i64,
}

impl Epoch {
    pub fn share(&self) -> f64 {
        self.share as f64 / SHARE_UNIT
    }
}

type Newest = Arc<HashMap<i64, Epoch>>;

/// The newest epochs of organizations, as they were a moment ago.
#[derive(Default)]
pub struct KnownEpochs(Mutex<HashMap<OrgId, (i64, Newest)>>);

/// Digest of a playbook's text.
pub fn digest(playbook: &AgentPlaybook) -> String {
    let mut hash = Sha256::new();
    for part in [&playbook.trigger, &playbook.content] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(&hash.finalize()[..16])
}

/// The share of a playbook that is known to help, or of which nothing is known yet.
fn share_of(config: &LearningTrialsConfig, is_settled: bool) -> i64 {
    let share = if is_settled { config.settled_share } else { config.new_share };
    #[expect(clippy::cast_possible_truncation)] // at most 5,000
    let share = (share * SHARE_UNIT).round() as i64;
    share
}

/// The newest epoch of each playbook of an organization.
pub async fn known(app: &App, org_id: &OrgId) -> Result<Newest> {
    let now = app.clock.now();
    let state = app.state::<KnownEpochs>();
    {
        let known = state.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read_at, newest)) = known.get(org_id)
            && (*read_at..*read_at + FRESH_SECONDS).contains(&now)
        {
            return Ok(newest.clone());
        }
    }
    let found = app
        .db
        .read("trials.epochs", org_id.to_owned(), |tx, org_id| {
            Box::pin(sql::newest_epochs(tx, org_id))
        })
        .await?;
    let newest: Newest = Arc::new(found.into_iter().map(|e| (e.agent_playbook_id, e)).collect());
    let mut known = state.0.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= REMEMBERED {
        known.clear();
    }
    known.insert(org_id.to_owned(), (now, newest.clone()));
    Ok(newest)
}

fn forget(app: &App, org_id: &OrgId) {
    let state = app.state::<KnownEpochs>();
    state.0.lock().unwrap_or_else(PoisonError::into_inner).remove(org_id);
}

/// The epoch of each playbook that is on trial, which is begun if its text or its share changed.
pub async fn of(
    app: &Arc<App>,
    org_id: &OrgId,
    config: &LearningTrialsConfig,
    playbooks: &[AgentPlaybook],
) -> Result<Vec<Option<Epoch>>> {
    let mut newest = known(app, org_id).await?;
    let is_current = |newest: &Newest, playbook: &AgentPlaybook| {
        let epoch = newest.get(&playbook.agent_playbook_id);
        epoch.is_some_and(|epoch| {
            epoch.share == share_of(config, epoch.is_settled) && epoch.digest == digest(playbook)
        })
    };
    let changed: Vec<(i64, String)> = playbooks
        .iter()
        .filter(|playbook| is_on_trial(config, playbook) && !is_current(&newest, playbook))
        .map(|playbook| (playbook.agent_playbook_id, digest(playbook)))
        .collect();
    if !changed.is_empty() {
        let input = (org_id.to_owned(), config.clone(), changed, app.clock.now());
        app.db
            .write("trials.begin_epochs", input, |tx, (org_id, config, changed, now)| {
                Box::pin(begin(tx, org_id, config, changed, *now))
            })
            .await?;
        forget(app, org_id);
        newest = known(app, org_id).await?;
    }
    let epoch_of = |playbook: &AgentPlaybook| match is_on_trial(config, playbook) {
        true => newest.get(&playbook.agent_playbook_id).cloned(),
        false => None,
    };
    Ok(playbooks.iter().map(epoch_of).collect())
}

/// Begins the next epoch of playbooks whose text or share changed; another replica may have done so.
async fn begin(
    tx: &mut Tx,
    org_id: &OrgId,
    config: &LearningTrialsConfig,
    changed: &[(i64, String)],
    now: i64,
) -> Result<()> {
    let newest = sql::newest_epochs(tx, org_id).await?;
    for (agent_playbook_id, digest) in changed {
        let last = newest.iter().find(|epoch| epoch.agent_playbook_id == *agent_playbook_id);
        let same_text = last.filter(|epoch| epoch.digest == *digest);
        let is_settled = same_text.is_some_and(|epoch| epoch.is_settled);
        let share = share_of(config, is_settled);
        if same_text.is_some_and(|epoch| epoch.share == share) {
            continue;
        }
        let next = Epoch {
            agent_playbook_id: *agent_playbook_id,
            epoch_no: last.map_or(0, |epoch| epoch.epoch_no) + 1,
            digest: digest.clone(),
            share,
            is_settled,
            planned_users: plan(tx, org_id, *agent_playbook_id, &newest, now).await?,
            started_at: now,
        };
        sql::insert_epoch(tx, org_id, &next).await?;
    }
    Ok(())
}

/// Twelve weeks of the playbook's traffic; without a history, the median of the others.
async fn plan(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_id: i64,
    newest: &[Epoch],
    now: i64,
) -> Result<i64> {
    let since = now - TRAFFIC_WEEKS * WEEK;
    let (users, first) = sql::traffic(tx, org_id, agent_playbook_id, since).await?;
    let weeks = first.map(|first| ((now - first) as f64 / WEEK as f64).max(1.0));
    let per_week = weeks.map(|weeks| users as f64 / weeks.min(TRAFFIC_WEEKS as f64));
    let others = newest.iter().filter(|epoch| epoch.agent_playbook_id != agent_playbook_id);
    let others: Vec<u64> = others.map(|e| u64::try_from(e.planned_users).unwrap_or(0)).collect();
    Ok(i64::try_from(planned_users(per_week, &others)).unwrap_or(i64::MAX))
}

/// Lets nearly everybody have a playbook that is known to help, from a new epoch on, and goes on watching it. Webhooks
/// are told in the same transaction.
pub async fn settle(
    app: &Arc<App>,
    org_id: &OrgId,
    config: &LearningTrialsConfig,
    helping: Vec<TrialNews>,
) -> Result<()> {
    let share = share_of(config, true);
    let input = (app.clone(), org_id.to_owned(), helping, app.clock.now());
    app.db
        .write("trials.settle", input, move |tx, (app, org_id, helping, now)| {
            Box::pin(async move {
                let newest = sql::newest_epochs(tx, org_id).await?;
                for epoch in newest.iter().filter(|epoch| !epoch.is_settled) {
                    let id = epoch.agent_playbook_id;
                    let Some(news) = helping.iter().find(|news| news.agent_playbook_id == id)
                    else {
                        continue;
                    };
                    let event = Event::PlaybookHelps(news.clone());
                    webhooks::emit(tx, app, org_id, None, &event).await?;
                    let planned_users = plan(tx, org_id, id, &newest, *now).await?;
                    let next = Epoch {
                        epoch_no: epoch.epoch_no + 1,
                        share,
                        is_settled: true,
                        planned_users,
                        started_at: *now,
                        ..epoch.clone()
                    };
                    sql::insert_epoch(tx, org_id, &next).await?;
                }
                Ok(())
            })
        })
        .await?;
    forget(app, org_id);
    Ok(())
}
