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

/// A kind of learnings, all of which can be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    Profiles,
    UserPlaybooks,
    AgentPlaybooks,
}

/// Learnings that are deleted in one transaction.
const SOME: i64 = 1000;

/// Deletes all learnings of a kind, some at a time, and gives how many there were.
pub async fn all(app: &Arc<App>, deletion: Deletion, kind: Whole) -> Result<u64> {
    let mut deleted = 0;
    loop {
        let input = (app.clone(), deletion.clone());
        let some = app
            .db
            .write("learnings.delete_all", input, move |tx, (app, deletion)| {
                Box::pin(delete_some(tx, app, deletion, kind))
            })
            .await?;
        deleted += some;
        if some == 0 {
            break;
        }
    }
    app.sign_audit_head().await;
    Ok(deleted)
}

async fn delete_some(tx: &mut Tx, app: &App, deletion: &Deletion, kind: Whole) -> Result<u64> {
    let org_id = &deletion.org_id;
    let (deleted, what) = match kind {
        Whole::Profiles => {
            (sql::upgrade::profiles::delete_some(tx, org_id, SOME).await?, "profile")
        }
        Whole::UserPlaybooks => {
            (sql::upgrade::user_playbooks::delete_some(tx, org_id, SOME).await?, "user playbook")
        }
        Whole::AgentPlaybooks => {
            sql::next_version(tx, org_id).await?;
            let deleted = sql::upgrade::delete_some_agent_playbooks(tx, org_id, SOME).await?;
            (deleted, "agent playbook")
        }
    };
    if deleted == 0 {
        return Ok(0);
    }
    note(tx, app, deletion, None, deleted, what).await
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
