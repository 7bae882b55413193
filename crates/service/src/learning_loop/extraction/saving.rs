//! The end of a window: learnings, proposals, cursor and job in one transaction.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sqlx::types::Json;

use super::StreamJob;
use super::merging::{Placed, Placement, Target};
use super::window::Window;
use crate::app::App;
use crate::judging::Origin;
use crate::learning_loop::sql::streams;
use crate::learnings::rows::{profiles as profile_rows, user_playbooks as playbook_rows};
use crate::learnings::{
    LearningStatus, NEVER, Profile, TimeToLive, UserPlaybook, embedding_job, profiles,
    user_playbooks,
};
use crate::sessions::{self, LearningMode};
use judge::LearningKind;
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::jobs::{self, Claim, GoOn, Outcome};
use storage::subjects::{SubjectWrite, barrier};

/// Result of reading a window.
pub struct Extracted {
    pub window: Window,
    pub placed: Vec<Placed>,
    pub origin: Origin,
    /// Reason for passing the window over, if it is left behind.
    pub passed_over: Option<String>,
}

impl Extracted {
    pub fn outcome(&self) -> WindowOutcome {
        match self.passed_over {
            Some(_) => WindowOutcome::PassedOver,
            None => WindowOutcome::Extracted,
        }
    }
}

base::vocabulary! {
    /// The result of reading a window.
    pub enum WindowOutcome {
        Extracted = "extracted",
        /// Nothing could be had of it.
        PassedOver = "passed_over",
    }
}

base::vocabulary! {
    /// The fate of a proposal: added, merged into a learning that says the same, put in the place of an older
    /// one, or refused.
    pub enum ProposalOutcome {
        Added = "added",
        Merged = "merged",
        Superseded = "superseded",
        Refused = "refused",
    }
}

/// Stored result of a proposal.
#[derive(Debug)]
pub struct Saved {
    pub outcome: ProposalOutcome,
    pub reason: String,
    pub learning_id: Option<String>,
    pub replaced_id: Option<String>,
}

/// There is nothing to read: the job ends, unless a publish came meanwhile.
pub async fn nothing_new(app: &Arc<App>, job: &Claim) -> Result<Outcome> {
    let input = (job.clone(), app.clock.now());
    app.db
        .write("learnings.end_stream_job", input, |tx, (job, now)| {
            Box::pin(jobs::finish(tx, job, *now))
        })
        .await?;
    Ok(Outcome::Closed)
}

pub async fn save(app: &Arc<App>, job: &Claim, extracted: Extracted) -> Result<Outcome> {
    let outcome = extracted.outcome().as_str();
    app.faults.reach("extract.before_save")?;
    let input = (app.clone(), job.clone(), extracted);
    let saved = app
        .db
        .write("learnings.save_window", input, |tx, (app, job, extracted)| {
            Box::pin(write(tx, app, job, extracted))
        })
        .await?;
    app.faults.reach("extract.after_save")?;
    metrics::counter!("evenhand_learning_windows_total", "outcome" => outcome).increment(1);
    for one in &saved {
        metrics::counter!("evenhand_learning_proposals_total", "outcome" => one.outcome.as_str())
            .increment(1);
    }
    app.db.announce_work().await;
    Ok(Outcome::Closed)
}

async fn write(tx: &mut Tx, app: &App, job: &Claim, extracted: &Extracted) -> Result<Vec<Saved>> {
    let now = app.clock.now();
    let window = &extracted.window;
    let user_id = job.user_id.as_ref().unwrap_or_default();
    let subject = barrier::open_again(tx, &job.org_id, user_id, job.epoch, now).await?;
    let held = jobs::lock_held(tx, job).await?;
    let after = window.after();
    if !streams::advance(tx, &subject, &window.stream, &after).await? {
        return Err(Error::LeaseLost);
    }
    streams::insert_window(tx, &subject, after.windows, extracted, now).await?;
    let mut saved: Vec<Saved> = Vec::with_capacity(extracted.placed.len());
    let still = still_there(tx, &subject, &extracted.placed).await?;
    for (place, placed) in extracted.placed.iter().enumerate() {
        let one = put(tx, app, &subject, placed, &extracted.origin, &still, &saved).await?;
        streams::insert_proposal(tx, &subject, after.windows, place, placed, &one, now).await?;
        saved.push(one);
    }
    let is_new =
        |one: &Saved| matches!(one.outcome, ProposalOutcome::Added | ProposalOutcome::Superseded);
    if saved.iter().any(is_new) {
        embedding_job::enqueue(tx, app, &job.org_id, Some(&subject)).await?;
    }
    aggregate(tx, app, job, extracted, &saved).await?;
    app.faults.reach("extract.amid_save")?;
    let (left, last) = sessions::count_arrivals(tx, &job.org_id, user_id, after.seen).await?;
    if left == 0 {
        jobs::finish_anyway(tx, job, now).await?;
        return Ok(saved);
    }
    let weight = left + window.overlap();
    let StreamJob { flush, .. } = StreamJob::of(&held.payload)?;
    let learning = &window.config.learning;
    let due = flush || weight >= learning.window;
    let run_at = if due { now } else { last.unwrap_or(now) + learning.idle_seconds };
    let payload = json!(StreamJob { flush, ..StreamJob::default() });
    let next = GoOn { run_at, weight, payload, error: None };
    jobs::go_on(tx, job, &next).await?;
    Ok(saved)
}

