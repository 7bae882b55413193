//! SQL of the tables `alert_rules` and `alert_episodes`.

use super::{Episode, Rule};
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;
use storage::{row, rows, run};

macro_rules! columns {
    () => {
        "rule_id, name, metric, source, agent_version, smallest_change, enabled, created_at, state, reason, \
         looked_until, evidence, armed_from, worse_since, noticed_at"
    };
}

macro_rules! episode_columns {
    () => {
        "raised_at, worse_since, cleared_at, cleared_as, mean_before, mean_since, difference, ci_lower, ci_upper, \
         sessions"
    };
}

pub async fn insert(tx: &mut Tx, org_id: &OrgId, rule: &Rule) -> Result<()> {
    run!(
        tx,
        concat!(
            "INSERT INTO alert_rules (org_id, ",
            columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
        ),
        org_id,
        &rule.rule_id,
        &rule.name,
        rule.metric,
        rule.source.as_deref(),
        rule.agent_version.as_deref(),
        rule.smallest_change,
        rule.enabled,
        rule.created_at,
        rule.state,
        rule.reason,
        rule.looked_until,
        rule.evidence,
        rule.armed_from,
        rule.worse_since,
        rule.noticed_at
    )?;
    Ok(())
}

/// The oldest first.
pub async fn list(tx: &mut Tx, org_id: &OrgId) -> Result<Vec<Rule>> {
    rows!(
        tx,
        Rule,
        concat!(
            "SELECT ",
            columns!(),
            " FROM alert_rules WHERE org_id = $1 ORDER BY created_at, rule_id"
        ),
        org_id
    )
}

/// One rule, held until the transaction ends.
pub async fn hold(tx: &mut Tx, org_id: &OrgId, rule_id: &str) -> Result<Option<Rule>> {
    row!(
        tx,
        Rule,
        concat!(
            "SELECT ",
            columns!(),
            " FROM alert_rules WHERE org_id = $1 AND rule_id = $2 {lock:UPDATE}"
        ),
        org_id,
        rule_id
    )
}

/// Stores what may change of a rule.
pub async fn update(tx: &mut Tx, org_id: &OrgId, rule: &Rule) -> Result<()> {
    run!(
        tx,
        "UPDATE alert_rules SET name = $3, smallest_change = $4, enabled = $5, state = $6, reason = $7,
            looked_until = $8, evidence = $9, armed_from = $10, worse_since = $11, noticed_at = $12
         WHERE org_id = $1 AND rule_id = $2",
        org_id,
        &rule.rule_id,
        &rule.name,
        rule.smallest_change,
        rule.enabled,
        rule.state,
        rule.reason,
        rule.looked_until,
        rule.evidence,
        rule.armed_from,
        rule.worse_since,
        rule.noticed_at
    )?;
    Ok(())
}

/// Deletes a rule with its history; false if there was none.
pub async fn delete(tx: &mut Tx, org_id: &OrgId, rule_id: &str) -> Result<bool> {
    run!(tx, "DELETE FROM alert_episodes WHERE org_id = $1 AND rule_id = $2", org_id, rule_id)?;
    let deleted =
        run!(tx, "DELETE FROM alert_rules WHERE org_id = $1 AND rule_id = $2", org_id, rule_id)?;
    Ok(deleted > 0)
}

/// Organizations with a rule that is turned on.
pub async fn organizations(tx: &mut Tx) -> Result<Vec<(OrgId,)>> {
    rows!(tx, (OrgId,), "SELECT DISTINCT org_id FROM alert_rules WHERE enabled ORDER BY org_id")
}

pub async fn insert_episode(
    tx: &mut Tx,
    org_id: &OrgId,
    rule_id: &str,
    episode: &Episode,
) -> Result<()> {
    run!(
        tx,
        concat!(
            "INSERT INTO alert_episodes (org_id, rule_id, ",
            episode_columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
        ),
        org_id,
        rule_id,
        episode.raised_at,
        episode.worse_since,
        episode.cleared_at,
        episode.cleared_as.as_deref(),
        episode.mean_before,
        episode.mean_since,
        episode.difference,
        episode.ci_lower,
        episode.ci_upper,
        episode.sessions
    )?;
    Ok(())
}

/// The episode of a rule that goes on.
pub async fn open_episode(tx: &mut Tx, org_id: &OrgId, rule_id: &str) -> Result<Option<Episode>> {
    row!(
        tx,
        Episode,
        concat!(
            "SELECT ",
            episode_columns!(),
            " FROM alert_episodes WHERE org_id = $1 AND rule_id = $2 AND cleared_at IS NULL
              ORDER BY raised_at DESC LIMIT 1"
        ),
        org_id,
        rule_id
    )
}

/// Ends the episode of a rule that goes on.
pub async fn end_episode(
    tx: &mut Tx,
    org_id: &OrgId,
    rule_id: &str,
    cleared_as: &str,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "UPDATE alert_episodes SET cleared_at = $4, cleared_as = $3
         WHERE org_id = $1 AND rule_id = $2 AND cleared_at IS NULL",
        org_id,
        rule_id,
        cleared_as,
        now
    )?;
    Ok(())
}

/// The newest first.
pub async fn episodes(
    tx: &mut Tx,
    org_id: &OrgId,
    rule_id: &str,
    limit: i64,
) -> Result<Vec<Episode>> {
    rows!(
        tx,
        Episode,
        concat!(
            "SELECT ",
            episode_columns!(),
            " FROM alert_episodes WHERE org_id = $1 AND rule_id = $2 ORDER BY raised_at DESC LIMIT $3 + 0"
        ),
        org_id,
        rule_id,
        limit
    )
}
