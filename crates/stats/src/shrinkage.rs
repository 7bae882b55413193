//! Drawing noisy effects together: normal–normal empirical Bayes (Efron and Morris, 1975).
//!
//! Of many effects the largest estimates are the luckiest. Each is drawn towards the common centre, the more
//! so the larger its standard error is beside the spread of the true effects, which all of them together
//! show.

use super::distributions::{normal_critical_value, normal_upper_tail};
use super::interval::Interval;
use super::summation::sum;
use std::f64::consts::FRAC_PI_2;

/// One minus the confidence of the interval of a shrunken effect.
pub const INTERVAL_ALPHA: f64 = 0.1;

/// An effect with its standard error, which is positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyEffect {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// The centre towards which effects are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Centre {
    /// Zero: no difference.
    Zero,
    /// The mean of the effects, weighted by their precision.
    Mean,
}

/// One effect after shrinkage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShrunkenEffect {
    /// Posterior mean.
    pub mean: f64,
    /// Posterior standard deviation.
    pub standard_deviation: f64,
    /// Posterior 90 % interval.
    pub interval: Interval,
    /// The chance that the true effect has the other sign, or none (local false sign rate; Stephens, 2017).
    pub false_sign_rate: f64,
}

/// All effects after shrinkage, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrinkage {
    /// The centre, `μ`.
    pub centre: f64,
    /// The standard deviation of the true effects around it, `τ`.
    pub spread: f64,
    /// The effects.
    pub effects: Vec<ShrunkenEffect>,
}

/// Estimates `μ` and `τ²` and draws every effect towards `μ`.
///
/// `estimate ~ N(effect, SE²)` and `effect ~ N(μ, τ²)`. `τ²` solves `Σ (estimate − μ)²/(SE² + τ²) = K`, or `K
/// − 1` when `μ` is estimated too (Paule and Mandel, 1982); it is 0 when even that sum is smaller. Effects
/// whose standard error is not positive and finite do not count and stay as they are.
#[must_use]
pub fn shrink(effects: &[NoisyEffect], centre: Centre) -> Shrinkage {
    let counted: Vec<NoisyEffect> =
        effects.iter().filter(|effect| effect.is_usable()).copied().collect();
    let mean_at = |variance: f64| match centre {
        Centre::Zero => 0.0,
        Centre::Mean => {
            let weight = |effect: &NoisyEffect| (effect.variance() + variance).recip();
            let weights = sum(counted.iter().map(weight));
            let weighted = sum(counted.iter().map(|effect| weight(effect) * effect.estimate));
            if weights > 0.0 { weighted / weights } else { 0.0 }
        }
    };
    let expected = match centre {
        Centre::Zero => counted.len() as f64,
        Centre::Mean => counted.len() as f64 - 1.0,
    };
    let excess = |variance: f64| {
        let mean = mean_at(variance);
        let squares = counted
            .iter()
            .map(|effect| (effect.estimate - mean).powi(2) / (effect.variance() + variance));
        sum(squares) - expected
    };
    let variance = if expected > 0.0 { falling_root(excess) } else { 0.0 };
    let mean = mean_at(variance);
    let posterior = |effect: &NoisyEffect| {
        let (shrunken, left) = if effect.is_usable() {
            let trust = variance / (variance + effect.variance());
            (mean + trust * (effect.estimate - mean), (trust * effect.variance()).sqrt())
        } else {
            (effect.estimate, 0.0)
        };
        ShrunkenEffect::normal(shrunken, left)
    };
    Shrinkage {
        centre: mean,
        spread: variance.sqrt(),
        effects: effects.iter().map(posterior).collect(),
    }
}

/// Spreads over which [`shrink_over_spreads`] averages.
const SPREADS: usize = 256;

