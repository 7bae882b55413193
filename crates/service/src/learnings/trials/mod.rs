//! Trials of agent playbooks: each is withheld from a small random share of the users for whom it was found, so that
//! sessions with it and sessions without it differ in that playbook alone.
//!
//! - A user's side is a hash of organization, playbook, epoch and user: the same on every replica and for ever.
//! - An epoch is a time in which neither the text nor the share of a playbook changes.
//! - A withheld playbook is taken out after ranking, and no other takes its place.
//! - Found playbooks are recorded once per user, session, playbook and epoch, beside the search.

mod assignment;
mod epochs;
mod exposures;
mod sql;

use std::sync::Arc;

use super::{AgentPlaybook, LearningStatus, PlaybookStatus};
use crate::app::App;
use crate::organization::{self, LearningTrialsConfig};
use base::owner::{OrgId, UserId};
use storage::error::Result;

pub use assignment::{SHARE_UNIT, is_withheld};
pub use epochs::{Epoch, KnownEpochs, settle};
pub use exposures::{RecentExposures, recorded};
pub use sql::delete_exposures as forget_session;

/// A playbook that was found for a user, and whether they got it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Exposure {
    user_id: UserId,
    session_id: String,
    agent_playbook_id: i64,
    epoch_no: i64,
    withheld: bool,
    /// Its place among the playbooks that were found, from 1.
    rank: i64,
    found_at: i64,
}

/// Takes out the playbooks that are withheld from a user, and records what was found. Without a user everything is
/// handed over, without a session nothing is recorded.
pub async fn hold_back(
    app: &Arc<App>,
    org_id: &OrgId,
    user_id: Option<&UserId>,
    session_id: Option<&str>,
    found: Vec<AgentPlaybook>,
) -> Result<Vec<AgentPlaybook>> {
    let Some(user_id) = user_id.filter(|_| !found.is_empty()) else { return Ok(found) };
    let config = organization::recent(app, org_id).await?;
    if !config.learning_trials.enabled {
        return Ok(found);
    }
    let epochs = epochs::of(app, org_id, &config.learning_trials, &found).await?;
    let (mut kept, mut exposures) = (Vec::with_capacity(found.len()), Vec::new());
    for ((playbook, epoch), rank) in found.into_iter().zip(epochs).zip(1..) {
        let Some(epoch) = epoch else {
            kept.push(playbook);
            continue;
        };
        let id = playbook.agent_playbook_id;
        let withheld = is_withheld(org_id, id, epoch.epoch_no, user_id, epoch.share);
        if let Some(session_id) = session_id {
            exposures.push(Exposure {
                user_id: user_id.clone(),
                session_id: session_id.to_owned(),
                agent_playbook_id: id,
                epoch_no: epoch.epoch_no,
                withheld,
                rank,
                found_at: app.clock.now(),
            });
        }
        if !withheld {
            kept.push(playbook);
        }
    }
    exposures::record(app, org_id, exposures);
    Ok(kept)
}

/// Says of each playbook from which share of users it is withheld, for people who inspect.
pub async fn show_shares(
    app: &Arc<App>,
    org_id: &OrgId,
    playbooks: &mut [AgentPlaybook],
) -> Result<()> {
    let config = organization::recent(app, org_id).await?;
    if !config.learning_trials.enabled || playbooks.is_empty() {
        return Ok(());
    }
    let known = epochs::known(app, org_id).await?;
    for playbook in playbooks.iter_mut().filter(|p| is_on_trial(&config.learning_trials, p)) {
        let epoch = known.get(&playbook.agent_playbook_id);
        let epoch = epoch.filter(|epoch| epoch.digest == epochs::digest(playbook));
        playbook.withheld_share = epoch.map(Epoch::share);
    }
    Ok(())
}

/// True if a playbook is withheld from some users: it is approved and not among those that everybody gets.
fn is_on_trial(config: &LearningTrialsConfig, playbook: &AgentPlaybook) -> bool {
    let is_named = |name: &String| {
        *name == playbook.agent_playbook_id.to_string() || playbook.tags.contains(name)
    };
    playbook.playbook_status == PlaybookStatus::Approved
        && playbook.status == LearningStatus::Current
        && !config.always_serve.iter().any(is_named)
}
