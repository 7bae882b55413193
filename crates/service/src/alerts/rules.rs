//! Making, changing and removing rules.

use std::sync::Arc;

use super::{Episode, Rule, look, sql, usual_smallest_change};
use crate::app::App;
use crate::evaluation::overview::SessionMetric;
use base::owner::OrgId;
use stats::alerts::AlertState;
use storage::error::{Code, Error, Result};

/// Rules of one organization.
const MOST: usize = 50;
/// Episodes that are shown with a rule, the newest.
const SHOWN_EPISODES: i64 = 20;

/// A rule to be made.
pub struct NewRule {
    pub name: String,
    pub metric: SessionMetric,
    pub source: Option<String>,
    pub agent_version: Option<String>,
    pub smallest_change: Option<f64>,
}

/// A change of a rule; absent is as it was.
pub struct RuleChange {
    pub name: Option<String>,
    pub smallest_change: Option<f64>,
    pub enabled: Option<bool>,
}

/// All rules of an organization, the oldest first, with their newest episodes.
pub async fn list(app: &App, org_id: &OrgId) -> Result<Vec<(Rule, Vec<Episode>)>> {
    app.db
        .read("alerts.list", org_id.clone(), |tx, org_id| {
            Box::pin(async move {
                let mut listed = Vec::new();
                for rule in sql::list(tx, org_id).await? {
                    let episodes = sql::episodes(tx, org_id, &rule.rule_id, SHOWN_EPISODES).await?;
                    listed.push((rule, episodes));
                }
                Ok(listed)
            })
        })
        .await
}

/// Makes a rule and looks at it at once, so that people see whether there is enough to go by.
pub async fn create(app: &Arc<App>, org_id: &OrgId, new: NewRule) -> Result<(Rule, Vec<Episode>)> {
    let now = app.clock.now();
    let mut rule = Rule {
        rule_id: app.ids.uuid(),
        name: new.name,
        metric: new.metric,
        source: new.source,
        agent_version: new.agent_version,
        smallest_change: new.smallest_change.unwrap_or(usual_smallest_change(new.metric)),
        enabled: true,
        created_at: now,
        state: AlertState::Collecting,
        reason: None,
        looked_until: 0,
        evidence: 0.0,
        armed_from: None,
        worse_since: None,
        noticed_at: None,
    };
    rule.arm(now);
    app.db
        .write("alerts.create", (org_id.clone(), rule.clone()), |tx, (org_id, rule)| {
            Box::pin(async move {
                if sql::list(tx, org_id).await?.len() >= MOST {
                    return Err(Error::refused(
                        Code::TooManyAlertRules,
                        format!("An organization has at most {MOST} rules; delete one first."),
                    ));
                }
                sql::insert(tx, org_id, rule).await
            })
        })
        .await?;
    look::look(app, org_id).await?;
    find(app, org_id, &rule.rule_id).await
}

async fn find(app: &App, org_id: &OrgId, rule_id: &str) -> Result<(Rule, Vec<Episode>)> {
    let all = list(app, org_id).await?;
    let found = all.into_iter().find(|(rule, _)| rule.rule_id == rule_id);
    found.ok_or_else(|| Error::not_found("rule"))
}

/// Changes a rule. A new size of the change, and turning it on or off, make it forget what it saw.
pub async fn change(
    app: &Arc<App>,
    org_id: &OrgId,
    rule_id: String,
    change: RuleChange,
) -> Result<(Rule, Vec<Episode>)> {
    let input = (org_id.clone(), rule_id.clone(), change, app.clock.now());
    app.db
        .write("alerts.change", input, |tx, (org_id, rule_id, change, now)| {
            Box::pin(async move {
                let mut rule = sql::hold(tx, org_id, rule_id)
                    .await?
                    .ok_or_else(|| Error::not_found("rule"))?;
                if let Some(name) = &change.name {
                    rule.name.clone_from(name);
                }
                let smallest = change.smallest_change.unwrap_or(rule.smallest_change);
                let enabled = change.enabled.unwrap_or(rule.enabled);
                if (smallest, enabled) != (rule.smallest_change, rule.enabled) {
                    (rule.smallest_change, rule.enabled) = (smallest, enabled);
                    rule.arm(*now);
                    sql::end_episode(tx, org_id, rule_id, "withdrawn", *now).await?;
                }
                sql::update(tx, org_id, &rule).await
            })
        })
        .await?;
    find(app, org_id, &rule_id).await
}

/// Deletes a rule with its history.
pub async fn remove(app: &App, org_id: &OrgId, rule_id: String) -> Result<()> {
    app.db
        .write("alerts.remove", (org_id.clone(), rule_id), |tx, (org_id, rule_id)| {
            Box::pin(async move {
                match sql::delete(tx, org_id, rule_id).await? {
                    true => Ok(()),
                    false => Err(Error::not_found("rule")),
                }
            })
        })
        .await
}
