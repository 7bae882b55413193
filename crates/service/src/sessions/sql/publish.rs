//! SQL of a publish: its turns, its request, and what it adds to its session.

use std::collections::HashMap;
use std::collections::btree_map::{BTreeMap, Entry};

use serde::Serialize;
use sqlx::types::Json;

use crate::experiments::{Arm, Attribution};
use crate::sessions::{
    Citation, InteractionData, LearningMode, RetrievedLearning, ToolUsed, Usage, UserAction,
};
use base::owner::OrgId;
use storage::db::{Changes, Tx, Value};
use storage::error::{Error, Result};
use storage::jobs::Planned;
use storage::rows;
use storage::subjects::{Subject, SubjectWrite};

/// The stored answer of a request id.
pub struct StoredAnswer {
    pub content_sha256: String,
    /// The answer it was given, without its turns and its attribution.
    pub answer: serde_json::Value,
    pub interaction_ids: Vec<i64>,
    pub experiment: Option<Attribution>,
}

/// The columns of a request that are known before it is stored.
#[derive(Serialize)]
pub struct RequestColumns<'a, A> {
    pub request_id: &'a str,
    pub session_id: &'a str,
    pub created_at: i64,
    pub received_at: i64,
    pub source: &'a str,
    pub agent_version: &'a str,
    pub evaluation_only: bool,
    pub content_sha256: &'a str,
    /// The answer to a repeat; the turns' ids and the attribution are read from their rows.
    pub answer: &'a A,
    /// Learning mode of the request.
    pub learning: LearningMode,
}

/// The rows of a request and of its turns as JSON objects, without their owner and the attribution. They are made before
/// the transaction, during which nobody else writes.
pub struct RequestRows {
    request: String,
    turns: Vec<String>,
}

impl RequestRows {
    /// The turns come with the tokens of their content.
    pub fn of<A: Serialize>(
        request: &RequestColumns<'_, A>,
        turns: &[(InteractionData, i64)],
    ) -> Result<Self> {
        let turns = turns.iter().map(|(item, tokens)| object(&NewTurn::of(request, item, *tokens)));
        Ok(RequestRows { request: object(request)?, turns: turns.collect::<Result<_>>()? })
    }
}

fn object(row: &impl Serialize) -> Result<String> {
    serde_json::to_string(row).map_err(|e| Error::Internal(e.to_string()))
}

/// A request to be stored.
pub struct NewRequest<'a> {
    pub subject: &'a SubjectWrite,
    pub request_id: &'a str,
    pub session_id: &'a str,
    pub created_at: i64,
    pub received_at: i64,
    pub source: &'a str,
    pub agent_version: &'a str,
    pub session_finished: bool,
    pub experiment: Option<&'a Attribution>,
    pub rows: &'a RequestRows,
}

#[derive(sqlx_macros::FromRow)]
struct AnsweredRequest {
    request_id: String,
    subject: Subject,
    session_id: String,
    content_sha256: String,
    answer: Json<serde_json::Value>,
    retrieval_experiment_id: Option<String>,
    retrieval_experiment_arm: Option<Arm>,
}

/// A request id, which is its user's.
pub type RequestKey = (Subject, String);

/// The answers that were given to request ids that were published before by the same users.
pub async fn find_answers(
    tx: &mut Tx,
    org_id: &OrgId,
    sent: &[RequestKey],
) -> Result<HashMap<RequestKey, StoredAnswer>> {
    if sent.is_empty() {
        return Ok(HashMap::new());
    }
    let found = rows!(
        tx,
        AnsweredRequest,
        "SELECT r.request_id, r.subject, r.session_id, r.content_sha256, r.answer, r.retrieval_experiment_id,
                r.retrieval_experiment_arm
         FROM {lists:$2} AS sent CROSS JOIN requests r
         WHERE r.org_id = $1 AND r.subject = {subject:sent.value ->> 0} AND r.request_id = sent.value ->> 1",
        org_id,
        listed(sent)?
    )?;
    if found.is_empty() {
        return Ok(HashMap::new());
    }
    let places: Vec<_> = found.iter().map(|r| (r.subject, &r.session_id, &r.request_id)).collect();
    let turns = rows!(
        tx,
        (Subject, String, i64),
        "SELECT i.subject, i.request_id, i.interaction_id FROM {lists:$2} AS place CROSS JOIN interactions i
         WHERE i.org_id = $1 AND i.subject = {subject:place.value ->> 0}
           AND i.session_id = place.value ->> 1 AND i.request_id = place.value ->> 2
         ORDER BY i.interaction_id",
        org_id,
        listed(&places)?
    )?;
    let mut ids: HashMap<RequestKey, Vec<i64>> = HashMap::new();
    for (subject, request_id, interaction_id) in turns {
        ids.entry((subject, request_id)).or_default().push(interaction_id);
    }
    let answers = found.into_iter().map(|request| {
        let pair = request.retrieval_experiment_id.zip(request.retrieval_experiment_arm);
        let key = (request.subject, request.request_id);
        let answer = StoredAnswer {
            content_sha256: request.content_sha256,
            answer: request.answer.0,
            interaction_ids: ids.remove(&key).unwrap_or_default(),
            experiment: pair.map(|(experiment_id, arm)| Attribution { experiment_id, arm }),
        };
        (key, answer)
    });
    Ok(answers.collect())
}

