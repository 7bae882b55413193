//! Decisions about agent playbooks. The one place that records it: for whoever asks where a playbook came
//! from, and in the audit chain.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::{PlaybookStatus, sql};
use crate::app::App;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::audit::{self, NewEvent, Operation};

base::vocabulary! {
    /// A decision about an agent playbook.
    pub enum DecisionKind {
        Proposed = "proposed",
        Approved = "approved",
        Rejected = "rejected",
        /// Put back to be decided again.
        Pending = "pending",
        Edited = "edited",
        Archived = "archived",
    }
}

impl From<PlaybookStatus> for DecisionKind {
    fn from(status: PlaybookStatus) -> Self {
        match status {
            PlaybookStatus::Pending => DecisionKind::Pending,
            PlaybookStatus::Approved => DecisionKind::Approved,
            PlaybookStatus::Rejected => DecisionKind::Rejected,
        }
    }
}

base::vocabulary! {
    /// By whom it was decided: a person at the dashboard, an agent, aggregation, or a person who accepted a
    /// tuning proposal.
    pub enum DeciderKind {
        Dashboard = "dashboard",
        Agent = "agent",
        Aggregation = "aggregation",
        Tuning = "tuning",
    }
}

/// A decision about an agent playbook.
#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct PlaybookDecision {
    pub decision: DecisionKind,
    pub actor: DeciderKind,
    pub decided_at: i64,
}

/// The person or program that decides.
#[derive(Clone, Debug)]
pub enum Decider {
    /// Nobody yet: playbooks of several people were put together.
    Aggregation,
    /// Nobody yet: a program with this credential added it.
    Agent { credential_id: String },
    /// A person with this credential.
    Person { credential_id: String },
    /// A person with this credential, by accepting a tuning proposal.
    Tuning { credential_id: String },
}

impl Decider {
    fn kind(&self) -> DeciderKind {
        match self {
            Decider::Aggregation => DeciderKind::Aggregation,
            Decider::Agent { .. } => DeciderKind::Agent,
            Decider::Person { .. } => DeciderKind::Dashboard,
            Decider::Tuning { .. } => DeciderKind::Tuning,
        }
    }

    fn credential_id(&self) -> Option<&str> {
        match self {
            Decider::Aggregation => None,
            Decider::Agent { credential_id }
            | Decider::Person { credential_id }
            | Decider::Tuning { credential_id } => Some(credential_id),
        }
    }
}

/// Records a decision in the transaction that carries it out.
pub async fn record(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    agent_playbook_id: i64,
    decision: DecisionKind,
    decider: &Decider,
) -> Result<()> {
    note(tx, app, org_id, agent_playbook_id, decision, decider).await?;
    let counts = BTreeMap::from([
        ("agent_playbook_id".to_owned(), agent_playbook_id.unsigned_abs()),
        (decision.to_string(), 1),
    ]);
    tell_audit(tx, app, org_id, counts, decider).await
}

/// Records that playbooks were added, `(number, approval)`: a pending one is a proposal. Those of one request are one
/// event of the audit chain.
pub async fn record_added(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    added: &[(i64, PlaybookStatus)],
    decider: &Decider,
) -> Result<()> {
    let mut counts = BTreeMap::new();
    for (id, approval) in added {
        let decision = match *approval {
            PlaybookStatus::Pending => DecisionKind::Proposed,
            decided => decided.into(),
        };
        note(tx, app, org_id, *id, decision, decider).await?;
        *counts.entry(decision.to_string()).or_default() += 1;
    }
    if let [(only, _)] = added {
        counts.insert("agent_playbook_id".to_owned(), only.unsigned_abs());
    }
    tell_audit(tx, app, org_id, counts, decider).await
}

async fn note(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    agent_playbook_id: i64,
    decision: DecisionKind,
    decider: &Decider,
) -> Result<()> {
    let (id, actor, now) = (app.ids.uuid(), decider.kind(), app.clock.now());
    sql::decisions::insert_decision(tx, org_id, agent_playbook_id, &id, decision, actor, now).await
}

async fn tell_audit(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    counts: BTreeMap<String, u64>,
    decider: &Decider,
) -> Result<()> {
    let Some(credential_id) = decider.credential_id() else { return Ok(()) };
    let event = NewEvent {
        org_id,
        operation: Operation::Playbook,
        ok: true,
        actor_ref: &app.subject_keys.actor_ref(org_id, credential_id),
        subject_ref: None,
        request_ref: None,
        counts,
        now: app.clock.now(),
    };
    audit::append(tx, &app.subject_keys, event).await.map(drop)
}
