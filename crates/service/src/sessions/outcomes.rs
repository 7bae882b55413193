//! Outcomes: the end of a session as the customer reports it, ground truth beside every judge.

use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::types::Json;
use utoipa::ToSchema;

use super::{SessionOutcomeKind, sql};
use crate::app::App;
use base::owner::{OrgId, UserId};
use storage::error::Result;

/// An outcome as it is reported.
#[derive(Clone, Debug)]
pub struct NewOutcome {
    pub session_id: String,
    pub outcome: SessionOutcomeKind,
    pub occurred_at: i64,
    pub label: Option<String>,
    pub value: Option<f64>,
    pub metadata: Option<Map<String, Value>>,
    /// Needed when several users have a session of this id.
    pub user_id: Option<UserId>,
}

/// An outcome as it is stored; a different report later is a new revision.
#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct SessionOutcome {
    pub user_id: UserId,
    pub session_id: String,
    pub revision: i64,
    pub outcome: SessionOutcomeKind,
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

/// Filter of outcomes. `None` means any.
#[derive(Clone, Debug, Default)]
pub struct OutcomeFilter {
    pub session_ids: Option<Vec<String>>,
    pub user_id: Option<UserId>,
    pub source: Option<String>,
    pub outcome: Option<SessionOutcomeKind>,
    pub label: Option<String>,
    /// Occurred in this range, both ends included.
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub limit: i64,
    pub offset: i64,
}

impl SessionOutcome {
    pub fn says_the_same_as(&self, new: &NewOutcome) -> bool {
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

/// The current outcomes of sessions, newest first.
pub async fn list_outcomes(
    app: &App,
    org_id: &OrgId,
    filter: OutcomeFilter,
) -> Result<Vec<ListedOutcome>> {
    app.db
        .read("sessions.list_outcomes", (org_id.to_owned(), filter), |tx, (org_id, filter)| {
            Box::pin(sql::current_outcomes(tx, org_id, filter))
        })
        .await
}
