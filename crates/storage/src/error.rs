//! Everything that can go wrong, in the words a caller acts on.
//!
//! Rules return [`Error`]; `http/problem.rs` turns it into an RFC 9457 body. `Code` is the one table of
//! codes and statuses.

use serde::Serialize;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Declares the problem codes, each with its status.
macro_rules! codes {
    ($($variant:ident $code:literal $status:literal;)*) => {
        base::vocabulary! {
            /// The stable, machine-readable code of a problem.
            pub enum Code { $($variant = $code,)* }
        }

        impl Code {
            pub fn status(self) -> u16 {
                match self { $(Code::$variant => $status,)* }
            }
        }
    };
}

codes! {
    MalformedJson "malformed_json" 400;
    BadRequest "bad_request" 400;
    Unauthenticated "unauthenticated" 401;
    CredentialNotGovernance "credential_not_governance" 403;
    Forbidden "forbidden" 403;
    ApprovalNeedsAPerson "approval_needs_a_person" 403;
    CsrfMissing "csrf_missing" 403;
    NotFound "not_found" 404;
    MethodNotAllowed "method_not_allowed" 405;
    RequestTimeout "request_timeout" 408;
    RequestIdReused "request_id_reused" 409;
    SourceRunIdReused "source_run_id_reused" 409;
    SessionAmbiguous "session_ambiguous" 409;
    ConfigVersionStale "config_version_stale" 409;
    RegenerationRunning "regeneration_running" 409;
    DiffNotComplete "diff_not_complete" 409;
    ExperimentActive "experiment_active" 409;
    ExperimentIdUsed "experiment_id_used" 409;
    ExperimentNotActive "experiment_not_active" 409;
    SubjectErasing "subject_erasing" 409;
    SubjectErased "subject_erased" 409;
    PredatesErasure "predates_erasure" 409;
    PurgeNotComplete "purge_not_complete" 409;
    LearningExists "learning_exists" 409;
    ConfirmationNeeded "confirmation_needed" 409;
    ProposalDecided "proposal_decided" 409;
    ProposalStale "proposal_stale" 409;
    QuestionNotOpen "question_not_open" 409;
    TooManyQuestions "too_many_questions" 409;
    JobNotDead "job_not_dead" 409;
    TooManyWebhooks "too_many_webhooks" 409;
    TooManyAlertRules "too_many_alert_rules" 409;
    BodyTooLarge "body_too_large" 413;
    UnsupportedMediaType "unsupported_media_type" 415;
    InvalidInput "invalid_input" 422;
    ExperimentUnknown "experiment_unknown" 422;
    ExperimentArmMismatch "experiment_arm_mismatch" 422;
    UserIdRequiredByExperiment "user_id_required_by_experiment" 422;
    RateLimited "rate_limited" 429;
    Internal "internal" 500;
    JudgeFailed "judge_failed" 502;
    JudgeUnavailable "judge_unavailable" 503;
    Unavailable "unavailable" 503;
    StorageNotConfigured "storage_not_configured" 503;
}

/// One thing wrong with the input, with the JSON pointer to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct InputProblem {
    /// JSON pointer into the body, or the name of the query parameter after a slash.
    #[schema(example = "/interaction_data_list/0/role")]
    pub pointer: String,
    #[schema(example = "too_long")]
    pub code: String,
    pub detail: String,
}

/// The problems of one input: the first hundred, and how many more there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputProblems {
    listed: Vec<InputProblem>,
    unlisted: usize,
}

impl InputProblems {
    /// Problems that one answer lists. A body of megabytes can have a problem in every byte.
    pub const LISTED: usize = 100;

    pub fn push(&mut self, problem: InputProblem) {
        if self.listed.len() < Self::LISTED {
            self.listed.push(problem);
        } else {
            self.unlisted += 1;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &InputProblem> {
        self.listed.iter()
    }

    /// The listed ones and the number of the others.
    pub fn into_parts(self) -> (Vec<InputProblem>, usize) {
        (self.listed, self.unlisted)
    }
}

impl From<Vec<InputProblem>> for InputProblems {
    fn from(problems: Vec<InputProblem>) -> Self {
        let mut collected = InputProblems::default();
        problems.into_iter().for_each(|problem| collected.push(problem));
        collected
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A rule said no; the caller is told why.
    #[error("{detail}")]
    Refused { code: Code, detail: String, problems: InputProblems, retry_after: Option<u64> },
    /// The storage engine failed; the caller gets an id, the log gets the cause.
    #[error("storage: {0}")]
    Storage(#[from] sqlx::Error),
    /// The worker was too slow, or its job was cancelled: what it did must not be kept.
    #[error("the job is no longer this worker's")]
    LeaseLost,
    /// A job of this kind carries something that its handler cannot read: no attempt can succeed.
    #[error("the payload of this {0} job cannot be read")]
    UnreadablePayload(String),
    /// A fault of ours.
    #[error("internal: {0}")]
    Internal(String),
}

impl Error {
    pub fn refused(code: Code, detail: impl Into<String>) -> Self {
        let problems = InputProblems::default();
        Error::Refused { code, detail: detail.into(), problems, retry_after: None }
    }

    pub fn not_found(what: &str) -> Self {
        Error::refused(Code::NotFound, format!("No such {what} in this organization."))
    }

    pub fn invalid(problems: impl Into<InputProblems>) -> Self {
        let problems = problems.into();
        let detail = match problems.listed.as_slice() {
            [one] => format!("{}: {}", one.pointer, one.detail),
            many => format!("{} problems; see errors.", many.len() + problems.unlisted),
        };
        Error::Refused { code: Code::InvalidInput, detail, problems, retry_after: None }
    }

    /// One field's problem, for rules that only the data can decide.
    pub fn invalid_field(code: Code, pointer: &str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let problem = InputProblem {
            pointer: pointer.to_owned(),
            code: code.as_str().to_owned(),
            detail: detail.clone(),
        };
        Error::Refused { code, detail, problems: vec![problem].into(), retry_after: None }
    }

    pub fn unavailable(detail: impl Into<String>, retry_after: u64) -> Self {
        Error::Refused {
            code: Code::Unavailable,
            detail: detail.into(),
            problems: InputProblems::default(),
            retry_after: Some(retry_after),
        }
    }

    /// True if the engine, not a rule, kept something from being stored or read.
    pub fn is_storage_failure(&self) -> bool {
        matches!(
            self,
            Error::Storage(_) | Error::Internal(_) | Error::Refused { code: Code::Unavailable, .. }
        )
    }

    /// True if the storage did not answer, or was not written to, and the same may succeed a little later.
    pub fn is_outage(&self) -> bool {
        matches!(self, Error::Refused { code: Code::Unavailable, .. })
    }

    pub fn code(&self) -> Code {
        match self {
            Error::Refused { code, .. } => *code,
            Error::Storage(_)
            | Error::LeaseLost
            | Error::UnreadablePayload(_)
            | Error::Internal(_) => Code::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::vocabulary::Vocabulary;

    #[test]
    fn codes_are_unique_and_carry_an_error_status() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            assert!(seen.insert(code.as_str()), "{} twice", code.as_str());
            assert!((400..600).contains(&code.status()), "{}", code.as_str());
        }
    }
}
