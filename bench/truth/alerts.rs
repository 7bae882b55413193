//! An organization over 88 days, hour by hour: four weeks to compare with, then sixty days that a rule watches.
//!
//! Users have places; how often a place comes is its weight, and now and then another user takes it. A user has a
//! success rate of their own and is in one of 32 groups.

use super::chance::Dice;
use stats::alerts::{Block, DAY, HOUR, Settings};
use stats::grouped::{GROUPS, GroupSums};
use std::collections::BTreeMap;

pub const BEFORE: i64 = 28;
pub const WATCHED: i64 = 60;
pub const DAYS: i64 = BEFORE + WATCHED;
/// The day on which something changes, if it does.
pub const CHANGES: i64 = BEFORE + 30;

/// The number that a session has.
#[derive(Clone, Copy, PartialEq)]
pub enum Metric {
    /// 1 or 0.
    Success,
    /// A judge's score, beta.
    Score,
    /// Turns, lognormal with spread 1.
    Turns,
    /// Pareto with exponent 2.2: of infinite skewness.
    Pareto,
}

/// One user who has 30 % of the sessions.
#[derive(Clone, Copy, PartialEq)]
pub enum Heavy {
    Nobody,
    /// Succeeds nine times of ten, and stops coming.
    Stops,
    /// Succeeds nine times of ten, then once in ten.
    TurnsBad,
}

/// When verdicts come.
#[derive(Clone, Copy, PartialEq)]
pub enum Verdicts {
    AtOnce,
    /// After twelve hours on average, whatever they are.
    Late,
    /// Failures at once, successes up to two hours later.
    FailuresFirst,
}

#[derive(Clone, Copy)]
pub struct World {
    pub per_day: f64,
    pub metric: Metric,
    pub base: f64,
    /// Intraclass correlation of a user's sessions.
    pub icc: f64,
    /// Sessions of a user in four weeks, on average; there are 15 users at least.
    pub sessions_per_user: f64,
    /// Exponent of Zipf's law of how often users come; 0 if all come as often.
    pub zipf: f64,
    /// Days until another user takes a place, on average.
    pub lifetime: f64,
    /// By how much weekends are worse, and nights than noon.
    pub weekend: f64,
    pub night: f64,
    /// Loss in sixty days.
    pub drift: f64,
    /// Spread of days.
    pub spread_of_days: f64,
    /// Share of days without sessions.
    pub missing: f64,
    /// For a week, four new users with one session for each usual session.
    pub has_burst: bool,
    pub heavy: Heavy,
    pub verdicts: Verdicts,
    /// Loss on the thirtieth day, of a metric of effort as a share; and for how many days.
    pub drop: f64,
    pub drop_days: i64,
}

pub const PLAIN: World = World {
    per_day: 100.0,
    metric: Metric::Success,
    base: 0.8,
    icc: 0.2,
    sessions_per_user: 6.0,
    zipf: 0.0,
    lifetime: 40.0,
    weekend: 0.0,
    night: 0.0,
    drift: 0.0,
    spread_of_days: 0.0,
    missing: 0.0,
    has_burst: false,
    heavy: Heavy::Nobody,
    verdicts: Verdicts::AtOnce,
    drop: 0.0,
    drop_days: DAYS,
};

/// Course of one run.
pub struct Lived {
    /// Blocks by the hour in which their verdicts were there.
    pub arrivals: BTreeMap<i64, Vec<Block>>,
    /// When the drop began.
    pub dropped_at: i64,
}

struct User {
    /// Success rate, or factor of the effort.
    level: f64,
    group: usize,
}

impl World {
    pub fn settings(&self) -> Settings {
        match self.metric {
            Metric::Success | Metric::Score => Settings::SUCCESS,
            Metric::Turns | Metric::Pareto => Settings::EFFORT,
        }
    }

    /// Draws a place by how often it comes.
    pub fn places(&self) -> Places {
        let count = (self.per_day * BEFORE as f64 / self.sessions_per_user).max(15.0) as usize;
        Places::new((1..=count).map(|rank| (rank as f64).powf(-self.zipf)).collect())
    }

