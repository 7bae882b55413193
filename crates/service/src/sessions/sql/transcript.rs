//! SQL of a whole session: itself, its requests and its turns.

use crate::sessions::{Interaction, Request, SessionSummary, Transcript};
use base::owner::{OrgId, UserId};
use storage::db::{Tx, listed};
use storage::error::Result;
use storage::row;

/// The columns of [`Published`], of a session `s` of the organization `$1` and the person `$2`, its id in `$3`. Requests and
/// turns come as lists, without their session's ids: on PostgreSQL a statement takes longer to hand over than these take to
/// read.
macro_rules! published {
    () => {
        concat!(
            "{user_of:s} AS user_id, ",
            $crate::sessions::session_columns!(),
            ", EXISTS (SELECT 1 FROM session_outcomes o
                       WHERE o.org_id = s.org_id AND o.subject = s.subject
                         AND o.session_id = s.session_id) AS has_outcomes,
               (SELECT CAST({json_rows:r.request_id, '', r.created_at, r.source, r.agent_version, '', r.evaluation_only,
                        r.retrieval_experiment_id, r.retrieval_experiment_arm} AS TEXT)
                FROM requests r
                WHERE r.org_id = $1 AND r.subject = $2 AND r.session_id = $3) AS requests,
               (SELECT CAST({json_rows:i.interaction_id, '', i.request_id, i.created_at, i.role, i.content, i.user_action,
                        i.user_action_description, i.interacted_image_url, i.shadow_content, i.expert_content,
                        CAST(i.tools_used AS TEXT), CAST(i.retrieved_learnings AS TEXT),
                        CAST(i.citations AS TEXT), i.token_count, CAST(i.usage AS TEXT)} AS TEXT)
                FROM interactions i
                WHERE i.org_id = $1 AND i.subject = $2 AND i.session_id = $3) AS interactions"
        )
    };
}
pub(crate) use published;

/// A session as it was published.
#[derive(sqlx_macros::FromRow)]
pub struct Published {
    #[sqlx(flatten)]
    session: SessionSummary,
    /// True if an outcome was ever recorded for it.
    has_outcomes: bool,
    requests: String,
    interactions: String,
}

impl Published {
    /// The session with its outcomes, which are read as part of the transaction if there are any.
    pub async fn transcript(
        self,
        tx: &mut Tx,
        org_id: &OrgId,
        user_id: &UserId,
    ) -> Result<Transcript> {
        let Published { session, has_outcomes, requests, interactions } = self;
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
        let outcomes = match has_outcomes {
            true => super::outcome_history(tx, org_id, user_id, &session.session_id).await?,
            false => Vec::new(),
        };
        Ok(Transcript { session, requests, interactions, outcomes })
    }
}

pub async fn find_published(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Option<Published>> {
    row!(
        tx,
        Published,
        concat!(
            "SELECT ",
            published!(),
            " FROM sessions s WHERE s.org_id = $1 AND s.subject = $2 AND s.session_id = $3"
        ),
        org_id,
        user_id,
        session_id
    )
}
