//! The gate between learnings and whoever asked for them.
//!
//! All four searches and the three reads that hand learned context to an agent end here, with what they found
//! and for whom. What leaves is what the caller gets, and the attribution that its answer carries.

use serde::Serialize;
use utoipa::ToSchema;

use super::Learnings;
use crate::app::App;
use crate::error::Result;
use crate::http::Caller;

/// For whom learnings were asked.
#[derive(Clone, Debug, Default)]
pub struct Recipient {
    pub user_id: Option<String>,
    pub session_id: Option<String>,
    pub request_id: Option<String>,
}

/// The experiment and arm that an answer is attributed to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Attribution {
    pub experiment_id: String,
    /// `treatment` or `holdout`.
    pub arm: String,
}

/// What the caller gets.
pub struct HandOver {
    pub learnings: Learnings,
    /// Null while no experiment runs.
    pub experiment: Option<Attribution>,
    pub msg: Option<String>,
}

/// Hands over what was found. Nothing is withheld outside an experiment.
pub async fn hand_over(
    _app: &App,
    caller: &Caller,
    _recipient: &Recipient,
    found: Learnings,
) -> Result<HandOver> {
    let caller = if caller.inspection { "inspection" } else { "production" };
    let count = found.profiles.len() + found.user_playbooks.len() + found.agent_playbooks.len();
    metrics::counter!("evenhand_learnings_served_total", "caller" => caller)
        .increment(count as u64);
    Ok(HandOver { learnings: found, experiment: None, msg: None })
}
