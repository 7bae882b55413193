//! Deleting turns, requests, sessions, and all the sessions of a user.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::app::App;
use crate::credentials::{Deletion, note_deletion};
use crate::evaluation;
use crate::experiments;
use crate::learning_loop;
use crate::sessions::{self, rows};
use crate::user_tables::{LINKS, USER_TABLES};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::subjects::barrier;

/// Deletes one turn.
pub async fn delete_interaction(
    app: &Arc<App>,
    deletion: Deletion,
    user_id: UserId,
    interaction_id: i64,
) -> Result<()> {
    let input = (app.clone(), deletion, user_id, interaction_id);
    app.db
        .write("sessions.delete_interaction", input, |tx, (app, deletion, user_id, id)| {
            Box::pin(async move {
                let org_id = &deletion.org_id;
                let session_id = rows::delete_interaction(tx, org_id, user_id, *id).await?;
                let session_id = session_id.ok_or_else(|| Error::not_found("interaction"))?;
                settle(tx, app, org_id, user_id, &session_id).await?;
                let counts = counted("interactions", 1);
                note_deletion(tx, app, deletion, Some(user_id), counts).await
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(())
}

/// Deletes requests with their turns and gives how many there were; none of them known is an error.
pub async fn delete_requests(
    app: &Arc<App>,
    deletion: Deletion,
    request_ids: Vec<String>,
) -> Result<u64> {
    let input = (app.clone(), deletion, request_ids);
    let deleted = app
        .db
        .write("sessions.delete_requests", input, |tx, (app, deletion, request_ids)| {
            Box::pin(async move {
                let org_id = &deletion.org_id;
                let (mut deleted, mut touched) = (0, BTreeSet::new());
                for request_id in request_ids {
                    for place in rows::locate_requests(tx, org_id, request_id).await? {
                        rows::delete_request(tx, org_id, &place.0, &place.1, request_id).await?;
                        deleted += 1;
                        touched.insert(place);
                    }
                }
                if deleted == 0 {
                    return Err(Error::not_found("request"));
                }
                let mut users = BTreeSet::new();
                for (user_id, session_id) in touched {
                    settle(tx, app, org_id, &user_id, &session_id).await?;
                    users.insert(user_id);
                }
                // Several people's are one event without a name.
                let only = users.first().filter(|_| users.len() == 1);
                let counts = counted("requests", deleted);
                note_deletion(tx, app, deletion, only, counts).await?;
                Ok(deleted)
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(deleted)
}

/// Deletes a session with everything that hangs on it; gives how many requests it had.
pub async fn delete_session(
    app: &Arc<App>,
    deletion: Deletion,
    session_id: String,
    user_id: Option<UserId>,
) -> Result<u64> {
    let input = (app.clone(), deletion, session_id, user_id);
    let deleted = app
        .db
        .write("sessions.delete_session", input, |tx, (app, deletion, session_id, user_id)| {
            Box::pin(async move {
                let org_id = &deletion.org_id;
                let user_id = sessions::owner(tx, org_id, session_id, user_id.as_ref()).await?;
                // Gone meanwhile: what a publish brings back now is not what was asked about.
                if !sessions::lock_session(tx, org_id, &user_id, session_id).await? {
                    return Err(Error::not_found("session"));
                }
                let deleted = delete_with_findings(tx, org_id, &user_id, session_id).await?;
                let mut counts = counted("requests", deleted);
                counts.insert("sessions".to_owned(), 1);
                note_deletion(tx, app, deletion, Some(&user_id), counts).await?;
                Ok(deleted)
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(deleted)
}

/// Deletes a session with everything that hangs on it if its last request is from before `before`; false if it is not,
/// or is gone. Whoever asks counts, and asks again after a crash: nobody waits for the disk.
pub async fn delete_idle_session(
    app: &Arc<App>,
    org_id: &OrgId,
    user_id: UserId,
    session_id: String,
    before: i64,
) -> Result<bool> {
    let input = (org_id.to_owned(), user_id, session_id, before);
    app.db
        .write_soon(
            "sessions.delete_idle_session",
            input,
            |tx, (org_id, user_id, session_id, before)| {
                Box::pin(async move {
                    if !rows::lock_idle_session(tx, org_id, user_id, session_id, *before).await? {
                        return Ok(false);
                    }
                    delete_with_findings(tx, org_id, user_id, session_id).await?;
                    Ok(true)
                })
            },
        )
        .await
}

/// Sessions that are deleted in one transaction.
const SOME: i64 = 50;

/// Deletes all sessions of the organization with everything that hangs on them, some at a time; gives how many requests
/// they had.
pub async fn delete_all(app: &Arc<App>, deletion: Deletion) -> Result<u64> {
    let mut deleted = 0;
    loop {
        let input = (app.clone(), deletion.clone());
        let (sessions, requests) = app
            .db
            .write("sessions.delete_all", input, |tx, (app, deletion)| {
                Box::pin(delete_some(tx, app, deletion))
            })
            .await?;
        deleted += requests;
        if sessions == 0 {
            break;
        }
    }
    app.sign_audit_head().await;
    Ok(deleted)
}

async fn delete_some(tx: &mut Tx, app: &App, deletion: &Deletion) -> Result<(u64, u64)> {
    let org_id = &deletion.org_id;
    let (mut sessions, mut requests) = (0, 0);
    for (user_id, session_id) in rows::first_sessions(tx, org_id, SOME).await? {
        if sessions::lock_session(tx, org_id, &user_id, &session_id).await? {
            requests += delete_with_findings(tx, org_id, &user_id, &session_id).await?;
        }
        sessions += 1;
    }
    if sessions > 0 {
        let mut counts = counted("requests", requests);
        counts.insert("sessions".to_owned(), sessions);
        note_deletion(tx, app, deletion, None, counts).await?;
    }
    Ok((sessions, requests))
}

fn counted(target: &str, count: u64) -> BTreeMap<String, u64> {
    BTreeMap::from([(target.to_owned(), count)])
}

/// Deletes everything stored for a user, without closing the door on them; gives the counts by target. For
/// forgetting a person with proof, there is erasure.
pub async fn clear_user_data(
    app: &Arc<App>,
    deletion: Deletion,
    user_id: UserId,
) -> Result<BTreeMap<String, u64>> {
    let input = (app.clone(), deletion, user_id);
    let deleted = app
        .db
        .write("sessions.clear_user_data", input, |tx, (app, deletion, user_id)| {
            Box::pin(async move {
                let org_id = &deletion.org_id;
                barrier::lock(tx, org_id, user_id, app.clock.now()).await?;
                let mut counts = BTreeMap::new();
                while let Some(shared) =
                    learning_loop::compare_shared(tx, org_id, user_id, i64::MAX).await?
                {
                    let links = learning_loop::mask_shared(tx, app, &shared).await?.links;
                    *counts.entry(LINKS.to_owned()).or_default() += links;
                }
                learning_loop::forget_drafts(tx, org_id, user_id, None).await?;
                for table in USER_TABLES {
                    let deleted = table.delete_rows(tx, org_id, user_id).await?;
                    *counts.entry(table.target.to_owned()).or_default() += deleted;
                }
                if counts.values().all(|count| *count == 0) {
                    return Err(Error::not_found("user"));
                }
                note_deletion(tx, app, deletion, Some(user_id), counts.clone()).await?;
                Ok(counts)
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(deleted)
}

/// After something of a session was deleted: sums it up anew, or deletes it when nothing is left.
async fn settle(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<()> {
    // Without the row there is nothing to sum up, and nothing that would keep a publish from coming in between.
    if !sessions::lock_session(tx, org_id, user_id, session_id).await? {
        return Ok(());
    }
    if !rows::has_requests(tx, org_id, user_id, session_id).await? {
        return delete_with_findings(tx, org_id, user_id, session_id).await.map(drop);
    }
    let now = app.clock.now();
    let subject = barrier::open(tx, org_id, user_id, now).await?;
    rows::recount_session(tx, &subject, session_id).await?;
    evaluation::session_shrank(tx, &subject, session_id).await?;
    // The verdict is about turns that are no longer there.
    evaluation::session_changed(tx, app, &subject, session_id, false).await
}

/// Deletes a session that is locked with everything that was written about it; gives how many requests it had.
async fn delete_with_findings(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<u64> {
    learning_loop::forget_session(tx, org_id, user_id, session_id).await?;
    evaluation::forget_session(tx, org_id, user_id, session_id).await?;
    experiments::forget_session(tx, org_id, user_id, session_id).await?;
    rows::delete_session(tx, org_id, user_id, session_id).await
}
