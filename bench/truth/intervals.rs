//! One look at an experiment in which the arms differ in nothing: how often the interval contains 0.

use super::HOLDOUTS;
use super::chance::{Dice, Person};
use super::report::{Bound, Cell, Report, Tally};
use stats::cuped::{Ancova, UserHistory};
use stats::judge_correction::{PredictionPowered, ReviewedUser};
use stats::reassignments::Reassignments;
use stats::segments::{NumberedUser, SegmentFamily};
use stats::user_equal::UserEqual;
use stats::{Arm, CiMethod, Comparison, UserSum};

pub const BASES: [f64; 4] = [0.02, 0.5, 0.9, 0.98];
pub const CORRELATIONS: [f64; 3] = [0.0, 0.2, 0.6];

#[derive(Clone, Copy)]
struct World {
    holdout: f64,
    users: usize,
    base: f64,
    icc: f64,
    /// Share of one user in the sessions of treatment and of the holdout; 0 for none.
    heavy: [f64; 2],
}

impl World {
    fn held_out(&self) -> usize {
        ((self.users as f64 * self.holdout).round() as usize).max(2)
    }

    fn named(self) -> Cell<Self> {
        let heavy = match self.heavy {
            [0.0, 0.0] => "",
            [_, 0.0] => ", one in T",
            [0.0, _] => ", one in C",
            _ => ", one in both",
        };
        let Self { holdout, users, base, icc, .. } = self;
        let name = format!("{} % of {users}, {base}, {icc}{heavy}", 100.0 * holdout);
        Cell { name, world: self }
    }
}

fn grid(
    users: &[usize],
    bases: &[f64],
    correlations: &[f64],
    heavy: &[[f64; 2]],
) -> Vec<Cell<World>> {
    let mut cells = Vec::new();
    for &holdout in &HOLDOUTS {
        for &users in users {
            for &base in bases {
                for &icc in correlations {
                    for &heavy in heavy {
                        cells.push(World { holdout, users, base, icc, heavy }.named());
                    }
                }
            }
        }
    }
    cells
}

/// Coverage of the headline and of the user-equal interval, and how often one user dominates.
fn look_once(world: &World, replications: usize, dice: &mut Dice) -> [Tally; 3] {
    let held_out = world.held_out();
    let mut tallies = [Tally::default(); 3];
    for _ in 0..replications {
        let [heavy_t, heavy_c] = world.heavy;
        let treatment = dice.arm(world.users - held_out, world.base, world.icc, heavy_t);
        let holdout = dice.arm(held_out, world.base, world.icc, heavy_c);
        let comparison = Comparison::new(&treatment, &holdout);
        let interval = comparison.interval(CiMethod::ClusteredNewcombe);
        tallies[0].count_if_given(interval.map(|interval| interval.contains(0.0)));
        let equal = UserEqual::of(&comparison);
        tallies[1].count_if_given(equal.map(|equal| equal.interval.contains(0.0)));
        tallies[2].count(comparison.one_user_dominates());
    }
    tallies
}

fn column<const N: usize>(results: &[[Tally; N]], place: usize) -> Vec<Tally> {
    results.iter().map(|tallies| tallies[place]).collect()
}

/// Bounds hold for two and three sessions a user on average. With more, and success that is rare or all but
/// certain, few users decide about an arm; lines without a bound say how far that goes.
pub fn headline(report: &mut Report) {
    if !report.wants("headline") {
        return;
    }
    let (least, usual) = (Bound::AtLeast(0.90), Bound::AtLeast(0.93));
    let sessions: &[f64] = if report.options.quick { &[2.0] } else { &[2.0, 3.0, 6.0] };
    for &sessions in sessions {
        let cells = grid(users(report), &BASES, &CORRELATIONS, &[[0.0, 0.0]]);
        let replications = report.replications(3.0);
        let look = |world: &World, dice: &mut Dice| look_once(world, replications, dice);
        let results = report.run_with(sessions, "headline", &cells, look);
        let coverage = column(&results, 0);
        let bound = if sessions > 3.0 { Bound::None } else { least };
        report.judge(&format!("headline, {sessions} sessions"), &cells, &coverage, bound);
        let covered = coverage
            .iter()
            .filter(|tally| !usual.is_beyond(tally.share(), usual.slack(tally.given)))
            .count();
        let bound = if sessions > 2.0 { Bound::None } else { Bound::AtLeast(0.95) };
        let share = covered as f64 / coverage.len() as f64;
        report.judge_one("  0.93 or more", "share of the cells above", share, bound, 0.0);
        let dominated = column(&results, 2).iter().map(Tally::share).sum::<f64>();
        let share = dominated / results.len() as f64;
        report.judge_one("  one user dominates", "share of experiments", share, Bound::None, 0.0);
        let bound = if sessions > 3.0 { Bound::None } else { usual };
        report.judge("  each user counts once", &cells, &column(&results, 1), bound);
    }
}

