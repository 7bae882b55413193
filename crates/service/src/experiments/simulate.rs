//! A/A replay: the recorded users, assigned again and again to arms that differ in nothing.
//!
//! The share of intervals that exclude zero is the false alarm rate on this installation's own users; it should be
//! near 5 %. The share of sample-ratio alarms should be near 0.1 %.

use serde::Serialize;

use super::{Arm, assign, sql};
use crate::app::App;
use base::owner::{OrgId, UserId};
use stats::sample_ratio::SampleRatio;
use stats::{self, CiMethod, Comparison, UserSum};
use storage::error::Result;

/// Recorded users with their sessions and successes.
pub struct Recorded {
    org_id: OrgId,
    users: Vec<(UserId, UserSum)>,
}

/// Result of the simulated assignments: false alarms and mean interval width.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Simulation {
    pub users: usize,
    pub sessions: u64,
    pub holdout_percentage: f64,
    pub assignments: u32,
    /// Assignments that had an interval at all.
    pub intervals: u32,
    /// Assignments whose interval excludes zero, and their share of `intervals`.
    pub intervals_excluding_zero: u32,
    pub false_alarm_rate: Option<f64>,
    pub sample_ratio_alarms: u32,
    pub sample_ratio_alarm_rate: Option<f64>,
    pub mean_interval_width_pp: Option<f64>,
}

/// Reads the users with judged sessions of the last `days`.
pub async fn recorded(app: &App, org_id: &OrgId, days: i64) -> Result<Recorded> {
    let now = app.clock.now();
    let input = (org_id.to_owned(), now - days * 86_400, now);
    let users = app
        .db
        .read("experiments.simulate", input, |tx, (org_id, from, to)| {
            Box::pin(sql::past_users(tx, org_id, *from, *to))
        })
        .await?;
    let sum = |(user, sessions, total): (UserId, i64, i64)| {
        (user, UserSum { sessions: u64::try_from(sessions).unwrap_or(0), total })
    };
    Ok(Recorded { org_id: org_id.to_owned(), users: users.into_iter().map(sum).collect() })
}

impl Recorded {
    pub fn of(org_id: &OrgId, users: Vec<(UserId, UserSum)>) -> Self {
        Recorded { org_id: org_id.to_owned(), users }
    }

    /// Assigns all users `assignments` times; `progress` is called after each.
    pub fn simulate(
        &self,
        holdout_percentage: f64,
        assignments: u32,
        mut progress: impl FnMut(),
    ) -> Simulation {
        let mut found = Simulation {
            users: self.users.len(),
            sessions: self.users.iter().map(|(_, sum)| sum.sessions).sum(),
            holdout_percentage,
            assignments,
            ..Simulation::default()
        };
        let mut width = 0.0;
        for salt in 0..assignments {
            let [treatment, holdout] = self.assigned(holdout_percentage, salt);
            let comparison = Comparison::new(&treatment, &holdout);
            if let Ok(interval) = comparison.interval(CiMethod::default()) {
                found.intervals += 1;
                found.intervals_excluding_zero += u32::from(!interval.contains(0.0));
                width += interval.width();
            }
            let users = [&treatment, &holdout].map(|arm| arm.user_count() as u64);
            let ratio = SampleRatio::test(users[0], users[1], holdout_percentage / 100.0);
            found.sample_ratio_alarms += u32::from(ratio.is_ok_and(|ratio| ratio.is_mismatch()));
            progress();
        }
        let share = |count: u32, of: u32| (of > 0).then(|| f64::from(count) / f64::from(of));
        found.false_alarm_rate = share(found.intervals_excluding_zero, found.intervals);
        found.sample_ratio_alarm_rate = share(found.sample_ratio_alarms, assignments);
        found.mean_interval_width_pp =
            (found.intervals > 0).then(|| width * 100.0 / f64::from(found.intervals));
        found
    }

    fn assigned(&self, holdout_percentage: f64, salt: u32) -> [stats::Arm; 2] {
        let experiment = format!("simulate-{salt}");
        let mut arms = [Vec::new(), Vec::new()];
        for (user, sum) in &self.users {
            let arm: Arm = assign(&self.org_id, &experiment, user, holdout_percentage);
            arms[arm.index()].push(*sum);
        }
        arms.map(stats::Arm::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_that_differ_in_nothing_raise_few_alarms() {
        let users = (0..400).map(|n: i64| {
            let sessions = 1 + n as u64 % 5;
            let total = (0..sessions as i64).filter(|s| (n * 7 + s * 13) % 10 < 8).count() as i64;
            (format!("user-{n}").into(), UserSum { sessions, total })
        });
        let mut steps = 0;
        let found = Recorded::of(&"org".into(), users.collect()).simulate(20.0, 300, || steps += 1);
        assert_eq!((steps, found.intervals, found.users), (300, 300, 400));
        assert!(found.false_alarm_rate.unwrap() < 0.10, "{found:?}");
        assert!(found.sample_ratio_alarm_rate.unwrap() < 0.02, "{found:?}");
        let nobody = Recorded::of(&"org".into(), Vec::new()).simulate(20.0, 3, || ());
        assert_eq!((nobody.intervals, nobody.false_alarm_rate), (0, None));
    }
}
