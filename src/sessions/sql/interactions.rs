//! SQL of the table `interactions`: the turns of sessions.

use sqlx::types::Json;

use crate::db::Tx;
use crate::error::Result;
use crate::sessions::{Citation, Interaction};
use crate::{row, rows};

macro_rules! interaction_columns {
    () => {
        "interaction_id, user_id, session_id, request_id, created_at, role, content, user_action, \
         user_action_description, interacted_image_url, shadow_content, expert_content, \
         tools_used, retrieved_learnings, citations, token_count"
    };
}

/// The turns of one session, oldest first.
pub async fn interactions_of_session(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
) -> Result<Vec<Interaction>> {
    rows!(
        tx,
        Interaction,
        concat!(
            "SELECT ",
            interaction_columns!(),
            " FROM interactions WHERE org_id = $1 AND user_id = $2 AND session_id = $3
              ORDER BY created_at, interaction_id"
        ),
        org_id,
        user_id,
        session_id
    )
}

/// The newest turns of a user within a time range, newest first.
pub async fn newest_interactions(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    from: Option<i64>,
    to: Option<i64>,
    limit: i64,
) -> Result<Vec<Interaction>> {
    rows!(
        tx,
        Interaction,
        concat!(
            "SELECT ",
            interaction_columns!(),
            " FROM interactions WHERE org_id = $1 AND user_id = $2
              AND ($3 IS NULL OR created_at >= $3) AND ($4 IS NULL OR created_at < $4)
              ORDER BY created_at DESC, interaction_id DESC {limit:$5}"
        ),
        org_id,
        user_id,
        from,
        to,
        limit
    )
}

/// What the turns of a session cite, oldest turn first.
pub async fn citations(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
) -> Result<Vec<Citation>> {
    let found = rows!(
        tx,
        (Json<Vec<Citation>>,),
        "SELECT citations FROM interactions WHERE org_id = $1 AND user_id = $2 AND session_id = $3
         ORDER BY created_at, interaction_id",
        org_id,
        user_id,
        session_id
    )?;
    Ok(found.into_iter().flat_map(|(Json(citations),)| citations).collect())
}

/// Deletes one turn and gives the session it was in.
pub async fn delete_interaction(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    interaction_id: i64,
) -> Result<Option<String>> {
    let found = row!(
        tx,
        (String,),
        "DELETE FROM interactions WHERE org_id = $1 AND user_id = $2 AND interaction_id = $3
         RETURNING session_id",
        org_id,
        user_id,
        interaction_id
    )?;
    Ok(found.map(|(session_id,)| session_id))
}
