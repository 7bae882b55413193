//! Questions that an agent left for the people who run it: pending tool calls, as clients name them.
//!
//! - An agent asks once, and looks for the answer later. The same question (its `dedup_key`) of one user is one
//!   question while it is open, and its answer is given again as long as it is valid.
//! - A question belongs to the user in whose session it came up, and goes with them.

pub mod http;
mod sql;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use sqlx::types::Json;
use utoipa::ToSchema;

use crate::app::App;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::{Code, Error, Result};
use storage::subjects::barrier;

/// Open questions of one user.
const MOST_OPEN: i64 = 100;
/// Seconds after which a question that nobody answered expires, unless it says otherwise.
const EXPIRES_AFTER: i64 = 86_400;
/// Seconds for which an answer is given again, unless it says otherwise.
const VALID_FOR: i64 = 30 * 86_400;
/// Seconds after which an ended question is deleted, when its user's agent asks again.
const KEPT_FOR: i64 = 90 * 86_400;

base::vocabulary! {
    /// Status of a question.
    pub enum QuestionStatus {
        Pending = "pending",
        Resolved = "resolved",
        /// Nobody answered in time.
        Expired = "expired",
        /// A newer question with the same `dedup_key` took its place.
        Superseded = "superseded",
        Cancelled = "cancelled",
    }
}

/// A question of an agent.
pub struct NewQuestion {
    pub user_id: UserId,
    pub tool_name: String,
    pub question_text: String,
    pub args: Map<String, Value>,
    pub tags: Vec<String>,
    pub answer_format: Option<String>,
    pub dedup_key: Option<String>,
    pub expires_in_seconds: Option<i64>,
}

/// A stored question; one that expired is stored as pending.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
struct Question {
    question_id: String,
    user_id: UserId,
    tool_name: String,
    dedup_key: String,
    status: QuestionStatus,
    question_text: String,
    args: Json<Map<String, Value>>,
    tags: Json<Vec<String>>,
    answer_format: Option<String>,
    result: Option<Json<Map<String, Value>>>,
    superseded_by: Option<String>,
    created_at: i64,
    resolved_at: Option<i64>,
    expires_at: i64,
    valid_until: Option<i64>,
}

/// A question as clients read it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = PendingToolCall)]
pub struct ShownQuestion {
    pub id: String,
    pub org_id: OrgId,
    /// The user whom it is about.
    #[schema(value_type = Object)]
    pub scope: Value,
    pub scope_hash: String,
    pub tool_name: String,
    pub dedup_key: String,
    pub status: QuestionStatus,
    pub question_text: String,
    #[schema(value_type = Object)]
    pub args: Map<String, Value>,
    pub tags: Vec<String>,
    pub user_id: UserId,
    pub answer_format: Option<String>,
    /// The answer: `{"answer": …}`, or what the tool would have given.
    #[schema(value_type = Option<Object>)]
    pub result: Option<Map<String, Value>>,
    pub superseded_by: Option<String>,
    pub created_at: i64,
    pub resolved_at: Option<i64>,
    pub expires_at: i64,
    /// The same as `valid_until`.
    pub cache_until: Option<i64>,
    /// Until then the answer is given to an agent that asks the same.
    pub valid_until: Option<i64>,
}

impl Question {
    fn status_at(&self, now: i64) -> QuestionStatus {
        match self.status {
            QuestionStatus::Pending if self.expires_at <= now => QuestionStatus::Expired,
            status => status,
        }
    }

    fn shown(self, org_id: &OrgId, now: i64) -> ShownQuestion {
        ShownQuestion {
            status: self.status_at(now),
            id: self.question_id,
            org_id: org_id.clone(),
            scope: json!({"user_id": self.user_id}),
            scope_hash: digest(&[&self.user_id]),
            tool_name: self.tool_name,
            dedup_key: self.dedup_key,
            question_text: self.question_text,
            args: self.args.0,
            tags: self.tags.0,
            user_id: self.user_id,
            answer_format: self.answer_format,
            result: self.result.map(|result| result.0),
            superseded_by: self.superseded_by,
            created_at: self.created_at,
            resolved_at: self.resolved_at,
            expires_at: self.expires_at,
            cache_until: self.valid_until,
            valid_until: self.valid_until,
        }
    }
}

/// SHA-256 of parts, each behind its length.
fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(hash.finalize())
}

/// Stores a question, unless the same is open or answered already; gives the one that counts.
pub async fn ask(app: &Arc<App>, org_id: &OrgId, new: NewQuestion) -> Result<ShownQuestion> {
    let now = app.clock.now();
    let question = Question {
        question_id: app.ids.uuid(),
        dedup_key: new
            .dedup_key
            .unwrap_or_else(|| digest(&[&new.tool_name, &new.question_text.to_lowercase()])),
        user_id: new.user_id,
        tool_name: new.tool_name,
        status: QuestionStatus::Pending,
        question_text: new.question_text,
        args: Json(new.args),
        tags: Json(new.tags),
        answer_format: new.answer_format,
        result: None,
        superseded_by: None,
        created_at: now,
        resolved_at: None,
        expires_at: now + new.expires_in_seconds.unwrap_or(EXPIRES_AFTER),
        valid_until: None,
    };
    let input = (org_id.clone(), question, now);
    let asked = app
        .db
        .write("questions.ask", input, |tx, (org_id, question, now)| {
            Box::pin(store(tx, org_id, question, *now))
        })
        .await?;
    Ok(asked.shown(org_id, now))
}

