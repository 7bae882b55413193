//! Publishing: checked, counted, stored in one transaction, answered once it is on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::publish_request::PublishRequest;
use super::{queue, tokens};
use crate::app::App;
use crate::evaluation;
use crate::experiments::{self, Attribution};
use crate::learning_loop::extraction::{self, Feeding, PublishLearningStatus};
use crate::sessions::InteractionData;
use crate::sessions::rows::{self, NewRequest, RequestColumns, RequestRows, StoredAnswer};
use base::owner::{OrgId, UserId};
use storage::db::{Place, Tx};
use storage::error::{Code, Error, InputProblem, Result};
use storage::subjects::{SubjectWrite, barrier};

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
    pub org_id: OrgId,
    pub request_id: String,
    /// Of the person's rows, if what is stored is all there.
    pub place: Option<Place>,
    /// The id was minted here, so nobody can have used it before.
    pub minted: bool,
    pub created_at: i64,
    /// The earliest time that the publish itself names, if it names any.
    pub own_time: Option<i64>,
    pub received_at: i64,
    pub agent_version: String,
    pub content_sha256: String,
    pub learning: Feeding,
    /// The answer if it is stored, without the numbers of its turns and its attribution.
    pub answer: PublishResponse,
    pub rows: RequestRows,
    /// The items that carry something, with the tokens of their content.
    pub items: Vec<(InteractionData, i64)>,
    pub request: PublishRequest,
}

/// Stores one request of a session. `unknown` are the fields the caller sent that nothing reads.
pub async fn publish(
    app: &Arc<App>,
    org_id: &OrgId,
    request: PublishRequest,
    unknown: Vec<String>,
) -> Result<PublishResponse> {
    let publish = prepare(app, org_id, request, unknown).await?;
    queue::store(app, vec![publish]).await.remove(0)
}

/// Checks and counts a request, for [`queue::store`].
pub(super) async fn prepare(
    app: &Arc<App>,
    org_id: &OrgId,
    mut request: PublishRequest,
    unknown: Vec<String>,
) -> Result<Publish> {
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
    let items: Vec<_> = items.into_iter().zip(counts).collect();
    let minted = request.request_id.is_none();
    let request_id = request.request_id.clone().unwrap_or_else(|| app.ids.uuid());
    let default_version = || app.settings.sessions.default_agent_version.trim().to_owned();
    let agent_version = request.agent_version.clone().unwrap_or_else(default_version);
    let (learning_status, learning_reason) = learning.answer();
    let answer = PublishResponse {
        success: true,
        message: format!("stored {} interactions", items.len()),
        warnings,
        request_id: request_id.clone(),
        learning_status,
        learning_reason: Some(learning_reason),
        interaction_ids: Vec::new(),
        experiment: None,
        duplicate: false,
    };
    let columns = RequestColumns {
        request_id: &request_id,
        session_id: &request.session_id,
        created_at,
        received_at: now,
        source: &request.source,
        agent_version: &agent_version,
        evaluation_only: request.evaluation_only,
        content_sha256: &content_sha256,
        answer: &answer,
        learning: learning.mode(),
    };
    let rows = RequestRows::of(&columns, &items)?;
    // A pair is checked against the experiment, which is held for everybody by the coordinator.
    let place = match request.retrieval_experiment_id {
        Some(_) => None,
        None => app.db.place_of(org_id, &request.user_id).await,
    };
    Ok(Publish {
        org_id: org_id.to_owned(),
        place,
        request_id,
        minted,
        created_at,
        own_time,
        received_at: now,
        agent_version,
        content_sha256,
        learning,
        answer,
        rows,
        items,
        request,
    })
}

impl Publish {
    pub fn person(&self) -> (OrgId, UserId) {
        (self.org_id.clone(), self.request.user_id.clone())
    }

    /// True if a job is due at once when it is stored.
    pub fn makes_work(&self) -> bool {
        self.request.session_finished || self.learning.is_urgent() || self.has_shadow()
    }

    fn has_shadow(&self) -> bool {
        self.items.iter().any(|(item, _)| item.has_shadow())
    }
}

