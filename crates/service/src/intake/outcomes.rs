//! Ending a session and recording what became of it, with the work that follows from either.

use std::sync::Arc;

use crate::app::App;
use crate::evaluation;
use crate::learning_loop::extraction;
use crate::sessions::{self, NewOutcome, rows};
use base::owner::{OrgId, UserId};
use storage::error::{Error, Result};
use storage::subjects::barrier;

/// The result of recording an outcome.
pub struct Recorded {
    /// False when the same outcome was there already.
    pub new: bool,
    pub user_id: UserId,
    pub source: String,
}

/// Stores an outcome. A repeat of the current one changes nothing.
pub async fn record_outcome(
    app: &Arc<App>,
    org_id: &OrgId,
    outcome: NewOutcome,
) -> Result<Recorded> {
    let input = (app.clone(), org_id.to_owned(), outcome);
    app.db
        .write("sessions.record_outcome", input, |tx, (app, org_id, outcome)| {
            Box::pin(async move {
                let user_id = outcome.user_id.as_ref();
                let user_id = sessions::owner(tx, org_id, &outcome.session_id, user_id).await?;
                let now = app.clock.now();
                let subject = barrier::open(tx, org_id, &user_id, now).await?;
                subject.admits(Some(outcome.occurred_at), now)?;
                // Held until the end, so that a deletion of the session takes the outcome with it.
                sessions::lock_session(tx, org_id, &user_id, &outcome.session_id).await?;
                let session = rows::find_session(tx, org_id, &user_id, &outcome.session_id).await?;
                let session = session.ok_or_else(|| Error::not_found("session"))?;
                let current = rows::newest_outcome(tx, &subject, &outcome.session_id).await?;
                let new = current.as_ref().is_none_or(|current| !current.says_the_same_as(outcome));
                if new {
                    let revision = current.map_or(1, |current| current.revision + 1);
                    rows::insert_outcome(tx, &subject, outcome, revision, now).await?;
                    evaluation::outcome_reported(tx, app, &subject, &outcome.session_id).await?;
                }
                Ok(Recorded { new, user_id, source: session.source })
            })
        })
        .await
}

/// Declares a session finished; gives its user and the time.
pub async fn finalize(
    app: &Arc<App>,
    org_id: &OrgId,
    session_id: String,
    user_id: Option<UserId>,
) -> Result<(UserId, i64)> {
    let input = (app.clone(), org_id.to_owned(), session_id, user_id);
    let finalized = app
        .db
        .write("sessions.finalize", input, |tx, (app, org_id, session_id, user_id)| {
            Box::pin(async move {
                let user_id = sessions::owner(tx, org_id, session_id, user_id.as_ref()).await?;
                let now = app.clock.now();
                let subject = barrier::open(tx, org_id, &user_id, now).await?;
                rows::finish_session(tx, &subject, session_id, now).await?;
                evaluation::session_changed(tx, app, &subject, session_id, true).await?;
                extraction::flush(tx, app, &subject).await?;
                Ok((user_id, now))
            })
        })
        .await?;
    app.db.announce_work().await;
    Ok(finalized)
}
