//! Endpoints of questions: agents ask and look for answers, people answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{NewQuestion, QuestionStatus, Reaction, ShownQuestion};
use crate::app::App;
use crate::credentials::{Caller, Inspector, Operator, Publisher};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, PathId, QueryInput, Result};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_pending_tool_calls, ask_pending_tool_call))
        .routes(routes!(get_pending_tool_call))
        .routes(routes!(resolve_pending_tool_call))
        .routes(routes!(update_pending_tool_call_answer))
        .routes(routes!(mark_pending_tool_call_not_applicable))
        .routes(routes!(cancel_pending_tool_call))
}

const QUESTION_LENGTH: usize = 20_000;
const ANSWER_LENGTH: usize = 20_000;
/// Bytes of the arguments, and of a result, as JSON.
const OBJECT_BYTES: usize = 65_536;
/// Ten years: the longest time that a question waits, or an answer is valid.
const LONGEST: i64 = 3650 * 86_400;

crate::request_body!(NewQuestion, "AskPendingToolCallRequest");

impl Read for NewQuestion {
    fn read(f: &mut Fields<'_>) -> Self {
        NewQuestion {
            user_id: f.about("The user in whose session it came up.").id("user_id"),
            tool_name: f.id_or("tool_name", "ask_human"),
            question_text: f.required("question_text", |f| text(f, "question_text", QUESTION_LENGTH)),
            args: object(f, "args").unwrap_or_default(),
            tags: f.texts("tags"),
            answer_format: f.about("How the answer should look.").optional_text("answer_format", 1000),
            dedup_key: f
                .about(
                    "Questions of one user with the same key are one: the same text is not asked twice, another takes \
                     its place. Made of the text when absent.",
                )
                .optional_id("dedup_key"),
            expires_in_seconds: f
                .about("A day when absent.")
                .integer("expires_in_seconds", 1..=LONGEST),
        }
    }
}

/// A text that says something.
fn text(f: &mut Fields<'_>, name: &'static str, longest: usize) -> Option<String> {
    let text = f.optional_text(name, longest)?;
    if text.trim().is_empty() {
        f.problem(name, "empty", "must not be empty");
    }
    Some(text)
}

/// An object of a bounded size.
fn object(f: &mut Fields<'_>, name: &'static str) -> Option<Map<String, Value>> {
    let object = f.object(name)?;
    if serde_json::to_vec(&object).is_ok_and(|bytes| bytes.len() > OBJECT_BYTES) {
        f.problem(name, "too_long", format!("larger than {OBJECT_BYTES} bytes"));
    }
    Some(object)
}

fn valid_for(f: &mut Fields<'_>) -> Option<i64> {
    f.about("The answer is given again to the same question for so long; 30 days when absent.")
        .integer("valid_for_seconds", 1..=LONGEST)
}

/// Ask the people who run the agent something. The same question of a user is asked once: while it is open, and while
/// its answer is valid, that one is returned.
#[utoipa::path(post, path = "/api/pending_tool_calls", tag = "questions",
    request_body = NewQuestion, responses((status = 200, body = ShownQuestion)))]
async fn ask_pending_tool_call(
    State(app): State<Arc<App>>,
    Publisher(caller): Publisher,
    Input { value, .. }: Input<NewQuestion>,
) -> Result<Json<ShownQuestion>> {
    Ok(Json(super::ask(&app, &caller.org_id, value).await?))
}

struct ListQuestions {
    status: Option<QuestionStatus>,
    limit: i64,
}

crate::request_query!(ListQuestions);

impl Read for ListQuestions {
    fn read(f: &mut Fields<'_>) -> Self {
        ListQuestions {
            status: f.about("All when absent.").word("status"),
            limit: f.integer_or("limit", 1..=500, 100),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct PendingToolCalls {
    pending_tool_calls: Vec<ShownQuestion>,
}

/// Questions that agents left, the newest first.
#[utoipa::path(get, path = "/api/pending_tool_calls", tag = "questions", params(ListQuestions),
    responses((status = 200, body = PendingToolCalls)))]
async fn list_pending_tool_calls(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    QueryInput(query): QueryInput<ListQuestions>,
) -> Result<Json<PendingToolCalls>> {
    let pending_tool_calls = super::list(&app, &caller.org_id, query.status, query.limit).await?;
    Ok(Json(PendingToolCalls { pending_tool_calls }))
}

/// One question, with its answer if it has one.
#[utoipa::path(get, path = "/api/pending_tool_calls/{id}", tag = "questions", params(("id" = String, Path)),
    responses((status = 200, body = ShownQuestion)))]
