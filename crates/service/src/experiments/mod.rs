//! Retrieval experiments: does what was learned actually help?
//!
//! - At most one experiment of an organization is active. Starts and stops are decided in the transaction that
//!   writes them.
//! - A user's arm is a hash of organization, experiment and user ([`mod@assignment`]). It is stored with each exposure
//!   (at search) and with each request (at publish), and stored arms are never computed anew.
//! - A search of the holdout runs like any other; what it found is counted and thrown away.
//! - Numbers come from one line of sums per user, made from the stored rows. Whatever changes those rows marks the
//!   user as stale, in the database; stale users are summed up anew before anything is computed.

mod about;
pub mod analysis;
pub mod assignment;
mod attribution;
mod classify;
mod daily_looks;
mod export;
mod exposure;
pub mod http;
mod job;
mod lifecycle;
pub mod looks;
mod part;
mod plan;
mod refresh;
mod results;
pub mod rows;
mod samples;
mod served_lift;
pub mod simulate;
mod sql;
pub mod sums;
mod watch;

use base::owner::{OrgId, UserId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use about::ExperimentAbout;
pub use assignment::{Arm, assign};
pub use attribution::check_pair;
pub use exposure::{Exposed, NewExposure, expose, expose_at, forget_session, is_active};
pub use lifecycle::{MARGIN, PLANNED_USERS, list, start, stop};
pub use results::{RetrievalExperimentResultsResponse, results};
pub use samples::Samples;
pub use served_lift::{ServedLift, ServedLifts, served_lifts};
pub(crate) use sql::one_runs;
pub use sql::{forget_strata, install_on_shards};

/// The background work of this area.
pub fn handlers() -> Vec<std::sync::Arc<dyn storage::jobs::Handler<crate::app::App>>> {
    vec![std::sync::Arc::new(job::SumUp), std::sync::Arc::new(watch::WatchExperiments)]
}

/// The longest id of an experiment.
pub const ID_LENGTH: usize = 128;

/// An experiment as clients see it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RetrievalExperimentRecord {
    pub experiment_id: String,
    /// Share of users who are held out, in percent.
    pub holdout_percentage: f64,
    pub started_at: i64,
    /// null while it is active.
    pub ended_at: Option<i64>,
}

part::shown_by_name!(RetrievalExperimentRecord, Arm);

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RetrievalExperimentListResponse {
    pub active_experiment: Option<RetrievalExperimentRecord>,
    /// All of them, the newest start first.
    pub experiments: Vec<RetrievalExperimentRecord>,
}

/// The experiment and arm that a search or a request is attributed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attribution {
    pub experiment_id: String,
    pub arm: Arm,
}

/// An experiment as it is stored.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Experiment {
    pub experiment_id: String,
    /// Its place in the order of starts.
    pub number: i64,
    pub holdout_percentage: f64,
    /// Planned number of users, fixed at the start: the always-valid interval is tightest there.
    pub planned_users: i64,
    /// The smallest lift that matters, fixed at the start.
    pub margin_percentage_points: f64,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    #[sqlx(flatten)]
    pub about: ExperimentAbout,
}

impl Experiment {
    /// The arm of a user.
    pub fn arm_of(&self, org_id: &OrgId, user_id: &UserId) -> Arm {
        assign(org_id, &self.experiment_id, user_id, self.holdout_percentage)
    }

    pub fn record(&self) -> RetrievalExperimentRecord {
        RetrievalExperimentRecord {
            experiment_id: self.experiment_id.clone(),
            holdout_percentage: self.holdout_percentage,
            started_at: self.started_at,
            ended_at: self.ended_at,
        }
    }
}
