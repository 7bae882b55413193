//! Chance with a seed: users, and how often they succeed.

use stats::{Alike, Arm, UserSum};

/// SplitMix64: the same numbers every time.
pub struct Dice {
    state: u64,
    /// `ln(1 − 1/m)` with `m` the mean number of sessions of a user.
    ln_go_on: f64,
}

impl Dice {
    pub fn new(seed: u64, sessions: f64) -> Self {
        Self { state: seed, ln_go_on: (1.0 - sessions.recip()).ln() }
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

    /// One or more, with this mean.
    pub fn geometric(&mut self, mean: f64) -> u64 {
        1 + ((1.0 - self.unit()).ln() / (1.0 - mean.recip()).ln()) as u64
    }

    /// Gamma with scale 1 (Marsaglia and Tsang, 2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * (1.0 - self.unit()).powf(shape.recip());
        }
        let d = shape - 1.0 / 3.0;
        let c = (9.0 * d).sqrt().recip();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.unit()).ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
                return d * v;
            }
        }
    }

    pub fn beta(&mut self, a: f64, b: f64) -> f64 {
        let (x, y) = (self.gamma(a), self.gamma(b));
        if x + y > 0.0 { x / (x + y) } else { f64::from(u8::from(self.chance(a / (a + b)))) }
    }

    /// Poisson; large ones by the normal distribution.
    pub fn poisson(&mut self, mean: f64) -> usize {
        if mean > 60.0 {
            return (mean + mean.sqrt() * self.normal()).round().max(0.0) as usize;
        }
        let (limit, mut product, mut count) = ((-mean).exp(), self.unit(), 0);
        while product > limit {
            product *= self.unit();
            count += 1;
        }
        count
    }

    /// Number of sessions of a user.
    pub fn visits(&mut self) -> u64 {
        1 + ((1.0 - self.unit()).ln() / self.ln_go_on) as u64
    }

    /// Sessions and successes of one user.
    pub fn sum(&mut self, sessions: u64, person: &mut Person) -> UserSum {
        UserSum { sessions, total: (0..sessions).filter(|_| person.succeeds(self)).count() as i64 }
    }

    /// Users with a geometric number of sessions; the first of them has `share` of all, unless that is 0.
    pub fn arm(&mut self, users: usize, base: f64, icc: f64, share: f64) -> Arm {
        let mut counted = Counted::default();
        let is_heavy = share > 0.0;
        for _ in usize::from(is_heavy)..users {
            let sessions = self.visits();
            counted.add(self.sum(sessions, &mut Person::new(base, icc)));
        }
        if is_heavy {
            let sessions = (counted.sessions as f64 * share / (1.0 - share)).round().max(1.0);
            counted.add(self.sum(sessions as u64, &mut Person::new(base, icc)));
        }
        counted.arm()
    }
}

/// A user whose own rate is beta with a given mean and intraclass correlation. The rate itself is not drawn:
/// the chance of the next success is its mean given the sessions so far (Pólya's urn).
#[derive(Clone, Copy)]
pub struct Person {
    successes: f64,
    sessions: f64,
    /// Weight of one more session: nothing when all users have the same rate.
    step: f64,
}

impl Person {
    pub fn new(mean: f64, icc: f64) -> Self {
        if icc <= 0.0 {
            return Self { successes: mean, sessions: 1.0, step: 0.0 };
        }
        let concentration = icc.recip() - 1.0;
        Self { successes: mean * concentration, sessions: concentration, step: 1.0 }
    }

    pub fn succeeds(&mut self, dice: &mut Dice) -> bool {
        let succeeds = dice.unit() * self.sessions < self.successes;
        self.sessions += self.step;
        if succeeds {
            self.successes += self.step;
        }
        succeeds
    }
}

/// Users with as many sessions are counted in a table, others in a list.
const FEW: usize = 64;

/// Users of an arm, those who contribute the same counted together.
pub struct Counted {
    few: Vec<u32>,
    /// Places of `few` that were ever above zero.
    used: Vec<usize>,
    many: Vec<UserSum>,
    pub sessions: u64,
}

impl Default for Counted {
    fn default() -> Self {
        Self { few: vec![0; FEW * FEW], used: Vec::new(), many: Vec::new(), sessions: 0 }
    }
}

impl Counted {
    fn place(user: UserSum) -> Option<usize> {
        let (sessions, total) = (user.sessions as usize, user.total as usize);
        (sessions < FEW).then_some(sessions * FEW + total)
    }

    pub fn add(&mut self, user: UserSum) {
        self.sessions += user.sessions;
        match Self::place(user) {
            Some(place) => {
                self.few[place] += 1;
                if self.few[place] == 1 && !self.used.contains(&place) {
                    self.used.push(place);
                }
            }
            None => self.many.push(user),
        }
    }

    /// A user has more sessions than before.
    pub fn replace(&mut self, before: UserSum, after: UserSum) {
        if before.sessions > 0 {
            self.sessions -= before.sessions;
            match Self::place(before) {
                Some(place) => self.few[place] -= 1,
                None => self.many.retain(|user| *user != before),
            }
        }
        self.add(after);
    }

    pub fn arm(&self) -> Arm {
        let few = self.used.iter().map(|place| {
            let user = UserSum { sessions: (place / FEW) as u64, total: (place % FEW) as i64 };
            Alike { user, count: u64::from(self.few[*place]) }
        });
        Arm::of_alike(few.chain(self.many.iter().map(|user| Alike { user: *user, count: 1 })))
    }
}
