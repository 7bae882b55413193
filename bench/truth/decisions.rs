//! The decision, read on sixty days: how often it is false, how often it finds an effect, and whether the
//! planner promises what happens.

use super::HOLDOUTS;
use super::chance::{Counted, Dice, Person};
use super::intervals::{BASES, CORRELATIONS};
use super::report::{Bound, Cell, Report, Tally};
use super::stream::{DAYS, Daily, Stream};
use stats::always_valid::AlwaysValid;
use stats::decision::LiftDecision;
use stats::planning::DecisionPlanner;
use stats::power::Clustering;
use stats::{Comparison, UserSum};

/// The decision: ever positive, ever negative, positive on the last day.
struct Outcome {
    ever: [bool; 2],
    at_last: bool,
}

/// Looks every day. A user of the holdout always has 30 % of its sessions if `is_heavy`.
fn read_daily(
    stream: &Stream,
    sequence: &AlwaysValid,
    rates: [f64; 2],
    icc: f64,
    is_heavy: bool,
    dice: &mut Dice,
) -> Outcome {
    let mut people: Vec<Person> = stream
        .users
        .iter()
        .map(|user| Person::new(rates[usize::from(user.is_held_out)], icc))
        .collect();
    let mut heavy = (UserSum::default(), Person::new(rates[1], icc));
    let mut sums = vec![UserSum::default(); stream.users.len()];
    let mut arms = [Counted::default(), Counted::default()];
    let mut outcome = Outcome { ever: [false; 2], at_last: false };
    for of_day in &stream.sessions {
        for &user in of_day {
            let after = sums[user].plus(dice.sum(1, &mut people[user]));
            arms[usize::from(stream.users[user].is_held_out)].replace(sums[user], after);
            sums[user] = after;
        }
        if is_heavy {
            let (before, person) = &mut heavy;
            let wanted = ((arms[1].sessions - before.sessions) as f64 * 3.0 / 7.0) as u64;
            if wanted > before.sessions {
                let after = before.plus(dice.sum(wanted - before.sessions, person));
                arms[1].replace(*before, after);
                *before = after;
            }
        }
        let [treatment, holdout] = [arms[0].arm(), arms[1].arm()];
        let look = sequence.look(&Comparison::new(&treatment, &holdout));
        let decision = LiftDecision::from_look(&look, 0.0, true, false);
        outcome.at_last = decision == Ok(LiftDecision::Positive);
        outcome.ever[0] |= outcome.at_last;
        outcome.ever[1] |= decision == Ok(LiftDecision::Negative);
    }
    outcome
}

pub fn decisions(report: &mut Report) {
    if !report.wants("decisions") {
        return;
    }
    let quick = report.options.quick;
    let per_day: &[usize] = if quick { &[15] } else { &[8, 30] };
    let correlations: &[f64] = if quick { &[0.2] } else { &CORRELATIONS };
    let mut cells = Vec::new();
    for holdout in HOLDOUTS {
        for &users_per_day in per_day {
            for base in BASES {
                for &icc in correlations {
                    for is_heavy in [false, true] {
                        let world = Daily { holdout, users_per_day, rate: base, icc, is_heavy };
                        cells.push(world.named());
                    }
                }
            }
        }
    }
    let replications = report.replications(1.0);
    let results = report.run("decisions", &cells, |world, dice| {
        let sequence = world.planned();
        let mut tally = Tally::default();
        for _ in 0..replications {
            let stream = Stream::draw(dice, world.users_per_day, world.holdout);
            let rates = [world.rate; 2];
            let read = read_daily(&stream, &sequence, rates, world.icc, world.is_heavy, dice);
            tally.count(read.ever != [false; 2]);
        }
        tally
    });
    report.judge("decision, ever false", &cells, &results, Bound::AtMost(0.035));
}

