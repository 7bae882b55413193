//! The kinds of learnings.

base::vocabulary! {
    /// A kind of learning.
    pub enum LearningKind {
        /// Something an agent knows about a person.
        Profile = "profile",
        /// How to handle something, learned from one person's sessions.
        UserPlaybook = "user_playbook",
        /// How to handle something, for everybody.
        AgentPlaybook = "agent_playbook",
    }
}