/// Has new playbooks looked at with those of other people, unless every request of the window said not to.
async fn aggregate(
    tx: &mut Tx,
    app: &App,
    job: &Claim,
    extracted: &Extracted,
    saved: &[Saved],
) -> Result<()> {
    let window = &extracted.window;
    let skipped =
        window.arrivals.iter().all(|arrival| arrival.learning == LearningMode::WithoutAggregation);
    if skipped || !window.config.learning.aggregation {
        return Ok(());
    }
    let playbooks = extracted.placed.iter().zip(saved).filter(|(placed, saved)| {
        placed.examined.proposal.kind == LearningKind::UserPlaybook
            && saved.outcome != ProposalOutcome::Refused
    });
    let versions: BTreeSet<&str> = playbooks.map(|(p, _)| p.agent_version.as_str()).collect();
    for version in versions {
        user_playbooks::announce_change(tx, app, &job.org_id, version).await?;
    }
    Ok(())
}

/// Cited turns that were not deleted meanwhile.
async fn still_there(
    tx: &mut Tx,
    subject: &SubjectWrite,
    placed: &[Placed],
) -> Result<BTreeSet<i64>> {
    let cited = placed.iter().flat_map(|p| p.examined.proposal.evidence.iter().copied());
    let cited: BTreeSet<i64> = cited.collect();
    if cited.is_empty() {
        return Ok(cited);
    }
    let ids: Vec<i64> = cited.into_iter().collect();
    let (org_id, user_id) = (subject.org_id(), subject.user_id());
    let turns = sessions::interactions_by_ids(tx, org_id, user_id, &ids).await?;
    Ok(turns.into_iter().map(|turn| turn.interaction_id).collect())
}

/// Writes one proposal where it belongs.
async fn put(
    tx: &mut Tx,
    app: &App,
    subject: &SubjectWrite,
    placed: &Placed,
    origin: &Origin,
    still: &BTreeSet<i64>,
    earlier: &[Saved],
) -> Result<Saved> {
    let proposal = &placed.examined.proposal;
    let refuse = |why: &str| Saved {
        outcome: ProposalOutcome::Refused,
        reason: why.to_owned(),
        learning_id: None,
        replaced_id: None,
    };
    if let Placement::Refuse(why) = &placed.placement {
        return Ok(refuse(why));
    }
    if !proposal.evidence.iter().all(|id| still.contains(id)) {
        return Ok(refuse("a turn it cites was deleted meanwhile"));
    }
    let target = match &placed.placement {
        Placement::Merge(target) | Placement::Supersede(target) => {
            open_target(tx, subject, proposal.kind, target, earlier).await?
        }
        _ => None,
    };
    let learning = Learning { app, subject, placed, origin };
    match (&placed.placement, target) {
        (Placement::Merge(_), Some(target)) => {
            learning.merge_into(tx, &target).await?;
            Ok(Saved {
                outcome: ProposalOutcome::Merged,
                reason: "says the same".to_owned(),
                learning_id: Some(target),
                replaced_id: None,
            })
        }
        (Placement::Supersede(_), Some(target)) => {
            learning.supersede(tx, &target).await?;
            Ok(Saved {
                outcome: ProposalOutcome::Superseded,
                reason: "says something newer about the same".to_owned(),
                learning_id: Some(learning.add(tx).await?),
                replaced_id: Some(target),
            })
        }
        _ => {
            let reason = if placed.examined.is_suspect { "kept pending: suspect" } else { "" };
            let learning_id = Some(learning.add(tx).await?);
            let reason = reason.to_owned();
            let outcome = ProposalOutcome::Added;
            Ok(Saved { outcome, reason, learning_id, replaced_id: None })
        }
    }
}

