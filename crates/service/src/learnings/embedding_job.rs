//! The job that makes vectors: for one person, or for the organization's own playbooks. It looks for rows whose
//! vector is missing or behind, so it can run again at any time and stops when there is nothing left to do.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;

use super::sql::{self, vectors::Unembedded};
use super::vectors::Compact;
use crate::app::App;
use base::owner::{OrgId, UserId};
use judge::LearningKind;
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::jobs::{self, Claim, Handler, NewJob, OnDuplicate, Outcome};
use storage::subjects::{SubjectWrite, barrier};

const KIND: &str = "embed_learnings";
/// Rows per call of the embedder and per transaction.
const BATCH: i64 = 64;
/// People looked after at a start; the rest wait for the next one.
const PEOPLE: i64 = 100_000;

pub struct Embed;

impl Handler<App> for Embed {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(schedule(app))
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            let kinds: &[LearningKind] = match job.user_id {
                Some(_) => &[LearningKind::Profile, LearningKind::UserPlaybook],
                None => &[LearningKind::AgentPlaybook],
            };
            for kind in kinds {
                while embed_some(app, job, *kind).await? {}
            }
            Ok(Outcome::Done)
        })
    }
}

/// Enqueues the work as part of the transaction that makes it necessary. Nothing to do without an embedder.
pub async fn enqueue(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    subject: Option<&SubjectWrite>,
) -> Result<()> {
    if app.embedder.model().is_none() {
        return Ok(());
    }
    let whose = subject.map_or("organization".to_owned(), |s| format!("user/{}", s.subject()));
    let job = NewJob {
        kind: KIND,
        org_id,
        subject,
        parent_id: None,
        payload: json!({}),
        dedupe_key: Some(whose),
        on_duplicate: OnDuplicate::Move,
        run_at: app.clock.now(),
        max_attempts: 12,
    };
    jobs::enqueue(tx, app, job).await.map(drop)
}

/// At a start: enqueues the work for everyone who has learnings without a vector of the current model.
async fn schedule(app: &Arc<App>) -> Result<()> {
    let Some(model) = app.embedder.model() else {
        return Ok(());
    };
    let behind = app
        .db
        .read("learnings.unembedded", model.to_owned(), |tx, model| {
            Box::pin(sql::vectors::behind(tx, model, PEOPLE))
        })
        .await?;
    for whose in behind.chunks(500) {
        let input = (app.clone(), whose.to_vec());
        app.db
            .write("learnings.plan_embedding", input, |tx, (app, whose)| {
                Box::pin(async move {
                    for (org_id, user_id) in whose {
                        plan(tx, app, org_id, user_id.as_ref()).await?;
                    }
                    Ok(())
                })
            })
            .await?;
    }
    Ok(())
}

async fn plan(tx: &mut Tx, app: &App, org_id: &OrgId, user_id: Option<&UserId>) -> Result<()> {
    let Some(user_id) = user_id else {
        return enqueue(tx, app, org_id, None).await;
    };
    match barrier::open(tx, org_id, user_id, app.clock.now()).await {
        Ok(subject) => enqueue(tx, app, org_id, Some(&subject)).await,
        // Someone who is being erased needs no vectors.
        Err(Error::Refused { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Embeds the next rows of a kind; false when there are none.
async fn embed_some(app: &Arc<App>, job: &Claim, kind: LearningKind) -> Result<bool> {
    let Some(model) = app.embedder.model() else {
        return Ok(false);
    };
    let input = (job.org_id.clone(), job.user_id.clone(), model.to_owned());
    let rows = app
        .db
        .read("learnings.unembedded_rows", input, |tx, (org_id, user_id, model)| {
            Box::pin(sql::vectors::unembedded(tx, kind, org_id, user_id.as_ref(), model, BATCH))
        })
        .await?;
    if rows.is_empty() {
        return Ok(false);
    }
    // As late as can be: the embedder may be somebody else's.
    if let Some(user_id) = &job.user_id {
        let input = (job.org_id.clone(), user_id.clone());
        let open = app.db.lookup("learnings.may_embed", input, |tx, (org_id, user_id)| {
            Box::pin(barrier::open_epoch(tx, org_id, user_id))
        });
        if open.await? != job.epoch {
            return Err(Error::LeaseLost);
        }
    }
    let texts = rows.iter().map(|row| row.text.clone()).collect();
    let vectors = app.embedder.embed(texts).await.map_err(|e| Error::Internal(e.to_string()))?;
    // A text without a direction (only punctuation) gets an empty vector: it is near nothing, and done.
    let bytes = |vector: &Vec<f32>| Compact::new(vector).map_or(Vec::new(), |c| c.to_bytes());
    let made: Vec<(Unembedded, Vec<u8>)> =
        rows.into_iter().zip(vectors.iter().map(bytes)).collect();
    let input = (app.clone(), job.clone(), model.to_owned(), made);
    app.db
        .write("learnings.store_vectors", input, move |tx, (app, job, model, made)| {
            Box::pin(store(tx, app, job, kind, model, made))
        })
        .await?;
    Ok(true)
}

async fn store(
    tx: &mut Tx,
    app: &App,
    job: &Claim,
    kind: LearningKind,
    model: &str,
    made: &[(Unembedded, Vec<u8>)],
) -> Result<()> {
    let org_id = &job.org_id;
    let Some(user_id) = &job.user_id else {
        let version = sql::next_version(tx, org_id).await?;
        for (row, vector) in made {
            sql::vectors::store_of_organization(tx, org_id, row, model, vector, version).await?;
        }
        return Ok(());
    };
    let subject = barrier::open(tx, org_id, user_id, app.clock.now()).await?;
    for (row, vector) in made {
        sql::vectors::store(tx, kind, &subject, row, model, vector).await?;
    }
    Ok(())
}
