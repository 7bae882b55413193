//! Pending agent playbooks that say the same as an earlier one.

use std::collections::{BTreeMap, HashMap};

use crate::learnings::likeness::{Likeness, Relation};
use crate::learnings::{AgentPlaybook, PlaybookStatus};

/// A playbook that stays, and the pending ones that say the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    pub kept: i64,
    pub duplicates: Vec<i64>,
}

/// The repeated ones among the playbooks of an agent version, oldest first. An approved one is kept before a pending
/// one, and none that was decided on is a duplicate.
pub fn find(playbooks: &[AgentPlaybook]) -> Vec<Repeated> {
    let is_pending = |p: &&AgentPlaybook| p.playbook_status == PlaybookStatus::Pending;
    let decided = playbooks.iter().filter(|p| !is_pending(p));
    let mut kept: Vec<(i64, Likeness)> = Vec::new();
    let mut by_term: HashMap<String, Vec<usize>> = HashMap::new();
    let mut repeated: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for playbook in decided.chain(playbooks.iter().filter(is_pending)) {
        let likeness = Likeness::of(&format!("{} {}", playbook.trigger, playbook.content));
        let same = is_pending(&playbook)
            .then(|| {
                let sharing =
                    likeness.terms().iter().filter_map(|term| by_term.get(term)).flatten();
                let mut sharing: Vec<usize> = sharing.copied().collect();
                sharing.sort_unstable();
                sharing.dedup();
                sharing.into_iter().find(|at| likeness.relation(&kept[*at].1) == Relation::Same)
            })
            .flatten();
        if let Some(at) = same {
            repeated.entry(kept[at].0).or_default().push(playbook.agent_playbook_id);
            continue;
        }
        for term in likeness.terms() {
            by_term.entry(term.clone()).or_default().push(kept.len());
        }
        kept.push((playbook.agent_playbook_id, likeness));
    }
    repeated.into_iter().map(|(kept, duplicates)| Repeated { kept, duplicates }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learnings::LearningStatus;
    use serde_json::json;

    fn playbook(id: i64, status: PlaybookStatus, content: &str) -> AgentPlaybook {
        AgentPlaybook {
            agent_playbook_id: id,
            playbook_name: String::new(),
            agent_version: String::new(),
            created_at: 0,
            content: content.to_owned(),
            trigger: String::new(),
            rationale: String::new(),
            playbook_status: status,
            playbook_metadata: sqlx::types::Json(json!("")),
            status: LearningStatus::Current,
            tags: sqlx::types::Json(Vec::new()),
            source_windows: None,
            source_user_count: None,
            below_min_users: None,
            withheld_share: None,
            flags: None,
        }
    }

    #[test]
    fn pending_ones_that_say_the_same_are_one_and_decided_ones_stay() {
        use PlaybookStatus::{Approved, Pending};
        let all = [
            playbook(1, Pending, "Always quote prices with tax"),
            playbook(2, Pending, "Please always quote the prices with tax!"),
            playbook(3, Pending, "Never quote prices with tax"),
            playbook(4, Pending, "Refund within 14 days"),
            playbook(5, Pending, "Refund within 30 days"),
            playbook(6, Approved, "Quote prices with tax, always"),
            playbook(7, Approved, "Always quote prices with tax."),
            playbook(8, Pending, "refund within 14 days."),
        ];
        let expected = [
            Repeated { kept: 4, duplicates: vec![8] },
            Repeated { kept: 6, duplicates: vec![1, 2] },
        ];
        assert_eq!(find(&all), expected);
    }
}
