//! Exports: sessions as they were published, each a [`Transcript`].

use std::sync::Arc;

use super::reads::{Transcript, transcript_in};
use super::sql::{self, SessionFilter};
use crate::app::App;
use crate::http::{Pages, lines};
use base::owner::{OrgId, UserId};
use storage::error::Result;

/// Sessions of one page.
const AT_ONCE: i64 = 100;

/// Turns after which a page ends before it has all its sessions.
const TURNS_AT_ONCE: usize = 2000;

/// The sessions to export. `None` means any.
pub struct ExportSessions {
    pub user_id: Option<UserId>,
    pub source: Option<String>,
    pub agent_version: Option<String>,
    /// Last activity at or after, before.
    pub from: Option<i64>,
    pub to: Option<i64>,
}

/// Cursor of an export.
pub struct SessionsExport {
    app: Arc<App>,
    org_id: OrgId,
    filter: SessionFilter,
    /// The last session of the page before; `None` when all are through.
    after: Option<(UserId, String)>,
}

/// Begins an export.
pub fn begin(app: &Arc<App>, org_id: &OrgId, wanted: ExportSessions) -> SessionsExport {
    let ExportSessions { user_id, source, agent_version, from, to } = wanted;
    let filter =
        SessionFilter { user_id, source, agent_version, from, to, ..SessionFilter::default() };
    let after = Some(Default::default());
    SessionsExport { app: app.clone(), org_id: org_id.to_owned(), filter, after }
}

impl Pages for SessionsExport {
    async fn next_page(&mut self) -> Result<Option<String>> {
        let Some(after) = self.after.take() else { return Ok(None) };
        let input = (self.org_id.clone(), self.filter.clone(), after);
        let sessions: Vec<Transcript> = self
            .app
            .db
            .read_standby("sessions.export", input, |tx, (org_id, filter, after)| {
                Box::pin(async move {
                    let page = sql::sessions_by_id(tx, org_id, filter, after, AT_ONCE).await?;
                    let (mut sessions, mut turns) = (Vec::with_capacity(page.len()), 0);
                    for (user_id, session_id) in page {
                        let Some(session) =
                            transcript_in(tx, org_id, &user_id, &session_id).await?
                        else {
                            continue;
                        };
                        turns += session.interactions.len();
                        sessions.push(session);
                        if turns >= TURNS_AT_ONCE {
                            break;
                        }
                    }
                    Ok(sessions)
                })
            })
            .await?;
        let Some(Transcript { session: last, .. }) = sessions.last() else { return Ok(None) };
        self.after = Some((last.user_id.clone(), last.session_id.clone()));
        lines(&sessions).map(Some)
    }
}
