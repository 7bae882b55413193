//! The rows of an experiment, with references in the place of ids: whoever has them can compute its numbers anew.

use std::sync::Arc;

use super::classify::rows_of;
use super::{refresh, sql};
use crate::app::App;
use crate::http::{Pages, lines};
use base::owner::OrgId;
use storage::error::{Error, Result};
use storage::subjects::Subject;

/// Users per page: the export is sent while it is made, and memory stays flat.
const AT_ONCE: i64 = 500;

/// Cursor of an export.
pub struct ExperimentExport {
    app: Arc<App>,
    org_id: OrgId,
    experiment_id: String,
    /// The last user of the page before; `None` before the first page.
    after: Option<Subject>,
    /// True after the last page.
    ended: bool,
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
    let (app, org_id) = (app.clone(), org_id.to_owned());
    Ok(ExperimentExport { app, org_id, experiment_id, after: None, ended: false })
}

impl Pages for ExperimentExport {
    async fn next_page(&mut self) -> Result<Option<String>> {
        if self.ended {
            return Ok(None);
        }
        // Nothing follows an error.
        self.ended = true;
        let input = (self.org_id.clone(), self.experiment_id.clone(), self.after);
        let page = self
            .app
            .db
            .read("experiments.export", input, |tx, (org_id, experiment_id, after)| {
                Box::pin(async move {
                    let users =
                        sql::summed_users(tx, org_id, experiment_id, *after, AT_ONCE).await?;
                    let Some(experiment) = sql::find(tx, org_id, experiment_id).await? else {
                        return Ok((None, Vec::new()));
                    };
                    let list =
                        tx.subjects_json(org_id, users.iter().map(|(_, user_id)| user_id))?;
                    let stored = sql::stored(tx, org_id, &experiment, &list).await?;
                    let rows = users
                        .iter()
                        .filter_map(|(subject, user_id)| Some((user_id, stored.get(subject)?)))
                        .flat_map(|(user_id, stored)| rows_of(org_id, user_id, &experiment, stored))
                        .collect();
                    Ok((users.last().map(|(subject, _)| *subject), rows))
                })
            })
            .await?;
        let (last, mut rows) = page;
        if last.is_none() {
            return Ok(None);
        }
        (self.after, self.ended) = (last, false);
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
