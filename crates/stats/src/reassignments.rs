//! Random assignments of users to arms, drawn for groups of users who are alike.
//!
//! An assignment puts each user into the holdout by itself, with the share of the holdout. Which of the users of a
//! group these are makes no difference to any sum, only how many: a binomial number. So an assignment of a hundred
//! thousand users takes as many draws as there are different users, which are a hundred or so.

use super::binomial::binomial_ln_probability;

/// Groups up to this size are drawn user by user, which takes less than the steps of a walk.
const FEW: u64 = 16;

/// Most groups that are drawn, over all assignments: it bounds the time where all users are different.
const MOST_DRAWS: usize = 20_000_000;
/// Fewest assignments: p-values go down to 1 in 200.
const FEWEST: u32 = 199;

/// Random assignments; the same values give the same ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reassignments {
    pub seed: u64,
    /// Share of the users that are held out, from 0 to 1.
    pub holdout_share: f64,
    /// Number of assignments.
    pub repetitions: u32,
}

impl Reassignments {
    /// With fewer repetitions, if there are many groups.
    pub(super) fn affordable(self, groups: usize) -> Self {
        let affordable = u32::try_from(MOST_DRAWS / groups.max(1)).unwrap_or(u32::MAX);
        Self { repetitions: self.repetitions.min(affordable.max(FEWEST)), ..self }
    }

    /// For each assignment, the number of users held out of each group; `sizes` are the numbers of users.
    pub(super) fn of_groups(
        self,
        sizes: impl IntoIterator<Item = u64>,
    ) -> impl Iterator<Item = Vec<u64>> {
        let group = |users| Group::new(users, self.holdout_share);
        let groups: Vec<Group> = sizes.into_iter().map(group).collect();
        (0..self.repetitions).map(move |salt| {
            let mut random = Random::new(self.seed, salt);
            groups.iter().map(|group| group.draw(&mut random)).collect()
        })
    }
}

/// Users who are alike, and the binomial distribution of how many of them are held out.
struct Group {
    users: u64,
    chance: f64,
    most_likely: u64,
    /// Probability of the most likely number.
    highest: f64,
}

impl Group {
    fn new(users: u64, chance: f64) -> Self {
        let chance = chance.clamp(0.0, 1.0);
        let most_likely = (((users + 1) as f64 * chance) as u64).min(users);
        let highest = match chance {
            0.0 | 1.0 => 1.0,
            _ => binomial_ln_probability(most_likely, users, chance).exp(),
        };
        Self { users, chance, most_likely, highest }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        if self.users <= FEW {
            return (0..self.users).map(|_| u64::from(random.fraction() < self.chance)).sum();
        }
        // Inversion: from the most likely number outwards, until the probabilities passed exceed a uniform number.
        let odds = self.chance / (1.0 - self.chance);
        let mut rest = random.fraction() - self.highest;
        let (mut above, mut below) = (self.highest, self.highest);
        for distance in 1..=self.users {
            if rest < 0.0 || above + below <= f64::MIN_POSITIVE {
                break;
            }
            let up = self.most_likely + distance;
            if up <= self.users {
                above *= (self.users - up + 1) as f64 / up as f64 * odds;
                rest -= above;
                if rest < 0.0 {
                    return up;
                }
            } else {
                above = 0.0;
            }
            if let Some(down) = self.most_likely.checked_sub(distance) {
                below *= (down + 1) as f64 / (self.users - down) as f64 / odds;
                rest -= below;
                if rest < 0.0 {
                    return down;
                }
            } else {
                below = 0.0;
            }
        }
        // All probabilities together may miss 1 by rounding.
        self.most_likely
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn new(seed: u64, salt: u32) -> Self {
        let mut random =
            Self(seed.wrapping_add(u64::from(salt).wrapping_mul(0xD1B5_4A32_D192_ED03)));
        // Salts differ in few bits.
        Self(random.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform from 0 to 1, without 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributions::chi_square_upper_tail;

    fn drawn(users: u64, holdout_share: f64, repetitions: u32) -> Vec<u64> {
        let assignments = Reassignments { seed: 3, holdout_share, repetitions };
        assignments.of_groups([users]).flatten().collect()
    }

    #[test]
    fn numbers_held_out_are_binomial() {
        const DRAWS: u32 = 20_000;
        for (users, chance) in
            [(5, 0.3), (16, 0.5), (17, 0.1), (40, 0.9), (300, 0.02), (2_000, 0.1), (90_000, 0.5)]
        {
            let numbers = drawn(users, chance, DRAWS);
            let (mean, variance) = (users as f64 * chance, users as f64 * chance * (1.0 - chance));
            // Pearson's test over the numbers, those that are expected less than ten times taken together.
            let mut cells: Vec<(f64, f64)> = vec![(0.0, 0.0)];
            let reach = 8.0 * variance.sqrt() + 2.0;
            let first = (mean - reach).max(0.0) as u64;
            for number in first..=((mean + reach) as u64).min(users) {
                let probability = binomial_ln_probability(number, users, chance).exp();
                let seen = numbers.iter().filter(|drawn| **drawn == number).count();
                if cells.last().is_some_and(|(_, expected)| *expected >= 10.0) {
                    cells.push((0.0, 0.0));
                }
                if let Some((count, expected)) = cells.last_mut() {
                    *count += seen as f64;
                    *expected += probability * f64::from(DRAWS);
                }
            }
            if let [.., before, last] = cells.as_mut_slice()
                && last.1 < 10.0
            {
                *before = (before.0 + last.0, before.1 + last.1);
                cells.pop();
            }
            let counted: f64 = cells.iter().map(|(count, _)| count).sum();
            assert!((counted - f64::from(DRAWS)).abs() < 0.5, "{users} {chance}: {counted}");
            let distance = cells.iter().map(|(count, e)| (count - e).powi(2) / e).sum();
            let p = chi_square_upper_tail(distance, (cells.len() - 1) as f64);
            assert!(p > 0.001, "{users} {chance}: p {p} over {} cells", cells.len());
        }
    }

    #[test]
    fn nobody_or_everybody_is_held_out_at_the_ends() {
        for users in [0, 3, 100] {
            assert!(drawn(users, 0.0, 50).iter().all(|number| *number == 0));
            assert!(drawn(users, 1.0, 50).iter().all(|number| *number == users));
        }
    }

    #[test]
    fn many_groups_are_assigned_less_often() {
        let repetitions = |asked, groups| {
            let assignments = Reassignments { seed: 1, holdout_share: 0.5, repetitions: asked };
            assignments.affordable(groups).repetitions
        };
        assert_eq!(repetitions(999, 0), 999);
        assert_eq!(repetitions(999, 20_000), 999);
        assert_eq!(repetitions(999, 50_000), 400);
        assert_eq!(repetitions(999, 10_000_000), 199);
        assert_eq!(repetitions(99, 10_000_000), 99);
    }

    #[test]
    fn assignments_differ_and_are_the_same_again() {
        let once = drawn(1_000, 0.3, 100);
        assert_eq!(once, drawn(1_000, 0.3, 100));
        assert!(once.windows(2).filter(|pair| pair[0] == pair[1]).count() < 20);
        let assignments = Reassignments { seed: 1, holdout_share: 0.5, repetitions: 200 };
        let same = assignments.of_groups([1_000, 1_000]).filter(|of| of[0] == of[1]).count();
        assert!(same < 20, "groups are drawn apart: {same}");
    }
}
