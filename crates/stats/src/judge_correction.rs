//! The lift corrected for the errors of the judge, with the help of people's labels.
//!
//! Two ways: prediction-powered inference measures the judge's average error on the labelled
//! sessions and removes it; Rogan and Gladen invert sensitivity and specificity. Both stand beside
//! the raw lift.

use super::ALPHA;
use super::agreement::Confusion;
use super::cluster::Arm;
use super::distributions::normal_critical_value;
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
