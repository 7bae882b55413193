//! From a reference to the learning behind it, for evaluation: what was put before an agent, as it is now.

use std::collections::BTreeSet;

use super::sql;
use base::owner::{OrgId, UserId};
use judge::LearningKind;
use storage::db::Tx;
use storage::error::Result;

/// A learning as a judge is shown it.
#[derive(Clone, Debug, PartialEq, sqlx_macros::FromRow)]
pub struct Resolved {
    pub kind: LearningKind,
    pub learning_id: String,
    pub content: String,
    /// Situation in which a playbook applies; empty for profiles.
    pub trigger: String,
}

/// The learnings behind `(kind, id)` references, as far as the user may see them: their own profiles and playbooks,
/// and the organization's playbooks. What expired or was rejected is left out.
pub async fn resolve(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    references: &BTreeSet<(LearningKind, &str)>,
    now: i64,
) -> Result<Vec<Resolved>> {
    let of = |kind: LearningKind| -> Vec<&str> {
        references.iter().filter(|(k, _)| *k == kind).map(|(_, id)| *id).collect()
    };
    let numbers = |kind: LearningKind| -> Vec<i64> {
        of(kind).into_iter().filter_map(|id| id.parse().ok()).collect()
    };
    let profiles = of(LearningKind::Profile);
    let mut found = sql::resolve::profiles(tx, org_id, user_id, &profiles, now).await?;
    let playbooks = numbers(LearningKind::UserPlaybook);
    found.extend(sql::resolve::user_playbooks(tx, org_id, user_id, &playbooks).await?);
    let playbooks = numbers(LearningKind::AgentPlaybook);
    found.extend(sql::resolve::agent_playbooks(tx, org_id, &playbooks).await?);
    Ok(found)
}
