//! Agreement of the judge with people, and the success rate corrected for the judge's errors.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::evaluation::sql::{self, JudgedSession};
use crate::sessions::SessionOutcomeKind;
use base::owner::{OrgId, UserId};
use stats::agreement::Confusion;
use stats::distributions::{normal_critical_value, student_t_critical_value};
use stats::judge_correction::{PredictionPoweredRate, ReviewedUser};
use stats::newcombe::Rate;
use stats::wilson::wilson;
use stats::{ALPHA, Arm, Defined, Interval, UserSum};
use storage::error::Result;

/// False passes that are listed.
const FALSE_PASSES: usize = 100;
/// Cohen's κ of expert annotators among each other on the success of agents.
const HUMAN_CEILING: f64 = 0.74;

base::vocabulary! {
    /// Ground truth that verdicts are measured against.
    pub enum GroundTruth {
        Labels = "labels",
        Outcomes = "outcomes",
        /// A person's label first, else what the customer reported.
        Both = "both",
    }
}

/// Filters of the verdicts, and their ground truth.
pub struct AgreementQuery {
    pub evaluation_name: String,
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub agent_version: Option<String>,
    pub prompt_version: Option<String>,
    pub judge: Option<String>,
    pub source: Option<String>,
    pub ground_truth: GroundTruth,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Agreement {
    pub evaluation_name: String,
    pub ground_truth: GroundTruth,
    /// Judged sessions in the window.
    pub judged: u64,
    /// Verdicts with ground truth.
    pub n: u64,
    pub confusion: ConfusionTable,
    /// Share on which both agree.
    pub agreement: Option<f64>,
    /// Cohen's κ: agreement beyond chance.
    pub kappa: Number,
    /// For context: expert annotators agree with each other at about this κ.
    pub human_ceiling_kappa: f64,
    /// Share of real successes that the judge sees.
    pub sensitivity: Number,
    /// Share of real failures that the judge sees.
    pub specificity: Number,
    /// The judge's success rate over all judged sessions, as it is.
    pub raw_success_rate: Number,
    /// The same with the judge's errors taken out, by the labels that the review queue drew at random; null under 30
    /// labelled users.
    pub corrected_success_rate: Number,
    /// Sessions that the judge passed and people did not, newest first, at most 100.
    pub false_passes: Vec<FalsePass>,
}

/// A number with its interval, or the reason why there is none.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Number {
    pub value: Option<f64>,
    #[schema(value_type = Option<Vec<f64>>)]
    pub ci95: Option<(f64, f64)>,
    pub null_reason: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct ConfusionTable {
    pub true_passes: u64,
    pub false_passes: u64,
    pub false_failures: u64,
    pub true_failures: u64,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FalsePass {
    pub user_id: UserId,
    pub session_id: String,
    pub result_id: i64,
}

/// Measures the judge.
pub async fn agreement(app: &App, org_id: &OrgId, query: AgreementQuery) -> Result<Agreement> {
    let name = query.evaluation_name.clone();
    let ground_truth = query.ground_truth;
    let sessions = app
        .db
        .read("evaluation.agreement", (org_id.to_owned(), query), |tx, (org_id, query)| {
            Box::pin(sql::judged_sessions(tx, org_id, query))
        })
        .await?;
    Ok(measure(name, ground_truth, &sessions))
}

fn truth(session: &JudgedSession, ground_truth: GroundTruth) -> Option<bool> {
    let reported = match session.outcome {
        Some(SessionOutcomeKind::Success) => Some(true),
        Some(SessionOutcomeKind::Failure) => Some(false),
        Some(SessionOutcomeKind::Unknown) | None => None,
    };
    match ground_truth {
        GroundTruth::Labels => session.label,
        GroundTruth::Outcomes => reported,
        GroundTruth::Both => session.label.or(reported),
    }
}

fn measure(
    evaluation_name: String,
    ground_truth: GroundTruth,
    sessions: &[JudgedSession],
) -> Agreement {
    let mut confusion = Confusion::default();
    let mut users: BTreeMap<&str, UserSum> = BTreeMap::new();
    let mut reviewed: BTreeMap<&str, ReviewedUser> = BTreeMap::new();
    let mut false_passes = Vec::new();
    for session in sessions {
        let drawn = reviewed.entry(&session.user_id).or_default();
        drawn.judged += 1;
        drawn.passes += u64::from(session.is_success);
        if let (Some(label), Some(chance)) = (session.label, session.chance) {
            drawn.labelled.count(session.is_success, label, chance);
            drawn.labels += 1;
        }
        let user = users.entry(&session.user_id).or_default();
        user.sessions += 1;
        user.total += i64::from(session.is_success);
        if let Some(truth) = truth(session, ground_truth) {
            confusion.count(session.is_success, truth);
            if session.is_success && !truth && false_passes.len() < FALSE_PASSES {
                false_passes.push(FalsePass {
                    user_id: session.user_id.clone(),
                    session_id: session.session_id.clone(),
                    result_id: session.result_id,
                });
            }
        }
    }
    let judged = Arm::new(users.into_values());
    Agreement {
        evaluation_name,
        ground_truth,
        judged: judged.session_count(),
        n: confusion.total(),
        confusion: ConfusionTable {
            true_passes: confusion.true_passes,
            false_passes: confusion.false_passes,
            false_failures: confusion.false_failures,
            true_failures: confusion.true_failures,
        },
        agreement: confusion.agreement().ok(),
        kappa: number(confusion.kappa().map(|k| (k.kappa, k.interval))),
        human_ceiling_kappa: HUMAN_CEILING,
        sensitivity: rate(confusion.sensitivity()),
        specificity: rate(confusion.specificity()),
        raw_success_rate: number(judged.mean().map(|mean| {
            // The effective number of sessions where it is known: sessions of one user go together.
            #[allow(clippy::cast_precision_loss)] // a number of sessions
            let n = judged.effective_sample_size().unwrap_or(judged.session_count() as f64);
            (mean, Ok(wilson(mean, n, normal_critical_value(ALPHA / 2.0))))
        })),
        corrected_success_rate: corrected(reviewed.into_values().collect()),
        false_passes,
    }
}

/// Prediction-powered, with Student's t on the labelled users.
fn corrected(users: Vec<ReviewedUser>) -> Number {
    number(PredictionPoweredRate::of(&users).map(|rate| {
        #[allow(clippy::cast_precision_loss)] // a number of users
        let t = student_t_critical_value(ALPHA / 2.0, rate.labelled_users as f64 - 1.0);
        let half_width = t * rate.variance.sqrt();
        let estimate = rate.estimate.clamp(0.0, 1.0);
        let interval = Interval {
            lower: (estimate - half_width).max(0.0),
            upper: (estimate + half_width).min(1.0),
        };
        (estimate, Ok(interval))
    }))
}

fn rate(rate: Defined<Rate>) -> Number {
    number(rate.map(|rate| (rate.estimate, Ok(rate.interval))))
}

pub fn number(value: Defined<(f64, Defined<Interval>)>) -> Number {
    match value {
        Ok((value, interval)) => Number {
            value: Some(value),
            ci95: interval.ok().map(|i| (i.lower, i.upper)),
            null_reason: interval.err().map(|reason| reason.as_str()),
        },
        Err(reason) => Number { null_reason: Some(reason.as_str()), ..Number::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(
        n: i64,
        judge: bool,
        label: Option<bool>,
        outcome: Option<SessionOutcomeKind>,
    ) -> JudgedSession {
        JudgedSession {
            result_id: n,
            user_id: format!("u{}", n % 100).into(),
            session_id: format!("s{n}"),
            is_success: judge,
            label,
            outcome,
            chance: label.map(|_| 0.5),
        }
    }

    #[test]
    fn a_label_goes_before_the_customers_word() {
        let both = session(1, true, Some(false), Some(SessionOutcomeKind::Success));
        assert_eq!(truth(&both, GroundTruth::Both), Some(false));
        assert_eq!(truth(&both, GroundTruth::Outcomes), Some(true));
        let unknown = session(1, true, None, Some(SessionOutcomeKind::Unknown));
        assert_eq!(truth(&unknown, GroundTruth::Both), None);
    }

    #[test]
    fn labels_that_were_not_drawn_or_are_of_few_users_correct_nothing() {
        let sessions: Vec<_> =
            (0..40).map(|n| session(n, n % 2 == 0, Some(n % 4 < 2), None)).collect();
        let chosen: Vec<_> =
            sessions.iter().map(|one| JudgedSession { chance: None, ..one.clone() }).collect();
        let reason = |sessions: &[JudgedSession]| {
            let found = measure("x".to_owned(), GroundTruth::Labels, sessions);
            assert_eq!(found.n, sessions.len() as u64);
            found.corrected_success_rate.null_reason
        };
        let few = Some("fewer_than_30_labelled_users_in_an_arm");
        assert_eq!((reason(&chosen), reason(&sessions[..29])), (few, few));
        assert_eq!(reason(&sessions), None);
        let found = measure("x".to_owned(), GroundTruth::Labels, &sessions);
        assert_eq!(found.false_passes.len(), 10);
    }

    #[test]
    fn a_lenient_judge_is_corrected_downwards() {
        // Passes everything that is good and a third of what is not.
        let sessions: Vec<_> = (0..300)
            .map(|n| {
                let good = n % 2 == 0;
                session(n, good || n % 3 == 0, (n < 150).then_some(good), None)
            })
            .collect();
        let found = measure("x".to_owned(), GroundTruth::Labels, &sessions);
        let raw = found.raw_success_rate.value.unwrap();
        let corrected = found.corrected_success_rate.value.unwrap();
        assert!(raw > 0.6 && (corrected - 0.5).abs() < 0.03, "{raw} {corrected}");
        let (low, high) = found.corrected_success_rate.ci95.unwrap();
        assert!(low < 0.5 && 0.5 < high);
    }
}
