//! An organization whose playbooks are withheld from a share of their users.
//!
//! A user's arm is drawn once per playbook and epoch and kept. New users come every day; each has a geometric
//! number of sessions with mean 3, the next four days later on average, and meets some playbooks again and again.
//! A session finds several playbooks, so that playbooks share users, sessions and outcomes.

use super::chance::{Counted, Dice, Person};
use stats::learning_trials::{Epoch, EpochPlan, Evidence, TrialState, judge_trials, planned_users};
use stats::{Arm, Defined, UserSum};

/// An organization whose playbooks are all on trial.
#[derive(Clone, Copy)]
pub struct Organization {
    pub playbooks: usize,
    /// New users of a day.
    pub users_per_day: f64,
    /// Playbooks that come up for a user, and how many times one of them is drawn for a session.
    pub of_user: usize,
    pub of_session: usize,
    pub base: f64,
    pub icc: f64,
    pub share: f64,
    /// As many playbooks help by `effect`, and as many hurt by it.
    pub effective: usize,
    pub effect: f64,
    pub days: usize,
    /// Days between looks.
    pub every: usize,
    /// The day on which the share changes, which starts a second epoch.
    pub changes: Option<(usize, f64)>,
}

/// One playbook found in one session: the sums of the user in that epoch before and after.
struct Found {
    playbook: u32,
    epoch: u8,
    is_withheld: bool,
    before: UserSum,
    after: UserSum,
}

/// A playbook as one user meets it in one epoch.
struct Met {
    playbook: usize,
    epoch: usize,
    is_withheld: bool,
    sum: UserSum,
}

impl Organization {
    /// Users a day for whom a playbook is found, on average.
    pub fn found_per_day(&self) -> f64 {
        // A user with few sessions does not meet all.
        let per_user: f64 = (1..200)
            .map(|sessions| {
                let chance = (2.0_f64 / 3.0).powi(sessions - 1) / 3.0;
                let missed =
                    (1.0 - 1.0 / self.of_user as f64).powi(sessions * self.of_session as i32);
                chance * self.of_user as f64 * (1.0 - missed)
            })
            .sum();
        self.users_per_day * per_user / self.playbooks as f64
    }

    pub fn effect_of(&self, playbook: usize) -> f64 {
        match playbook {
            p if p < self.effective => self.effect,
            p if p < 2 * self.effective => -self.effect,
            _ => 0.0,
        }
    }

    /// All sessions of one user, put into the days on which they happen.
    fn visit(&self, first_day: usize, days: &mut [Vec<Found>], dice: &mut Dice) {
        let mut person = Person::new(self.base, self.icc);
        let topics: Vec<usize> = (0..self.of_user).map(|_| dice.below(self.playbooks)).collect();
        let mut met: Vec<Met> = Vec::new();
        let mut day = first_day;
        for _ in 0..dice.visits() {
            if day >= self.days {
                break;
            }
            let (epoch, share) = match self.changes {
                Some((change, share)) if day >= change => (1, share),
                _ => (0, self.share),
            };
            let mut found: Vec<usize> = Vec::new();
            for _ in 0..self.of_session {
                let playbook = topics[dice.below(topics.len())];
                let known = met.iter().position(|m| m.playbook == playbook && m.epoch == epoch);
                let place = known.unwrap_or_else(|| {
                    let is_withheld = dice.chance(share);
                    met.push(Met { playbook, epoch, is_withheld, sum: UserSum::default() });
                    met.len() - 1
                });
                if !found.contains(&place) {
                    found.push(place);
                }
            }
            let mut succeeds = person.succeeds(dice);
            for &place in &found {
                let Met { playbook, is_withheld, .. } = met[place];
                let effect = self.effect_of(playbook);
                // A playbook saves some of the failures, or spoils some of the successes.
                if effect != 0.0 && !is_withheld {
                    if effect > 0.0 && !succeeds {
                        succeeds = dice.chance(effect / (1.0 - self.base));
                    } else if effect < 0.0 && succeeds {
                        succeeds = !dice.chance(-effect / self.base);
                    }
                }
            }
            for &place in &found {
                let Met { playbook, epoch, is_withheld, ref mut sum } = met[place];
                let before = *sum;
                let session = UserSum { sessions: 1, total: i64::from(succeeds) };
                *sum = sum.plus(session);
                days[day].push(Found {
                    playbook: playbook as u32,
                    epoch: epoch as u8,
                    is_withheld,
                    before,
                    after: *sum,
                });
            }
            day += dice.geometric(4.0) as usize;
        }
    }

    /// Runs a world, and looks at all playbooks every few days.
    pub fn run(&self, dice: &mut Dice, mut look: impl FnMut(usize, &[Vec<Epoch>])) {
        let mut days: Vec<Vec<Found>> = (0..self.days).map(|_| Vec::new()).collect();
        let mut due = 0.0;
        for day in 0..self.days {
            due += self.users_per_day;
            while due >= 1.0 {
                due -= 1.0;
                self.visit(day, &mut days, dice);
            }
        }
        let plan = planned_users(Some(7.0 * self.found_per_day()), &[]);
        let epochs = 1 + usize::from(self.changes.is_some());
        let mut arms: Vec<[Counted; 2]> = Vec::new();
        arms.resize_with(self.playbooks * epochs, Default::default);
        for (day, of_day) in days.iter().enumerate() {
            for found in of_day {
                let place = found.playbook as usize * epochs + usize::from(found.epoch);
                let arm = &mut arms[place][usize::from(found.is_withheld)];
                arm.replace(found.before, found.after);
            }
            if (day + 1) % self.every == 0 {
                let trials: Vec<Vec<Epoch>> = arms
                    .chunks(epochs)
                    .map(|of_playbook| {
                        let shares =
                            [self.share, self.changes.map_or(self.share, |(_, share)| share)];
                        of_playbook
                            .iter()
                            .zip(shares)
                            .map(|(arms, share)| epoch([arms[0].arm(), arms[1].arm()], share, plan))
                            .collect()
                    })
                    .collect();
                look(day + 1, &trials);
            }
        }
    }
}

pub fn epoch([served, withheld]: [Arm; 2], share: f64, planned_users: u64) -> Epoch {
    Epoch::of_arms(served, withheld, EpochPlan { share, planned_users }).unwrap()
}

/// True for each playbook that is said to help and for each that is said to hurt.
pub fn called(trials: &[Vec<Epoch>]) -> Vec<[bool; 2]> {
    let evidence: Vec<Defined<Evidence>> =
        trials.iter().map(|epochs| Evidence::of(epochs)).collect();
    let judged = judge_trials(&evidence);
    let is = |state: TrialState| [state == TrialState::Helps, state == TrialState::Hurts];
    judged.trials.iter().map(|trial| is(trial.state)).collect()
}
