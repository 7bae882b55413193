//! A success rate from predictions of all sessions and labels of some: prediction-powered, clustered by user.
//!
//! [`crate::judge_correction`] does the same for verdicts that are a success or a failure and for two arms; here a
//! prediction is a probability, and a session that nobody predicts may have any constant.

use crate::distributions::student_t_critical_value;
use crate::judge_correction::SMALLEST_LABELLED_ARM;
use crate::summation::sum;
use crate::{ALPHA, Defined, Interval, NullReason};

/// One user's sessions: predictions of all, and labels of those that were drawn at random.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PredictedUser {
    pub sessions: u64,
    /// Sum of the predictions of all of them.
    pub predicted: f64,
    /// Sessions that were drawn and labelled.
    pub labels: u64,
    /// Sums over these, each weighted by the inverse of its chance to be drawn: of 1, of the label, of the prediction.
    pub weight: f64,
    pub weighted_success: f64,
    pub weighted_predicted: f64,
}

impl PredictedUser {
    /// A session without a label.
    pub fn predict(&mut self, prediction: f64) {
        self.sessions += 1;
        self.predicted += prediction;
    }

    /// The label of a session that was predicted, and drawn with this chance. The prediction must not know the label.
    pub fn label(&mut self, prediction: f64, is_success: bool, chance: f64) {
        let weight = chance.recip();
        self.labels += 1;
        self.weight += weight;
        self.weighted_success += weight * f64::from(u8::from(is_success));
        self.weighted_predicted += weight * prediction;
    }
}

/// A success rate over all sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimatedRate {
    pub estimate: f64,
    pub interval: Interval,
    /// Weight of the predictions, in `[0, 1]`.
    pub lambda: f64,
    pub labelled_users: usize,
}

/// `λ·mean(f) + mean(y − λ·f)`, the first over all sessions, the second over the labelled ones with the inverse chance
/// of their draw as weight. `λ` makes the variance smallest (PPI++, Angelopoulos et al., 2023); a user's influence is the
/// sum over both parts. The interval has `t` with `k − 1` degrees of freedom, `k` being the labelled users.
///
/// One imagined success and one imagined failure, each of a user of its own with the mean weight and the mean
/// prediction, keep labels that are all alike from an interval without width.
///
/// Null with fewer than [`SMALLEST_LABELLED_ARM`] labelled users.
pub fn estimated_rate(users: &[PredictedUser]) -> Defined<EstimatedRate> {
    let labelled_users = users.iter().filter(|user| user.labels > 0).count();
    if labelled_users < SMALLEST_LABELLED_ARM {
        return Err(NullReason::FewerThanThirtyLabelledUsers);
    }
    let total = |value: &dyn Fn(&PredictedUser) -> f64| sum(users.iter().map(value));
    #[allow(clippy::cast_precision_loss)] // numbers of sessions
    let (sessions, labels) = (total(&|u| u.sessions as f64), total(&|u| u.labels as f64));
    let mean_prediction = total(&|user| user.predicted) / sessions;
    let drawn = total(&|user| user.weight);
    let one = drawn / labels;
    let drawn_prediction = total(&|user| user.weighted_predicted) / drawn;
    let imagined = [0.0, 1.0].map(|success| PredictedUser {
        weight: one,
        weighted_success: one * success,
        weighted_predicted: one * drawn_prediction,
        ..PredictedUser::default()
    });
    let weight = drawn + 2.0 * one;
    let success = (total(&|user| user.weighted_success) + one) / weight;
    #[allow(clippy::cast_precision_loss)] // numbers of sessions
    let influence = |user: &PredictedUser| {
        let of_labels = (user.weighted_success - success * user.weight) / weight;
        let of_predictions = (user.predicted - mean_prediction * user.sessions as f64) / sessions
            - (user.weighted_predicted - drawn_prediction * user.weight) / weight;
        (of_labels, of_predictions)
    };
    let influences: Vec<(f64, f64)> = users.iter().chain(&imagined).map(influence).collect();
    let product = |term: fn(&(f64, f64)) -> f64| sum(influences.iter().map(term));
    let of_predictions = product(|(_, b)| b * b);
    let lambda = if of_predictions > 0.0 {
        (-product(|(a, b)| a * b) / of_predictions).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let squares = sum(influences.iter().map(|(a, b)| (a + lambda * b).powi(2)));
    #[allow(clippy::cast_precision_loss)] // a number of users
    let count = labelled_users as f64;
    let half_width = student_t_critical_value(ALPHA / 2.0, count - 1.0)
        * (squares * count / (count - 1.0)).sqrt();
    let estimate = (lambda * mean_prediction + success - lambda * drawn_prediction).clamp(0.0, 1.0);
    let interval = Interval {
        lower: (estimate - half_width).max(0.0),
        upper: (estimate + half_width).min(1.0),
    };
    Ok(EstimatedRate { estimate, interval, lambda, labelled_users })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repeatable stream of numbers between 0 and 1 (xorshift).
    struct Random(u64);

    impl Random {
        fn fraction(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// Sessions of `count` users, predicted well and off by a constant; labels drawn with a chance that depends on the
    /// prediction. The estimate finds the truth where the predictions and the labels alone do not, and its interval holds
    /// it as often as it says.
    #[test]
    fn it_corrects_biased_predictions_and_biased_draws() {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let (mut covered, mut error, rounds) = (0, 0.0, 400);
        for _ in 0..rounds {
            let (mut users, mut truth, mut all) = (Vec::new(), 0.0, 0.0);
            for _ in 0..300 {
                let mut user = PredictedUser::default();
                let mood = 0.2 * random.fraction();
                for _ in 0..2 {
                    let chance_of_success = 0.35 + mood + 0.4 * random.fraction();
                    let is_success = random.fraction() < chance_of_success;
                    let prediction = (chance_of_success + 0.15).min(1.0);
                    user.predict(prediction);
                    truth += f64::from(u8::from(is_success));
                    all += 1.0;
                    let chance = if prediction > 0.8 { 0.5 } else { 0.2 };
                    if random.fraction() < chance {
                        user.label(prediction, is_success, chance);
                    }
                }
                users.push(user);
            }
            let rate = estimated_rate(&users).unwrap();
            let off = rate.estimate - truth / all;
            error += off;
            covered +=
                u32::from(rate.interval.lower <= truth / all && truth / all <= rate.interval.upper);
        }
        assert!((error / f64::from(rounds)).abs() < 0.01, "{error}");
        assert!(covered * 100 >= rounds * 93, "{covered} of {rounds}");
    }

    #[test]
    fn few_labels_are_refused_and_labels_that_are_all_alike_leave_a_width() {
        let user = |labels: bool| {
            let mut user = PredictedUser::default();
            user.predict(1.0);
            if labels {
                user.label(1.0, true, 1.0);
            }
            user
        };
        let few: Vec<_> = (0..100).map(|n| user(n < 29)).collect();
        assert_eq!(estimated_rate(&few), Err(NullReason::FewerThanThirtyLabelledUsers));
        let enough: Vec<_> = (0..100).map(|n| user(n < 30)).collect();
        let rate = estimated_rate(&enough).unwrap();
        assert!(rate.interval.upper - rate.interval.lower > 0.05, "{rate:?}");
        assert!(rate.estimate > 0.9);
    }
}