/// 80 to 90 % success at a holdout of 10 %, 1,500 users in 60 days.
pub fn power(report: &mut Report) {
    if !report.wants("power") {
        return;
    }
    let cells: Vec<_> = (0..4).map(|n| Cell { name: n.to_string(), world: () }).collect();
    let part = report.replications(1.0).div_ceil(cells.len());
    let world = Daily { holdout: 0.1, users_per_day: 25, rate: 0.8, icc: 0.2, is_heavy: false };
    let results = report.run("power", &cells, |(), dice| {
        let sequence = world.planned();
        let mut tally = Tally::default();
        for _ in 0..part {
            let stream = Stream::draw(dice, world.users_per_day, world.holdout);
            let read = read_daily(&stream, &sequence, [0.9, 0.8], world.icc, false, dice);
            tally.count(read.ever[0]);
        }
        tally
    });
    let found = results.iter().map(Tally::share).sum::<f64>() / results.len() as f64;
    let bound = Bound::AtLeast(0.7);
    let slack = bound.slack(4 * part);
    report.judge_one(
        "decision, 80 to 90 % found",
        "10 % of 25 a day, ICC 0.2",
        found,
        bound,
        slack,
    );
}

/// An experiment of the size that the planner asks for.
#[derive(Clone, Copy)]
struct Planned {
    planner: DecisionPlanner,
    effect: f64,
    clustering: Clustering,
    /// True if all users are there from the first day, and come back; else they come on some day, once or
    /// more often in a row.
    is_finite: bool,
}

pub fn planner(report: &mut Report) {
    if !report.wants("planner") {
        return;
    }
    let quick = report.options.quick;
    let mut cells = Vec::new();
    let worlds: &[(f64, f64, f64)] = if quick {
        &[(0.1, 0.8, 0.1), (0.5, 0.5, 0.1)]
    } else {
        &[(0.1, 0.5, 0.15), (0.1, 0.8, 0.1), (0.2, 0.7, 0.1), (0.5, 0.5, 0.1), (0.5, 0.9, 0.04)]
    };
    for &(holdout_share, baseline, effect) in worlds {
        for (mean_sessions, icc) in [(1.001, 0.0), (3.0, 0.2), (6.0, 0.1), (6.0, 0.5)] {
            for is_finite in [false, true] {
                if is_finite && mean_sessions < 2.0 {
                    continue;
                }
                let clustering = Clustering {
                    mean_sessions,
                    squared_variation: 1.0 - 1.0 / mean_sessions,
                    intraclass_correlation: icc,
                };
                let planner = DecisionPlanner { baseline, holdout_share, power: 0.8 };
                let users = planner.users_for(effect, &clustering).unwrap().users();
                let name = format!(
                    "{} % of {users}, {baseline} + {effect}, {mean_sessions:.0} sessions, ICC {icc}{}",
                    100.0 * holdout_share,
                    if is_finite { ", finite" } else { "" }
                );
                cells
                    .push(Cell { name, world: Planned { planner, effect, clustering, is_finite } });
            }
        }
    }
    let replications = report.replications(1.0);
    let results = report.run("planner", &cells, |world, dice| {
        let Planned { planner, effect, clustering, is_finite } = world;
        let size = planner.users_for(*effect, clustering).unwrap();
        let sequence = AlwaysValid::planned_for(size.users()).unwrap();
        let rates = [planner.baseline + effect, planner.baseline];
        let mut tallies = [Tally::default(); 2];
        for _ in 0..replications {
            let stream = planned_stream(size.users() as usize, world, *is_finite, dice);
            let icc = clustering.intraclass_correlation;
            let read = read_daily(&stream, &sequence, rates, icc, false, dice);
            tallies[0].count(read.ever[0]);
            tallies[1].count(read.at_last);
        }
        tallies
    });
    let [ever, at_last] = [0, 1].map(|n| results.iter().map(|r| r[n]).collect::<Vec<Tally>>());
    report.judge("planner, power for 0.8", &cells, &ever, Bound::Between(0.75, 0.85));
    let mean = at_last.iter().map(Tally::share).sum::<f64>() / at_last.len() as f64;
    report.judge_one("  on the last day", "mean of the cells above", mean, Bound::None, 0.0);
}

fn planned_stream(users: usize, world: &Planned, is_finite: bool, dice: &mut Dice) -> Stream {
    let mut stream = Stream::empty();
    for user in 0..users {
        let first_day = if is_finite { 0 } else { dice.below(DAYS) };
        stream.add_user(dice.chance(world.planner.holdout_share), first_day);
        for _ in 0..dice.geometric(world.clustering.mean_sessions) {
            let day = if is_finite { dice.below(DAYS) } else { first_day };
            stream.sessions[day].push(user);
        }
    }
    stream
}
