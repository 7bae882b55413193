//! SQL of a whole session: itself, its requests and its turns.

use super::list::session_columns;
use crate::sessions::{Interaction, Request, SessionSummary};
use base::owner::{OrgId, UserId};
use storage::db::{Tx, listed};
use storage::error::Result;
use storage::row;

/// A session as it was published.
pub struct Published {
    pub session: SessionSummary,
    /// Both oldest first.
    pub requests: Vec<Request>,
    pub interactions: Vec<Interaction>,
    /// True if an outcome was ever recorded for it.
    pub has_outcomes: bool,
}

#[derive(sqlx_macros::FromRow)]
struct Found {
    #[sqlx(flatten)]
    session: SessionSummary,
    has_outcomes: bool,
    requests: String,
    interactions: String,
}

/// Reads a session in one statement, its requests and turns as lists: on PostgreSQL a statement takes longer to hand over
/// than these take to read.
pub async fn published(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Option<Published>> {
    let found = row!(
        tx,
        Found,
        concat!(
            "SELECT {user_of:s} AS user_id, ",
            session_columns!(),
            ", EXISTS (SELECT 1 FROM session_outcomes o
                       WHERE o.org_id = s.org_id AND o.subject = s.subject
                         AND o.session_id = s.session_id) AS has_outcomes,
               (SELECT CAST({json_rows:r.request_id, r.created_at, r.source, r.agent_version, r.evaluation_only,
                        r.retrieval_experiment_id, r.retrieval_experiment_arm} AS TEXT)
                FROM requests r
                WHERE r.org_id = $1 AND r.subject = $2 AND r.session_id = $3) AS requests,
               (SELECT CAST({json_rows:i.interaction_id, i.request_id, i.created_at, i.role, i.content, i.user_action,
                        i.user_action_description, i.interacted_image_url, i.shadow_content, i.expert_content,
                        CAST(i.tools_used AS TEXT), CAST(i.retrieved_learnings AS TEXT),
                        CAST(i.citations AS TEXT), i.token_count, CAST(i.usage AS TEXT)} AS TEXT)
                FROM interactions i
                WHERE i.org_id = $1 AND i.subject = $2 AND i.session_id = $3) AS interactions
              FROM sessions s WHERE s.org_id = $1 AND s.subject = $2 AND s.session_id = $3"
        ),
        org_id,
        user_id,
        session_id
    )?;
    let Some(Found { session, has_outcomes, requests, interactions }) = found else {
        return Ok(None);
    };
    let mut requests: Vec<Request> = listed(&requests)?;
    for request in &mut requests {
        request.user_id.clone_from(&session.user_id);
        request.session_id.clone_from(&session.session_id);
    }
    requests.sort_by(|a, b| (a.created_at, &a.request_id).cmp(&(b.created_at, &b.request_id)));
    let mut interactions: Vec<Interaction> = listed(&interactions)?;
    for turn in &mut interactions {
        turn.user_id.clone_from(&session.user_id);
        turn.session_id.clone_from(&session.session_id);
    }
    interactions.sort_by_key(|turn| (turn.created_at, turn.interaction_id));
    Ok(Some(Published { session, requests, interactions, has_outcomes }))
}
