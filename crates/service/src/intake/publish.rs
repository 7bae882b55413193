//! Publishing: checked, counted, stored in one transaction, answered once it is on disk.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::publish_request::PublishRequest;
use super::tokens;
use crate::app::App;
use crate::evaluation;
use crate::experiments::{self, Attribution};
use crate::learning_loop::extraction::{self, Feeding, PublishLearningStatus};
use crate::sessions::InteractionData;
use crate::sessions::rows::{self, NewRequest, StoredAnswer};
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::{Code, Error, InputProblem, Result};
use storage::subjects::barrier;

/// Clocks of clients may be this many seconds ahead; what is dated so is stored as of now.
const CLOCK_SKEW: i64 = 60;

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PublishResponse {
    pub success: bool,
    pub message: String,
    /// Parts that were left out or ignored.
    pub warnings: Vec<String>,
    pub request_id: String,
    pub learning_status: PublishLearningStatus,
    pub learning_reason: Option<String>,
    pub interaction_ids: Vec<i64>,
    /// The experiment and arm stored with the request.
    pub experiment: Option<Attribution>,
    /// This request id was published before with the same content; nothing was stored again.
    pub duplicate: bool,
}

/// Everything the writing transaction needs, decided before it begins.
pub(super) struct Publish {
    pub app: Arc<App>,
    pub org_id: OrgId,
    pub request_id: String,
    /// The id was minted here, so nobody can have used it before.
    pub minted: bool,
    pub created_at: i64,
    /// The earliest time that the publish itself names, if it names any.
    pub own_time: Option<i64>,
    pub received_at: i64,
    pub agent_version: String,
    pub content_sha256: String,
    pub warnings: Vec<String>,
    pub learning: Feeding,
    /// The items that carry something, with the tokens of their content.
    pub items: Vec<(InteractionData, i64)>,
    pub request: PublishRequest,
}

/// Stores one request of a session. `unknown` are the fields the caller sent that nothing reads.
pub async fn publish(
    app: &Arc<App>,
    org_id: &OrgId,
    mut request: PublishRequest,
    unknown: Vec<String>,
) -> Result<PublishResponse> {
    let now = app.clock.now();
    let mut problems = Vec::new();
    let created_at = not_in_the_future(request.created_at, "/created_at", now, &mut problems);
    let mut own_time = created_at;
    let created_at = created_at.unwrap_or(now);
    let content_sha256 = digest(&request)?;
    let mut warnings: Vec<String> =
        unknown.into_iter().map(|pointer| format!("unknown field ignored: {pointer}")).collect();

    let mut items = Vec::with_capacity(request.interaction_data_list.len());
    // A turn without a time of its own happened when the turn before it did: the order of the list holds.
    let mut last_time = created_at;
    for (index, mut item) in
        std::mem::take(&mut request.interaction_data_list).into_iter().enumerate()
    {
        let place = format!("/interaction_data_list/{index}");
        if item.is_empty() {
            warnings.push(format!("item carries nothing, dropped: {place}"));
            continue;
        }
        let pointer = format!("{place}/created_at");
        let turn_time = not_in_the_future(item.created_at, &pointer, now, &mut problems);
        last_time = turn_time.unwrap_or(last_time);
        own_time = own_time.into_iter().chain(turn_time).min();
        item.created_at = Some(last_time);
        items.push(item);
    }
    if !problems.is_empty() {
        return Err(Error::invalid(problems));
    }
    let counts = tokens::count_all(items.iter().map(|item| item.content.clone()).collect()).await;

    let learning = extraction::feeding(app, org_id, request.learning_flags()).await?;
    let minted = request.request_id.is_none();
    let publish = Publish {
        app: app.clone(),
        org_id: org_id.to_owned(),
        request_id: request.request_id.clone().unwrap_or_else(|| app.ids.uuid()),
        minted,
        created_at,
        own_time,
        received_at: now,
        agent_version: request
            .agent_version
            .clone()
            .unwrap_or_else(|| app.settings.sessions.default_agent_version.trim().to_owned()),
        content_sha256,
        warnings,
        learning,
        items: items.into_iter().zip(counts).collect(),
        request,
    };
    let work_is_due = publish.request.session_finished
        || publish.learning.is_urgent()
        || publish.items.iter().any(|(item, _)| item.has_shadow());
    let answer = app
        .db
        .write("sessions.publish", publish, |tx, publish| Box::pin(store(tx, publish)))
        .await?;
    if work_is_due {
        app.db.announce_work().await;
    }
    Ok(answer)
}

