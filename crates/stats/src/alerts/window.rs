//! A window that begins at a fixed hour and grows, compared with what the four weeks before let expect.

use super::baseline::{Baseline, Mix};
use super::history::{Day, HOURS, PerGroup};
use crate::always_valid::{ln_mixture, mixture_multiplier};
use crate::distributions::normal_upper_tail;
use crate::grouped::{GROUPS, SUFFICIENT_GROUPS};

/// A change of the smallest size times this is tolerated: the chance of a false alarm holds up to there.
pub const TOLERATED: f64 = 1.0 / 3.0;
/// Drops of about the smallest size times this are found soonest.
const TYPICAL: f64 = 3.0;
/// The variance is at least that of 28 days, which is well known; only what is above comes from the groups alone.
/// Together they are as good as so many times the groups.
const DF_PER_GROUP: f64 = 4.0;
/// If nothing varies at all, the standard error is taken for a change divided by this.
const LARGEST_T: f64 = 100.0;

/// The sums of a window, as they differ from what was expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    sessions: PerGroup,
    /// Sum of the values minus the sum of what was expected.
    excess: PerGroup,
    /// Sum of what was expected.
    expected: f64,
    mix: Mix,
    hours: usize,
    /// Sum of the squared sessions of the days that are over.
    squared_days: f64,
    last_day: i64,
    sessions_of_last_day: f64,
}

/// How far a window is from what was expected, for the better if positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) sessions: f64,
    /// The mean expectation of a session.
    pub(super) expected: f64,
    pub(super) change: f64,
    /// The change without the group of users that speaks most for a drop.
    pub(super) cautious: f64,
    pub(super) standard_error: f64,
    df: f64,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            sessions: [0.0; GROUPS],
            excess: [0.0; GROUPS],
            expected: 0.0,
            mix: Mix::default(),
            hours: 0,
            squared_days: 0.0,
            last_day: i64::MIN,
            sessions_of_last_day: 0.0,
        }
    }

    /// Adds an hour; hours come in order.
    pub(super) fn add(&mut self, baseline: &Baseline, number: i64, day: &Day, hour: usize) {
        if number != self.last_day {
            self.squared_days += self.sessions_of_last_day.powi(2);
            (self.last_day, self.sessions_of_last_day) = (number, 0.0);
        }
        self.hours += 1;
        let sessions = day.sessions[hour];
        if sessions <= 0.0 {
            return;
        }
        let expected = baseline.expected(number, hour);
        for (group, sums) in day.hours[hour].groups().iter().enumerate() {
            self.sessions[group] += sums.sessions;
            self.excess[group] += sums.successes - expected * sums.sessions;
        }
        self.expected += expected * sessions;
        self.mix.add(number, hour, sessions);
        self.sessions_of_last_day += sessions;
    }

    /// The change alone; nothing without sessions.
    pub(super) fn change(&self) -> f64 {
        let sessions: f64 = self.sessions.iter().sum();
        if sessions > 0.0 { self.excess.iter().sum::<f64>() / sessions } else { 0.0 }
    }

    /// The change with its uncertainty; none if fewer than [`SUFFICIENT_GROUPS`] groups have sessions.
    ///
    /// With `n_b` sessions of group b in the window, `N` of all, `A_b` their excess, `f_b` the group's share in
    /// the four weeks and `B_b` what it moves the expectation by:
    ///
    /// ```text
    /// D = ΣA_b/N,   a_b = (A_b − D·n_b)/N
    /// V_u = max( K/(K−1)·Σ(a_b − B_b)², φ·(1/N + 1/N_0) ),   V_d = σ²·(1/L + 1/L_0),   V = V_u + V_d
    /// L = min(hours/24, N²/Σ n_j²)                                                    days of the window
    /// cautious = max over b of  D − a_b/(1 − n_b/N) + B_b/(1 − f_b)                   leaving out group b
    /// ν = V² / ( V_u²/(4·(N²/Σn_b² − 1)) + V_d²/ν_d )                                 V_u users, V_d days
    /// ```
    ///
    /// A user who is in both periods moves both means the same way, so that `a_b − B_b` has what is left.
    pub(super) fn difference(&self, baseline: &Baseline) -> Option<Difference> {
        let groups = self.sessions.iter().filter(|n| **n > 0.0).count();
        if groups < SUFFICIENT_GROUPS {
            return None;
        }
        let sessions: f64 = self.sessions.iter().sum();
        let change = self.change();
        let moved = baseline.influences(&self.mix, sessions);
        let (mut squares, mut squared_groups, mut cautious) = (0.0, 0.0, change);
        for (group, (n, excess)) in self.sessions.iter().zip(&self.excess).enumerate() {
            let own = (excess - change * n) / sessions;
            squares += (own - moved[group]).powi(2);
            squared_groups += n * n;
            let left_out =
                own / (1.0 - n / sessions) - moved[group] / (1.0 - baseline.shares[group]);
            cautious = cautious.max(change - left_out);
        }
        let count = groups as f64;
        let jackknife = count / (count - 1.0) * squares;
        let least = baseline.dispersion * (sessions.recip() + baseline.sessions.recip());
        let of_users = jackknife.max(least);
        let squared_days = self.squared_days + self.sessions_of_last_day.powi(2);
        let days = (self.hours as f64 / HOURS as f64).min(sessions * sessions / squared_days);
        let of_days = baseline.day_variance * (days.recip() + baseline.effective_days.recip());
        let variance = of_users + of_days;
        let df = DF_PER_GROUP * (sessions * sessions / squared_groups - 1.0).max(1.0);
        let spread = of_users * of_users / df + of_days * of_days / baseline.day_df;
        Some(Difference {
            sessions,
            expected: self.expected / sessions,
            change,
            cautious,
            standard_error: variance.sqrt().max(change.abs() / LARGEST_T).max(f64::EPSILON),
            df: if spread > 0.0 { variance * variance / spread } else { df },
        })
    }
}

