//! The lift corrected for the errors of the judge, with the help of people's labels.
//!
//! Two ways: prediction-powered inference measures the judge's average error on the labelled
//! sessions and removes it; Rogan and Gladen invert sensitivity and specificity. Both stand beside
//! the raw lift.
//!
//! [`PredictionPowered`] is the form to show: it knows how sessions were drawn for review and refuses a
//! handful of labels. [`prediction_powered_lift`] is the estimator of the literature, kept for comparison.

use super::ALPHA;
use super::agreement::Confusion;
use super::cluster::Arm;
use super::comparison::{t_interval, welch_satterthwaite};
use super::distributions::{normal_critical_value, student_t_two_sided_p};
use super::interval::Interval;
use super::newcombe::{Rate, square_and_add};
use super::reason::{Defined, NullReason};
use super::summation::sum;

/// One user's sessions: those only the judge has seen, and those a person labelled too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JudgedUser {
    /// Sessions with a verdict of the judge only.
    pub unlabelled: u64,
    /// Unlabelled sessions that the judge calls a success.
    pub unlabelled_passes: u64,
    /// Sessions with both verdicts.
    pub labelled: Confusion,
}

/// Weight of the judge's verdicts, `λ`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tuning {
    /// `λ = 1`: prediction-powered inference as first proposed (Angelopoulos et al., 2023a).
    Full,
    /// The `λ` in `[0, 1]` that makes the variance smallest (PPI++, Angelopoulos et al., 2023b):
    /// `cov(y, ŷ) / ((1 + n/N)·var(ŷ))`, the variance over all sessions.
    Optimal,
}

/// A corrected rate or lift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corrected {
    /// The corrected estimate. Not clamped.
    pub estimate: f64,
    /// Its standard error, clustered by user (CR0).
    pub standard_error: f64,
    /// 95 % interval by the normal approximation; null without variance.
    pub interval: Defined<Interval>,
}

impl Corrected {
    fn new(estimate: f64, standard_error: f64) -> Self {
        Self {
            estimate,
            standard_error,
            interval: if standard_error > 0.0 {
                let half_width = normal_critical_value(ALPHA / 2.0) * standard_error;
                Ok(Interval::around(estimate, half_width))
            } else {
                Err(NullReason::ZeroVariance)
            },
        }
    }
}

/// The success rate of one arm, prediction-powered and clustered by user:
/// `λ·mean(ŷ unlabelled) + mean(y − λ·ŷ labelled)`.
///
/// A user's influence is the sum over both parts, so that a user with labelled and unlabelled
/// sessions is counted once. With one session per user this is the estimator of the literature.
/// Null unless at least two users have labelled and two have unlabelled sessions.
pub fn prediction_powered_rate(users: &[JudgedUser], tuning: Tuning) -> Defined<Corrected> {
    let mut users = users.to_vec();
    users.sort_unstable();
    let two = |has: fn(&JudgedUser) -> bool, none: NullReason| match users
        .iter()
        .filter(|user| has(user))
        .count()
    {
        0 => Err(none),
        1 => Err(NullReason::FewerThanTwoEvaluatedUsersInAnArm),
        _ => Ok(()),
    };
    two(|user| user.labelled.total() > 0, NullReason::NoLabels)?;
    two(|user| user.unlabelled > 0, NullReason::NoUnlabelledSessions)?;

    let all = Totals::of(&users);
    let lambda = match tuning {
        Tuning::Full => 1.0,
        Tuning::Optimal => all.optimal_lambda(),
    };
    let judged = all.passes / all.unlabelled;
    let error = (all.labelled_success - lambda * all.labelled_passes) / all.labelled;
    let variance = sum(users.iter().map(|user| {
        let labelled = user.labelled.total() as f64;
        let user_error = user.labelled.labelled_success() as f64
            - lambda * user.labelled.judged_success() as f64;
        let on_judged = user.unlabelled_passes as f64 - judged * user.unlabelled as f64;
        let influence =
            lambda * on_judged / all.unlabelled + (user_error - error * labelled) / all.labelled;
        influence.powi(2)
    }));
    Ok(Corrected::new(lambda * judged + error, variance.sqrt()))
}

/// The prediction-powered lift; null as the rate of either arm is.
pub fn prediction_powered_lift(
    treatment: &[JudgedUser],
    holdout: &[JudgedUser],
    tuning: Tuning,
) -> Defined<Corrected> {
    let treatment = prediction_powered_rate(treatment, tuning)?;
    let holdout = prediction_powered_rate(holdout, tuning)?;
    Ok(Corrected::new(
        treatment.estimate - holdout.estimate,
        treatment.standard_error.hypot(holdout.standard_error),
    ))
}