async fn get_pending_tool_call(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId,
) -> Result<Json<ShownQuestion>> {
    Ok(Json(super::find(&app, &caller.org_id, id).await?))
}

struct ResolveQuestion {
    result: Map<String, Value>,
    valid_for: Option<i64>,
}

crate::request_body!(ResolveQuestion, "ResolvePendingToolCallRequest");

impl Read for ResolveQuestion {
    fn read(f: &mut Fields<'_>) -> Self {
        ResolveQuestion {
            result: f
                .about("`{\"answer\": …}`, or what the tool would have given.")
                .required("result", |f| object(f, "result")),
            valid_for: valid_for(f),
        }
    }
}

/// Answer a question that is pending.
#[utoipa::path(post, path = "/api/pending_tool_calls/{id}/resolve", tag = "questions",
    params(("id" = String, Path)),
    request_body = ResolveQuestion, responses((status = 200, body = ShownQuestion)))]
async fn resolve_pending_tool_call(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(id): PathId,
    Input { value, .. }: Input<ResolveQuestion>,
) -> Result<Json<ShownQuestion>> {
    let ResolveQuestion { result, valid_for } = value;
    let reaction = Reaction::Resolve { result, valid_for };
    Ok(Json(super::react(&app, &caller.org_id, id, reaction).await?))
}

struct ChangeAnswer {
    answer: String,
    valid_for: Option<i64>,
}

crate::request_body!(ChangeAnswer, "UpdatePendingToolCallAnswerRequest");

impl Read for ChangeAnswer {
    fn read(f: &mut Fields<'_>) -> Self {
        ChangeAnswer {
            answer: f.required("answer", |f| text(f, "answer", ANSWER_LENGTH)),
            valid_for: valid_for(f),
        }
    }
}

/// Change the answer to a question that has one.
#[utoipa::path(patch, path = "/api/pending_tool_calls/{id}/answer", tag = "questions",
    params(("id" = String, Path)),
    request_body = ChangeAnswer, responses((status = 200, body = ShownQuestion)))]
async fn update_pending_tool_call_answer(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(id): PathId,
    Input { value, .. }: Input<ChangeAnswer>,
) -> Result<Json<ShownQuestion>> {
    let ChangeAnswer { answer, valid_for } = value;
    let reaction = Reaction::ChangeAnswer { answer, valid_for };
    Ok(Json(super::react(&app, &caller.org_id, id, reaction).await?))
}

struct NotApplicable {
    valid_for: Option<i64>,
}

crate::request_body!(NotApplicable, "MarkPendingToolCallNotApplicableRequest");

impl Read for NotApplicable {
    fn read(f: &mut Fields<'_>) -> Self {
        NotApplicable { valid_for: valid_for(f) }
    }
}

/// Answer a question that is pending with "nobody knows".
#[utoipa::path(post, path = "/api/pending_tool_calls/{id}/not_applicable", tag = "questions",
    params(("id" = String, Path)),
    request_body = NotApplicable, responses((status = 200, body = ShownQuestion)))]
async fn mark_pending_tool_call_not_applicable(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(id): PathId,
    Input { value, .. }: Input<NotApplicable>,
) -> Result<Json<ShownQuestion>> {
    let reaction = Reaction::not_applicable(value.valid_for);
    Ok(Json(super::react(&app, &caller.org_id, id, reaction).await?))
}

/// Withdraw a question that is pending.
#[utoipa::path(post, path = "/api/pending_tool_calls/{id}/cancel", tag = "questions", params(("id" = String, Path)),
    responses((status = 200, body = ShownQuestion)))]
async fn cancel_pending_tool_call(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(id): PathId,
) -> Result<Json<ShownQuestion>> {
    Ok(Json(super::react(&app, &caller.org_id, id, Reaction::Cancel).await?))
}
