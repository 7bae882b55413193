//! The words that judges decide in.

base::vocabulary! {
    /// Cause of a session's failure.
    #[derive(Default)]
    pub enum FailureType {
        SystemError = "system_error",
        MissingTool = "missing_tool",
        WrongTool = "wrong_tool",
        InsufficientInfoFromTool = "insufficient_info_from_tool",
        WrongAnswer = "wrong_answer",
        /// It did not fail, or nobody said why.
        #[default]
        None = "",
    }
}

impl FailureType {
    /// Failure types that name a cause.
    pub const NAMED: [FailureType; 5] = [
        FailureType::SystemError,
        FailureType::MissingTool,
        FailureType::WrongTool,
        FailureType::InsufficientInfoFromTool,
        FailureType::WrongAnswer,
    ];
}

base::vocabulary! {
    /// The effect of a learning on the response that it was retrieved for.
    pub enum LearningImpact {
        Positive = "positive",
        Negative = "negative",
        Neutral = "neutral",
    }
}

base::vocabulary! {
    /// Cause of a learning's failure to help.
    pub enum DiagnosisCategory {
        /// Its text is wrong.
        ContentDefect = "content_defect",
        /// The agent did not do what it says.
        ApplicationFailure = "application_failure",
        /// A tool or another system failed.
        ExternalFailure = "external_failure",
        NoIssue = "no_issue",
        Unknown = "unknown",
    }
}

base::vocabulary! {
    /// The better of two responses, in the order in which the judge saw them.
    pub enum BetterRequest {
        First = "1",
        Second = "2",
        Tie = "tie",
    }
}

impl BetterRequest {
    /// The same answer for the two responses in the other order.
    pub fn swapped(self) -> Self {
        match self {
            BetterRequest::First => BetterRequest::Second,
            BetterRequest::Second => BetterRequest::First,
            BetterRequest::Tie => BetterRequest::Tie,
        }
    }
}

base::vocabulary! {
    /// A remark about the transcript that comes with a verdict.
    pub enum VerdictFlag {
        /// The material speaks to a judge, or tells a model to forget its rules.
        OrdersToGrader = "orders_to_grader",
        /// The material imitates system messages, chat templates or the fence.
        FakeRoleTags = "fake_role_tags",
        /// The material contains something shaped like a verdict.
        VerdictShaped = "verdict_shaped",
        /// The material has characters that show nothing or reverse the direction of reading.
        HiddenCharacters = "hidden_characters",
        /// The material was too long and was shown without its middle.
        TranscriptCut = "transcript_cut",
    }
}

base::vocabulary! {
    /// A kind of learning.
    pub enum LearningKind {
        /// Something an agent knows about a person.
        Profile = "profile",
        /// Instruction for a recurring situation, learned from one person's sessions.
        UserPlaybook = "user_playbook",
        /// Instruction for a recurring situation, for everybody.
        AgentPlaybook = "agent_playbook",
    }
}
