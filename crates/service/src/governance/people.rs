//! Looking at what is there of a person, and letting somebody who was erased come back.

use std::sync::Arc;

use super::purge::{Counts, EraseRequest};
use super::sql;
use crate::app::App;
use crate::user_tables::USER_TABLES;
use base::owner::{OrgId, UserId};
use storage::error::{Code, Error, Result};
use storage::subjects::SubjectState;
use storage::subjects::audit::{self, NewEvent, Operation};

/// Row counts that an export or an erasure of a person would touch, by target.
pub async fn preview(app: &App, org_id: &OrgId, user_id: &UserId) -> Result<Counts> {
    let input = (org_id.to_owned(), user_id.to_owned());
    app.db
        .read("governance.preview", input, |tx, (org_id, user_id)| {
            Box::pin(async move {
                let mut counts = Counts::new();
                for table in USER_TABLES {
                    let rows = table.count(tx, org_id, user_id, i64::MAX).await?;
                    counts.insert(table.target.to_owned(), rows);
                }
                Ok(counts)
            })
        })
        .await
}

/// Lets an erased person come back: what is newer than their erasure is accepted again. False when there was
/// nothing to open.
pub async fn readmit(app: &Arc<App>, request: EraseRequest) -> Result<bool> {
    let readmitted = app
        .db
        .write("governance.readmit", (app.clone(), request), |tx, (app, request)| {
            Box::pin(async move {
                let EraseRequest { org_id, user_id, request_id, actor } = request;
                let keys = &app.subject_keys;
                let subject = tx.subject(org_id, user_id);
                let subject = sql::subjects::hold(tx, org_id, subject).await?;
                let Some(subject) = subject else { return Ok(false) };
                if subject.state == SubjectState::Erasing {
                    return Err(Error::refused(
                        Code::SubjectErasing,
                        "This user is being erased; readmit them when that is complete.",
                    ));
                }
                if !sql::subjects::readmit(tx, org_id, user_id).await? {
                    return Ok(false);
                }
                let request_ref = keys.all_request_refs(org_id, request_id).swap_remove(0);
                let event = NewEvent {
                    org_id,
                    operation: Operation::Readmit,
                    ok: true,
                    actor_ref: &keys.actor_ref(org_id, actor),
                    subject_ref: Some(&keys.subject_ref(org_id, user_id)),
                    request_ref: Some(&request_ref),
                    counts: Counts::new(),
                    now: app.clock.now(),
                };
                audit::append(tx, keys, event).await?;
                Ok(true)
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(readmitted)
}
