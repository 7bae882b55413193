//! The desk's experiments: one that shows what learning is worth, one that went wrong, and one that is on its way.

use std::sync::Arc;

use anyhow::Result;
use serde_json::json;

use super::desk::Desk;
use super::story::{Dice, Visit};
use super::talk::Given;
use service::app::App;
use service::credentials::DEFAULT_ORG;
use service::experiments::{self, NewExposure};

pub struct DeskExperiment {
    name: &'static str,
    holdout_percentage: f64,
    from_day: i64,
    /// The first day without it; the last one goes on when the demo begins.
    until_day: Option<i64>,
    hypothesis: &'static str,
    owner: &'static str,
    notes: &'static str,
    /// An old app shows nothing when a search finds nothing, and its conversations are never published: customers
    /// who have it are missing from the holdout.
    old_app_fails: bool,
}

const EXPERIMENTS: &[DeskExperiment] = &[
    DeskExperiment {
        name: "retrieval-rollout",
        holdout_percentage: 50.0,
        from_day: 8,
        until_day: Some(48),
        hypothesis: "Answers that use what earlier conversations taught end well more often.",
        owner: "Mara, support quality",
        notes: "Half of the customers, so that it is decided before the autumn sale. Nothing else was changed meanwhile.",
        old_app_fails: false,
    },
    DeskExperiment {
        name: "retrieval-in-the-app",
        holdout_percentage: 20.0,
        from_day: 51,
        until_day: Some(64),
        hypothesis: "In the app, too, learned context helps.",
        owner: "Jonas, app team",
        notes: "Stopped: old versions of the app never publish a conversation without learnings. Repeat with the new app.",
        old_app_fails: true,
    },
    DeskExperiment {
        name: "new-playbooks",
        holdout_percentage: 3.0,
        from_day: 87,
        until_day: None,
        hypothesis: "The playbooks of this month still help, though most problems are known by now.",
        owner: "Mara, support quality",
        notes: "",
        old_app_fails: false,
    },
];

/// Share of customers with the old app.
const OLD_APP: f64 = 0.55;

impl DeskExperiment {
    fn runs_on(&self, day: i64) -> bool {
        self.from_day <= day && self.until_day.is_none_or(|until| day < until)
    }
}

/// Looks at what ran yesterday; ends and starts what ends and starts on this day.
pub async fn turn_to(desk: &Desk, day: i64) -> Result<()> {
    for one in EXPERIMENTS.iter().filter(|one| one.runs_on(day - 1)) {
        desk.get(&format!("/api/retrieval_experiments/{}/results", one.name)).await?;
    }
    for one in EXPERIMENTS.iter().filter(|one| one.until_day == Some(day)) {
        let stop = json!({"experiment_id": one.name});
        desk.post("/api/retrieval_experiments/stop", &stop).await?;
    }
    for one in EXPERIMENTS.iter().filter(|one| one.from_day == day) {
        let start = json!({"experiment_id": one.name, "holdout_percentage": one.holdout_percentage,
            "planned_users": 2000, "hypothesis": one.hypothesis, "owner": one.owner, "notes": one.notes});
        desk.post("/api/retrieval_experiments", &start).await?;
    }
    Ok(())
}

/// The learnings that the customer's arm leaves of what the agent found; `None` if the conversation is lost.
pub async fn expose(
    app: &Arc<App>,
    seed: u64,
    day: i64,
    visit: &Visit,
    found: Given,
) -> Result<Option<Given>> {
    let Some(experiment) = EXPERIMENTS.iter().find(|one| one.runs_on(day)) else {
        return Ok(Some(found));
    };
    let new = NewExposure {
        org_id: DEFAULT_ORG.into(),
        user_id: visit.user.clone(),
        session_id: Some(visit.session_id()),
        made_at: found.made_at(),
        agent_playbooks: found.lesson.iter().map(|lesson| lesson.id).collect(),
    };
    let exposed = experiments::expose_at(app, new, visit.starts_at).await?;
    if !exposed.is_some_and(|exposed| exposed.withheld) {
        return Ok(Some(found));
    }
    let customer = Dice::new(seed ^ 0x01D_A99, visit.customer);
    if experiment.old_app_fails && customer.chance(OLD_APP) {
        return Ok(None);
    }
    Ok(Some(Given::default()))
}
