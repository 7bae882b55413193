//! The attribution that a client sends with a publish.

use super::{Arm, sql};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::{Code, Error, Result};

/// Checks a pair in the transaction that stores it: the experiment must be one of the organization's, active or
/// not, and the arm must be the user's. Without a pair the exposure recorded for user and session is stored instead,
/// by the statement that inserts the request.
pub async fn check_pair(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    experiment_id: &str,
    arm: Arm,
) -> Result<()> {
    let Some(experiment) = sql::find(tx, org_id, experiment_id).await? else {
        return Err(Error::invalid_field(
            Code::ExperimentUnknown,
            "/retrieval_experiment_id",
            "There is no such experiment in this organization.",
        ));
    };
    if arm == experiment.arm_of(org_id, user_id) {
        return Ok(());
    }
    Err(Error::invalid_field(
        Code::ExperimentArmMismatch,
        "/retrieval_experiment_arm",
        "This user is in the other arm; send what the search answered with.",
    ))
}
