//! Verdicts, checked. What a judge answered becomes one of these or an error; lengths and references are checked
//! here, because schemas that every provider takes cannot.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use super::JudgeError;
use super::transcript::{Candidate, Turn};
use super::words::{
    BetterRequest, DiagnosisCategory, FailureType, LearningImpact, Outcome, UndecidedReason,
};
use base::vocabulary::Vocabulary;

/// Reasons longer than this are cut: they are shown to people and stored on rows.
const REASON: usize = 4000;
const CITATIONS: usize = 20;

/// How a session went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionVerdict {
    pub outcome: Outcome,
    /// Only while it is undecided.
    pub undecided_reason: Option<UndecidedReason>,
    /// The learned judge's calibrated probability of success, of undecided sessions too.
    pub probability: Option<f64>,
    pub failure_type: FailureType,
    /// Empty unless it failed.
    pub failure_reason: String,
    pub number_of_corrections: u32,
    pub is_escalated: bool,
}

impl SessionVerdict {
    /// Nothing while it is undecided.
    pub fn is_success(&self) -> Option<bool> {
        self.outcome.is_success()
    }

    /// For organizations to which a hand-over is a failure: such a session failed, unless it did so already.
    pub fn fail_if_escalated(&mut self) {
        if !self.is_escalated || self.outcome == Outcome::Failure {
            return;
        }
        self.outcome = Outcome::Failure;
        self.undecided_reason = None;
        self.failure_type = FailureType::MissingTool;
        self.failure_reason =
            "The session was handed over to a person, which counts as a failure here.".to_owned();
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RelevanceVerdict {
    pub is_relevant: bool,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImpactVerdict {
    pub impact: LearningImpact,
    pub reason: String,
    /// Only where the candidate asked for one.
    pub diagnosis: Option<Diagnosis>,
}

/// Diagnosis of a learning that did not help, as far as the session shows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[schema(as = PlaybookDiagnosis)]
pub struct Diagnosis {
    pub category: DiagnosisCategory,
    #[schema(min_length = 1, max_length = 4000)]
    pub reason: String,
    /// Turns of the session, each once.
    #[schema(max_items = 20)]
    pub evidence_interaction_ids: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShadowVerdict {
    pub better_request: BetterRequest,
    pub is_significantly_better: bool,
    pub comparison_reason: String,
}

/// A model answers with `is_success`, for that is what its rubric asks; judges in this process with `outcome`.
#[derive(Deserialize)]
struct RawSession {
    is_success: Option<bool>,
    outcome: Option<Outcome>,
    undecided_reason: Option<UndecidedReason>,
    probability: Option<f64>,
    failure_type: FailureType,
    failure_reason: String,
    number_of_corrections: i64,
    is_escalated: bool,
}

#[derive(Deserialize)]
struct RawList {
    verdicts: Vec<Value>,
}

#[derive(Deserialize)]
struct RawRelevance {
    candidate: usize,
    reason: String,
    is_relevant: bool,
}

#[derive(Deserialize)]
struct RawImpact {
    candidate: usize,
    reason: String,
    impact: LearningImpact,
    diagnosis_category: String,
    diagnosis_reason: String,
    diagnosis_turns: Vec<i64>,
}

#[derive(Deserialize)]
struct RawShadow {
    better_request: BetterRequest,
    is_significantly_better: bool,
    comparison_reason: String,
}

pub fn session(json: &Value, turns: &[Turn]) -> Result<SessionVerdict, JudgeError> {
    let raw: RawSession = read(&lenient(json))?;
    let user_turns = turns.iter().filter(|turn| turn.is_user()).count();
    // The first user turn can correct nothing.
    let possible = u32::try_from(user_turns.saturating_sub(1)).unwrap_or(u32::MAX);
    let corrections =
        u32::try_from(raw.number_of_corrections).map_err(|_| JudgeError::Invalid)?.min(possible);
    let outcome = match (raw.is_success, raw.outcome) {
        (Some(is_success), None) => is_success.into(),
        (None, Some(outcome)) => outcome,
        _ => return Err(JudgeError::Invalid),
    };
    let failed = outcome == Outcome::Failure;
    // A verdict that contradicts itself is none.
    if failed != (raw.failure_type != FailureType::None)
        || (outcome == Outcome::Undecided) != raw.undecided_reason.is_some()
    {
        return Err(JudgeError::Contradiction);
    }
    Ok(SessionVerdict {
        outcome,
        undecided_reason: raw.undecided_reason,
        probability: raw.probability.filter(|p| (0.0..=1.0).contains(p)),
        failure_type: raw.failure_type,
        failure_reason: if failed { reason(&raw.failure_reason) } else { String::new() },
        number_of_corrections: corrections,
        is_escalated: raw.is_escalated,
    })
}

/// The same answer with harmless liberties taken back: case, blanks and usual names of a failure type, "none" where
/// there is none, flags and counts as texts.
fn lenient(json: &Value) -> Value {
    let mut json = json.clone();
    let Some(object) = json.as_object_mut() else { return json };
    if let Some(kind) = object.get_mut("failure_type") {
        *kind = Value::String(failure_type(kind.as_str().unwrap_or_default()));
    }
    if object.get("failure_reason").is_none_or(Value::is_null) {
        object.insert("failure_reason".to_owned(), Value::String(String::new()));
    }
    for name in ["is_success", "is_escalated"] {
        let text = object.get(name).and_then(Value::as_str).map(|text| text.trim().to_lowercase());
        match text.as_deref() {
            Some("true" | "yes") => object.insert(name.to_owned(), true.into()),
            Some("false" | "no") => object.insert(name.to_owned(), false.into()),
            _ => None,
        };
    }
    if let Some(count) = object.get_mut("number_of_corrections") {
        let whole = |number: f64| (number.fract() == 0.0 && number.abs() < 1e6).then_some(number);
        let number = count.as_f64().or_else(|| count.as_str()?.trim().parse().ok());
        #[allow(clippy::cast_possible_truncation)] // whole and small
        if let Some(number) = number.and_then(whole) {
            *count = Value::from(number as i64);
        }
    }
    json
}

fn failure_type(text: &str) -> String {
    let word = text.trim().trim_matches(['"', '\'', '.', '`']).to_lowercase();
    let word = word.replace([' ', '-', '/'], "_");
    let known = match word.as_str() {
        "none" | "null" | "nil" | "n_a" | "na" | "no_failure" | "not_applicable" | "success"
        | "_" => "",
        "tool_error" | "technical_error" | "system_failure" | "error" => "system_error",
        "no_tool" | "tool_missing" | "lacks_tool" | "missing_tools" => "missing_tool",
        "incorrect_tool" | "wrong_tools" => "wrong_tool",
        "insufficient_info"
        | "insufficient_information"
        | "insufficient_information_from_tool"
        | "insufficient_tool_info"
        | "missing_information" => "insufficient_info_from_tool",
        "incorrect_answer" | "wrong_response" | "incorrect_response" | "incorrect" => {
            "wrong_answer"
        }
        other => other,
    };
    known.to_owned()
}

/// One place per candidate; empty where the judge gave no usable verdict, or more than one.
pub fn relevance(
    json: &Value,
    candidates: &[Candidate],
) -> Result<Vec<Option<RelevanceVerdict>>, JudgeError> {
    by_candidate(json, candidates.len(), |raw: RawRelevance| {
        let verdict =
            RelevanceVerdict { is_relevant: raw.is_relevant, reason: reason(&raw.reason) };
        Some((raw.candidate, verdict))
    })
}

/// As [`relevance`]; citations are checked against the session's turns.
pub fn impact(
    json: &Value,
    candidates: &[Candidate],
    turns: &[Turn],
) -> Result<Vec<Option<ImpactVerdict>>, JudgeError> {
    let ids: BTreeSet<i64> = turns.iter().map(|turn| turn.id).collect();
    by_candidate(json, candidates.len(), |raw: RawImpact| {
        let wanted = raw.candidate.checked_sub(1).and_then(|at| candidates.get(at))?.diagnose;
        let diagnosis = if wanted { diagnosis(&raw, &ids) } else { None };
        let (impact, reason) = (raw.impact, reason(&raw.reason));
        Some((raw.candidate, ImpactVerdict { impact, reason, diagnosis }))
    })
}

fn diagnosis(raw: &RawImpact, ids: &BTreeSet<i64>) -> Option<Diagnosis> {
    // The answer to a question without a diagnosis has another word here.
    let mut category = DiagnosisCategory::parse(&raw.diagnosis_category)?;
    let text = reason(&raw.diagnosis_reason);
    if text.is_empty() {
        return None;
    }
    let mut cited = Vec::new();
    for id in raw.diagnosis_turns.iter().filter(|id| ids.contains(id)) {
        if !cited.contains(id) && cited.len() < CITATIONS {
            cited.push(*id);
        }
    }
    if cited.is_empty() && !raw.diagnosis_turns.is_empty() {
        category = DiagnosisCategory::Unknown;
    }
    Some(Diagnosis { category, reason: text, evidence_interaction_ids: cited })
}

pub fn shadow(json: &Value) -> Result<ShadowVerdict, JudgeError> {
    let raw: RawShadow = read(json)?;
    let better_request = raw.better_request;
    Ok(ShadowVerdict {
        better_request,
        is_significantly_better: raw.is_significantly_better
            && better_request != BetterRequest::Tie,
        comparison_reason: reason(&raw.comparison_reason),
    })
}

fn by_candidate<R: DeserializeOwned, V>(
    json: &Value,
    count: usize,
    check: impl Fn(R) -> Option<(usize, V)>,
) -> Result<Vec<Option<V>>, JudgeError> {
    let list: RawList = read(json)?;
    let mut places: Vec<Option<V>> = (0..count).map(|_| None).collect();
    let mut named = vec![0; count];
    for value in list.verdicts {
        let place =
            value["candidate"].as_u64().and_then(|n| usize::try_from(n).ok()?.checked_sub(1));
        let Some(place) = place.filter(|place| *place < count) else { continue };
        named[place] += 1;
        if let Ok(raw) = serde_json::from_value(value)
            && let Some((_, verdict)) = check(raw)
        {
            places[place] = Some(verdict);
        }
    }
    for (place, times) in named.into_iter().enumerate() {
        if times > 1 {
            places[place] = None;
        }
    }
    if count > 0 && places.iter().all(Option::is_none) {
        return Err(JudgeError::Invalid);
    }
    Ok(places)
}

pub(super) fn read<T: DeserializeOwned>(json: &Value) -> Result<T, JudgeError> {
    T::deserialize(json).map_err(|_| JudgeError::Invalid)
}

/// Trimmed, without NUL (PostgreSQL cannot store it) and within its length.
pub(super) fn reason(text: &str) -> String {
    text.trim().chars().filter(|c| *c != '\0').take(REASON).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::LearningKind;

    fn turns() -> Vec<Turn> {
        let turn = |id, role: &str| Turn { id, role: role.to_owned(), ..Turn::default() };
        vec![turn(11, "User"), turn(12, "Assistant"), turn(13, "User")]
    }

    fn candidates(count: usize) -> Vec<Candidate> {
        let candidate = Candidate {
            turn: 12,
            kind: LearningKind::UserPlaybook,
            content: String::new(),
            trigger: String::new(),
            diagnose: true,
        };
        vec![candidate; count]
    }

    #[test]
    fn a_session_verdict_must_not_contradict_itself() {
        let answer = |success: bool, kind: &str, corrections: i64| {
            json!({"reasoning": "…", "is_success": success, "failure_type": kind, "failure_reason": " why\0 ",
                   "number_of_corrections": corrections, "is_escalated": false})
        };
        let verdict = session(&answer(false, "wrong_answer", 9), &turns()).unwrap();
        assert_eq!((verdict.failure_reason.as_str(), verdict.number_of_corrections), ("why", 1));
        let verdict = session(&answer(true, "", 0), &turns()).unwrap();
        assert_eq!(verdict.failure_type, FailureType::None);
        assert_eq!(verdict.failure_reason, "");
        for (success, kind, corrections, error) in [
            (true, "wrong_answer", 0, JudgeError::Contradiction),
            (false, "", 0, JudgeError::Contradiction),
            (false, "N/A", 0, JudgeError::Contradiction),
            (false, "bad_mood", 0, JudgeError::Invalid),
            (true, "", -1, JudgeError::Invalid),
        ] {
            let answer = answer(success, kind, corrections);
            assert_eq!(session(&answer, &turns()), Err(error), "{answer}");
        }
        assert_eq!(session(&json!("is_success: true"), &turns()), Err(JudgeError::Invalid));
    }

    #[test]
    fn an_undecided_verdict_says_why_and_is_neither() {
        let answer = |outcome: &str, kind: &str, why: Value| {
            json!({"outcome": outcome, "undecided_reason": why, "probability": 0.5, "failure_type": kind,
                   "failure_reason": "", "number_of_corrections": 0, "is_escalated": false})
        };
        let verdict = session(&answer("undecided", "", json!("unsure")), &turns()).unwrap();
        assert_eq!((verdict.is_success(), verdict.probability), (None, Some(0.5)));
        assert_eq!(verdict.undecided_reason, Some(UndecidedReason::Unsure));
        for wrong in [
            answer("undecided", "", Value::Null),
            answer("undecided", "wrong_answer", json!("unsure")),
            answer("success", "", json!("unsure")),
            answer("failure", "", Value::Null),
        ] {
            assert_eq!(session(&wrong, &turns()), Err(JudgeError::Contradiction), "{wrong}");
        }
    }

    #[test]
    fn harmless_liberties_are_taken_back() {
        let answer = |success: Value, kind: Value, corrections: Value| {
            json!({"reasoning": "…", "is_success": success, "failure_type": kind, "failure_reason": null,
                   "number_of_corrections": corrections, "is_escalated": "No"})
        };
        for (success, kind, corrections, expected) in [
            (json!(true), json!("none"), json!(0), FailureType::None),
            (json!("True"), json!("N/A"), json!("1"), FailureType::None),
            (json!(true), Value::Null, json!(1.0), FailureType::None),
            (json!(false), json!(" Wrong Answer. "), json!(0), FailureType::WrongAnswer),
            (json!("false"), json!("SYSTEM-ERROR"), json!(0), FailureType::SystemError),
            (
                json!(false),
                json!("insufficient information"),
                json!(0),
                FailureType::InsufficientInfoFromTool,
            ),
        ] {
            let answer = answer(success, kind, corrections);
            assert_eq!(session(&answer, &turns()).unwrap().failure_type, expected, "{answer}");
        }
        let half = answer(json!(true), json!("none"), json!(0.5));
        assert_eq!(session(&half, &turns()), Err(JudgeError::Invalid));
    }

    #[test]
    fn rows_come_from_our_list_not_from_what_the_model_names() {
        let entry = |candidate: i64, relevant: bool| json!({"candidate": candidate, "reason": "r", "is_relevant": relevant});
        let answer = json!({"verdicts": [
            entry(2, true), entry(99, true), entry(0, true), entry(-1, true), entry(3, true), entry(3, false),
            {"candidate": 1, "reason": "r"},
        ]});
        let rows = relevance(&answer, &candidates(4)).unwrap();
        let relevant: Vec<_> = rows.iter().map(|row| row.as_ref().map(|v| v.is_relevant)).collect();
        assert_eq!(relevant, [None, Some(true), None, None]);
        assert_eq!(relevance(&json!({"verdicts": []}), &candidates(1)), Err(JudgeError::Invalid));
    }

    #[test]
    fn citations_outside_the_session_are_dropped() {
        let entry = |candidate: i64, category: &str, cited: Value| {
            json!({"candidate": candidate, "reason": "r", "impact": "negative", "diagnosis_category": category,
                   "diagnosis_reason": "d", "diagnosis_turns": cited})
        };
        let answer = json!({"verdicts": [
            entry(1, "content_defect", json!([12, 12, 999])),
            entry(2, "content_defect", json!([999])),
            entry(3, "content_defect", json!([])),
            entry(4, "none", json!([])),
        ]});
        let rows = impact(&answer, &candidates(4), &turns()).unwrap();
        let diagnoses: Vec<_> = rows
            .into_iter()
            .map(|row| row.unwrap().diagnosis.map(|d| (d.category, d.evidence_interaction_ids)))
            .collect();
        assert_eq!(
            diagnoses,
            [
                Some((DiagnosisCategory::ContentDefect, vec![12])),
                Some((DiagnosisCategory::Unknown, vec![])),
                Some((DiagnosisCategory::ContentDefect, vec![])),
                None
            ]
        );
    }

    #[test]
    fn a_tie_is_never_significant() {
        let answer = json!({"better_request": "tie", "is_significantly_better": true, "comparison_reason": "same"});
        assert!(!shadow(&answer).unwrap().is_significantly_better);
        let answer = json!({"better_request": "response 1", "is_significantly_better": true, "comparison_reason": ""});
        assert_eq!(shadow(&answer), Err(JudgeError::Invalid));
    }
}