/// Stores publishes of one organization with different request ids, and gives their answers in order. One that is
/// refused is an error if it is the only one. Among others it has no answer and nothing of it is stored: it is to be
/// stored alone, which rolls back what led to the refusal.
pub(super) async fn store(
    tx: &mut Tx,
    app: &App,
    publishes: &[Arc<Publish>],
) -> Result<Vec<Option<PublishResponse>>> {
    let Some(org_id) = publishes.first().map(|publish| &publish.org_id) else {
        return Ok(Vec::new());
    };
    let mut subjects = known_subjects(tx, org_id, publishes).await?;
    let sent = publishes.iter().filter(|publish| !publish.minted);
    let key = |tx: &Tx, publish: &Publish| {
        (tx.subject(org_id, &publish.request.user_id), publish.request_id.clone())
    };
    let sent: Vec<_> = sent.map(|publish| key(tx, publish)).collect();
    let mut first_answers = rows::find_answers(tx, org_id, &sent).await?;
    let mut answers = Vec::with_capacity(publishes.len());
    for publish in publishes {
        let subject = subjects.get(&publish.request.user_id);
        let first = first_answers.remove(&key(tx, publish));
        match check(tx, publish, subject, first).await {
            Err(error) if publishes.len() > 1 && !error.is_storage_failure() => answers.push(None),
            answer => answers.push(Some(answer?)),
        }
    }
    // Only now, and only for publishes that are not refused: a refusal leaves nothing of somebody who is new.
    let checked = publishes.iter().zip(&answers).filter(|(_, answer)| answer.is_some());
    let new: BTreeSet<&UserId> = checked
        .map(|(publish, _)| &publish.request.user_id)
        .filter(|user_id| !subjects.contains_key(*user_id))
        .collect();
    if !new.is_empty() {
        let (new, now): (Vec<&UserId>, i64) = (new.into_iter().collect(), app.clock.now());
        subjects.extend(barrier::open_new(tx, org_id, &new, now).await?);
    }
    for (publish, answer) in publishes.iter().zip(&mut answers) {
        if !subjects.contains_key(&publish.request.user_id) {
            *answer = None;
        }
    }

    let mut fresh: Vec<(&Publish, &SubjectWrite, &mut PublishResponse)> = publishes
        .iter()
        .zip(&mut answers)
        .filter_map(|(publish, answer)| {
            let answer = answer.as_mut().filter(|answer| !answer.duplicate)?;
            Some((&**publish, &subjects[&publish.request.user_id], answer))
        })
        .collect();
    attribute_by_exposure(tx, org_id, &mut fresh).await?;

    let (mut new, mut learning, mut due) = (Vec::new(), Vec::new(), Vec::new());
    for (publish, subject, answer) in &fresh {
        let Publish { request_id, request, items, .. } = publish;
        let (session_id, finished) = (&request.session_id, request.session_finished);
        learning.extend(extraction::arriving(app, subject, &publish.learning, items.len()));
        due.push(evaluation::session_grows(app, subject, session_id, finished));
        if publish.has_shadow() {
            due.push(evaluation::shadow_published(app, subject, session_id, request_id));
        }
        new.push(NewRequest {
            subject,
            request_id,
            session_id,
            created_at: publish.created_at,
            received_at: publish.received_at,
            source: &request.source,
            agent_version: &publish.agent_version,
            session_finished: finished,
            experiment: answer.experiment.as_ref(),
            rows: &publish.rows,
        });
    }
    if !new.is_empty() {
        let turns = rows::insert_requests(tx, org_id, &new, &learning, &due).await?;
        for ((.., answer), interaction_ids) in fresh.into_iter().zip(turns) {
            answer.interaction_ids = interaction_ids;
        }
    }
    Ok(answers)
}

/// Publishes without an attribution of their own get that of their session's newest exposure.
async fn attribute_by_exposure(
    tx: &mut Tx,
    org_id: &OrgId,
    fresh: &mut [(&Publish, &SubjectWrite, &mut PublishResponse)],
) -> Result<()> {
    let unattributed = fresh.iter().filter(|(.., answer)| answer.experiment.is_none());
    let sessions: BTreeSet<_> = unattributed
        .map(|(publish, subject, _)| (subject.subject(), publish.request.session_id.as_str()))
        .collect();
    let sessions: Vec<_> = sessions.into_iter().collect();
    let exposures = rows::find_exposures(tx, org_id, &sessions).await?;
    for (publish, subject, answer) in fresh.iter_mut().filter(|(.., a)| a.experiment.is_none()) {
        let session = (subject.subject(), publish.request.session_id.clone());
        answer.experiment = exposures.get(&session).cloned();
    }
    Ok(())
}

/// The right to write for the people of publishes. It is refused if there is only one publish, else left out; people who
/// are new are left out too.
async fn known_subjects(
    tx: &mut Tx,
    org_id: &OrgId,
    publishes: &[Arc<Publish>],
) -> Result<BTreeMap<UserId, SubjectWrite>> {
    if let [publish] = publishes {
        let user_id = &publish.request.user_id;
        let subject = barrier::open(tx, org_id, user_id, publish.received_at).await?;
        return Ok(BTreeMap::from([(user_id.clone(), subject)]));
    }
    let users: BTreeSet<&UserId> = publishes.iter().map(|p| &p.request.user_id).collect();
    let users: Vec<UserId> = users.into_iter().cloned().collect();
    barrier::open_known(tx, org_id, &users).await
}

/// The answer to a publish: the first one if it was published before, else a new one, without the numbers of its turns.
async fn check(
    tx: &mut Tx,
    publish: &Publish,
    subject: Option<&SubjectWrite>,
    first: Option<StoredAnswer>,
) -> Result<PublishResponse> {
    if let Some(subject) = subject {
        subject.admits(publish.own_time, publish.received_at)?;
    }
    if let Some(first) = first {
        return repeat(first, publish);
    }
    let experiment = attribution(tx, &publish.org_id, &publish.request).await?;
    Ok(PublishResponse { experiment, ..publish.answer.clone() })
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
