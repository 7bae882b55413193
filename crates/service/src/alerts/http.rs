//! `/api/alerts`: rules that watch a metric, made and changed by operators.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use stats::alerts::AlertState;
use stats::reason::NullReason;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Episode, NewRule, Rule, RuleChange};
use crate::app::App;
use crate::credentials::{Inspector, Operator};
use crate::evaluation::overview::SessionMetric;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, PathId, Result};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_alert_rules, create_alert_rule))
        .routes(routes!(update_alert_rule, delete_alert_rule))
}

const NAME_LENGTH: usize = 255;

/// A rule, and how it stands.
#[derive(Serialize, ToSchema)]
#[schema(as = AlertRule)]
struct ShownRule {
    rule_id: String,
    name: String,
    metric: SessionMetric,
    /// null: of all sources.
    source: Option<String>,
    /// null: of all versions of the agent.
    agent_version: Option<String>,
    /// Smaller changes raise no alert: points of a rate, or per cent of the mean of corrections and turns.
    smallest_change: f64,
    enabled: bool,
    created_at: i64,
    state: AlertState,
    /// Reason that it is `collecting`, if there is one.
    reason: Option<NullReason>,
    /// The hour until which sessions were looked at; null before the first look.
    looked_until: Option<i64>,
    /// How much likelier what was seen is under a change for the worse than without one. An alert is raised at 2,000.
    evidence: f64,
    /// The newest first.
    episodes: Vec<Episode>,
}

impl From<(Rule, Vec<Episode>)> for ShownRule {
    fn from((rule, episodes): (Rule, Vec<Episode>)) -> Self {
        ShownRule {
            rule_id: rule.rule_id,
            name: rule.name,
            metric: rule.metric,
            source: rule.source,
            agent_version: rule.agent_version,
            smallest_change: rule.smallest_change,
            enabled: rule.enabled,
            created_at: rule.created_at,
            state: rule.state,
            reason: rule.reason,
            looked_until: (rule.looked_until > 0).then_some(rule.looked_until),
            evidence: rule.evidence,
            episodes,
        }
    }
}

#[derive(Serialize, ToSchema)]
struct AlertRules {
    /// The oldest first.
    rules: Vec<ShownRule>,
}

/// The organization's rules, how they stand, and their newest episodes.
#[utoipa::path(get, path = "/api/alerts", tag = "alerts", responses((status = 200, body = AlertRules)))]
async fn list_alert_rules(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
) -> Result<Json<AlertRules>> {
    let rules = super::list(&app, &caller.org_id).await?;
    Ok(Json(AlertRules { rules: rules.into_iter().map(ShownRule::from).collect() }))
}

fn smallest_change(f: &mut Fields<'_>) -> Option<f64> {
    f.about(
        "Smaller changes raise no alert: points of a rate (3 when absent), or per cent of the mean of corrections and \
         turns (10 when absent).",
    )
    .number_within("smallest_change", 0.1..=100.0)
}

crate::request_body!(NewRule, "CreateAlertRuleRequest");

impl Read for NewRule {
    fn read(f: &mut Fields<'_>) -> Self {
        NewRule {
            name: f.required("name", |f| f.id_up_to("name", NAME_LENGTH)),
            metric: f.required_word("metric"),
            source: f.about("All sources when absent.").optional_id("source"),
            agent_version: f
                .about("All versions of the agent when absent.")
                .optional_id("agent_version"),
            smallest_change: smallest_change(f),
        }
    }
}

/// Make a rule: is this metric worse than in the four weeks before? It is looked at at once, and then every hour.
/// Webhooks that ask for `alert.raised` and `alert.cleared` are told.
#[utoipa::path(post, path = "/api/alerts", tag = "alerts", request_body = NewRule,
    responses((status = 200, body = ShownRule)))]
async fn create_alert_rule(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<NewRule>,
) -> Result<Json<ShownRule>> {
    Ok(Json(super::create(&app, &caller.org_id, value).await?.into()))
}

crate::request_body!(RuleChange, "UpdateAlertRuleRequest");

impl Read for RuleChange {
    fn read(f: &mut Fields<'_>) -> Self {
        RuleChange {
            name: f.id_up_to("name", NAME_LENGTH),
            smallest_change: smallest_change(f),
            enabled: f.about("While false nothing is looked at.").optional_flag("enabled"),
        }
    }
}

/// Change a rule; what is absent stays. A new `smallest_change` or `enabled` makes it begin anew.
#[utoipa::path(patch, path = "/api/alerts/{rule_id}", tag = "alerts", params(("rule_id" = String, Path)),
    request_body = RuleChange, responses((status = 200, body = ShownRule)))]
async fn update_alert_rule(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(rule_id): PathId,
    Input { value, .. }: Input<RuleChange>,
) -> Result<Json<ShownRule>> {
    Ok(Json(super::change(&app, &caller.org_id, rule_id, value).await?.into()))
}

#[derive(Serialize, ToSchema)]
struct DeletedAlertRule {
    success: bool,
}

/// Delete a rule with its history.
#[utoipa::path(delete, path = "/api/alerts/{rule_id}", tag = "alerts", params(("rule_id" = String, Path)),
    responses((status = 200, body = DeletedAlertRule)))]
async fn delete_alert_rule(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(rule_id): PathId,
) -> Result<Json<DeletedAlertRule>> {
    super::remove(&app, &caller.org_id, rule_id).await?;
    Ok(Json(DeletedAlertRule { success: true }))
}
