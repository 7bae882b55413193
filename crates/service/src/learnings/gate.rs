//! The gate between learnings and whoever asked for them.
//!
//! All four searches and the three reads that hand learned context to an agent end here, with what they found
//! and for whom. What leaves is what the caller gets, and the attribution that its answer carries. While an
//! experiment runs, production traffic of its holdout gets nothing; inspection is never subject to an arm. Agent
//! playbooks on trial are withheld from some users (`trials`).

use std::sync::Arc;

use super::{Learnings, PlaybookStatus, trials};
use crate::app::App;
use crate::credentials::Caller;
use crate::experiments::{self, Exposed, NewExposure};
use crate::organization;
use base::owner::{OrgId, UserId};
use storage::error::{Code, Error, Result};

pub use crate::experiments::Attribution;

/// The user, session and request that learnings are handed over to.
#[derive(Clone, Debug, Default)]
pub struct Recipient {
    pub user_id: Option<UserId>,
    pub session_id: Option<String>,
    pub request_id: Option<String>,
}

/// Learnings handed over to the caller.
pub struct HandOver {
    pub learnings: Learnings,
    /// Null while no experiment runs.
    pub experiment: Option<Attribution>,
    pub msg: Option<String>,
}

/// The approval that agent playbooks must have to be served to an organization's agents.
pub async fn served_statuses(app: &App, org_id: &OrgId) -> Result<&'static [PlaybookStatus]> {
    let serves_pending = organization::recent(app, org_id).await?.serve_pending;
    Ok(match serves_pending {
        true => &[PlaybookStatus::Approved, PlaybookStatus::Pending],
        false => &[PlaybookStatus::Approved],
    })
}

/// Hands over what was read. Nothing is withheld outside an experiment.
pub async fn hand_over(
    app: &Arc<App>,
    caller: &Caller,
    recipient: &Recipient,
    found: Learnings,
) -> Result<HandOver> {
    let experiment_runs = experiments::is_active(app, &caller.org_id).await?;
    hand_over_knowing(app, caller, recipient, found, experiment_runs).await
}

/// [`hand_over`] for a caller who learned together with what was found whether an experiment runs.
pub async fn hand_over_knowing(
    app: &Arc<App>,
    caller: &Caller,
    recipient: &Recipient,
    found: Learnings,
    experiment_runs: bool,
) -> Result<HandOver> {
    let exposed = match experiment_runs && !caller.inspection {
        true => expose(app, caller, recipient, &found).await?,
        false => None,
    };
    let Some(Exposed { attribution, withheld, not_recorded }) = exposed else {
        let learnings = try_out(app, caller, recipient, found).await?;
        return Ok(HandOver { learnings, experiment: None, msg: None });
    };
    let mut msg = not_recorded.map(str::to_owned);
    let learnings = if withheld {
        let reason = "Retrieval was withheld: this user is in the holdout of an experiment.";
        msg = Some(msg.map_or_else(|| reason.to_owned(), |also| format!("{reason} {also}")));
        Learnings::default()
    } else {
        try_out(app, caller, recipient, found).await?
    };
    Ok(HandOver { learnings, experiment: Some(attribution), msg })
}

/// Takes out agent playbooks that are withheld from the recipient because they are on trial; people who inspect see all,
/// with the share of users from whom each is withheld.
async fn try_out(
    app: &Arc<App>,
    caller: &Caller,
    recipient: &Recipient,
    mut found: Learnings,
) -> Result<Learnings> {
    if caller.inspection {
        trials::show_shares(app, &caller.org_id, &mut found.agent_playbooks).await?;
    } else {
        let (user_id, session_id) = (recipient.user_id.as_ref(), recipient.session_id.as_deref());
        let agent_playbooks = std::mem::take(&mut found.agent_playbooks);
        found.agent_playbooks =
            trials::hold_back(app, &caller.org_id, user_id, session_id, agent_playbooks).await?;
    }
    count(caller, &found);
    Ok(found)
}

/// The arm that applies, if the experiment still runs.
async fn expose(
    app: &Arc<App>,
    caller: &Caller,
    recipient: &Recipient,
    found: &Learnings,
) -> Result<Option<Exposed>> {
    let Some(user_id) = recipient.user_id.clone() else {
        return Err(Error::invalid_field(
            Code::UserIdRequiredByExperiment,
            "/user_id",
            "An experiment is active: every search and read of learnings names its user.",
        ));
    };
    let profiles = found.profiles.iter().map(|p| p.last_modified_timestamp);
    let user_playbooks = found.user_playbooks.iter().map(|p| p.created_at);
    let agent_playbooks = found.agent_playbooks.iter().map(|p| p.created_at);
    let new = NewExposure {
        org_id: caller.org_id.clone(),
        user_id,
        session_id: recipient.session_id.clone(),
        made_at: profiles.chain(user_playbooks).chain(agent_playbooks).collect(),
        agent_playbooks: found.agent_playbooks.iter().map(|p| p.agent_playbook_id).collect(),
    };
    experiments::expose(app, new).await
}

fn count(caller: &Caller, served: &Learnings) {
    let caller = if caller.inspection { "inspection" } else { "production" };
    let count = served.profiles.len() + served.user_playbooks.len() + served.agent_playbooks.len();
    metrics::counter!("evenhand_learnings_served_total", "caller" => caller)
        .increment(count as u64);
}
