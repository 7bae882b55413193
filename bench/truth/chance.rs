//! Chance with a seed: users, their rates and their sessions.

use stats::{Arm, UserSum};

/// SplitMix64: the same numbers every time.
pub struct Dice {
    state: u64,
    /// Mean number of sessions of a user.
    sessions: f64,
}

impl Dice {
    pub const fn new(seed: u64, sessions: f64) -> Self {
        Self { state: seed, sessions }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// The logarithm of a gamma variable (Marsaglia and Tsang, 2000), which may be far too small to be a
    /// number itself.
    fn ln_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.ln_gamma(shape + 1.0) + (1.0 - self.unit()).ln() / shape;
        }
        let d = shape - 1.0 / 3.0;
        let c = (9.0 * d).sqrt().recip();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.unit()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return (d * v).ln();
            }
        }
    }

    /// A user's own rate: beta with this mean and intraclass correlation.
    pub fn rate(&mut self, mean: f64, icc: f64) -> f64 {
        if icc <= 0.0 {
            return mean;
        }
        let concentration = icc.recip() - 1.0;
        let (a, b) =
            (self.ln_gamma(mean * concentration), self.ln_gamma((1.0 - mean) * concentration));
        (1.0 + (b - a).exp()).recip()
    }

    /// One or more, with this mean.
    pub fn geometric(&mut self, mean: f64) -> u64 {
        let go_on = 1.0 - mean.recip();
        1 + ((1.0 - self.unit()).ln() / go_on.ln()) as u64
    }

    /// How many sessions a user has.
    pub fn visits(&mut self) -> u64 {
        self.geometric(self.sessions)
    }

    pub fn sum(&mut self, sessions: u64, rate: f64) -> UserSum {
        UserSum { sessions, total: (0..sessions).filter(|_| self.chance(rate)).count() as i64 }
    }

    fn user(&mut self, base: f64, icc: f64) -> UserSum {
        let (sessions, rate) = (self.visits(), self.rate(base, icc));
        self.sum(sessions, rate)
    }

    /// Users with a geometric number of sessions; the first of them has `share` of all, unless that is 0.
    pub fn arm(&mut self, users: usize, base: f64, icc: f64, share: f64) -> Arm {
        let mut all: Vec<UserSum> = (0..users).map(|_| self.user(base, icc)).collect();
        if share > 0.0 {
            let rest: u64 = all.iter().skip(1).map(|user| user.sessions).sum();
            let sessions = (rest as f64 * share / (1.0 - share)).round().max(1.0) as u64;
            let rate = self.rate(base, icc);
            all[0] = self.sum(sessions, rate);
        }
        Arm::new(all)
    }
}