async fn store(tx: &mut Tx, org_id: &OrgId, new: &Question, now: i64) -> Result<Question> {
    let subject = barrier::open(tx, org_id, &new.user_id, now).await?;
    subject.admits(None, now)?;
    sql::delete_ended(tx, &subject, now - KEPT_FOR).await?;
    let known = sql::alike(tx, org_id, &new.user_id, &new.tool_name, &new.dedup_key).await?;
    for older in known {
        let is_same = older.question_text == new.question_text;
        match older.status_at(now) {
            QuestionStatus::Pending if is_same => return Ok(older),
            QuestionStatus::Pending => {
                let older = Question {
                    status: QuestionStatus::Superseded,
                    superseded_by: Some(new.question_id.clone()),
                    resolved_at: Some(now),
                    ..older
                };
                sql::update(tx, &subject, &older).await?;
            }
            QuestionStatus::Resolved if is_same && older.valid_until.is_some_and(|t| t > now) => {
                return Ok(older);
            }
            _ => {}
        }
    }
    if sql::count_open(tx, org_id, &new.user_id, now).await? >= MOST_OPEN {
        return Err(Error::refused(
            Code::TooManyQuestions,
            format!("{MOST_OPEN} questions about this user are open; answer or cancel some."),
        ));
    }
    sql::insert(tx, &subject, new).await?;
    Ok(new.clone())
}

/// Questions of an organization, the newest first.
pub async fn list(
    app: &App,
    org_id: &OrgId,
    status: Option<QuestionStatus>,
    limit: i64,
) -> Result<Vec<ShownQuestion>> {
    let now = app.clock.now();
    let found = app
        .db
        .read("questions.list", (org_id.clone(), status), move |tx, (org_id, status)| {
            Box::pin(sql::list(tx, org_id, *status, now, limit))
        })
        .await?;
    Ok(found.into_iter().map(|question| question.shown(org_id, now)).collect())
}

/// One question.
pub async fn find(app: &App, org_id: &OrgId, question_id: String) -> Result<ShownQuestion> {
    let found = app
        .db
        .read("questions.find", (org_id.clone(), question_id), |tx, (org_id, question_id)| {
            Box::pin(sql::find(tx, org_id, question_id))
        })
        .await?;
    let question = found.ok_or_else(not_found)?;
    Ok(question.shown(org_id, app.clock.now()))
}

fn not_found() -> Error {
    Error::not_found("question")
}

/// An end of a question, or another answer to one that has an answer.
#[derive(Clone, Debug)]
pub enum Reaction {
    Resolve { result: Map<String, Value>, valid_for: Option<i64> },
    ChangeAnswer { answer: String, valid_for: Option<i64> },
    Cancel,
}

impl Reaction {
    /// Nobody who was asked knows.
    pub fn not_applicable(valid_for: Option<i64>) -> Self {
        let mut result = answer("The people who were asked do not have this information.");
        result.insert("not_applicable".to_owned(), Value::Bool(true));
        Reaction::Resolve { result, valid_for }
    }

    fn needs(&self) -> QuestionStatus {
        match self {
            Reaction::ChangeAnswer { .. } => QuestionStatus::Resolved,
            Reaction::Resolve { .. } | Reaction::Cancel => QuestionStatus::Pending,
        }
    }
}

/// An answer as the result of a tool.
fn answer(text: &str) -> Map<String, Value> {
    Map::from_iter([("answer".to_owned(), Value::from(text))])
}

/// Answers a question, changes its answer, or withdraws it.
pub async fn react(
    app: &Arc<App>,
    org_id: &OrgId,
    question_id: String,
    reaction: Reaction,
) -> Result<ShownQuestion> {
    let now = app.clock.now();
    let input = (org_id.clone(), question_id, reaction);
    let question = app
        .db
        .write("questions.react", input, move |tx, (org_id, question_id, reaction)| {
            Box::pin(async move {
                let found = sql::find(tx, org_id, question_id).await?.ok_or_else(not_found)?;
                let subject = barrier::open(tx, org_id, &found.user_id, now).await?;
                // Read again behind the barrier, which two answers at once pass one after the other.
                let mut question =
                    sql::hold(tx, org_id, question_id).await?.ok_or_else(not_found)?;
                let status = question.status_at(now);
                if status != reaction.needs() {
                    return Err(Error::refused(
                        Code::QuestionNotOpen,
                        format!(
                            "The question is {status}; this takes one that is {}.",
                            reaction.needs()
                        ),
                    ));
                }
                question.react(reaction, now);
                sql::update(tx, &subject, &question).await?;
                Ok(question)
            })
        })
        .await?;
    Ok(question.shown(org_id, now))
}

impl Question {
    fn react(&mut self, reaction: &Reaction, now: i64) {
        let (result, valid_for) = match reaction {
            Reaction::Resolve { result, valid_for } => (result.clone(), *valid_for),
            Reaction::ChangeAnswer { answer: text, valid_for } => (answer(text), *valid_for),
            Reaction::Cancel => {
                self.status = QuestionStatus::Cancelled;
                self.resolved_at = Some(now);
                return;
            }
        };
        self.status = QuestionStatus::Resolved;
        self.result = Some(Json(result));
        self.resolved_at = Some(now);
        self.valid_until = Some(now + valid_for.unwrap_or(VALID_FOR));
    }
}
