//! People's labels of sessions: the ground truth a judge is measured against.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::evaluation::{AGENT_SUCCESS, learned, sql};
use crate::http::fields::{Fields, Read};
use crate::sessions;
use base::owner::{OrgId, UserId};
use judge::FailureType;
use storage::db::Tx;
use storage::error::{Code, Error, Result};
use storage::subjects::barrier;

/// A person's verdict on a session.
#[derive(Clone, Debug)]
pub struct NewLabel {
    pub session_id: String,
    pub user_id: Option<UserId>,
    pub evaluation_name: String,
    pub says: LabelSays,
    pub failure_type: FailureType,
    pub note: String,
    pub labelled_by: String,
}

/// Statement of a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LabelSays {
    Went(bool),
    /// That the judge is right, or wrong.
    OfTheVerdict(Opinion),
}

base::vocabulary! {
    /// A person's opinion of the judge's verdict.
    pub enum Opinion {
        Agree = "agree",
        Disagree = "disagree",
    }
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
        let opinion =
            f.about("Instead of is_success: whether the judge's verdict is right.").word("opinion");
        let is_success =
            f.about("How the session went; needed without an opinion.").optional_flag("is_success");
        let says = match (is_success, opinion) {
            (Some(is_success), None) => LabelSays::Went(is_success),
            (None, Some(opinion)) => LabelSays::OfTheVerdict(opinion),
            (Some(_), Some(_)) => {
                f.problem("opinion", "contradiction", "cannot go with is_success");
                LabelSays::Went(false)
            }
            (None, None) => {
                if !f.is_refused("is_success") && !f.is_refused("opinion") {
                    f.problem("is_success", "missing", "is_success or opinion is needed");
                }
                LabelSays::Went(false)
            }
        };
        let failure_type = f.word_among("failure_type", &FailureType::NAMED);
        if is_success == Some(true) && failure_type.is_some() {
            f.problem("failure_type", "contradiction", "cannot go with is_success");
        }
        NewLabel {
            session_id: f.id("session_id"),
            user_id: f
                .about("Needed when several users have a session of this id.")
                .optional_id("user_id"),
            evaluation_name: f.id_or("evaluation_name", AGENT_SUCCESS),
            says,
            failure_type: failure_type.unwrap_or(FailureType::None),
            note: f.text("note", 4000),
            labelled_by: f.id_or("labelled_by", "dashboard"),
        }
    }
}

/// How the session went, by the label.
async fn went(tx: &mut Tx, org_id: &OrgId, user_id: &UserId, label: &NewLabel) -> Result<bool> {
    let opinion = match label.says {
        LabelSays::Went(is_success) => return Ok(is_success),
        LabelSays::OfTheVerdict(opinion) => opinion,
    };
    let (session_id, name) = (&label.session_id, &label.evaluation_name);
    let verdict = sql::newest_verdict(tx, org_id, user_id, session_id, name).await?;
    let verdict = verdict.ok_or_else(|| {
        Error::invalid_field(
            Code::InvalidInput,
            "/labels",
            "There is no verdict to agree or disagree with; send is_success.",
        )
    })?;
    Ok(verdict == (opinion == Opinion::Agree))
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
                    let subject = barrier::open(tx, org_id, &user_id, now).await?;
                    // Held, so that deleting the session takes the label along.
                    if sessions::lock_session(tx, org_id, &user_id, &label.session_id).await? {
                        let went = went(tx, org_id, &user_id, label).await?;
                        sql::put_label(tx, &subject, label, went, now).await?;
                    }
                }
                learned::ground_truth_grew(tx, app, org_id).await
            })
        })
        .await?;
    Ok(count)
}