/// As [`shrink`] around zero, but averaged over the spreads `τ` in proportion to how likely each makes the
/// estimates.
///
/// A few estimates do not show their spread: the one that fits best is often 0, which would be certain that
/// all effects are. Before any estimate, `s/√(s² + τ²)` is uniform, with `s²` the harmonic mean of the squared
/// standard errors: a kin of the uniform shrinkage of Daniels (1999) with more room for large spreads. Near zero
/// that is a uniform `τ²`, whose intervals cover about as often as they say (Morris, 1983); with many effects
/// it hardly matters. Mean and standard deviation are those of the mixture over `τ`, and so is the
/// false sign rate; the interval is the mean ± 1.64 standard deviations. [`Shrinkage::spread`] is the mean of
/// `τ`. Effects whose standard error is not positive and finite do not count and stay as they are.
#[must_use]
pub fn shrink_over_spreads(effects: &[NoisyEffect]) -> Shrinkage {
    let counted: Vec<&NoisyEffect> = effects.iter().filter(|effect| effect.is_usable()).collect();
    let precision = sum(counted.iter().map(|effect| effect.variance().recip()));
    let usual = if counted.is_empty() { 0.0 } else { counted.len() as f64 / precision };
    // τ = s·tan θ at equal steps of θ; there the prior has the density sin θ.
    let angles = (0..SPREADS).map(|step| (step as f64 + 0.5) / SPREADS as f64 * FRAC_PI_2);
    let (variances, priors): (Vec<f64>, Vec<f64>) =
        angles.map(|angle| (usual * angle.tan().powi(2), angle.sin())).unzip();
    let ln_likelihood = |variance: f64| {
        -0.5 * sum(counted.iter().map(|effect| {
            let total = effect.variance() + variance;
            total.ln() + effect.estimate.powi(2) / total
        }))
    };
    let ln_likelihoods: Vec<f64> = variances.iter().map(|&v| ln_likelihood(v)).collect();
    let largest = ln_likelihoods.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let likelihoods: Vec<f64> =
        ln_likelihoods.iter().zip(priors).map(|(ln, prior)| prior * (ln - largest).exp()).collect();
    let total = sum(likelihoods.iter().copied());
    let average = |of_variance: &dyn Fn(f64) -> f64| {
        let terms = variances.iter().zip(&likelihoods);
        sum(terms.map(|(&variance, likelihood)| likelihood * of_variance(variance))) / total
    };
    let posterior = |effect: &NoisyEffect| {
        if !effect.is_usable() {
            return ShrunkenEffect::normal(effect.estimate, 0.0);
        }
        let trust = |variance: f64| variance / (variance + effect.variance());
        let trusted = average(&trust);
        // Variance for a given spread, and variance of the mean between spreads.
        let between = average(&|variance| (trust(variance) - trusted).powi(2));
        let left = trusted * effect.variance() + between * effect.estimate.powi(2);
        let z = effect.estimate.abs() / effect.standard_error;
        let tail = |variance: f64| normal_upper_tail(trust(variance).sqrt() * z);
        ShrunkenEffect {
            false_sign_rate: average(&tail),
            ..ShrunkenEffect::normal(trusted * effect.estimate, left.sqrt())
        }
    };
    Shrinkage {
        centre: 0.0,
        spread: average(&f64::sqrt),
        effects: effects.iter().map(posterior).collect(),
    }
}

impl ShrunkenEffect {
    /// The posterior with this mean and standard deviation, if it is normal.
    fn normal(mean: f64, standard_deviation: f64) -> Self {
        let half_width = normal_critical_value(INTERVAL_ALPHA / 2.0) * standard_deviation;
        Self {
            mean,
            standard_deviation,
            interval: Interval::around(mean, half_width),
            false_sign_rate: if standard_deviation > 0.0 {
                normal_upper_tail(mean.abs() / standard_deviation)
            } else if mean == 0.0 {
                1.0
            } else {
                0.0
            },
        }
    }
}

impl NoisyEffect {
    fn is_usable(&self) -> bool {
        self.estimate.is_finite() && self.standard_error.is_finite() && self.standard_error > 0.0
    }

    fn variance(&self) -> f64 {
        self.standard_error * self.standard_error
    }
}

