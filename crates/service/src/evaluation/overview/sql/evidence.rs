//! Sums by user from the rows, for the association of rules with success.

use serde::Deserialize;

use crate::evaluation::overview::windows::Span;
use crate::sessions::CitationKind;
use base::owner::OrgId;
use storage::db::{Tx, listed};
use storage::error::Result;
use storage::row;
use storage::subjects::Subject;

/// Judged sessions of a user, of one source and version of the agent.
#[derive(Debug, Deserialize)]
pub struct JudgedUser {
    pub subject: Subject,
    pub source: String,
    pub agent_version: String,
    pub n: i64,
    pub successes: i64,
}

/// Those of them that cite a rule.
#[derive(Debug, Deserialize)]
pub struct CitingSessions {
    pub kind: CitationKind,
    pub rule_id: String,
    pub subject: Subject,
    /// As `group_of` gives it.
    pub user_group: i64,
    pub source: String,
    pub agent_version: String,
    pub n: i64,
    pub successes: i64,
}

/// The judged sessions of a window, by the verdict of the session or by that on one version of the agent.
pub async fn by_user(
    tx: &mut Tx,
    org_id: &OrgId,
    window: Span,
    agent_version: Option<&str>,
) -> Result<(Vec<JudgedUser>, Vec<CitingSessions>)> {
    let judged = row!(
        tx,
        (String,),
        "SELECT CAST({json_rows:{digits:subject}, source, agent_version, n, successes} AS TEXT) FROM (
             SELECT v.subject, v.source, v.agent_version, COUNT(*) AS n,
                    COUNT(CASE WHEN v.is_success THEN 1 END) AS successes
             FROM evaluation_results v
             WHERE v.org_id = $1 AND v.created_at >= $2 AND v.created_at < $3
               AND v.evaluation_name = 'agent_success'
               AND ((v.is_newest AND $4 IS NULL) OR v.agent_version = $4)
             GROUP BY 1, 2, 3) judged",
        org_id,
        window.low,
        window.high,
        agent_version
    )?;
    let citing = row!(
        tx,
        (String,),
        "SELECT CAST({json_rows:kind, rule_id, {digits:subject}, user_group, source, agent_version, n, successes}
                     AS TEXT) FROM (
             SELECT r.kind || '' AS kind, r.rule_id || '' AS rule_id, r.subject, v.source, v.agent_version,
                    MAX(v.user_group) AS user_group, COUNT(*) AS n,
                    COUNT(CASE WHEN v.is_success THEN 1 END) AS successes
             FROM cited_rules r
             JOIN evaluation_results v
               ON v.org_id = r.org_id AND v.subject = r.subject AND v.session_id = r.session_id
              AND v.evaluation_name = 'agent_success'
              AND ((v.is_newest AND $4 IS NULL) OR v.agent_version = $4)
             WHERE r.org_id = $1 AND r.created_at >= $2 AND r.created_at < $3
             GROUP BY 1, 2, 3, 4, 5) citing",
        org_id,
        window.low,
        window.high,
        agent_version
    )?;
    Ok((listed(&judged.unwrap_or_default().0)?, listed(&citing.unwrap_or_default().0)?))
}
