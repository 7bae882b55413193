//! Searches while an experiment runs: the user's arm applies, and the learnings that were or would have been
//! served are counted, on disk before the answer leaves.

use std::sync::Arc;

use super::{Arm, Attribution, sql};
use crate::app::App;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::{Code, Error, Result};
use storage::subjects::barrier;

/// Learnings that a search found for a user.
pub struct NewExposure {
    pub org_id: OrgId,
    pub user_id: UserId,
    pub session_id: Option<String>,
    /// Creation time of each learning found.
    pub made_at: Vec<i64>,
    /// The agent playbooks among them.
    pub agent_playbooks: Vec<i64>,
}

/// The arm that applies to an answer.
#[derive(Clone, Debug)]
pub struct Exposed {
    pub attribution: Attribution,
    pub withheld: bool,
    /// Reason for a missing record of the exposure.
    pub not_recorded: Option<&'static str>,
}

/// True if some experiment of the organization is active: one probe of an index, asked whenever learnings are
/// handed over. It is not cached, because another replica may start or stop one.
pub async fn is_active(app: &App, org_id: &OrgId) -> Result<bool> {
    app.db
        .lookup("experiments.active", org_id.to_owned(), |tx, org_id| {
            Box::pin(sql::is_active(tx, org_id))
        })
        .await
}

/// Decides the arm and records the exposure. Whether the experiment is active is asked again in the transaction
/// that writes: one that was stopped meanwhile (`None`) withholds and records nothing.
pub async fn expose(app: &Arc<App>, new: NewExposure) -> Result<Option<Exposed>> {
    let now = app.clock.now();
    expose_at(app, new, now).await
}

/// [`expose`], for a search of that time.
pub async fn expose_at(app: &Arc<App>, new: NewExposure, at: i64) -> Result<Option<Exposed>> {
    app.db
        .write("experiments.expose", (new, at), |tx, (new, at)| Box::pin(record(tx, new, *at)))
        .await
}

async fn record(tx: &mut Tx, new: &NewExposure, now: i64) -> Result<Option<Exposed>> {
    let Some(experiment) = sql::hold_active(tx, &new.org_id).await? else {
        return Ok(None);
    };
    let arm = experiment.arm_of(&new.org_id, &new.user_id);
    let mut exposed = Exposed {
        attribution: Attribution { experiment_id: experiment.experiment_id.clone(), arm },
        withheld: arm == Arm::Holdout,
        not_recorded: None,
    };
    match barrier::open(tx, &new.org_id, &new.user_id, now).await {
        Ok(subject) => sql::put_exposure(tx, &subject, &experiment, arm, new, now).await?,
        Err(Error::Refused { code: Code::SubjectErasing, .. }) => {
            exposed.not_recorded = Some("This user is being erased: no exposure was recorded.");
        }
        Err(Error::Refused { code: Code::SubjectErased, .. }) => {
            exposed.not_recorded = Some("This user was erased: no exposure was recorded.");
        }
        Err(error) => return Err(error),
    }
    Ok(Some(exposed))
}

/// Deletes the exposures of a session, in the transaction that deletes the session.
pub async fn forget_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<()> {
    sql::delete_exposures(tx, org_id, user_id, session_id).await
}