/// A corrected lift is null until this many users of each arm have a labelled session.
pub const SMALLEST_LABELLED_ARM: usize = 30;

/// Labelled sessions by what the judge and a person say of them, each counted with its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WeightedConfusion {
    /// Both say success.
    pub true_passes: f64,
    /// The judge says success, the person failure.
    pub false_passes: f64,
    /// The judge says failure, the person success.
    pub false_failures: f64,
    /// Both say failure.
    pub true_failures: f64,
}

impl WeightedConfusion {
    /// Counts one session that was drawn for review with this chance: its weight is the inverse.
    pub fn count(&mut self, judge: bool, person: bool, chance: f64) {
        let cell = match (judge, person) {
            (true, true) => &mut self.true_passes,
            (true, false) => &mut self.false_passes,
            (false, true) => &mut self.false_failures,
            (false, false) => &mut self.true_failures,
        };
        *cell += chance.recip();
    }

    fn total(&self) -> f64 {
        self.judged_success() + self.false_failures + self.true_failures
    }

    fn judged_success(&self) -> f64 {
        self.true_passes + self.false_passes
    }

    fn labelled_success(&self) -> f64 {
        self.true_passes + self.false_failures
    }
}

/// One user's sessions: all that the judge has seen, and those of them that the random queue drew for a
/// person.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReviewedUser {
    /// Every judged session of the user, whether or not a person labelled it.
    pub judged: u64,
    /// Those of them that the judge calls a success.
    pub passes: u64,
    /// Those of them that the random queue drew and a person labelled, weighted by the inverse chance of the
    /// draw.
    pub labelled: WeightedConfusion,
    /// Number of sessions that the weights stand for.
    pub labels: u64,
}

/// The prediction-powered rate of one arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictionPoweredRate {
    /// The corrected rate. Not clamped.
    pub estimate: f64,
    /// Its variance, clustered by user.
    pub variance: f64,
    /// Weight of the judge, in `[0, 1]`.
    pub lambda: f64,
    /// `k`, the users with a labelled session.
    pub labelled_users: usize,
}

impl PredictionPoweredRate {
    /// `λ·mean(ŷ) + mean(y − λ·ŷ)`, the first over all sessions, the second over the labelled ones with the
    /// inverse chance of their draw as weight (Hájek, 1971; Angelopoulos et al., 2023).
    ///
    /// One imagined label per confusion cell is added, each from an imagined user of its own and with the
    /// mean weight: a judge without an error among the labels is not thereby free of errors. A user's
    /// influence is the sum over both parts; the variance is the sum of their squares times `k/(k−1)`, and
    /// `λ` in `[0, 1]` makes it smallest (PPI++).
    ///
    /// Null with fewer than [`SMALLEST_LABELLED_ARM`] labelled users.
    pub fn of(users: &[ReviewedUser]) -> Defined<Self> {
        let labelled_users = users.iter().filter(|user| user.labels > 0).count();
        if labelled_users < SMALLEST_LABELLED_ARM {
            return Err(NullReason::FewerThanThirtyLabelledUsersInAnArm);
        }
        let total = |value: &dyn Fn(&ReviewedUser) -> f64| sum(users.iter().map(value));
        let judged = total(&|user| user.judged as f64);
        let pass_rate = total(&|user| user.passes as f64) / judged;
        let weight = total(&|user| user.labelled.total());
        let imagined = weight / total(&|user| user.labels as f64);
        let cell = |tp: f64, fp: f64, ff: f64, tf: f64| WeightedConfusion {
            true_passes: tp * imagined,
            false_passes: fp * imagined,
            false_failures: ff * imagined,
            true_failures: tf * imagined,
        };
        let imagined_users = [
            cell(1.0, 0.0, 0.0, 0.0),
            cell(0.0, 1.0, 0.0, 0.0),
            cell(0.0, 0.0, 1.0, 0.0),
            cell(0.0, 0.0, 0.0, 1.0),
        ]
        .map(|labelled| ReviewedUser { labelled, ..ReviewedUser::default() });
        let weight = weight + 4.0 * imagined;
        let success = (total(&|user| user.labelled.labelled_success()) + 2.0 * imagined) / weight;
        let judged_success =
            (total(&|user| user.labelled.judged_success()) + 2.0 * imagined) / weight;
        // A user's influence is `of_labels + λ·of_judge`.
        let influences: Vec<(f64, f64)> = users
            .iter()
            .chain(&imagined_users)
            .map(|user| {
                let labels = user.labelled.total();
                let of_labels = (user.labelled.labelled_success() - success * labels) / weight;
                let of_judge = (user.passes as f64 - pass_rate * user.judged as f64) / judged
                    - (user.labelled.judged_success() - judged_success * labels) / weight;
                (of_labels, of_judge)
            })
            .collect();
        let product = |term: fn(&(f64, f64)) -> f64| sum(influences.iter().map(term));
        let of_judge = product(|(_, b)| b * b);
        let lambda = if of_judge > 0.0 {
            (-product(|(a, b)| a * b) / of_judge).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let squares = sum(influences.iter().map(|(a, b)| (a + lambda * b).powi(2)));
        let count = labelled_users as f64;
        Ok(Self {
            estimate: lambda * pass_rate + success - lambda * judged_success,
            variance: squares * count / (count - 1.0),
            lambda,
            labelled_users,
        })
    }
}

/// The prediction-powered lift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictionPowered {
    /// The corrected lift. Not clamped.
    pub lift: f64,
    /// Its standard error, clustered by user.
    pub standard_error: f64,
    /// Satterthwaite's degrees of freedom, with `k − 1` for each arm.
    pub df: f64,
    /// 95 % interval.
    pub interval: Interval,
    /// Two-sided p-value of no lift; below 0.05 exactly when the interval excludes zero.
    pub p_value: f64,
    /// Of treatment and holdout.
    pub rates: [PredictionPoweredRate; 2],
}

