//! The binomial distribution, exactly.

use super::special::{incomplete_beta, ln_beta};

/// The exact two-sided binomial p-value of `successes` out of `trials` with chance `chance`:
/// the probability of all outcomes that are no more likely than the one observed.
///
/// Outcomes within a relative `1e-7` count as equally likely, so that rounding cannot split a tie.
/// The far end is found by bisection and both tails by incomplete beta functions: O(log trials).
#[must_use]
pub fn binomial_two_sided_p(successes: u64, trials: u64, chance: f64) -> f64 {
    let mean = trials as f64 * chance;
    if trials == 0 || successes > trials || successes as f64 == mean {
        return 1.0;
    }
    if successes as f64 > mean {
        return binomial_two_sided_p(trials - successes, trials, 1.0 - chance);
    }
    // From the mean upwards the probabilities fall: find the first that is small enough.
    let limit = binomial_ln_probability(successes, trials, chance) + 1e-7_f64.ln_1p();
    let (mut too_likely, mut far) = (mean.floor() as u64, trials.saturating_add(1));
    while far - too_likely > 1 {
        let middle = too_likely + (far - too_likely) / 2;
        if binomial_ln_probability(middle, trials, chance) <= limit {
            far = middle;
        } else {
            too_likely = middle;
        }
    }
    let near_tail = binomial_at_most(successes, trials, chance);
    let far_tail =
        if far > trials { 0.0 } else { binomial_at_most(trials - far, trials, 1.0 - chance) };
    (near_tail + far_tail).min(1.0)
}

/// `ln P(X = successes)`, for a chance between 0 and 1.
pub(super) fn binomial_ln_probability(successes: u64, trials: u64, chance: f64) -> f64 {
    let (hits, misses) = (successes as f64, (trials - successes) as f64);
    let ln_ways = -ln_beta(hits + 1.0, misses + 1.0) - (trials as f64).ln_1p();
    ln_ways + hits * chance.ln() + misses * (-chance).ln_1p()
}

/// `P(X <= successes)`.
fn binomial_at_most(successes: u64, trials: u64, chance: f64) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    let (hits, misses) = (successes as f64, (trials - successes) as f64);
    incomplete_beta(misses, hits + 1.0, 1.0 - chance, chance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn binomial_p_is_the_sum_of_the_outcomes_no_likelier() {
        for (successes, trials, chance, expected) in [
            (0, 18, 0.1, 0.2482914767224365),
            (260, 2000, 0.1, 1.753889174632056e-05),
            (5, 13, 0.3, 0.5481646977817),
            (1, 11, 0.1, 1.0),
            (9, 50, 0.2, 0.8601809948256846),
            (3, 3, 0.5, 0.25),
            (17, 20, 0.5, 0.0025768280029296875),
            (0, 40, 0.001, 1.0),
            (40, 40, 0.999, 1.0),
            (12, 400, 0.01, 0.0008492846916503847),
        ] {
            close(binomial_two_sided_p(successes, trials, chance), expected, 1e-12);
        }
        close(binomial_two_sided_p(5, 10, 0.5), 1.0, 0.0);
        close(binomial_two_sided_p(0, 0, 0.5), 1.0, 0.0);
    }
}
