//! Reading sessions back: by session, by turn, and one whole transcript.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use utoipa::ToSchema;

use super::sql::{self, RequestFilter};
use super::{Interaction, Request, SessionOutcome, SessionSummary};
use crate::app::App;
use base::owner::{OrgId, UserId};
use base::words;
use storage::db::{TextTerm, Tx};
use storage::error::{Code, Error, Result};

/// A `get_requests` call.
pub struct GetRequests {
    pub filter: RequestFilter,
    /// Largest number of sessions.
    pub top_k: i64,
    pub offset: i64,
}

#[derive(Serialize, ToSchema)]
pub struct SessionRequests {
    pub session_id: String,
    pub requests: Vec<RequestWithInteractions>,
}

#[derive(Serialize, ToSchema)]
pub struct RequestWithInteractions {
    pub request: Request,
    /// Oldest first.
    pub interactions: Vec<Interaction>,
}

/// Sessions with their requests, newest session first; and whether there are more.
pub async fn get_requests(
    app: &App,
    org_id: &OrgId,
    input: GetRequests,
) -> Result<(Vec<SessionRequests>, bool)> {
    app.db
        .read("sessions.get_requests", (org_id.to_owned(), input), |tx, (org_id, input)| {
            Box::pin(async move {
                let GetRequests { filter, top_k, offset } = input;
                let mut page =
                    sql::sessions_with_requests(tx, org_id, filter, top_k + 1, *offset).await?;
                let has_more = page.len() > usize::try_from(*top_k).unwrap_or(usize::MAX);
                page.truncate(usize::try_from(*top_k).unwrap_or(usize::MAX));
                let mut sessions = Vec::with_capacity(page.len());
                for (user_id, session_id) in page {
                    let requests =
                        sql::requests_of_session(tx, org_id, &user_id, &session_id, filter).await?;
                    let turns =
                        sql::interactions_of_session(tx, org_id, &user_id, &session_id).await?;
                    sessions.push(SessionRequests { session_id, requests: group(requests, turns) });
                }
                Ok((sessions, has_more))
            })
        })
        .await
}

/// Hands each turn to its request.
fn group(requests: Vec<Request>, turns: Vec<Interaction>) -> Vec<RequestWithInteractions> {
    let mut by_request: BTreeMap<String, Vec<Interaction>> = BTreeMap::new();
    for turn in turns {
        by_request.entry(turn.request_id.clone()).or_default().push(turn);
    }
    requests
        .into_iter()
        .map(|request| RequestWithInteractions {
            interactions: by_request.remove(&request.request_id).unwrap_or_default(),
            request,
        })
        .collect()
}

/// A `get_interactions` call.
pub struct GetInteractions {
    pub user_id: UserId,
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub top_k: i64,
}

/// The newest turns of a user, in the order in which they happened.
pub async fn get_interactions(
    app: &App,
    org_id: &OrgId,
    input: GetInteractions,
) -> Result<Vec<Interaction>> {
    app.db
        .read("sessions.get_interactions", (org_id.to_owned(), input), |tx, (org_id, input)| {
            Box::pin(async move {
                let GetInteractions { user_id, from, to, top_k } = input;
                let mut turns =
                    sql::newest_interactions(tx, org_id, user_id, None, *from, *to, *top_k).await?;
                turns.reverse();
                Ok(turns)
            })
        })
        .await
}

/// The newest turns of everybody, in the order in which they happened.
pub async fn newest_of_everybody(
    app: &App,
    org_id: &OrgId,
    limit: i64,
) -> Result<Vec<Interaction>> {
    let mut turns = app
        .db
        .read_standby("sessions.newest_of_everybody", org_id.to_owned(), move |tx, org_id| {
            Box::pin(sql::newest_of_everybody(tx, org_id, limit))
        })
        .await?;
    turns.reverse();
    Ok(turns)
}

/// Turns of a user that are looked through for words, the newest.
const SEARCHED: i64 = 5000;

/// A search for words in a user's turns.
pub struct SearchInteractions {
    pub user_id: UserId,
    pub request_id: Option<String>,
    /// Without one, the newest turns.
    pub query: Option<String>,
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub top_k: usize,
}