fn listed(items: &[impl Serialize]) -> Result<String> {
    serde_json::to_string(items).map_err(|e| Error::Internal(e.to_string()))
}

/// A session of a person.
pub type SessionKey<'a> = (Subject, &'a str);

/// The attributions of sessions by their newest exposures, of those that have one.
pub async fn find_exposures(
    tx: &mut Tx,
    org_id: &OrgId,
    sessions: &[SessionKey<'_>],
) -> Result<HashMap<(Subject, String), Attribution>> {
    if sessions.is_empty() {
        return Ok(HashMap::new());
    }
    let found = rows!(
        tx,
        (Subject, String, String, Arm),
        "SELECT x.subject, x.session_id, x.experiment_id, x.arm
           FROM {lists:$2} AS session CROSS JOIN experiment_exposures x
          WHERE x.org_id = $1 AND x.subject = {subject:session.value ->> 0}
            AND x.session_id = session.value ->> 1
          ORDER BY x.number",
        org_id,
        listed(sessions)?
    )?;
    let each = found.into_iter().map(|(subject, session_id, experiment_id, arm)| {
        ((subject, session_id), Attribution { experiment_id, arm })
    });
    Ok(each.collect())
}

/// The columns of a turn.
#[derive(Serialize)]
struct NewTurn<'a> {
    session_id: &'a str,
    request_id: &'a str,
    created_at: i64,
    role: &'a str,
    content: &'a str,
    shadow_content: &'a str,
    expert_content: &'a str,
    user_action: UserAction,
    user_action_description: &'a str,
    interacted_image_url: &'a str,
    image_encoding: &'a str,
    tools_used: &'a [ToolUsed],
    citations: &'a [Citation],
    retrieved_learnings: &'a [RetrievedLearning],
    token_count: i64,
    usage: Option<&'a Usage>,
}

impl<'a> NewTurn<'a> {
    fn of<A>(request: &RequestColumns<'a, A>, item: &'a InteractionData, token_count: i64) -> Self {
        NewTurn {
            session_id: request.session_id,
            request_id: request.request_id,
            created_at: item.created_at.unwrap_or(request.created_at),
            role: &item.role,
            content: &item.content,
            shadow_content: &item.shadow_content,
            expert_content: &item.expert_content,
            user_action: item.user_action,
            user_action_description: &item.user_action_description,
            interacted_image_url: &item.interacted_image_url,
            image_encoding: &item.image_encoding,
            tools_used: &item.tools_used,
            citations: &item.citations,
            retrieved_learnings: &item.retrieved_learnings,
            token_count,
            usage: item.usage.as_ref(),
        }
    }
}

/// The contribution of requests to their session.
#[derive(Serialize)]
struct Growth<'a> {
    subject: Subject,
    session_id: &'a str,
    epoch: i64,
    first_request_at: i64,
    first_request_id: &'a str,
    /// Of the first request.
    source: &'a str,
    last_request_at: i64,
    /// Of the last request.
    agent_version: &'a str,
    last_received_at: i64,
    finished_at: Option<i64>,
    request_count: i64,
    interaction_count: i64,
}

impl<'a> Growth<'a> {
    fn of(request: &'a NewRequest<'a>) -> Self {
        Growth {
            subject: request.subject.subject(),
            session_id: request.session_id,
            epoch: request.subject.epoch(),
            first_request_at: request.created_at,
            first_request_id: request.request_id,
            source: request.source,
            last_request_at: request.created_at,
            agent_version: request.agent_version,
            last_received_at: request.received_at,
            finished_at: request.session_finished.then_some(request.received_at),
            request_count: 1,
            interaction_count: i64::try_from(request.rows.turns.len()).unwrap_or(i64::MAX),
        }
    }