    pub fn live(&self, places: &Places, dice: &mut Dice) -> Lived {
        let mut users: Vec<User> = (0..places.count()).map(|_| self.user(dice)).collect();
        let mut heavy = User { level: 0.9, group: dice.below(GROUPS) };
        let heavy_changes = BEFORE + 10 + dice.below(20) as i64;
        let burst = BEFORE + 10 + dice.below(30) as i64;
        let first_weekday = dice.below(7) as i64;
        let dropped_at = CHANGES * DAY + dice.below(24) as i64 * HOUR;
        let dropped = dropped_at..dropped_at + self.drop_days * DAY;
        let mut sums = Sums::default();
        for day in 0..DAYS {
            for _ in 0..dice.poisson(users.len() as f64 / self.lifetime) {
                let place = dice.below(users.len());
                users[place] = self.user(dice);
            }
            let is_weekend = (day + first_weekday) % 7 >= 5;
            let is_missing = dice.chance(self.missing);
            let of_day = -self.drift * day as f64 / WATCHED as f64
                + self.spread_of_days * dice.normal()
                - if is_weekend { self.weekend } else { 0.0 };
            let heavy_share = match self.heavy {
                Heavy::Nobody => 0.0,
                Heavy::Stops if day >= heavy_changes => 0.0,
                _ => 3.0 / 7.0,
            };
            if self.heavy == Heavy::TurnsBad && day >= heavy_changes {
                heavy.level = 0.1;
            }
            for hour in 0..24 {
                let time = day * DAY + hour * HOUR;
                // Deepest at three in the morning.
                let night = (std::f64::consts::TAU * (hour - 3) as f64 / 24.0).cos();
                let drop = if dropped.contains(&time) { self.drop } else { 0.0 };
                let shift = of_day - self.night / 2.0 * night - drop;
                let mut volume = self.per_day / 24.0 * (1.0 - 0.8 * night);
                volume *= if is_weekend { 0.5 } else { 1.2 };
                if is_missing {
                    continue;
                }
                for _ in 0..dice.poisson(volume) {
                    let user = &users[places.draw(dice)];
                    self.session(time, user, shift, dice, &mut sums);
                }
                for _ in 0..dice.poisson(volume * heavy_share) {
                    self.session(time, &heavy, shift, dice, &mut sums);
                }
                if self.has_burst && (burst..burst + 7).contains(&day) {
                    for _ in 0..dice.poisson(4.0 * volume) {
                        let user = self.user(dice);
                        self.session(time, &user, shift, dice, &mut sums);
                    }
                }
            }
        }
        Lived { arrivals: sums.arrivals(), dropped_at }
    }

    fn user(&self, dice: &mut Dice) -> User {
        let level = match self.metric {
            Metric::Success | Metric::Score if self.icc > 0.0 => {
                let concentration = self.icc.recip() - 1.0;
                dice.beta(self.base * concentration, (1.0 - self.base) * concentration)
            }
            Metric::Success | Metric::Score => self.base,
            Metric::Turns | Metric::Pareto => (0.5 * dice.normal() - 0.125).exp(),
        };
        User { level, group: dice.below(GROUPS) }
    }

    fn session(&self, time: i64, user: &User, shift: f64, dice: &mut Dice, sums: &mut Sums) {
        // So that the mean over users moves by the shift and rates stay between 0 and 1.
        let rate = if shift <= 0.0 {
            (user.level * (1.0 + shift / self.base)).max(0.0)
        } else {
            user.level + (1.0 - user.level) * (shift / (1.0 - self.base)).min(1.0)
        };
        let effort = user.level * (1.0 - shift);
        let value = match self.metric {
            Metric::Success => f64::from(u8::from(dice.chance(rate))),
            Metric::Score => {
                let mean = rate.clamp(0.001, 0.999);
                dice.beta(4.0 * mean, 4.0 * (1.0 - mean))
            }
            Metric::Turns => 1.0 + (3.0 * effort * dice.normal().exp()).floor(),
            Metric::Pareto => effort * (1.0 - dice.unit()).powf(-1.0 / 2.2),
        };
        let hours = match self.verdicts {
            Verdicts::AtOnce => 0,
            Verdicts::Late => (-12.0 * (1.0 - dice.unit()).ln()) as i64,
            Verdicts::FailuresFirst if value > 0.5 => dice.below(3) as i64,
            Verdicts::FailuresFirst => 0,
        };
        sums.add(time, hours, user.group, value);
    }
}

/// Sums by hour and by how much later their verdicts come.
#[derive(Default)]
struct Sums {
    at_once: Vec<Block>,
    later: BTreeMap<(i64, i64), GroupSums>,
}

impl Sums {
    fn add(&mut self, time: i64, hours: i64, group: usize, value: f64) {
        if hours > 0 {
            self.later.entry((time + hours * HOUR, time)).or_default().add(group, 1.0, value);
            return;
        }
        if self.at_once.last().is_none_or(|block| block.time != time) {
            self.at_once.push(Block { time, sums: GroupSums::default() });
        }
        if let Some(block) = self.at_once.last_mut() {
            block.sums.add(group, 1.0, value);
        }
    }

    fn arrivals(self) -> BTreeMap<i64, Vec<Block>> {
        let mut arrivals: BTreeMap<i64, Vec<Block>> = BTreeMap::new();
        for block in self.at_once {
            arrivals.entry(block.time).or_default().push(block);
        }
        for ((arrival, time), sums) in self.later {
            arrivals.entry(arrival).or_default().push(Block { time, sums });
        }
        arrivals
    }
}

/// Draws places in proportion to their weights (the alias method of Walker, 1977).
pub struct Places {
    stay: Vec<f64>,
    other: Vec<usize>,
}

impl Places {
    fn new(weights: Vec<f64>) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut stay: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let mut other: Vec<usize> = (0..stay.len()).collect();
        let (mut light, mut heavy): (Vec<_>, Vec<_>) =
            (0..stay.len()).partition(|place| stay[*place] < 1.0);
        while let (Some(one), Some(&from)) = (light.pop(), heavy.last()) {
            other[one] = from;
            stay[from] -= 1.0 - stay[one];
            if stay[from] < 1.0 {
                heavy.pop();
                light.push(from);
            }
        }
        Self { stay, other }
    }

    fn count(&self) -> usize {
        self.stay.len()
    }

    fn draw(&self, dice: &mut Dice) -> usize {
        let place = dice.below(self.count());
        if dice.chance(self.stay[place]) { place } else { self.other[place] }
    }
}