/// The root of a falling function on `[0, ∞)`; 0 when it is not positive there.
fn falling_root(function: impl Fn(f64) -> f64) -> f64 {
    if function(0.0) <= 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1e-12);
    while function(high) > 0.0 && high < 1e300 {
        low = high;
        high *= 4.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if function(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(estimates: &[f64], standard_error: f64) -> Vec<NoisyEffect> {
        estimates.iter().map(|&estimate| NoisyEffect { estimate, standard_error }).collect()
    }

    #[test]
    fn equal_errors_give_the_closed_form() {
        // τ² = Σ x²/K − SE² around zero.
        let shrunken = shrink(&effects(&[0.3, -0.1, 0.2, -0.4], 0.1), Centre::Zero);
        let variance = 0.3 / 4.0 - 0.01;
        assert!((shrunken.spread.powi(2) - variance).abs() < 1e-12, "{shrunken:?}");
        let trust = variance / (variance + 0.01);
        assert!(
            shrunken
                .effects
                .iter()
                .zip([0.3, -0.1])
                .all(|(s, x)| (s.mean - trust * x).abs() < 1e-12)
        );
    }

    #[test]
    fn noise_alone_is_drawn_to_the_centre() {
        let noise = effects(&[0.05, -0.08, 0.02, 0.09, -0.03], 0.1);
        let shrunken = shrink(&noise, Centre::Zero);
        assert!(shrunken.spread == 0.0 && shrunken.effects.iter().all(|e| e.mean == 0.0));
        assert!(shrunken.effects.iter().all(|e| e.false_sign_rate >= 1.0));
        let shifted: Vec<_> =
            noise.iter().map(|e| NoisyEffect { estimate: e.estimate + 1.0, ..*e }).collect();
        let shrunken = shrink(&shifted, Centre::Mean);
        assert!(shrunken.effects.iter().all(|e| (e.mean - 1.01).abs() < 1e-12));
    }

    #[test]
    fn the_less_certain_is_drawn_further_and_nothing_else_changes() {
        let mut all = effects(&[0.3, -0.3, 0.25, -0.2], 0.05);
        all.push(NoisyEffect { estimate: 0.3, standard_error: 0.3 });
        all.push(NoisyEffect { estimate: 0.3, standard_error: 0.0 });
        let shrunken = shrink(&all, Centre::Zero);
        let mean = |place: usize| shrunken.effects.get(place).map_or(0.0, |e| e.mean);
        assert!(mean(0) > 0.25 && mean(4) < 0.2 && mean(4) > 0.0);
        assert!((mean(5) - 0.3).abs() < 1e-15);
        assert!(shrink(&[], Centre::Mean).effects.is_empty());
    }

    #[test]
    fn averaging_over_spreads_agrees_where_many_effects_show_it() {
        let many: Vec<_> = (0..400)
            .map(|n| NoisyEffect {
                estimate: 0.1 * normal_critical_value((f64::from(n) + 0.5) / 400.0),
                standard_error: 0.05,
            })
            .collect();
        let (one, averaged) = (shrink(&many, Centre::Zero), shrink_over_spreads(&many));
        assert!((one.spread - averaged.spread).abs() < 0.002, "{} {}", one.spread, averaged.spread);
        for (one, averaged) in one.effects.iter().zip(&averaged.effects) {
            assert!((one.mean - averaged.mean).abs() < 0.005);
            assert!((one.false_sign_rate - averaged.false_sign_rate).abs() < 0.01);
        }
    }

    #[test]
    fn few_effects_near_zero_are_not_certain_to_be_zero() {
        let noise = effects(&[0.05, -0.08, 0.02, 0.09, -0.03], 0.1);
        let averaged = shrink_over_spreads(&noise);
        assert!(averaged.effects.iter().all(|e| e.interval.width() > 0.05));
        assert!(averaged.effects.iter().all(|e| (0.2..0.5).contains(&e.false_sign_rate)));
        let signs = averaged.effects.iter().zip(&noise);
        assert!(signs.into_iter().all(|(s, n)| s.mean * n.estimate > 0.0));
        assert!(shrink_over_spreads(&[]).effects.is_empty());
        let known = shrink_over_spreads(&effects(&[0.3], 0.0));
        assert!(known.effects.iter().all(|e| (e.mean - 0.3).abs() < 1e-15));
    }
}
