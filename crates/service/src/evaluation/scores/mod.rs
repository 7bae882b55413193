//! Scores that other programs gave to sessions: shown beside our own verdicts, never mixed with them.
//!
//! A run of a scorer is imported once for a user: the same again changes nothing, something else under its id is refused. A
//! score belongs to its session's user and goes with the session.

pub mod http;
mod sql;

use std::sync::Arc;

use crate::app::App;
use crate::sessions;
use base::owner::{OrgId, UserId};
use storage::error::{Code, Error, Result};
use storage::subjects::barrier;

/// A score to be imported.
#[derive(Clone, Debug)]
pub struct NewScore {
    pub scorer_name: String,
    pub session_id: String,
    pub user_id: Option<UserId>,
    pub value: f64,
    pub ts: i64,
    pub source_run_id: String,
}

/// Owner of the scored session; `recorded` is false for a repeated import.
pub struct Imported {
    pub user_id: UserId,
    pub recorded: bool,
}

pub async fn import(app: &Arc<App>, org_id: &OrgId, score: NewScore) -> Result<Imported> {
    let input = (app.clone(), org_id.to_owned(), score);
    app.db
        .write("imported_scores.import", input, |tx, (app, org_id, score)| {
            Box::pin(async move {
                let user_id = score.user_id.as_ref();
                let user_id = sessions::owner(tx, org_id, &score.session_id, user_id).await?;
                let now = app.clock.now();
                let subject = barrier::open(tx, org_id, &user_id, now).await?;
                // Held, so that deleting the session takes the score along.
                if !sessions::lock_session(tx, org_id, &user_id, &score.session_id).await? {
                    return Err(Error::not_found("session"));
                }
                let known = sql::find_run(tx, org_id, &user_id, &score.source_run_id).await?;
                let recorded = known.is_none();
                match known {
                    None => sql::insert(tx, &subject, score, now).await?,
                    Some(known) if known.is(score) => {}
                    Some(_) => {
                        return Err(Error::refused(
                            Code::SourceRunIdReused,
                            "This source_run_id was imported before with another score; use a new one.",
                        ));
                    }
                }
                Ok(Imported { user_id, recorded })
            })
        })
        .await
}
