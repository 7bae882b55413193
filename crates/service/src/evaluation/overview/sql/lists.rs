//! Long lists of sessions, page by page, each page as the JSON list it is sent as.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sqlx::types::Json;

use crate::evaluation::overview::windows::Span;
use crate::sessions::CitationKind;
use base::owner::OrgId;
use storage::db::{Subject, Tx, listed};
use storage::error::{Error, Result};
use storage::row;

/// Sessions of one page.
const PAGE: i64 = 5000;

/// A page of a list: its JSON, and where the next one begins; nothing after the last.
pub struct Page<K> {
    pub json: String,
    pub next: Option<K>,
}

impl<K> Page<K> {
    fn new(json: String, n: i64, last: Option<K>) -> Self {
        Page { json, next: last.filter(|_| n == PAGE) }
    }
}

/// A session with its user, selected as a pair and sent as an object.
#[derive(Deserialize, Serialize)]
struct UserSession<'a> {
    #[serde(borrow)]
    user_id: Cow<'a, str>,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
}

/// The last `(created_at, result_id)` that was sent.
pub type AfterResult = (i64, i64);

/// Before the first one of a window.
pub fn at_start(window: Span) -> AfterResult {
    (window.low - 1, i64::MAX)
}

/// The sessions of one source that are judged, for a version of the agent or for any, and whose first request is in the
/// window: their ids, or with their users.
pub async fn sessions_of_source(
    tx: &mut Tx,
    org_id: &OrgId,
    source: &str,
    agent_version: Option<&str>,
    window: Span,
    after: AfterResult,
    with_users: bool,
) -> Result<Page<AfterResult>> {
    macro_rules! page {
        ($user:literal, $listed:literal, $judged:literal) => {
            storage::statement!(concat!(
                "WITH page AS MATERIALIZED (
                     SELECT created_at, result_id, session_id",
                $user,
                " FROM evaluation_results
                     WHERE org_id = $1 AND source = $2 AND ",
                $judged,
                " AND (created_at, result_id) > ($3, $4) AND created_at < $5
                     ORDER BY created_at, result_id LIMIT $6 + 0),
                 last AS MATERIALIZED (
                     SELECT created_at, result_id FROM page ORDER BY created_at DESC, result_id DESC LIMIT 1)
                 SELECT CAST(",
                $listed,
                " AS TEXT), COUNT(*), (SELECT created_at FROM last), (SELECT result_id FROM last)
                 FROM page"
            ))
        };
    }
    // Only the newest verdicts are found by their source.
    macro_rules! judged {
        ($user:literal, $listed:literal) => {
            match agent_version {
                None => page!($user, $listed, "is_newest AND $7 IS NULL"),
                Some(_) => page!(
                    $user,
                    $listed,
                    "evaluation_name = 'agent_success' AND agent_version = $7"
                ),
            }
        };
    }
    let sql = if with_users {
        judged!(", {user_of:evaluation_results} AS user_id", "{json_rows:user_id, session_id}")
    } else {
        judged!("", "{json_values:session_id}")
    };
    let found = row!(
        tx,
        (String, i64, Option<i64>, Option<i64>),
        sql,
        org_id,
        source,
        after.0,
        after.1,
        window.high,
        PAGE,
        agent_version
    )?;
    let (mut json, n, at, id) = found.unwrap_or_default();
    if with_users {
        let pairs: Vec<UserSession<'_>> = listed(&json)?;
        json = serde_json::to_string(&pairs).map_err(|e| Error::Internal(e.to_string()))?;
    }
    Ok(Page::new(json, n, at.zip(id)))
}

/// The last `(created_at, subject, session_id)` that was sent.
pub type AfterCitation = (i64, Subject, String);

/// The ids of the sessions in the window that cite a rule, of these sources, or of all, and are judged for a version of
/// the agent, or for any.
pub async fn citing_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    (kind, rule_id): (CitationKind, &str),
    sources: Option<&[String]>,
    agent_version: Option<&str>,
    window: Span,
    after: &AfterCitation,
) -> Result<Page<AfterCitation>> {
    let found = row!(
        tx,
        (String, i64, Option<i64>, Option<Subject>, Option<String>),
        "WITH page AS MATERIALIZED (
             SELECT org_id, created_at, subject, session_id FROM cited_rules c
             WHERE org_id = $1 AND kind = $2 AND rule_id = $3 AND created_at >= $4 AND created_at < $5
               AND (created_at, subject, session_id) > ($6, $7, $8)
               AND ($9 IS NULL OR source IN {texts:$9})
               AND ($11 IS NULL OR EXISTS (SELECT 1 FROM evaluation_results v
                    WHERE v.org_id = $1 AND v.subject = c.subject AND v.session_id = c.session_id
                      AND v.evaluation_name = 'agent_success' AND v.agent_version = $11))
             ORDER BY created_at, subject, session_id LIMIT $10 + 0),
         last AS (SELECT org_id, created_at, subject, session_id FROM page
             ORDER BY created_at DESC, subject DESC, session_id DESC LIMIT 1)
         SELECT CAST({json_values:session_id} AS TEXT), COUNT(*), (SELECT created_at FROM last),
                (SELECT subject FROM last), (SELECT session_id FROM last)
         FROM page",
        org_id,
        kind,
        rule_id,
        window.low,
        window.high,
        after.0,
        after.1,
        &after.2,
        sources.map(Json),
        PAGE,
        agent_version
    )?;
    let (json, n, at, subject, session) = found.unwrap_or_default();
    let last = at.zip(subject).zip(session).map(|((at, subject), session)| (at, subject, session));
    Ok(Page::new(json, n, last))
}
