//! Deleting learnings. Index entries, vectors and source windows go in the same transaction: triggers and
//! foreign keys see to that.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::sql;
use crate::app::App;
use crate::credentials::{Deletion, note_deletion};
use base::owner::UserId;
use storage::db::Tx;
use storage::error::{Error, Result};

/// Deletes one profile of a user.
pub async fn profile(
    app: &Arc<App>,
    deletion: Deletion,
    user_id: UserId,
    profile_id: String,
) -> Result<()> {
    let input = (app.clone(), deletion, user_id, profile_id);
    app.db
        .write("learnings.delete_profile", input, |tx, (app, deletion, user_id, id)| {
            Box::pin(async move {
                let deleted = sql::profiles::delete(tx, &deletion.org_id, user_id, id).await?;
                note(tx, app, deletion, Some(user_id), deleted, "profile").await
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(())
}

/// Deletes profiles and gives how many there were; none is an error.
pub async fn profiles(app: &Arc<App>, deletion: Deletion, ids: Vec<String>) -> Result<u64> {
    let ids = serde_json::to_string(&ids).map_err(|e| Error::Internal(e.to_string()))?;
    let input = (app.clone(), deletion, ids);
    let deleted = app
        .db
        .write("learnings.delete_profiles", input, |tx, (app, deletion, ids)| {
            Box::pin(async move {
                let deleted = sql::profiles::delete_by_ids(tx, &deletion.org_id, ids).await?;
                note(tx, app, deletion, None, deleted, "profile").await
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(deleted)
}

/// Deletes user playbooks and gives how many there were; none is an error.
pub async fn user_playbooks(app: &Arc<App>, deletion: Deletion, ids: Vec<i64>) -> Result<u64> {
    let input = (app.clone(), deletion, ids);
    let deleted = app
        .db
        .write("learnings.delete_user_playbooks", input, |tx, (app, deletion, ids)| {
            Box::pin(async move {
                let deleted = sql::user_playbooks::delete_by_ids(tx, &deletion.org_id, ids).await?;
                note(tx, app, deletion, None, deleted, "user playbook").await
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(deleted)
}

/// Deletes agent playbooks and gives how many there were; none is an error.
pub async fn agent_playbooks(app: &Arc<App>, deletion: Deletion, ids: Vec<i64>) -> Result<u64> {
    let input = (app.clone(), deletion, ids);
    let deleted = app
        .db
        .write("learnings.delete_agent_playbooks", input, |tx, (app, deletion, ids)| {
            Box::pin(async move {
                sql::next_version(tx, &deletion.org_id).await?;
                let of = &deletion.org_id;
                let deleted = sql::agent_playbooks::delete_by_ids(tx, of, ids).await?;
                note(tx, app, deletion, None, deleted, "agent playbook").await
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(deleted)
}

/// The number of deleted rows, noted in the audit; none is an error.
async fn note(
    tx: &mut Tx,
    app: &App,
    deletion: &Deletion,
    user_id: Option<&UserId>,
    deleted: u64,
    what: &str,
) -> Result<u64> {
    if deleted == 0 {
        return Err(Error::not_found(what));
    }
    let counts = BTreeMap::from([(format!("{}s", what.replace(' ', "_")), deleted)]);
    note_deletion(tx, app, deletion, user_id, counts).await?;
    Ok(deleted)
}