/// Users of an experiment.
fn users(report: &Report) -> &'static [usize] {
    if report.options.quick { &[40, 200] } else { &[40, 100, 200, 500, 2_000] }
}

/// The same with one user who has 30 % of the sessions of an arm.
pub fn heavy(report: &mut Report) {
    if !report.wants("heavy") {
        return;
    }
    let quick = report.options.quick;
    let replications = report.replications(3.0);
    let look = |world: &World, dice: &mut Dice| look_once(world, replications, dice);
    let (least, usual) = (Bound::AtLeast(0.90), Bound::AtLeast(0.93));
    let heavy = [[0.3, 0.0], [0.0, 0.3], [0.3, 0.3]];
    let heavy =
        grid(users(report), &BASES, &CORRELATIONS, if quick { &heavy[..2] } else { &heavy[..] });
    let results = report.run("headline, one user has 30 %", &heavy, look);
    report.judge("headline, one user has 30 %", &heavy, &column(&results, 0), least);
    report.judge("  each user counts once", &heavy, &column(&results, 1), usual);
}

/// `p < .05` exactly when the interval excludes zero: small and uniform arms.
pub fn p_values(report: &mut Report) {
    if !report.wants("p_values") {
        return;
    }
    let cells: Vec<Cell<u64>> =
        (0..20).map(|n| Cell { name: format!("part {n}"), world: n }).collect();
    let results = report.run("p_values", &cells, |_, dice| {
        let mut tally = Tally::default();
        for _ in 0..5_000 {
            let [treatment, holdout] = [(); 2].map(|()| {
                let users = 2 + dice.below(9);
                let rate = [0.0, 1.0, 0.5, 0.97, dice.unit()][dice.below(5)];
                let uniform = dice.below(3) == 0;
                let user = |dice: &mut Dice| {
                    let sessions = 1 + dice.below(6) as u64;
                    if uniform {
                        let half = (rate * 2.0).round() as i64;
                        return UserSum { sessions: 2 * sessions, total: half * sessions as i64 };
                    }
                    dice.sum(sessions, &mut Person::new(rate, 0.0))
                };
                (0..users).map(|_| user(dice)).collect::<Arm>()
            });
            let comparison = Comparison::new(&treatment, &holdout);
            let interval = comparison.interval(CiMethod::ClusteredNewcombe).unwrap();
            let p_value = comparison.p_value().unwrap();
            tally.count((p_value < 0.05) != interval.contains(0.0));
        }
        tally
    });
    report.judge("p < .05 as 0 is excluded", &cells, &results, Bound::AtLeast(1.0));
}

pub fn cuped(report: &mut Report) {
    if !report.wants("cuped") {
        return;
    }
    let users: &[usize] = if report.options.quick { &[600] } else { &[200, 600, 2_000] };
    let cells = grid(users, &BASES, &CORRELATIONS, &[[0.0, 0.0]]);
    let replications = report.replications(1.0);
    let look = |world: &World, dice: &mut Dice| {
        let held_out = world.held_out();
        let mut tally = Tally::default();
        for _ in 0..replications {
            let user = |dice: &mut Dice| {
                let mut person = Person::new(world.base, world.icc);
                let (during, before) = (dice.visits(), dice.visits());
                let before = if dice.chance(0.3) { 0 } else { before };
                UserHistory {
                    during: dice.sum(during, &mut person),
                    before: dice.sum(before, &mut person),
                }
            };
            let mut arm = |users: usize| -> Vec<_> { (0..users).map(|_| user(dice)).collect() };
            let (treatment, holdout) = (arm(world.users - held_out), arm(held_out));
            let ancova = Ancova::of(&treatment, &holdout);
            tally.count_if_given(ancova.map(|ancova| ancova.interval.contains(0.0)));
        }
        tally
    };
    let results = report.run("cuped", &cells, look);
    report.judge("CUPED", &cells, &results, Bound::AtLeast(0.93));
}

