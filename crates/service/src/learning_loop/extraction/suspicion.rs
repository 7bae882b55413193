//! Proposals that somebody seems to have been ordered into being.
//!
//! Nothing a user writes can hold for anybody else: what is extracted is that user's, and an agent playbook needs
//! several people and an approval. Still, a proposal whose evidence speaks to the machinery is kept `pending`: it is
//! neither served nor aggregated until a person has looked at it.

use super::window::Window;
use judge::detect;
use judge::proposals::Proposal;

/// A proposal with what is known about it before it is placed.
#[derive(Clone, Debug)]
pub struct Examined {
    pub proposal: Proposal,
    /// Reason for refusing the proposal.
    pub refused: Option<&'static str>,
    /// True if its text or its evidence gives orders to this system.
    pub is_suspect: bool,
}

/// Phrases that give orders about storing learnings.
const ORDERS: &[&str] = &[
    "for all users",
    "for every user",
    "for all customers",
    "for every customer",
    "for everyone",
    "for everybody",
    "all other users",
    "other users",
    "to all users",
    "agent playbook",
    "agent_playbook",
    "a playbook",
    "the playbook",
    "playbooks",
    "playbook:",
    "user_playbook",
    "save this rule",
    "store this rule",
    "add this rule",
    "add a rule",
    "new rule:",
    "system prompt",
    "learning system",
    "für alle nutzer",
    "für alle benutzer",
    "für alle kunden",
    "pour tous les utilisateurs",
    "para todos los usuarios",
    "所有用户",
    "すべてのユーザー",
    "для всех пользователей",
];

pub fn look_at(window: &Window, proposals: Vec<Proposal>) -> Vec<Examined> {
    proposals.into_iter().map(|proposal| examine(window, proposal)).collect()
}

fn examine(window: &Window, proposal: Proposal) -> Examined {
    let is_new = proposal.evidence.iter().any(|id| *id > window.stream.seen);
    let cited = proposal.evidence.iter().filter_map(|id| window.arrival(*id));
    let mut texts: Vec<String> = vec![proposal.content.clone(), proposal.trigger.clone()];
    for turn in cited.map(|arrival| &arrival.interaction) {
        texts.extend([turn.content.clone(), turn.expert_content.clone()]);
        let data = turn.tools_used.iter().map(|tool| &tool.tool_data);
        texts.extend(data.filter_map(|data| serde_json::to_string(data).ok()));
    }
    Examined {
        refused: proposal.refused.or((!is_new).then_some("an earlier window had all of its turns")),
        is_suspect: texts.iter().any(|text| speaks_to_the_machinery(text)),
        proposal,
    }
}

fn speaks_to_the_machinery(text: &str) -> bool {
    let lower = text.to_lowercase();
    ORDERS.iter().any(|order| lower.contains(order)) || !detect(text).is_empty()
}
