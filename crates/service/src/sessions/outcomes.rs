//! What became of a session in the customer's own words: ground truth beside every judge.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::types::Json;
use utoipa::ToSchema;

use super::{reads, sql};
use crate::app::App;
use crate::evaluation;
use crate::learnings::extraction;
use storage::error::{Error, Result};
use storage::subjects::barrier;

/// An outcome as it is reported.
#[derive(Clone, Debug)]
pub struct NewOutcome {
    pub session_id: String,
    /// `success`, `failure` or `unknown`.
    pub outcome: &'static str,
    pub occurred_at: i64,
    pub label: Option<String>,
    pub value: Option<f64>,
    pub metadata: Option<Map<String, Value>>,
    /// Needed when several users have a session of this id.
    pub user_id: Option<String>,
}

/// An outcome as it is stored; a different report later is a new revision.
#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct SessionOutcome {
    pub user_id: String,
    pub session_id: String,
    pub revision: i64,
    pub outcome: String,
    pub occurred_at: i64,
    pub label: Option<String>,
    pub value: Option<f64>,
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Json<Map<String, Value>>>,
    pub recorded_at: i64,
}

/// An outcome in a list: with what the list can be narrowed by.
#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct ListedOutcome {
    #[serde(flatten)]
    #[sqlx(flatten)]
    pub outcome: SessionOutcome,
    /// The source of the session's first request.
    pub source: String,
    /// The same as `recorded_at`, under the name that existing clients read.
    pub created_at: i64,
}

/// Which outcomes a list has. `None` means any.
#[derive(Clone, Debug, Default)]
pub struct OutcomeFilter {
    pub session_ids: Option<Vec<String>>,
    pub user_id: Option<String>,
    pub source: Option<String>,
    pub outcome: Option<&'static str>,
    pub label: Option<String>,
    /// Occurred in this range, both ends included.
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub limit: i64,
    pub offset: i64,
}

impl SessionOutcome {
    fn says_the_same_as(&self, new: &NewOutcome) -> bool {
        self.outcome == new.outcome
            && self.occurred_at == new.occurred_at
            && self.label == new.label
            && self.value == new.value
            && match (&self.metadata, &new.metadata) {
                (Some(Json(stored)), Some(sent)) => same_object(stored, sent),
                (stored, sent) => stored.is_none() && sent.is_none(),
            }
    }
}

fn same_object(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == b.len()
        && a.iter().all(|(name, value)| b.get(name).is_some_and(|other| same(value, other)))
}

/// Equal, whatever way numbers are written: PostgreSQL gives 1e17 back as 100000000000000000.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() != b.is_f64() => {
            a.as_f64() == b.as_f64()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => same_object(a, b),
        (a, b) => a == b,
    }
}

/// What recording did.
pub struct Recorded {
    /// False when the same outcome was there already.
    pub new: bool,
    pub user_id: String,
    pub source: String,
}

/// Stores an outcome. A repeat of the current one changes nothing.
pub async fn record_outcome(app: &Arc<App>, org_id: &str, outcome: NewOutcome) -> Result<Recorded> {
    let input = (app.clone(), org_id.to_owned(), outcome);
    app.db
        .write("sessions.record_outcome", input, |tx, (app, org_id, outcome)| {
            Box::pin(async move {
                let user_id = outcome.user_id.as_deref();
                let user_id = reads::owner(tx, org_id, &outcome.session_id, user_id).await?;
                let now = app.clock.now();
                let subject = barrier::open(tx, &app.subject_keys, org_id, &user_id, now).await?;
                subject.admits(Some(outcome.occurred_at), now)?;
                // Held until the end, so that a deletion of the session takes the outcome with it.
                sql::lock_session(tx, org_id, &user_id, &outcome.session_id).await?;
                let session = sql::find_session(tx, org_id, &user_id, &outcome.session_id).await?;
                let session = session.ok_or_else(|| Error::not_found("session"))?;
                let current = sql::newest_outcome(tx, &subject, &outcome.session_id).await?;
                let new = current.as_ref().is_none_or(|current| !current.says_the_same_as(outcome));
                if new {
                    let revision = current.map_or(1, |current| current.revision + 1);
                    sql::insert_outcome(tx, &subject, outcome, revision, now).await?;
                    evaluation::outcome_reported(tx, app, &subject, &outcome.session_id).await?;
                }
                Ok(Recorded { new, user_id, source: session.source })
            })
        })
        .await
}

/// The current outcomes of sessions, newest first.
pub async fn list_outcomes(
    app: &App,
    org_id: &str,
    filter: OutcomeFilter,
) -> Result<Vec<ListedOutcome>> {
    app.db
        .read("sessions.list_outcomes", (org_id.to_owned(), filter), |tx, (org_id, filter)| {
            Box::pin(sql::current_outcomes(tx, org_id, filter))
        })
        .await
}

/// Declares a session finished; gives its user and the time.
pub async fn finalize(
    app: &Arc<App>,
    org_id: &str,
    session_id: String,
    user_id: Option<String>,
) -> Result<(String, i64)> {
    let input = (app.clone(), org_id.to_owned(), session_id, user_id);
    let finalized = app
        .db
        .write("sessions.finalize", input, |tx, (app, org_id, session_id, user_id)| {
            Box::pin(async move {
                let user_id = reads::owner(tx, org_id, session_id, user_id.as_deref()).await?;
                let now = app.clock.now();
                let subject = barrier::open(tx, &app.subject_keys, org_id, &user_id, now).await?;
                sql::finish_session(tx, &subject, session_id, now).await?;
                evaluation::session_changed(tx, app, &subject, session_id, true).await?;
                extraction::flush(tx, app, &subject).await?;
                Ok((user_id, now))
            })
        })
        .await?;
    app.db.announce_work().await;
    Ok(finalized)
}
