//! Guardrails and health on sixty days of an experiment in which the arms differ in nothing.

use super::HOLDOUTS;
use super::chance::{Dice, Person};
use super::report::{Bound, Report, Tally};
use super::stream::{DAYS, Daily, Stream};
use stats::guardrails::{Guardrail, GuardrailVerdict, HarmfulChange, assess_always_valid};
use stats::missing::{PublishedUser, SequentialEvaluationRate};
use stats::sample_ratio::{SequentialSampleRatio, level_of_one_check};
use stats::{Arm, Comparison, UserSum};

/// Corrections, turns, escalations and tokens that differ in nothing between the arms.
pub fn guardrails(report: &mut Report) {
    if !report.wants("guardrails") {
        return;
    }
    let quick = report.options.quick;
    let per_day: &[usize] = if quick { &[15] } else { &[8, 30] };
    let mut cells = Vec::new();
    for holdout in HOLDOUTS {
        for &users_per_day in per_day {
            for escalation in [0.02, 0.2] {
                let rate = escalation;
                let world = Daily { holdout, users_per_day, rate, icc: 0.2, is_heavy: false };
                cells.push(world.named());
            }
        }
    }
    let replications = report.replications(0.3);
    let look = |world: &Daily, dice: &mut Dice| {
        let sequence = world.planned();
        let mut tally = Tally::default();
        for _ in 0..replications {
            let stream = Stream::draw(dice, world.users_per_day, world.holdout);
            // Rates at which a user writes and escalates.
            let mut users: Vec<(f64, Person)> = stream
                .users
                .iter()
                .map(|_| ((0.6 * dice.normal()).exp(), Person::new(world.rate, world.icc)))
                .collect();
            let mut sums = vec![[UserSum::default(); 4]; users.len()];
            let mut has_failed = false;
            for day in 0..DAYS {
                for &user in &stream.sessions[day] {
                    let (talk, person) = &mut users[user];
                    let talk = *talk;
                    let corrections = dice.geometric(1.0 + 0.4 * talk) - 1;
                    let turns = 1 + dice.geometric(1.0 + 3.0 * talk);
                    let tokens = (300.0 * talk * (0.9 * dice.normal()).exp()) as i64;
                    let escalated = i64::from(person.succeeds(dice));
                    let values = [corrections as i64, turns as i64, escalated, tokens];
                    for (sum, total) in sums[user].iter_mut().zip(values) {
                        *sum = sum.plus(UserSum { sessions: 1, total });
                    }
                }
                let arms: Vec<[Arm; 2]> = (0..4)
                    .map(|outcome| {
                        let of: Vec<UserSum> = sums.iter().map(|sums| sums[outcome]).collect();
                        stream.arms(&of)
                    })
                    .collect();
                let margins = [0.1, 0.5, 0.02, 40.0];
                let guarded: Vec<_> = arms
                    .iter()
                    .zip(margins)
                    .map(|([treatment, holdout], margin)| Guardrail {
                        comparison: Comparison::new(treatment, holdout),
                        harmful: HarmfulChange::Increase,
                        margin,
                    })
                    .collect();
                has_failed |= assess_always_valid(&guarded, &sequence)
                    .iter()
                    .any(|assessment| assessment.verdict == GuardrailVerdict::Failed);
            }
            tally.count(has_failed);
        }
        tally
    };
    let results = report.run("guardrails", &cells, look);
    report.judge("guardrails, any ever failed", &cells, &results, Bound::AtMost(0.05));
}

/// A perfect A/A experiment: three stages, three sources, two versions, triggered, and the evaluation rate.
pub fn health(report: &mut Report) {
    const CHECKS: usize = 10;
    if !report.wants("health") {
        return;
    }
    let quick = report.options.quick;
    let per_day: &[usize] = if quick { &[15] } else { &[8, 30] };
    let mut cells = Vec::new();
    for holdout in HOLDOUTS {
        for &users_per_day in per_day {
            for evaluated in [0.5, 0.9, 0.98] {
                let rate = evaluated;
                let world = Daily { holdout, users_per_day, rate, icc: 0.2, is_heavy: false };
                cells.push(world.named());
            }
        }
    }
    let replications = report.replications(1.0);
    let look = |world: &Daily, dice: &mut Dice| {
        let level = level_of_one_check(CHECKS);
        let mut tally = Tally::default();
        for _ in 0..replications {
            let stream = Stream::draw(dice, world.users_per_day, world.holdout);
            let mut people = vec![Person::new(world.rate, world.icc); stream.users.len()];
            // Stages 0 to 2, sources 3 to 5, versions 6 and 7, triggered 8: who is counted in each.
            let member: Vec<[bool; 9]> = stream
                .users
                .iter()
                .map(|_| {
                    let (source, version) = (dice.below(3), dice.below(2));
                    std::array::from_fn(|check| match check {
                        0 | 1 => true,
                        2 => dice.chance(0.95),
                        3..=5 => source == check - 3,
                        6 | 7 => version == check - 6,
                        _ => dice.chance(0.6),
                    })
                })
                .collect();
            let mut counts = [[0_u64; 2]; 9];
            let mut ratios = [SequentialSampleRatio::new(world.holdout).unwrap(); 9];
            let mut evaluation = SequentialEvaluationRate::new(world.planned());
            let mut published = vec![PublishedUser::default(); stream.users.len()];
            for day in 0..DAYS {
                let came = stream.users.iter().zip(&member).filter(|(u, _)| u.first_day == day);
                for (user, member) in came {
                    for (count, is_member) in counts.iter_mut().zip(member) {
                        count[usize::from(user.is_held_out)] += u64::from(*is_member);
                    }
                }
                for (ratio, [treatment, holdout]) in ratios.iter_mut().zip(counts) {
                    ratio.look(treatment, holdout);
                }
                for &user in &stream.sessions[day] {
                    published[user].published += 1;
                    published[user].evaluated += u64::from(people[user].succeeds(dice));
                }
                let of_arm = |held_out: bool| {
                    let users = stream.users.iter().zip(&published);
                    users.filter(move |(u, _)| u.is_held_out == held_out).map(|(_, p)| *p)
                };
                evaluation.look(of_arm(false), of_arm(true));
            }
            let mismatch = ratios.iter().any(|ratio| ratio.is_mismatch_at(level));
            tally.count(mismatch || evaluation.p_value() < level);
        }
        tally
    };
    let results = report.run("health", &cells, look);
    report.judge("health, ever unhealthy", &cells, &results, Bound::AtMost(0.01));
}