    /// Adds requests that were received later, by the rules of [`GROW_SESSIONS`].
    fn add(&mut self, later: Growth<'a>) {
        let first = (self.first_request_at, self.first_request_id);
        if (later.first_request_at, later.first_request_id) < first {
            self.first_request_at = later.first_request_at;
            self.first_request_id = later.first_request_id;
            self.source = later.source;
        }
        if later.last_request_at >= self.last_request_at {
            self.last_request_at = later.last_request_at;
            self.agent_version = later.agent_version;
        }
        self.last_received_at = later.last_received_at;
        self.finished_at = later.finished_at;
        self.request_count += later.request_count;
        self.interaction_count += later.interaction_count;
    }
}

/// Stores requests of an organization, in the order in which they were received: their turns, their rows, and what they
/// add to their sessions, with the work that follows from them. Gives the ids of their turns, in order.
pub async fn insert_requests(
    tx: &mut Tx,
    org_id: &OrgId,
    requests: &[NewRequest<'_>],
    learning: &[Planned],
    due: &[Planned],
) -> Result<Vec<Vec<i64>>> {
    let mut changes = Changes::default();
    // First, because it is where publishes of one person wait for each other: their turns are then numbered in the
    // order in which they become visible.
    Planned::add_all(learning, &mut changes)?;
    let count = requests.iter().map(|request| request.rows.turns.len()).sum();
    if tx.is_at_place() {
        tx.apply(std::mem::take(&mut changes)).await?;
    }
    let numbers = tx.numbers_from_afar("interactions_interaction_id_seq", count).await?;
    changes.together();
    let mut given = numbers.iter().flatten();
    let turns = requests
        .iter()
        .flat_map(|request| request.rows.turns.iter().map(|row| (request.subject, None, row)));
    let turns: Vec<_> =
        turns.map(|(subject, of, row)| (subject, of, given.next().copied(), row)).collect();
    let rows = vec![org_id.into(), owned_rows(&turns)?];
    match numbers {
        Some(_) => changes.add(INSERT_NUMBERED_TURNS, rows),
        None => changes.add_numbered(INSERT_TURNS, "interaction_id", count, rows),
    }
    let rows: Vec<_> = requests
        .iter()
        .map(|request| (request.subject, request.experiment, None, &request.rows.request))
        .collect();
    changes.add(INSERT_REQUESTS, vec![org_id.into(), owned_rows(&rows)?]);
    // In the order of their keys: two lists of changes do not wait for each other in a circle.
    let mut sessions: BTreeMap<(Subject, &str), Growth<'_>> = BTreeMap::new();
    for growth in requests.iter().map(Growth::of) {
        match sessions.entry((growth.subject, growth.session_id)) {
            Entry::Vacant(place) => drop(place.insert(growth)),
            Entry::Occupied(mut place) => place.get_mut().add(growth),
        }
    }
    let sessions: Vec<Growth<'_>> = sessions.into_values().collect();
    changes.add(GROW_SESSIONS, vec![org_id.into(), Value::lists(&sessions)?]);
    Planned::add_all(due, &mut changes)?;
    // Turns are numbered in the order of the list.
    let applied = tx.apply(changes).await?;
    let mut interaction_ids = numbers.unwrap_or(applied).into_iter();
    let each = requests
        .iter()
        .map(|request| interaction_ids.by_ref().take(request.rows.turns.len()).collect());
    Ok(each.collect())
}

/// A row with its owner, and its attribution and its number if it has them.
type OwnedRow<'a> = (&'a SubjectWrite, Option<&'a Attribution>, Option<i64>, &'a String);

