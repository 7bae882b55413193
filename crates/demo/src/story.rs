//! The story: who comes when, from where, to which version of the agent, and how it goes. A pure function of the
//! seed, so that the same seed tells the same story.

use base::clock::Clock;
use base::ids::Ids;
use base::owner::UserId;

pub const DAY: i64 = 86_400;
pub const DAYS: i64 = 90;
pub const USERS: usize = 2000;
/// This customer asked to be forgotten on this day, and does not come again.
pub const FORGOTTEN: (u64, i64) = (7, 30);
/// Nobody comes in the last moments before the demo is served: those belong to the customers who come live.
const LAST_CALL: i64 = 4000;

const SOURCES: &[(&str, f64)] = &[("web", 0.45), ("app", 0.30), ("email", 0.15), ("phone", 0.10)];
/// From which day on the agent is which version, and how often it succeeds unaided.
const VERSIONS: &[(i64, &str, f64)] =
    &[(0, "support-1.0", 0.70), (35, "support-1.1", 0.76), (65, "support-2.0", 0.82)];

pub struct Story {
    seed: u64,
    sessions: u64,
    /// Time at which the demo is made, where its history ends.
    ends_at: i64,
}

/// A customer's visit with a question.
pub struct Visit {
    pub number: u64,
    pub starts_at: i64,
    pub user: UserId,
    /// The number in the user's id.
    pub customer: u64,
    pub source: &'static str,
    pub version: &'static str,
    /// Probability that the agent helps without learnings.
    pub chance: f64,
    pub dice: Dice,
}

impl Visit {
    pub fn session_id(&self) -> String {
        format!("chat-{:05}", self.number)
    }
}

pub fn user_id(customer: u64) -> UserId {
    format!("customer-{customer:04}").into()
}

/// Random choices that belong to one visit.
#[derive(Clone)]
pub struct Dice(Ids);

impl Dice {
    pub fn new(seed: u64, number: u64) -> Self {
        let mixed =
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number.wrapping_mul(0xD1B5_4A32_D192_ED03);
        Dice(Ids::seeded(Clock::manual(0), mixed))
    }

    pub fn fraction(&self) -> f64 {
        self.0.fraction()
    }

    pub fn chance(&self, share: f64) -> bool {
        self.fraction() < share
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    pub fn below(&self, bound: usize) -> usize {
        ((self.fraction() * bound as f64) as usize).min(bound.saturating_sub(1))
    }

    pub fn one_of<T: Copy>(&self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

impl Story {
    pub fn new(seed: u64, sessions: u64, now: i64) -> Self {
        Story { seed, sessions, ends_at: now }
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn sessions(&self) -> u64 {
        self.sessions
    }

    pub fn ends_at(&self) -> i64 {
        self.ends_at
    }

    /// Midnight, ninety days before the last one.
    pub fn begins_at(&self) -> i64 {
        self.ends_at - self.ends_at.rem_euclid(DAY) - (DAYS - 1) * DAY
    }

    /// The visits of a day, in order. The last day is today and ends now.
    pub fn visits(&self, day: i64) -> Vec<Visit> {
        let (first, next) = (self.visits_before(day), self.visits_before(day + 1));
        let begins = self.begins_at() + day * DAY;
        let length = (self.ends_at - LAST_CALL - begins).clamp(1, DAY);
        let mut visits: Vec<Visit> =
            (first..next).map(|number| self.visit(number, day, begins, length)).collect();
        let (forgotten, on_day) = FORGOTTEN;
        // The day before, they write a letter.
        visits.retain(|visit| visit.customer != forgotten || day + 1 < on_day);
        visits.sort_by_key(|visit| visit.starts_at);
        visits
    }

    /// A little more every day.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn visits_before(&self, day: i64) -> u64 {
        let part = day as f64 / DAYS as f64;
        (self.sessions as f64 * (0.7 * part + 0.3 * part * part)) as u64
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    fn visit(&self, number: u64, day: i64, begins: i64, length: i64) -> Visit {
        let dice = Dice::new(self.seed, number);
        // Some people come often: the lower the number, the more.
        let user = (dice.fraction().powf(1.7) * USERS as f64) as usize;
        let mut at = dice.fraction();
        let source = SOURCES.iter().find(|(_, share)| {
            at -= share;
            at < 0.0
        });
        let source = source.map_or("web", |(name, _)| *name);
        let known = VERSIONS.iter().rev().find(|(from, ..)| *from <= day);
        let (_, version, base) = known.copied().unwrap_or(VERSIONS[0]);
        let harder = if source == "phone" { 0.06 } else { 0.0 };
        // Some people are harder to please, whatever they ask.
        let person = Dice::new(self.seed ^ 0x50_45_4F, user as u64).fraction() * 0.12 - 0.06;
        Visit {
            number,
            starts_at: begins + (dice.fraction() * length as f64) as i64,
            user: user_id(user as u64 + 1),
            customer: user as u64 + 1,
            source,
            version,
            chance: base - harder + person,
            dice,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_tells_the_same_story_and_all_of_it() {
        let (one, again, other) = (
            Story::new(1, 5000, 1_768_478_400),
            Story::new(1, 5000, 1_768_478_400),
            Story::new(2, 5000, 1_768_478_400),
        );
        let told = |story: &Story| -> Vec<(u64, i64, UserId)> {
            let days = (0..DAYS).flat_map(|day| story.visits(day));
            days.map(|visit| (visit.number, visit.starts_at, visit.user)).collect()
        };
        assert_eq!(told(&one), told(&again));
        assert_ne!(told(&one), told(&other));
        assert!((4950..5000).contains(&told(&one).len()), "without those of the forgotten");
        assert!(told(&one).iter().all(|(_, at, _)| (one.begins_at()..1_768_478_400).contains(at)));
    }

    #[test]
    fn versions_follow_each_other_and_sources_have_their_share() {
        let story = Story::new(3, 9000, 1_768_478_400);
        assert!(story.visits(10).iter().all(|visit| visit.version == "support-1.0"));
        assert!(story.visits(80).iter().all(|visit| visit.version == "support-2.0"));
        let all: Vec<Visit> = (0..DAYS).flat_map(|day| story.visits(day)).collect();
        let web = all.iter().filter(|visit| visit.source == "web").count();
        assert!((3800..4300).contains(&web), "{web}");
    }
}
