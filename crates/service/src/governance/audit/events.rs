//! The events of an organization's audit, with the names of those who did what they tell.

use std::collections::BTreeMap;

use base::owner::OrgId;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::credentials::{self, Actor, ActorKind};
use crate::governance::retention::DeleteOldSessions;
use storage::error::Result;
use storage::jobs::Recurring;
use storage::subjects::audit;

/// An event as people read it.
#[derive(Serialize, ToSchema)]
pub struct ShownEvent {
    pub sequence: i64,
    /// `EXPORT`, `ERASE`, `KEY_CREATE`, …
    pub operation: String,
    /// `ok` or `error`.
    pub status: String,
    pub actor: Actor,
    /// Stands for the one who did it; the same for all they do.
    pub actor_ref: String,
    /// Stands for the person it was about, if it was about one.
    pub subject_ref: Option<String>,
    pub request_ref: Option<String>,
    pub counts: BTreeMap<String, u64>,
    pub created_at: i64,
}

/// Events before the event `before`, the newest first.
pub async fn newest(
    app: &App,
    org_id: &OrgId,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<ShownEvent>> {
    let mut actors = credentials::actors(app, org_id).await?;
    let retention = <DeleteOldSessions as Recurring<App>>::KIND;
    for reference in app.subject_keys.all_actor_refs(org_id, retention) {
        actors.insert(reference, Actor::of(ActorKind::Server));
    }
    let input = (org_id.clone(), before.unwrap_or(i64::MAX));
    let events = app
        .db
        .read("governance.audit_events", input, move |tx, (org_id, before)| {
            Box::pin(audit::newest(tx, org_id, *before, limit))
        })
        .await?;
    let shown = events.into_iter().map(|event| {
        let known = actors.get(&event.actor_ref).cloned();
        ShownEvent {
            actor: known.unwrap_or_else(|| Actor::of(ActorKind::Unknown)),
            sequence: event.sequence,
            operation: event.operation,
            status: event.status,
            actor_ref: event.actor_ref,
            subject_ref: event.subject_ref,
            request_ref: event.request_ref,
            counts: event.counts.0,
            created_at: event.created_at,
        }
    });
    Ok(shown.collect())
}