/// Rows for a statement that reads them from `{lists:$2}`.
fn owned_rows<'a>(rows: &[OwnedRow<'_>]) -> Result<Value<'a>> {
    let mut list = String::from("[");
    for (place, (subject, experiment, number, row)) in rows.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        let (owner, epoch) = (subject.subject(), subject.epoch());
        list.push_str(&format!(r#"{comma}{{"subject":"{owner}","epoch":{epoch},"#));
        if let Some(experiment) = experiment {
            list.push_str(&format!(r#""experiment":{},"#, object(experiment)?));
        }
        if let Some(number) = number {
            list.push_str(&format!(r#""interaction_id":{number},"#));
        }
        list.push_str(row.strip_prefix('{').unwrap_or(row));
    }
    list.push(']');
    Ok(Value::Lists(list))
}

macro_rules! insert_turns {
    ($column:literal, $value:literal) => {
        storage::statement!(concat!(
            "INSERT INTO interactions
       (", $column, "org_id, subject, session_id, epoch, request_id, created_at, role, content, shadow_content,
        expert_content, user_action, user_action_description, interacted_image_url, image_encoding,
        tools_used, citations, retrieved_learnings, token_count, usage)
     SELECT ", $value, "$1, {subject:value ->> 'subject'}, value ->> 'session_id', CAST(value ->> 'epoch' AS BIGINT),
            value ->> 'request_id', CAST(value ->> 'created_at' AS BIGINT), value ->> 'role',
            value ->> 'content', value ->> 'shadow_content', value ->> 'expert_content',
            value ->> 'user_action', value ->> 'user_action_description', value ->> 'interacted_image_url',
            value ->> 'image_encoding', value -> 'tools_used', value -> 'citations',
            value -> 'retrieved_learnings', CAST(value ->> 'token_count' AS BIGINT),
            NULLIF(value -> 'usage', 'null')
       FROM {lists:$2} AS turn"
        ))
    };
}

const INSERT_TURNS: &str = insert_turns!("", "");
const INSERT_NUMBERED_TURNS: &str =
    insert_turns!("interaction_id, ", "CAST(value ->> 'interaction_id' AS BIGINT), ");

const INSERT_REQUESTS: &str = storage::statement!(
    "INSERT INTO requests
       (org_id, subject, session_id, request_id, epoch, created_at, received_at, source, agent_version,
        evaluation_only, retrieval_experiment_id, retrieval_experiment_arm, content_sha256, answer, learning)
     SELECT $1, {subject:value ->> 'subject'}, value ->> 'session_id', value ->> 'request_id',
            CAST(value ->> 'epoch' AS BIGINT), CAST(value ->> 'created_at' AS BIGINT),
            CAST(value ->> 'received_at' AS BIGINT), value ->> 'source', value ->> 'agent_version',
            CAST(value ->> 'evaluation_only' AS BOOLEAN),
            value -> 'experiment' ->> 'experiment_id', value -> 'experiment' ->> 'arm',
            value ->> 'content_sha256', value -> 'answer', value ->> 'learning'
       FROM {lists:$2} AS request"
);

/// Adds requests to the summaries of their sessions. The first request is the earliest by (time, id): an import may
/// bring it after later ones.
const GROW_SESSIONS: &str = storage::statement!(
    "INSERT INTO sessions
       (org_id, subject, session_id, epoch, first_request_at, first_request_id, last_request_at,
        last_received_at, finished_at, source, agent_version, request_count, interaction_count)
     SELECT $1, {subject:value ->> 'subject'}, value ->> 'session_id', CAST(value ->> 'epoch' AS BIGINT),
            CAST(value ->> 'first_request_at' AS BIGINT), value ->> 'first_request_id',
            CAST(value ->> 'last_request_at' AS BIGINT), CAST(value ->> 'last_received_at' AS BIGINT),
            CAST(value ->> 'finished_at' AS BIGINT), value ->> 'source', value ->> 'agent_version',
            CAST(value ->> 'request_count' AS BIGINT), CAST(value ->> 'interaction_count' AS BIGINT)
       FROM {lists:$2} AS growth WHERE TRUE
     ON CONFLICT (org_id, subject, session_id) DO UPDATE SET
        source = CASE WHEN (excluded.first_request_at, excluded.first_request_id)
                         < (sessions.first_request_at, sessions.first_request_id)
                      THEN excluded.source ELSE sessions.source END,
        first_request_id = CASE WHEN (excluded.first_request_at, excluded.first_request_id)
                         < (sessions.first_request_at, sessions.first_request_id)
                      THEN excluded.first_request_id ELSE sessions.first_request_id END,
        first_request_at = CASE WHEN excluded.first_request_at < sessions.first_request_at
                      THEN excluded.first_request_at ELSE sessions.first_request_at END,
        agent_version = CASE WHEN excluded.last_request_at >= sessions.last_request_at
                      THEN excluded.agent_version ELSE sessions.agent_version END,
        last_request_at = CASE WHEN excluded.last_request_at > sessions.last_request_at
                      THEN excluded.last_request_at ELSE sessions.last_request_at END,
        last_received_at = excluded.last_received_at,
        finished_at = excluded.finished_at,
        request_count = sessions.request_count + excluded.request_count,
        interaction_count = sessions.interaction_count + excluded.interaction_count"
);
