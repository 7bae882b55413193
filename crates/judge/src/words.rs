//! The words that judges decide in.

base::vocabulary! {
    /// How a session went, as far as a judge can tell.
    pub enum Outcome {
        Success = "success",
        Failure = "failure",
        /// The judge does not know, and says so.
        Undecided = "undecided",
    }
}

impl Outcome {
    /// Nothing while it is undecided: neither a success nor a failure may be counted then.
    pub fn is_success(self) -> Option<bool> {
        match self {
            Outcome::Success => Some(true),
            Outcome::Failure => Some(false),
            Outcome::Undecided => None,
        }
    }
}

impl From<bool> for Outcome {
    fn from(is_success: bool) -> Self {
        if is_success { Outcome::Success } else { Outcome::Failure }
    }
}

base::vocabulary! {
    /// Why a judge did not decide.
    pub enum UndecidedReason {
        /// Nothing in the session shows how it ended.
        NoEvidence = "no_evidence",
        /// It stops in the middle: a question of the agent, or a consent that nothing follows.
        Unfinished = "unfinished",
        /// Somebody else took over, and what came of it is not in the session.
        HandedOver = "handed_over",
        /// The rules do not know the words of its language.
        LanguageNotCovered = "language_not_covered",
        /// The learned judge's probability is too close to even.
        Unsure = "unsure",
        /// It might be a success, but something in it speaks to a judge, or is evidence to the contrary.
        Contested = "contested",
    }
}

impl UndecidedReason {
    /// For people.
    pub fn in_words(self) -> &'static str {
        match self {
            UndecidedReason::NoEvidence => "nothing in the session shows how it ended",
            UndecidedReason::Unfinished => "the session stops in the middle",
            UndecidedReason::HandedOver => "it was handed over, and what came of it is not in it",
            UndecidedReason::LanguageNotCovered => "the rules do not know its language",
            UndecidedReason::Unsure => "too close to even",
            UndecidedReason::Contested => {
                "it may be a success, but something in it speaks against that"
            }
        }
    }
}

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
        /// The material was too long and was shown without what says least.
        TranscriptCut = "transcript_cut",
        /// The provider did not say how many tokens it took: tokens and cost are our own count.
        UsageEstimated = "usage_estimated",
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