impl PredictionPowered {
    /// Null as [`PredictionPoweredRate::of`] is for either arm.
    pub fn of(treatment: &[ReviewedUser], holdout: &[ReviewedUser]) -> Defined<Self> {
        let rates = [PredictionPoweredRate::of(treatment)?, PredictionPoweredRate::of(holdout)?];
        let lift = rates[0].estimate - rates[1].estimate;
        let df = welch_satterthwaite(
            rates.map(|rate| rate.variance),
            rates.map(|rate| rate.labelled_users),
        )?;
        let standard_error = rates.iter().map(|rate| rate.variance).sum::<f64>().sqrt();
        Ok(Self {
            lift,
            standard_error,
            df,
            interval: t_interval(lift, standard_error, df),
            p_value: student_t_two_sided_p(lift / standard_error, df),
            rates,
        })
    }
}

/// Counts over all users, as numbers.
struct Totals {
    unlabelled: f64,
    passes: f64,
    labelled: f64,
    labelled_passes: f64,
    labelled_success: f64,
    true_passes: f64,
}

impl Totals {
    fn of(users: &[JudgedUser]) -> Self {
        let total = |count: fn(&JudgedUser) -> u64| sum(users.iter().map(|u| count(u) as f64));
        Self {
            unlabelled: total(|user| user.unlabelled),
            passes: total(|user| user.unlabelled_passes),
            labelled: total(|user| user.labelled.total()),
            labelled_passes: total(|user| user.labelled.judged_success()),
            labelled_success: total(|user| user.labelled.labelled_success()),
            true_passes: total(|user| user.labelled.true_passes),
        }
    }

    /// Zero when the judge always says the same.
    fn optimal_lambda(&self) -> f64 {
        let covariance = self.true_passes / self.labelled
            - self.labelled_success / self.labelled * (self.labelled_passes / self.labelled);
        let sessions = self.labelled + self.unlabelled;
        let passes = self.labelled_passes + self.passes;
        let variance = passes * (sessions - passes) / sessions / (sessions - 1.0);
        if variance <= 0.0 {
            return 0.0;
        }
        let lambda = covariance / ((1.0 + self.labelled / self.unlabelled) * variance);
        lambda.clamp(0.0, 1.0)
    }
}

/// The success rate of one arm with sensitivity and specificity removed (Rogan and Gladen, 1978):
/// `(p + Sp − 1)/(Se + Sp − 1)`, clamped to `[0, 1]`.
///
/// The interval is that of Lang and Reiczigel (2014), with the effective sample size of the judged
/// sessions in the place of their number, widened where needed to contain the estimate. Null as the
/// effective sample size is, when labels lack successes or failures, when sensitivity and
/// specificity do not exceed 1 together (such a judge cannot be corrected), and when the judge's rate
/// is so far beyond what its errors allow that the whole interval lies outside `[0, 1]`.
pub fn rogan_gladen_rate(judged: &Arm, labels: &Confusion) -> Defined<Rate> {
    let (rate, n) = (judged.mean()?, judged.effective_sample_size()?);
    let (sensitivity, specificity) = (labels.sensitivity()?, labels.specificity()?);
    let informedness = sensitivity.estimate + specificity.estimate - 1.0;
    if informedness <= 0.0 {
        return Err(NullReason::JudgeNoBetterThanChance);
    }
    let estimate = ((rate + specificity.estimate - 1.0) / informedness).clamp(0.0, 1.0);

    let z = normal_critical_value(ALPHA / 2.0);
    let successes = labels.labelled_success() as f64;
    let failures = labels.total() as f64 - successes;
    let apparent = Shrunk::new(rate * n, n, z * z);
    let sensitivity = Shrunk::new(labels.true_passes as f64, successes, 2.0);
    let specificity = Shrunk::new(labels.true_failures as f64, failures, 2.0);
    let informedness = sensitivity.rate + specificity.rate - 1.0;
    if informedness <= 0.0 {
        return Err(NullReason::JudgeNoBetterThanChance);
    }
    let centre = (apparent.rate + specificity.rate - 1.0) / informedness;
    let (miss, false_alarm) = (sensitivity.variance(), specificity.variance());
    let shift = 2.0 * z * z * (centre * miss - (1.0 - centre) * false_alarm);
    let variance =
        apparent.variance() + centre.powi(2) * miss + (1.0 - centre).powi(2) * false_alarm;
    let interval = Interval::around(centre + shift, z * variance.sqrt() / informedness)
        .clamped(Interval::between(0.0, 1.0))
        .including(estimate);
    if interval.width() <= 0.0 {
        return Err(NullReason::JudgeRateOutsideErrorRates);
    }
    Ok(Rate { estimate, interval })
}

