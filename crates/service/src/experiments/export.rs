//! The rows of an experiment, with references in the place of ids: whoever has them can compute its numbers anew.

use std::sync::Arc;

use super::classify::rows_of;
use super::{refresh, sql};
use crate::app::App;
use crate::http::{Pages, lines};
use base::owner::{OrgId, UserId};
use storage::error::{Error, Result};

/// Users per page: the export is sent while it is made, and memory stays flat.
const AT_ONCE: i64 = 500;

/// Cursor of an export.
pub struct ExperimentExport {
    app: Arc<App>,
    org_id: OrgId,
    experiment_id: String,
    /// The last user of the page before; `None` when all are through.
    after: Option<UserId>,
}

/// Begins an export; unknown experiments are an error before anything is sent.
pub async fn begin(
    app: &Arc<App>,
    org_id: &OrgId,
    experiment_id: String,
) -> Result<ExperimentExport> {
    let input = (org_id.to_owned(), experiment_id.clone());
    let found = app
        .db
        .lookup("experiments.find", input, |tx, (org_id, experiment_id)| {
            Box::pin(sql::find(tx, org_id, experiment_id))
        })
        .await?;
    if found.is_none() {
        return Err(Error::not_found("experiment"));
    }
    refresh::refresh(app, org_id, &experiment_id).await?;
    let after = Some(UserId::default());
    Ok(ExperimentExport { app: app.clone(), org_id: org_id.to_owned(), experiment_id, after })
}

impl Pages for ExperimentExport {
    async fn next_page(&mut self) -> Result<Option<String>> {
        let Some(after) = self.after.take() else {
            return Ok(None);
        };
        let input = (self.org_id.clone(), self.experiment_id.clone(), after);
        let page = self
            .app
            .db
            .read("experiments.export", input, |tx, (org_id, experiment_id, after)| {
                Box::pin(async move {
                    let users =
                        sql::summed_users(tx, org_id, experiment_id, after, AT_ONCE).await?;
                    let Some(experiment) = sql::find(tx, org_id, experiment_id).await? else {
                        return Ok((None, Vec::new()));
                    };
                    let list = sql::json_list(&users)?;
                    let stored = sql::stored(tx, org_id, &experiment, &list).await?;
                    let rows = stored
                        .iter()
                        .flat_map(|(user_id, stored)| rows_of(org_id, user_id, &experiment, stored))
                        .collect();
                    Ok((users.last().cloned(), rows))
                })
            })
            .await?;
        let (last, mut rows) = page;
        if last.is_none() {
            return Ok(None);
        }
        self.after = last;
        for row in &mut rows {
            let keys = &self.app.subject_keys;
            if let Some(session) = &mut row.session {
                // Session ids are unique per user: the reference stands for both.
                let both = format!("{}:{}{session}", row.user.len(), row.user);
                *session = keys.session_ref(&self.org_id, &both);
            }
            row.user = keys.subject_ref(&self.org_id, &row.user).into();
        }
        lines(&rows).map(Some)
    }
}