/// Turns of a user that have words of the query: those with more of them first, then the newer.
pub async fn search_interactions(
    app: &App,
    org_id: &OrgId,
    input: SearchInteractions,
) -> Result<Vec<Interaction>> {
    let (query, top_k) = (input.query.clone(), input.top_k);
    let mut turns = app
        .db
        .read("sessions.search_interactions", (org_id.to_owned(), input), |tx, (org_id, input)| {
            Box::pin(async move {
                let SearchInteractions { user_id, from, to, .. } = input;
                let request_id = input.request_id.as_deref();
                sql::newest_interactions(tx, org_id, user_id, request_id, *from, *to, SEARCHED)
                    .await
            })
        })
        .await?;
    if let Some(query) = query {
        let wanted = words::query_terms(&query);
        let matches = |turn: &Interaction| {
            let has: BTreeSet<String> = words::terms(&turn.content).into_iter().collect();
            let is_there = |term: &&TextTerm| match term.prefix {
                true => has.iter().any(|word| word.starts_with(&term.text)),
                false => has.contains(&term.text),
            };
            wanted.iter().filter(is_there).count()
        };
        let mut matched: Vec<(usize, Interaction)> = turns
            .into_iter()
            .map(|turn| (matches(&turn), turn))
            .filter(|(terms, _)| *terms > 0)
            .collect();
        // A stable sort: of turns with as many words, the newer stays first.
        matched.sort_by_key(|(terms, _)| Reverse(*terms));
        turns = matched.into_iter().map(|(_, turn)| turn).collect();
    }
    turns.truncate(top_k);
    Ok(turns)
}

/// One session, whole.
#[derive(Serialize, ToSchema)]
pub struct Transcript {
    pub session: SessionSummary,
    pub requests: Vec<Request>,
    /// Oldest first.
    pub interactions: Vec<Interaction>,
    /// Every outcome the customer reported, oldest first.
    pub outcomes: Vec<SessionOutcome>,
}

/// A session as it was published, read as part of a transaction.
pub async fn transcript_in(
    tx: &mut Tx,
    org: &OrgId,
    user: &UserId,
    id: &str,
) -> Result<Option<Transcript>> {
    match sql::find_published(tx, org, user, id).await? {
        Some(found) => found.transcript(tx, org, user).await.map(Some),
        None => Ok(None),
    }
}

/// The organization with sessions that comes after this one by name; the first after the empty name.
pub async fn next_organization(app: &App, after: &str) -> Result<Option<OrgId>> {
    app.db
        .read("sessions.next_organization", after.to_owned(), |tx, after| {
            Box::pin(sql::next_organization(tx, after))
        })
        .await
}

/// Sessions whose last request is in `from..before`, each with its time, the oldest first.
pub async fn idle(
    app: &App,
    org_id: &OrgId,
    from: i64,
    before: i64,
    limit: i64,
) -> Result<Vec<(UserId, String, i64)>> {
    let input = (org_id.to_owned(), from, before, limit);
    app.db
        .read("sessions.idle", input, |tx, (org_id, from, before, limit)| {
            Box::pin(sql::idle_sessions(tx, org_id, *from, *before, *limit))
        })
        .await
}

/// The state of a session's turns. Turns are never changed and their ids only grow: equal states are the same
/// turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx_macros::FromRow)]
pub struct Snapshot {
    pub interaction_count: i64,
    pub last_interaction_id: i64,
}

impl Snapshot {
    pub fn of(turns: &[Interaction]) -> Self {
        Snapshot {
            interaction_count: i64::try_from(turns.len()).unwrap_or(i64::MAX),
            last_interaction_id: turns.iter().map(|turn| turn.interaction_id).max().unwrap_or(0),
        }
    }
}

/// The one user who has this session, or `user_id` if they have it.
pub async fn owner(
    tx: &mut Tx,
    org_id: &OrgId,
    session_id: &str,
    user_id: Option<&UserId>,
) -> Result<UserId> {
    if let Some(user_id) = user_id {
        let found = sql::find_session(tx, org_id, user_id, session_id).await?;
        return found.map(|s| s.user_id).ok_or_else(|| Error::not_found("session"));
    }
    let mut owners = sql::owners(tx, org_id, session_id).await?;
    match owners.len() {
        0 => Err(Error::not_found("session")),
        1 => Ok(owners.remove(0)),
        _ => Err(Error::refused(
            Code::SessionAmbiguous,
            "Several users have a session with this id; say which with user_id.",
        )),
    }
}