/// A proportion drawn towards one half by a few imagined trials (Agresti and Coull, 1998).
struct Shrunk {
    rate: f64,
    trials: f64,
}

impl Shrunk {
    fn new(hits: f64, trials: f64, imagined: f64) -> Self {
        let trials_and_imagined = trials + imagined;
        Self { rate: (hits + 0.5 * imagined) / trials_and_imagined, trials: trials_and_imagined }
    }

    fn variance(&self) -> f64 {
        self.rate * (1.0 - self.rate) / self.trials
    }
}

/// The lift from two corrected rates, each arm with its own labels, and its interval by squaring
/// and adding; null as the rate of either arm is.
pub fn rogan_gladen_lift(
    treatment: (&Arm, &Confusion),
    holdout: (&Arm, &Confusion),
) -> Defined<Rate> {
    let treatment = rogan_gladen_rate(treatment.0, treatment.1)?;
    let holdout = rogan_gladen_rate(holdout.0, holdout.1)?;
    Ok(Rate {
        estimate: treatment.estimate - holdout.estimate,
        interval: square_and_add(treatment, holdout),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    fn reviewed(judge: bool, person: bool) -> ReviewedUser {
        let mut labelled = WeightedConfusion::default();
        labelled.count(judge, person, 0.5);
        ReviewedUser { judged: 2, passes: 2 * u64::from(judge), labelled, labels: 1 }
    }

    #[test]
    fn a_perfect_judge_is_trusted_and_still_not_certain() {
        let unlabelled = |n: u64| ReviewedUser {
            judged: 2,
            passes: 2 * (n % 3).min(1),
            ..ReviewedUser::default()
        };
        let users: Vec<_> = (0..60)
            .map(|n| reviewed(n % 3 > 0, n % 3 > 0))
            .chain((0..600).map(unlabelled))
            .collect();
        let rate = PredictionPoweredRate::of(&users).unwrap();
        assert!(rate.lambda > 0.8 && rate.variance > 0.0, "{rate:?}");
        assert!((rate.estimate - 2.0 / 3.0).abs() < 0.02, "{rate:?}");
        let lift = PredictionPowered::of(&users, &users).unwrap();
        assert!(lift.interval.contains(0.0) && lift.interval.width() > 0.05);
        assert!((lift.p_value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn thirty_labelled_users_per_arm() {
        let users: Vec<_> = (0..30).map(|n| reviewed(n % 3 > 0, n % 2 > 0)).collect();
        assert!(PredictionPowered::of(&users, &users).is_ok());
        assert_eq!(
            PredictionPowered::of(&users, &users[1..]),
            Err(NullReason::FewerThanThirtyLabelledUsersInAnArm)
        );
    }

    #[test]
    fn the_scale_of_the_chances_does_not_matter() {
        let users: Vec<_> = (0..50).map(|n| reviewed(n % 3 > 0, n % 2 > 0)).collect();
        let rarer: Vec<_> = users
            .iter()
            .map(|user| {
                let mut labelled = user.labelled;
                labelled.true_passes *= 7.0;
                labelled.false_passes *= 7.0;
                labelled.false_failures *= 7.0;
                labelled.true_failures *= 7.0;
                ReviewedUser { labelled, ..*user }
            })
            .collect();
        let rates = [&users, &rarer].map(|users| PredictionPoweredRate::of(users).unwrap());
        close(rates[1].estimate, rates[0].estimate, 1e-12);
        close(rates[1].variance, rates[0].variance, 1e-12);
    }
}
