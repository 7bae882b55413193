//! One session, whole, with everything that was judged about it.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::evaluation::{SessionVerdicts, of_session};
use crate::sessions::{Transcript, transcript_in};
use base::owner::{OrgId, UserId};
use storage::error::{Error, Result};

/// One session, whole, with everything that was judged about it.
#[derive(Serialize, ToSchema)]
pub struct SessionView {
    #[serde(flatten)]
    pub transcript: Transcript,
    #[serde(flatten)]
    pub verdicts: SessionVerdicts,
}

pub async fn view(
    app: &Arc<App>,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<SessionView> {
    let input = (org_id.to_owned(), user_id.to_owned(), session_id.to_owned());
    app.db
        .read("sessions.view", input, |tx, (org, user, id)| {
            Box::pin(async move {
                let found = transcript_in(tx, org, user, id).await?;
                let transcript = found.ok_or_else(|| Error::not_found("session"))?;
                let verdicts = of_session(tx, org, user, id).await?;
                Ok(SessionView { transcript, verdicts })
            })
        })
        .await
}
