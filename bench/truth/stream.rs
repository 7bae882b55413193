//! Users who come on some day, and again every few days.

use super::chance::Dice;
use super::report::Cell;
use stats::always_valid::AlwaysValid;
use stats::{Arm, UserSum};

pub const DAYS: usize = 60;

pub struct Stream {
    /// Of each day, who has a session.
    pub sessions: Vec<Vec<usize>>,
    pub users: Vec<Visitor>,
}

pub struct Visitor {
    pub is_held_out: bool,
    pub first_day: usize,
}

impl Stream {
    pub fn empty() -> Self {
        Self { sessions: vec![Vec::new(); DAYS], users: Vec::new() }
    }

    pub fn add_user(&mut self, is_held_out: bool, first_day: usize) {
        self.users.push(Visitor { is_held_out, first_day });
    }

    pub fn draw(dice: &mut Dice, users_per_day: usize, holdout: f64) -> Self {
        let mut stream = Self::empty();
        for first_day in 0..DAYS {
            for _ in 0..users_per_day {
                let user = stream.users.len();
                stream.add_user(dice.chance(holdout), first_day);
                let mut day = first_day;
                for _ in 0..dice.visits() {
                    if let Some(of_day) = stream.sessions.get_mut(day) {
                        of_day.push(user);
                    }
                    day += dice.geometric(4.0) as usize;
                }
            }
        }
        stream
    }

    pub fn arms(&self, sums: &[UserSum]) -> [Arm; 2] {
        [false, true].map(|held_out| {
            let of_arm = self.users.iter().zip(sums).filter(|(u, _)| u.is_held_out == held_out);
            of_arm.map(|(_, sum)| *sum).collect()
        })
    }
}

/// An experiment of sixty days in which the arms differ in nothing.
#[derive(Clone, Copy)]
pub struct Daily {
    pub holdout: f64,
    pub users_per_day: usize,
    /// Of success; of evaluation; of escalation.
    pub rate: f64,
    pub icc: f64,
    /// True if one user of the holdout always has 30 % of its sessions.
    pub is_heavy: bool,
}

impl Daily {
    pub fn named(self) -> Cell<Self> {
        let name = format!(
            "{} % of {}, {}, {}{}",
            100.0 * self.holdout,
            DAYS * self.users_per_day,
            self.rate,
            self.icc,
            if self.is_heavy { ", one in C" } else { "" }
        );
        Cell { name, world: self }
    }

    pub fn planned(&self) -> AlwaysValid {
        AlwaysValid::planned_for((DAYS * self.users_per_day) as u64).unwrap()
    }
}
