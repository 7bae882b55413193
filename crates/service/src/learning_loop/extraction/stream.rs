//! Effect of a publish on its person's stream: one statement in the publish's own transaction.

use serde_json::json;

use super::{EXTRACT, StreamJob};
use crate::app::App;
use crate::organization;
use crate::sessions::LearningMode;
use base::owner::{OrgId, UserId};
use storage::db::{Changes, Tx};
use storage::error::Result;
use storage::jobs::{self, Gathering, NewJob, OnDuplicate, Planned};
use storage::subjects::SubjectWrite;

/// Attempts that end with the worker's death or the storage's failure; a window's own failures are counted apart.
const ATTEMPTS: i64 = 100;

base::vocabulary! {
    /// Learning status in the answer to a publish.
    pub enum PublishLearningStatus {
        Done = "done",
        /// Learning from it waits in the queue.
        Deferred = "deferred",
    }
}

/// Learning decision on a publish, made before it is written and stored with it.
#[derive(Clone, Debug)]
pub enum Feeding {
    /// Not at all, and why.
    Off(&'static str),
    On {
        without_aggregation: bool,
        urgent: bool,
        override_stall: bool,
        window: i64,
        idle: i64,
    },
}

impl Feeding {
    /// Learning mode stored with the request.
    pub fn mode(&self) -> LearningMode {
        match self {
            Feeding::Off(_) => LearningMode::Off,
            Feeding::On { without_aggregation: true, .. } => LearningMode::WithoutAggregation,
            Feeding::On { .. } => LearningMode::On,
        }
    }

    /// True if extraction reads it at once.
    pub fn is_urgent(&self) -> bool {
        matches!(self, Feeding::On { urgent: true, .. })
    }

    /// `learning_status` and `learning_reason` of the publish's answer.
    pub fn answer(&self) -> (PublishLearningStatus, String) {
        match self {
            Feeding::Off(why) => (PublishLearningStatus::Done, (*why).to_owned()),
            Feeding::On { urgent: true, .. } => {
                (PublishLearningStatus::Deferred, "queued for extraction".to_owned())
            }
            Feeding::On { window, idle, .. } => {
                let minutes = idle / 60;
                let reason = format!(
                    "waits for {window} interactions, the end of the session or {minutes} idle minutes"
                );
                (PublishLearningStatus::Deferred, reason)
            }
        }
    }
}

/// The parts of a publish that decide how it feeds learning.
#[derive(Clone, Copy)]
pub struct LearningFlags {
    pub evaluation_only: bool,
    pub skip_aggregation: bool,
    /// Its turns are read at once: that was asked for, or the session is finished.
    pub urgent: bool,
    pub override_stall: bool,
}

/// Decides how a publish feeds learning.
pub async fn feeding(app: &App, org_id: &OrgId, flags: LearningFlags) -> Result<Feeding> {
    if flags.evaluation_only {
        return Ok(Feeding::Off("evaluation_only: kept out of learning"));
    }
    if app.settings.learning.extractor == "off" {
        return Ok(Feeding::Off("this server does not extract learnings (learning.extractor)"));
    }
    let config = organization::recent(app, org_id).await?;
    if !config.learning.enabled {
        return Ok(Feeding::Off("learning is turned off in the configuration"));
    }
    Ok(Feeding::On {
        without_aggregation: flags.skip_aggregation,
        urgent: flags.urgent,
        override_stall: flags.override_stall,
        window: config.learning.window,
        idle: config.learning.idle_seconds,
    })
}

/// The enqueueing that goes with a publish of `count` turns.
pub fn arriving(
    app: &App,
    subject: &SubjectWrite,
    feeding: &Feeding,
    count: usize,
) -> Option<Planned> {
    let Feeding::On { urgent, override_stall, window, idle, .. } = *feeding else {
        return None;
    };
    let weight = i64::try_from(count).unwrap_or(i64::MAX);
    let wait = if urgent || override_stall || weight >= window { 0 } else { idle };
    let gathering = Gathering { enough: window, speaks: urgent, insists: override_stall };
    Some(jobs::gather(app, job(app, subject, urgent, wait), weight, gathering))
}

/// Has what waits of a person's stream read now: their session was declared finished.
pub async fn flush(tx: &mut Tx, app: &App, subject: &SubjectWrite) -> Result<()> {
    if app.settings.learning.extractor == "off" {
        return Ok(());
    }
    let gathering = Gathering { enough: i64::MAX, speaks: true, insists: false };
    let planned = jobs::gather(app, job(app, subject, true, 0), 0, gathering);
    let mut changes = Changes::default();
    Planned::add_all(&[planned], &mut changes)?;
    tx.apply(changes).await.map(drop)
}

/// True while a window of the person, or of anybody, is to be read now.
pub async fn is_due(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: Option<&UserId>,
    now: i64,
) -> Result<bool> {
    jobs::is_due(tx, org_id, user_id, EXTRACT, now).await
}

fn job<'a>(app: &App, subject: &'a SubjectWrite, flush: bool, wait: i64) -> NewJob<'a> {
    NewJob {
        kind: EXTRACT,
        org_id: subject.org_id(),
        subject: Some(subject),
        parent_id: None,
        payload: json!(StreamJob { flush, ..StreamJob::default() }),
        dedupe_key: Some(subject.subject().to_string()),
        on_duplicate: OnDuplicate::Move,
        run_at: app.clock.now() + wait,
        max_attempts: ATTEMPTS,
    }
}