/// The id of a target that is still what it was when it was chosen, held until the transaction ends.
async fn open_target(
    tx: &mut Tx,
    subject: &SubjectWrite,
    kind: LearningKind,
    target: &Target,
    earlier: &[Saved],
) -> Result<Option<String>> {
    let (id, text) = match target {
        Target::Stored { id, content } => (Some(id.clone()), Some(content)),
        Target::Earlier(place) => (earlier.get(*place).and_then(|s| s.learning_id.clone()), None),
    };
    let Some(id) = id else { return Ok(None) };
    let (org_id, user_id) = (subject.org_id(), subject.user_id());
    let found = if kind == LearningKind::Profile {
        let held = profile_rows::hold(tx, org_id, user_id, &id).await?;
        held.map(|profile| (profile.status, profile.content))
    } else {
        let number = id.parse().unwrap_or(0);
        let held = playbook_rows::hold(tx, org_id, number).await?;
        held.filter(|p| p.user_id == user_id).map(|playbook| (playbook.status, playbook.content))
    };
    let is_open = found.is_some_and(|(status, content)| {
        matches!(status, LearningStatus::Current | LearningStatus::Pending)
            && text.is_none_or(|text| *text == content)
    });
    Ok(is_open.then_some(id))
}

/// A proposal on its way to becoming a learning.
struct Learning<'a> {
    app: &'a App,
    subject: &'a SubjectWrite,
    placed: &'a Placed,
    origin: &'a Origin,
}

impl Learning<'_> {
    /// The learning's `source`: extracted by rules or by a model.
    fn source(&self) -> String {
        let by = if judge::offline::is_rules(&self.origin.judge) { "rules" } else { "model" };
        format!("extraction/{by}")
    }

    /// Writes a new learning and gives its id.
    async fn add(&self, tx: &mut Tx) -> Result<String> {
        let now = self.app.clock.now();
        let proposal = &self.placed.examined.proposal;
        let status = match self.placed.examined.is_suspect {
            true => LearningStatus::Pending,
            false => LearningStatus::Current,
        };
        if proposal.kind == LearningKind::Profile {
            let mut features = Map::new();
            features.insert("extractor".to_owned(), Value::from(self.origin.judge.as_str()));
            let profile = Profile {
                profile_no: 0,
                profile_id: self.app.ids.uuid(),
                user_id: self.subject.user_id().to_owned(),
                content: proposal.content.clone(),
                last_modified_timestamp: now,
                generated_from_request_id: self.placed.request_id.clone(),
                profile_time_to_live: TimeToLive::Infinity,
                expiration_timestamp: NEVER,
                custom_features: Some(Json(features)),
                source: self.source(),
                status,
                tags: Json(Vec::new()),
                source_interaction_ids: Json(proposal.evidence.clone()),
            };
            let id = profile.profile_id.clone();
            profiles::put(tx, self.subject, profile).await?;
            return Ok(id);
        }
        let playbook = UserPlaybook {
            user_playbook_id: 0,
            user_id: self.subject.user_id().to_owned(),
            agent_version: self.placed.agent_version.clone(),
            request_id: self.placed.request_id.clone(),
            playbook_name: String::new(),
            created_at: now,
            content: proposal.content.clone(),
            trigger: proposal.trigger.clone(),
            rationale: proposal.rationale.clone(),
            status,
            source: self.source(),
            source_interaction_ids: Json(proposal.evidence.clone()),
            tags: Json(Vec::new()),
        };
        let id = user_playbooks::put(tx, self.subject, playbook).await?;
        Ok(id.to_string())
    }

    /// Adds the proposal's turns to those of a learning that says the same.
    async fn merge_into(&self, tx: &mut Tx, id: &str) -> Result<()> {
        let evidence = &self.placed.examined.proposal.evidence;
        let now = self.app.clock.now();
        if self.placed.examined.proposal.kind == LearningKind::Profile {
            profile_rows::add_sources(tx, self.subject, id, evidence, now).await
        } else {
            let number = id.parse().unwrap_or(0);
            playbook_rows::add_sources(tx, self.subject, number, evidence).await
        }
    }

    async fn supersede(&self, tx: &mut Tx, id: &str) -> Result<()> {
        if self.placed.examined.proposal.kind == LearningKind::Profile {
            profile_rows::set_status(tx, self.subject, id, LearningStatus::Superseded).await
        } else {
            let number = id.parse().unwrap_or(0);
            playbook_rows::set_status(tx, self.subject, number, LearningStatus::Superseded).await
        }
    }
}
