//! People's labels of sessions: the ground truth a judge is measured against.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::evaluation::{AGENT_SUCCESS, sql};
use crate::http::fields::{Fields, Read};
use crate::sessions;
use base::owner::{OrgId, UserId};
use judge::FailureType;
use storage::error::Result;
use storage::subjects::barrier;

/// A person's verdict on a session.
#[derive(Clone, Debug)]
pub struct NewLabel {
    pub session_id: String,
    pub user_id: Option<UserId>,
    pub evaluation_name: String,
    pub is_success: bool,
    pub failure_type: FailureType,
    pub note: String,
    pub labelled_by: String,
}

/// A label as it is read back.
#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct LabelView {
    pub user_id: UserId,
    pub session_id: String,
    pub evaluation_name: String,
    pub is_success: bool,
    /// Empty on success.
    pub failure_type: FailureType,
    pub note: String,
    pub labelled_by: String,
    pub labelled_at: i64,
}

/// People's labels of a session, newest first.
pub async fn labels_of(
    app: &App,
    org_id: &OrgId,
    user_id: Option<UserId>,
    session_id: String,
) -> Result<Vec<LabelView>> {
    let input = (org_id.to_owned(), user_id, session_id);
    app.db
        .read("evaluation.labels_of", input, |tx, (org_id, user_id, session_id)| {
            Box::pin(async move {
                let owner = sessions::owner(tx, org_id, session_id, user_id.as_ref()).await?;
                sql::labels_of(tx, org_id, &owner, session_id).await
            })
        })
        .await
}

crate::request_body!(NewLabel, "Label");

impl Read for NewLabel {
    fn read(f: &mut Fields<'_>) -> Self {
        let is_success = f.required("is_success", |f| f.optional_flag("is_success"));
        let failure_type = f.word_among("failure_type", &FailureType::NAMED);
        if is_success && failure_type.is_some() {
            f.problem("failure_type", "contradiction", "cannot go with is_success");
        }
        NewLabel {
            session_id: f.id("session_id"),
            user_id: f
                .about("Needed when several users have a session of this id.")
                .optional_id("user_id"),
            evaluation_name: f.id_or("evaluation_name", AGENT_SUCCESS),
            is_success,
            failure_type: failure_type.unwrap_or(FailureType::None),
            note: f.text("note", 4000),
            labelled_by: f.id_or("labelled_by", "dashboard"),
        }
    }
}

/// Stores labels, all or none. A label of the same person on the same session takes the place of the old one.
pub async fn label(app: &Arc<App>, org_id: &OrgId, labels: Vec<NewLabel>) -> Result<usize> {
    let count = labels.len();
    let input = (app.clone(), org_id.to_owned(), labels);
    app.db
        .write("evaluation.label", input, |tx, (app, org_id, labels)| {
            Box::pin(async move {
                for label in labels {
                    let user_id = label.user_id.as_ref();
                    let user_id = sessions::owner(tx, org_id, &label.session_id, user_id).await?;
                    let now = app.clock.now();
                    let subject =
                        barrier::open(tx, &app.subject_keys, org_id, &user_id, now).await?;
                    // Held, so that deleting the session takes the label along.
                    if sessions::hold(tx, org_id, &user_id, &label.session_id).await?.is_some() {
                        sql::put_label(tx, &subject, label, now).await?;
                    }
                }
                Ok(())
            })
        })
        .await?;
    Ok(count)
}
