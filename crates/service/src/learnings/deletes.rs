//! Deleting learnings. Index entries, vectors and source windows go in the same transaction: triggers and
//! foreign keys see to that.

use super::sql;
use crate::app::App;
use base::owner::{OrgId, UserId};
use storage::error::{Error, Result};

/// Deletes one profile of a user.
pub async fn profile(app: &App, org_id: &OrgId, user_id: UserId, profile_id: String) -> Result<()> {
    let input = (org_id.to_owned(), user_id, profile_id);
    let deleted = app
        .db
        .write("learnings.delete_profile", input, |tx, (org_id, user_id, id)| {
            Box::pin(sql::profiles::delete(tx, org_id, user_id, id))
        })
        .await?;
    some(deleted, "profile").map(drop)
}

/// Deletes profiles and gives how many there were; none is an error.
pub async fn profiles(app: &App, org_id: &OrgId, ids: Vec<String>) -> Result<u64> {
    let ids = serde_json::to_string(&ids).map_err(|e| Error::Internal(e.to_string()))?;
    let deleted = app
        .db
        .write("learnings.delete_profiles", (org_id.to_owned(), ids), |tx, (org_id, ids)| {
            Box::pin(sql::profiles::delete_by_ids(tx, org_id, ids))
        })
        .await?;
    some(deleted, "profile")
}

/// Deletes user playbooks and gives how many there were; none is an error.
pub async fn user_playbooks(app: &App, org_id: &OrgId, ids: Vec<i64>) -> Result<u64> {
    let input = (org_id.to_owned(), ids);
    let deleted = app
        .db
        .write("learnings.delete_user_playbooks", input, |tx, (org_id, ids)| {
            Box::pin(sql::user_playbooks::delete_by_ids(tx, org_id, ids))
        })
        .await?;
    some(deleted, "user playbook")
}

/// Deletes agent playbooks and gives how many there were; none is an error.
pub async fn agent_playbooks(app: &App, org_id: &OrgId, ids: Vec<i64>) -> Result<u64> {
    let input = (org_id.to_owned(), ids);
    let deleted = app
        .db
        .write("learnings.delete_agent_playbooks", input, |tx, (org_id, ids)| {
            Box::pin(async move {
                sql::next_version(tx, org_id).await?;
                sql::agent_playbooks::delete_by_ids(tx, org_id, ids).await
            })
        })
        .await?;
    some(deleted, "agent playbook")
}

fn some(deleted: u64, what: &str) -> Result<u64> {
    match deleted {
        0 => Err(Error::not_found(what)),
        count => Ok(count),
    }
}
