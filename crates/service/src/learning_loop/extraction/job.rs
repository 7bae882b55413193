//! The job of a stream: read the next window, ask for proposals, save what they come to.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::saving::{self, Extracted};
use super::{EXTRACT, failure, merging, suspicion, window};
use crate::app::App;
use crate::judging::{self, SubjectConsent};
use judge::prompts::Kind;
use judge::{Consent, JudgeError};
use storage::error::{Error, Result};
use storage::jobs::{Claim, Handler, Outcome};

pub struct ExtractLearnings;

impl Handler<App> for ExtractLearnings {
    fn kind(&self) -> &'static str {
        EXTRACT
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(extract(app, job))
    }
}

async fn extract(app: &Arc<App>, job: &Claim) -> Result<Outcome> {
    let window = window::load(app, job).await?;
    if window.arrivals.is_empty() {
        return saving::nothing_new(app, job).await;
    }
    let pinned = window.config.learning.extraction_prompt_version.as_deref();
    let rubric = judging::rubric(Kind::LearningExtraction, pinned)?;
    let context = judging::context(&window.config, Some(consent(app, job)));
    let shown = window.shown();
    let graded = match app.extractor.extraction(rubric, &context, &shown).await {
        Ok(graded) => graded,
        Err(JudgeError::Withdrawn) => return Err(Error::LeaseLost),
        Err(error) => return failure::after(app, job, window, &error).await,
    };
    let proposals = suspicion::look_at(&window, graded.verdict);
    let placed = merging::place(app, job, &window, proposals).await?;
    let origin = graded.provenance.into();
    saving::save(app, job, Extracted { window, placed, origin, passed_over: None }).await
}

/// That of the job's person, as they were when their turns arrived.
fn consent(app: &App, job: &Claim) -> Arc<dyn Consent> {
    Arc::new(SubjectConsent {
        db: app.db.clone(),
        org_id: job.org_id.clone(),
        user_id: job.user_id.clone().unwrap_or_default(),
        epoch: job.epoch.unwrap_or_default(),
    })
}