/// A judge who is wrong more often in one arm, sessions drawn by verdict with different chances.
pub fn prediction_powered(report: &mut Report) {
    if !report.wants("prediction") {
        return;
    }
    let users: &[usize] = if report.options.quick { &[600] } else { &[200, 600, 2_000] };
    let cells = grid(users, &BASES, &CORRELATIONS, &[[0.0, 0.0]]);
    let replications = report.replications(1.0);
    let look = |world: &World, dice: &mut Dice| {
        let held_out = world.held_out();
        let mut tally = Tally::default();
        for _ in 0..replications {
            let user = |dice: &mut Dice, sensitivity: f64, specificity: f64| {
                let mut person = Person::new(world.base, world.icc);
                let mut user = ReviewedUser::default();
                for _ in 0..dice.visits() {
                    let truth = person.succeeds(dice);
                    let judge = dice.chance(if truth { sensitivity } else { 1.0 - specificity });
                    user.judged += 1;
                    user.passes += u64::from(judge);
                    let chance = if judge { 0.2 } else { 0.4 };
                    if dice.chance(chance) {
                        user.labelled.count(judge, truth, chance);
                        user.labels += 1;
                    }
                }
                user
            };
            let treatment: Vec<_> =
                (0..world.users - held_out).map(|_| user(dice, 0.95, 0.9)).collect();
            let holdout: Vec<_> = (0..held_out).map(|_| user(dice, 0.9, 0.8)).collect();
            let corrected = PredictionPowered::of(&treatment, &holdout);
            tally.count_if_given(corrected.map(|corrected| corrected.interval.contains(0.0)));
        }
        tally
    };
    let results = report.run("prediction", &cells, look);
    report.judge("prediction-powered", &cells, &results, Bound::AtLeast(0.93));
}

pub fn segments(report: &mut Report) {
    if !report.wants("segments") {
        return;
    }
    let users: &[usize] = if report.options.quick { &[600] } else { &[600, 2_000] };
    let correlations: &[f64] = if report.options.quick { &[0.2] } else { &[0.2, 0.6] };
    let cells = grid(users, &BASES, correlations, &[[0.0, 0.0]]);
    let names = ["app", "mail", "phone", "web"];
    let replications = report.replications(1.0);
    let look = |world: &World, dice: &mut Dice| {
        let mut tallies = [Tally::default(); 2];
        for replication in 0..replications {
            let mut arms: [Vec<NumberedUser>; 2] = Default::default();
            for _ in 0..world.users {
                let arm = usize::from(dice.chance(world.holdout));
                let mut person = Person::new(world.base, world.icc);
                let favourite = dice.below(names.len()) as u32;
                let mut user = NumberedUser::new();
                for _ in 0..dice.visits() {
                    let other = dice.chance(0.3);
                    let segment = if other { dice.below(names.len()) as u32 } else { favourite };
                    user.push((segment, dice.sum(1, &mut person)));
                }
                arms[arm].push(user);
            }
            let family = SegmentFamily::of_numbered(
                &names,
                &arms[0],
                &arms[1],
                Reassignments {
                    seed: replication as u64,
                    holdout_share: world.holdout,
                    repetitions: 99,
                },
            );
            let adjusted: Vec<f64> = family
                .segments
                .values()
                .flatten()
                .filter_map(|s| s.adjusted_p_value.ok())
                .collect();
            let given = if adjusted.is_empty() { Err(()) } else { Ok(()) };
            tallies[0].count_if_given(given.map(|()| adjusted.iter().any(|p| *p < 0.05)));
            tallies[1].count_if_given(family.interaction.map(|test| test.p_value <= 0.05));
        }
        tallies
    };
    let results = report.run("segments", &cells, look);
    let ceiling = Bound::AtMost(0.07);
    report.judge("segments, any adjusted p", &cells, &column(&results, 0), ceiling);
    report.judge("segments, interaction", &cells, &column(&results, 1), ceiling);
}