impl Difference {
    /// True if the drop is worth an alert, also without the group that speaks most for it.
    pub(super) fn is_relevant(&self, baseline: &Baseline) -> bool {
        -self.cautious >= baseline.smallest
    }

    /// The logarithm of the evidence for a drop beyond what is tolerated.
    ///
    /// ```text
    /// t = (−D − m/3)/√V,   z = √( ν·ln(1 + t²/ν) ),   I = (3m)²/V
    /// ln E = ln 2 + ½(z²·I/(1 + I) − ln(1 + I)) + ln Φ( z·√(I/(1 + I)) )
    /// ```
    ///
    /// `z` is as far out among normal values as `t` is among Student's. `E` is the mean likelihood ratio over
    /// drops that are half-normal with spread `3m`. As the window grows, its change gathers information in
    /// independent pieces, so that for large samples and no drop beyond `m/3` it is a supermartingale.
    pub(super) fn ln_e_value(&self, baseline: &Baseline) -> f64 {
        let t = (-self.change - TOLERATED * baseline.smallest) / self.standard_error;
        let z = (self.df * (t * t / self.df).ln_1p()).sqrt().copysign(t);
        let information = self.information(baseline);
        let shrunk = z * (1.0 + information.recip()).sqrt().recip();
        let above = normal_upper_tail(-shrunk).max(f64::MIN_POSITIVE);
        std::f64::consts::LN_2 + ln_mixture(z, information) + above.ln()
    }

    /// Half the width of the 95 % interval for the change that holds at all looks at this window together.
    pub(super) fn margin(&self, baseline: &Baseline, alpha: f64) -> f64 {
        let z = mixture_multiplier(self.information(baseline), alpha);
        self.standard_error * (self.df * (z * z / self.df).exp_m1()).sqrt()
    }

    fn information(&self, baseline: &Baseline) -> f64 {
        (TYPICAL * baseline.smallest / self.standard_error).powi(2)
    }
}
