//! The estimated success rate: over all sessions that were due, whether or not the judge decided them, from its
//! probabilities or verdicts, corrected by the labels that were drawn at random.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::agreement::{Number, number};
use crate::app::App;
use crate::evaluation::sql::{self, PredictedSession};
use base::owner::OrgId;
use stats::prediction_powered::{PredictedUser, estimated_rate};
use storage::error::Result;
use storage::subjects::Subject;

/// The prediction of a session that the judge said nothing about.
const UNKNOWN: f64 = 0.5;

/// Window of the sessions' first requests, both ends included.
pub struct EstimateQuery {
    pub from: Option<i64>,
    pub to: Option<i64>,
}

/// Estimated success rates, one for each source.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EstimatedSuccess {
    /// In the order of their names.
    pub sources: Vec<EstimatedSource>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EstimatedSource {
    pub source: String,
    /// Sessions that were due: decided, undecided or failed.
    pub sessions: u64,
    /// Labels of sessions that the review queue drew at random, and the users they are of.
    pub labels: u64,
    pub labelled_users: usize,
    /// From 0 to 1, over all these sessions; null with a reason under 30 labelled users.
    pub estimated: Number,
}

pub async fn estimated_success(
    app: &App,
    org_id: &OrgId,
    query: EstimateQuery,
) -> Result<EstimatedSuccess> {
    let sessions = app
        .db
        .read("evaluation.estimated", (org_id.to_owned(), query), |tx, (org_id, query)| {
            Box::pin(sql::predicted_sessions(tx, org_id, query.from, query.to))
        })
        .await?;
    Ok(estimate(&sessions))
}

fn estimate(sessions: &[PredictedSession]) -> EstimatedSuccess {
    let mut sources: BTreeMap<&str, BTreeMap<Subject, PredictedUser>> = BTreeMap::new();
    for session in sessions {
        let users = sources.entry(&session.source).or_default();
        let user = users.entry(session.subject).or_default();
        let prediction = session.prediction();
        user.predict(prediction);
        if let (Some(label), Some(chance)) = (session.label, session.chance) {
            user.label(prediction, label, chance);
        }
    }
    let of_source = |(source, users): (&str, BTreeMap<Subject, PredictedUser>)| {
        let users: Vec<PredictedUser> = users.into_values().collect();
        let rate = estimated_rate(&users);
        EstimatedSource {
            source: source.to_owned(),
            sessions: users.iter().map(|user| user.sessions).sum(),
            labels: users.iter().map(|user| user.labels).sum(),
            labelled_users: users.iter().filter(|user| user.labels > 0).count(),
            estimated: number(rate.map(|rate| (rate.estimate, Ok(rate.interval)))),
        }
    };
    EstimatedSuccess { sources: sources.into_iter().map(of_source).collect() }
}

impl PredictedSession {
    /// A model that learned from the session knows its label; out of fold it does not.
    fn prediction(&self) -> f64 {
        let verdict = self.is_success.map(|is_success| f64::from(u8::from(is_success)));
        self.out_of_fold.or(self.probability).or(verdict).unwrap_or(UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(user: usize, is_success: Option<bool>, label: Option<bool>) -> PredictedSession {
        PredictedSession {
            source: "web".to_owned(),
            subject: serde_json::from_value(format!("{user:032x}").into()).unwrap(),
            is_success,
            probability: None,
            out_of_fold: None,
            chance: label.map(|_| 0.4),
            label,
        }
    }

    /// A judge that passes everything is corrected by the labels; without enough of them there is no number.
    #[test]
    fn labels_correct_the_judge() {
        let all: Vec<_> =
            (0..100).map(|n| session(n, Some(true), (n < 40).then_some(n % 4 != 0))).collect();
        let web = &estimate(&all).sources[0];
        let (low, high) = web.estimated.ci95.unwrap();
        assert!((web.estimated.value.unwrap() - 0.75).abs() < 0.02, "{web:?}");
        assert!(low < 0.70 && high > 0.80 && (web.labels, web.sessions) == (40, 100));
        let few: Vec<_> = (0..100).map(|n| session(n, None, (n < 29).then_some(true))).collect();
        let web = &estimate(&few).sources[0];
        assert_eq!(web.estimated.null_reason, Some("fewer_than_30_labelled_users"));
    }

    #[test]
    fn what_a_model_says_of_its_own_lessons_is_taken_out_of_fold() {
        let learned = PredictedSession {
            probability: Some(0.9),
            out_of_fold: Some(0.3),
            ..session(1, Some(true), Some(true))
        };
        assert_eq!(learned.prediction(), 0.3);
        assert_eq!(PredictedSession { out_of_fold: None, ..learned }.prediction(), 0.9);
        assert_eq!(session(1, None, None).prediction(), 0.5);
    }
}
