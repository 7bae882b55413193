//! Ground truth: what people say of sessions in labels, and customers in outcomes. A label wins over an outcome.

use std::collections::BTreeMap;

use super::sql;
use crate::app::App;
use crate::judging;
use crate::sessions;
use base::owner::{OrgId, UserId};
use judge::learned::{Labelled, Meaning, last_exchange, sketch};
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::subjects::barrier;

/// The newest sessions with ground truth that a model is trained on.
const MOST: i64 = 5000;
/// Sessions read at a time.
const PAGE: usize = 50;

base::vocabulary! {
    /// Origin of what is known of a session.
    pub enum TruthSource {
        Label = "label",
        Outcome = "outcome",
    }
}

/// Ground truth of a session.
#[derive(Clone, Debug, PartialEq, sqlx_macros::FromRow)]
pub struct Truth {
    pub user_id: UserId,
    pub session_id: String,
    pub is_success: bool,
    pub said_at: i64,
}

/// Each session once, newest first.
pub async fn known(tx: &mut Tx, org_id: &OrgId) -> Result<Vec<(Truth, TruthSource)>> {
    let mut sessions: BTreeMap<(UserId, String), (Truth, TruthSource)> = BTreeMap::new();
    for (list, source) in [
        (sql::outcomes(tx, org_id, MOST).await?, TruthSource::Outcome),
        (sql::labels(tx, org_id, MOST).await?, TruthSource::Label),
    ] {
        for truth in list {
            let key = (truth.user_id.clone(), truth.session_id.clone());
            sessions.insert(key, (truth, source));
        }
    }
    let mut known: Vec<_> = sessions.into_values().collect();
    known.sort_by_key(|(truth, _)| std::cmp::Reverse(truth.said_at));
    known.truncate(usize::try_from(MOST).unwrap_or(usize::MAX));
    Ok(known)
}

/// A session to learn from, reduced to what a model sees of it.
pub struct Lesson {
    pub truth: Truth,
    pub source: TruthSource,
    pub labelled: Labelled,
}

/// The sessions to learn from. Those of people who are being erased are left out.
pub async fn lessons(app: &App, org_id: &OrgId) -> Result<Vec<Lesson>> {
    let known = app
        .db
        .read("evaluation.ground_truth", org_id.clone(), |tx, org_id| Box::pin(known(tx, org_id)))
        .await?;
    let mut lessons = Vec::with_capacity(known.len());
    for page in known.chunks(PAGE) {
        let input = (org_id.clone(), page.to_vec());
        let read = app
            .db
            .read("evaluation.lessons", input, |tx, (org_id, page)| {
                Box::pin(async move {
                    let mut read = Vec::with_capacity(page.len());
                    for (truth, source) in page.iter() {
                        read.extend(lesson(tx, org_id, truth, *source).await?);
                    }
                    Ok(read)
                })
            })
            .await?;
        lessons.extend(with_meaning(app, read).await?);
    }
    Ok(lessons)
}

/// Adds vectors of the last exchanges, where there is an embedder.
async fn with_meaning(app: &App, read: Vec<(Lesson, String)>) -> Result<Vec<Lesson>> {
    let (mut lessons, exchanges): (Vec<Lesson>, Vec<String>) = read.into_iter().unzip();
    let Some(embedder) = app.embedder.model() else { return Ok(lessons) };
    let spoken = exchanges.iter().filter(|text| !text.is_empty()).cloned().collect();
    let vectors = app.embedder.embed(spoken).await;
    let vectors = vectors.map_err(|e| Error::Internal(format!("the embedder: {e}")))?;
    let with_text = lessons.iter_mut().zip(&exchanges).filter(|(_, text)| !text.is_empty());
    for ((lesson, _), vector) in with_text.zip(vectors) {
        lesson.labelled.sketch.meaning = Meaning::new(embedder, vector);
    }
    Ok(lessons)
}

/// A session to learn from, and its last exchange.
async fn lesson(
    tx: &mut Tx,
    org_id: &OrgId,
    truth: &Truth,
    source: TruthSource,
) -> Result<Option<(Lesson, String)>> {
    let Truth { user_id, session_id, is_success, .. } = truth;
    if barrier::open_epoch(tx, org_id, user_id).await?.is_none() {
        return Ok(None);
    }
    let Some(found) = sessions::transcript_in(tx, org_id, user_id, session_id).await? else {
        return Ok(None);
    };
    if found.interactions.is_empty() {
        return Ok(None);
    }
    let turns: Vec<_> = found.interactions.iter().map(judging::as_turn).collect();
    let labelled =
        Labelled { sketch: sketch(&turns), user: user_id.to_string(), is_success: *is_success };
    let lesson = Lesson { truth: truth.clone(), source, labelled };
    Ok(Some((lesson, last_exchange(&turns))))
}