async fn store(tx: &mut Tx, publish: &Publish) -> Result<PublishResponse> {
    let Publish { app, org_id, request_id, request, .. } = publish;
    let keys = &app.subject_keys;
    let subject = barrier::open(tx, keys, org_id, &request.user_id, publish.received_at).await?;
    subject.admits(publish.own_time, publish.received_at)?;
    if !publish.minted
        && let Some(first) = rows::find_answer(tx, org_id, request_id).await?
    {
        return repeat(first, publish);
    }
    let attribution = attribution(tx, org_id, request).await?;
    let (learning_status, learning_reason) = publish.learning.answer();
    let mut answer = PublishResponse {
        success: true,
        message: format!("stored {} interactions", publish.items.len()),
        warnings: publish.warnings.clone(),
        request_id: request_id.clone(),
        learning_status,
        learning_reason: Some(learning_reason),
        interaction_ids: Vec::new(),
        experiment: attribution,
        duplicate: false,
    };
    let finished = request.session_finished;
    let mut due = vec![evaluation::session_grows(app, &subject, &request.session_id, finished)];
    if publish.items.iter().any(|(item, _)| item.has_shadow()) {
        due.push(evaluation::shadow_published(app, &subject, &request.session_id, request_id));
    }
    let learning = extraction::arriving(app, &subject, &publish.learning, publish.items.len());
    let row = NewRequest {
        request_id,
        session_id: &request.session_id,
        created_at: publish.created_at,
        received_at: publish.received_at,
        source: &request.source,
        agent_version: &publish.agent_version,
        evaluation_only: request.evaluation_only,
        session_finished: finished,
        experiment: answer.experiment.as_ref(),
        content_sha256: &publish.content_sha256,
        answer: serde_json::to_value(&answer).map_err(|e| Error::Internal(e.to_string()))?,
        learning: publish.learning.mode(),
        items: &publish.items,
    };
    let stored = rows::insert_request(tx, &subject, &row, learning.as_ref(), &due).await?;
    answer.interaction_ids = stored.interaction_ids;
    if stored.attributed && answer.experiment.is_none() {
        answer.experiment = rows::find_attribution(tx, org_id, request_id).await?;
    }
    Ok(answer)
}

/// The pair that was sent, checked.
async fn attribution(
    tx: &mut Tx,
    org_id: &OrgId,
    request: &PublishRequest,
) -> Result<Option<Attribution>> {
    let pair = (&request.retrieval_experiment_id, request.retrieval_experiment_arm);
    let (Some(experiment_id), Some(arm)) = pair else {
        return Ok(None);
    };
    experiments::check_pair(tx, org_id, &request.user_id, experiment_id, arm).await?;
    Ok(Some(Attribution { experiment_id: experiment_id.clone(), arm }))
}

fn repeat(first: StoredAnswer, publish: &Publish) -> Result<PublishResponse> {
    if first.content_sha256 != publish.content_sha256 {
        return Err(Error::refused(
            Code::RequestIdReused,
            "This request_id was published before with other content; use a new one.",
        ));
    }
    let answer: PublishResponse =
        serde_json::from_value(first.answer).map_err(|e| Error::Internal(e.to_string()))?;
    let StoredAnswer { interaction_ids, experiment, .. } = first;
    Ok(PublishResponse { duplicate: true, interaction_ids, experiment, ..answer })
}

/// The time, set back to now if it is a little ahead; a problem if it is further ahead.
fn not_in_the_future(
    time: Option<i64>,
    pointer: &str,
    now: i64,
    problems: &mut Vec<InputProblem>,
) -> Option<i64> {
    if time.is_some_and(|time| time > now + CLOCK_SKEW) {
        problems.push(InputProblem {
            pointer: pointer.to_owned(),
            code: "in_the_future".to_owned(),
            detail: format!("must not be in the future; the server's clock says {now}"),
        });
    }
    time.map(|time| time.min(now))
}

/// SHA-256 of everything but the request id, as it was sent: equal digests are the same publish.
fn digest(request: &PublishRequest) -> Result<String> {
    let bytes = serde_json::to_vec(request).map_err(|e| Error::Internal(e.to_string()))?;
    Ok(hex::encode(Sha256::digest(&bytes)))
}
