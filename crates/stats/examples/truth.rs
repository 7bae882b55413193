//! Do the intervals and decisions hold what they promise? Simulated, so that the truth is known.
//!
//!   cargo run --release -p stats --example truth -- \
//!     [--quick] [--replications N] [--seed N] [--sessions MEAN] [--only NAME]
//!
//! Every table has a floor or a ceiling; the program ends with 1 when a cell is beyond it. With 2,000
//! replications or more a cell is compared with the bound itself; with fewer, it fails when it is beyond the
//! bound by more than 2.5 standard errors of the simulation. `--quick` takes a reduced grid. Seeds are those
//! of the cells, so that a run is the same whatever the number of threads.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

use stats::always_valid::AlwaysValid;
use stats::association::{Association, CitingUser, mark};
use stats::cuped::{Ancova, UserHistory};
use stats::decision::LiftDecision;
use stats::grouped::{GROUPS, GroupSums, grouped_change, grouped_rate};
use stats::guardrails::{Guardrail, GuardrailVerdict, HarmfulChange, assess_always_valid};
use stats::judge_correction::{PredictionPowered, ReviewedUser};
use stats::missing::{PublishedUser, SequentialEvaluationRate};
use stats::randomisation::seeded;
use stats::sample_ratio::{SequentialSampleRatio, level_of_one_check};
use stats::segments::{NumberedUser, SegmentFamily};
use stats::user_equal::UserEqual;
use stats::{Arm, CiMethod, Comparison, UserSum};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

// ---------------------------------------------------------------------------------------------
// Chance

/// SplitMix64: the same numbers every time.
struct Dice {
    state: u64,
    /// Mean number of sessions of a user.
    sessions: f64,
}

impl Dice {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// The logarithm of a gamma variable (Marsaglia and Tsang, 2000), which may be far too small to be a
    /// number itself.
    fn ln_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.ln_gamma(shape + 1.0) + (1.0 - self.unit()).ln() / shape;
        }
        let d = shape - 1.0 / 3.0;
        let c = (9.0 * d).sqrt().recip();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.unit()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return (d * v).ln();
            }
        }
    }

    /// A user's own rate: beta with this mean and intraclass correlation.
    fn rate(&mut self, mean: f64, icc: f64) -> f64 {
        if icc <= 0.0 {
            return mean;
        }
        let concentration = icc.recip() - 1.0;
        let (a, b) =
            (self.ln_gamma(mean * concentration), self.ln_gamma((1.0 - mean) * concentration));
        (1.0 + (b - a).exp()).recip()
    }

    /// One or more, with this mean.
    fn geometric(&mut self, mean: f64) -> u64 {
        let go_on = 1.0 - mean.recip();
        1 + ((1.0 - self.unit()).ln() / go_on.ln()) as u64
    }

    /// How many sessions a user has.
    fn visits(&mut self) -> u64 {
        self.geometric(self.sessions)
    }

    fn sum(&mut self, sessions: u64, rate: f64) -> UserSum {
        UserSum { sessions, total: (0..sessions).filter(|_| self.chance(rate)).count() as i64 }
    }

    fn user(&mut self, base: f64, icc: f64) -> UserSum {
        let (sessions, rate) = (self.visits(), self.rate(base, icc));
        self.sum(sessions, rate)
    }

    /// Users with a geometric number of sessions; the first of them has `share` of all, unless that is 0.
    fn arm(&mut self, users: usize, base: f64, icc: f64, share: f64) -> Arm {
        let mut all: Vec<UserSum> = (0..users).map(|_| self.user(base, icc)).collect();
        if share > 0.0 {
            let rest: u64 = all.iter().skip(1).map(|user| user.sessions).sum();
            let sessions = (rest as f64 * share / (1.0 - share)).round().max(1.0) as u64;
            let rate = self.rate(base, icc);
            all[0] = self.sum(sessions, rate);
        }
        Arm::new(all)
    }
}

const BASES: [f64; 4] = [0.02, 0.5, 0.9, 0.98];
const CORRELATIONS: [f64; 3] = [0.0, 0.2, 0.6];
const HOLDOUTS: [f64; 4] = [0.05, 0.10, 0.20, 0.50];
const DAYS: usize = 60;

// ---------------------------------------------------------------------------------------------
// Running and judging

struct Options {
    replications: usize,
    quick: bool,
    seed: u64,
    /// Mean number of sessions of a user in an experiment, above 1.
    sessions: f64,
    only: Option<String>,
}

/// How often something held among the replications in which it was given.
#[derive(Clone, Copy, Default)]
struct Tally {
    given: usize,
    held: usize,
}

impl Tally {
    fn count(&mut self, held: bool) {
        self.given += 1;
        self.held += usize::from(held);
    }

    fn share(&self) -> f64 {
        self.held as f64 / self.given.max(1) as f64
    }
}

#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn value(self) -> f64 {
        let (Self::AtLeast(value) | Self::AtMost(value)) = self;
        value
    }

    fn is_beyond(self, share: f64, slack: f64) -> bool {
        match self {
            Self::AtLeast(floor) => share < floor - slack,
            Self::AtMost(ceiling) => share > ceiling + slack,
        }
    }

    /// How much chance may add: nothing from 2,000 replications on.
    fn slack(self, replications: usize) -> f64 {
        if replications >= 2_000 {
            return 0.0;
        }
        let p = self.value().clamp(0.005, 0.995);
        2.5 * (p * (1.0 - p) / replications as f64).sqrt()
    }
}

/// A place in the grid with a name to print and a seed of its own.
struct Cell<T> {
    name: String,
    world: T,
}

struct Report {
    options: Options,
    started: Instant,
    failures: Vec<String>,
}

impl Report {
    fn wants(&self, table: &str) -> bool {
        self.options.only.as_deref().is_none_or(|only| table.contains(only))
    }

    /// Runs all cells on all cores, with a line of progress.
    fn run<T: Sync, R: Send>(
        &self,
        table: &str,
        cells: &[Cell<T>],
        replications: usize,
        one: impl Fn(&T, &mut Dice, usize) -> R + Sync,
    ) -> Vec<R> {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(cell) = cells.get(place) else { break };
                        let state = self.options.seed ^ ((place as u64 + 1) << 32);
                        let mut dice = Dice { state, sessions: self.options.sessions };
                        let result = one(&cell.world, &mut dice, replications);
                        results.lock().unwrap().push((place, result));
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        let seconds = self.started.elapsed().as_secs();
                        eprint!("\r{table}: {done} of {} cells, {seconds} s ", cells.len());
                    }
                });
            }
        });
        eprint!("\r{:78}\r", "");
        let mut results = results.into_inner().unwrap();
        results.sort_by_key(|(place, _)| *place);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Prints a line about all cells and the worst of them, and notes those beyond the bound.
    fn judge<T>(&mut self, table: &str, cells: &[Cell<T>], tallies: &[Tally], bound: Bound) {
        let mut given: Vec<(f64, &str, usize)> = cells
            .iter()
            .zip(tallies)
            .filter(|(_, tally)| tally.given > 0)
            .map(|(cell, tally)| (tally.share(), cell.name.as_str(), tally.given))
            .collect();
        given.sort_by(|one, other| one.0.total_cmp(&other.0));
        let strictly = given.iter().filter(|(share, ..)| bound.is_beyond(*share, 0.0)).count();
        let beyond: Vec<_> = given
            .iter()
            .filter(|(share, _, given)| bound.is_beyond(*share, bound.slack(*given)))
            .collect();
        let median = given.get(given.len() / 2).map_or(f64::NAN, |cell| cell.0);
        let (word, worst) = match bound {
            Bound::AtLeast(_) => (">=", given.first()),
            Bound::AtMost(_) => ("<=", given.last()),
        };
        let (worst, name) = worst.map_or((f64::NAN, "-"), |(share, name, _)| (*share, *name));
        println!(
            "| {table} | {word} {:.3} | {} | {median:.3} | {worst:.3} | {name} | {strictly} | {} |",
            bound.value(),
            given.len(),
            if beyond.is_empty() { "holds" } else { "FAILS" }
        );
        for (share, name, given) in beyond {
            self.failures.push(format!("{table}: {share:.3} of {given} in {name}"));
        }
    }

    /// One number for a whole table.
    fn judge_one(&mut self, table: &str, what: &str, value: f64, bound: Bound, slack: f64) {
        let fails = bound.is_beyond(value, slack);
        let word = if matches!(bound, Bound::AtLeast(_)) { ">=" } else { "<=" };
        println!(
            "| {table} | {word} {:.3} | 1 | | {value:.3} | {what} | {} | {} |",
            bound.value(),
            usize::from(bound.is_beyond(value, 0.0)),
            if fails { "FAILS" } else { "holds" }
        );
        if fails {
            self.failures.push(format!("{table}: {value:.3}, {what}"));
        }
    }
}

fn main() -> ExitCode {
    let mut options =
        Options { replications: 2_000, quick: false, seed: 19, sessions: 3.0, only: None };
    let mut replications = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--replications" => replications = value().parse().ok(),
            "--seed" => options.seed = value().parse().unwrap_or(19),
            "--sessions" => options.sessions = value().parse().unwrap_or(3.0),
            "--only" => options.only = Some(value()),
            other => {
                eprintln!("unknown argument {other}");
                return ExitCode::from(2);
            }
        }
    }
    options.replications = replications.unwrap_or(if options.quick { 150 } else { 2_000 });
    println!(
        "{} replications, {} grid, {} sessions a user, seed {}\n",
        options.replications,
        if options.quick { "reduced" } else { "full" },
        options.sessions,
        options.seed
    );
    println!("| what | bound | cells | median | worst | where | beyond | |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut report = Report { options, started: Instant::now(), failures: Vec::new() };
    headline(&mut report);
    p_values(&mut report);
    cuped(&mut report);
    prediction_powered(&mut report);
    segments(&mut report);
    decisions(&mut report);
    guardrails(&mut report);
    health(&mut report);
    overview(&mut report);
    rules(&mut report);
    println!("\n{} s", report.started.elapsed().as_secs());
    if report.failures.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\nbeyond their bounds:");
    report.failures.iter().for_each(|failure| println!("- {failure}"));
    ExitCode::FAILURE
}

// ---------------------------------------------------------------------------------------------
// One look: coverage

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
            [_, 0.0] => ", one user in treatment",
            [0.0, _] => ", one user in holdout",
            _ => ", one user in both",
        };
        let name = format!(
            "{} % of {}, base {}, icc {}{heavy}",
            100.0 * self.holdout,
            self.users,
            self.base,
            self.icc
        );
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

fn headline(report: &mut Report) {
    if !report.wants("headline") {
        return;
    }
    let (users, replications): (&[usize], _) = if report.options.quick {
        (&[40, 200], 3 * report.options.replications)
    } else {
        (&[40, 100, 200, 500, 2_000], report.options.replications)
    };
    let look = |world: &World, dice: &mut Dice, replications: usize| {
        let held_out = world.held_out();
        let mut tallies = [Tally::default(); 3];
        for _ in 0..replications {
            let [heavy_t, heavy_c] = world.heavy;
            let treatment = dice.arm(world.users - held_out, world.base, world.icc, heavy_t);
            let holdout = dice.arm(held_out, world.base, world.icc, heavy_c);
            let comparison = Comparison::new(&treatment, &holdout);
            let interval = comparison.interval(CiMethod::ClusteredNewcombe).unwrap();
            tallies[0].count(interval.contains(0.0));
            if let Ok(equal) = UserEqual::of(&comparison) {
                tallies[1].count(equal.interval.contains(0.0));
            }
            tallies[2].count(comparison.one_user_dominates());
        }
        tallies
    };
    let column = |results: &[[Tally; 3]], place: usize| -> Vec<Tally> {
        results.iter().map(|tallies| tallies[place]).collect()
    };
    let geometric = grid(users, &BASES, &CORRELATIONS, &[[0.0, 0.0]]);
    let results = report.run("headline", &geometric, replications, look);
    let coverage = column(&results, 0);
    report.judge("headline, geometric", &geometric, &coverage, Bound::AtLeast(0.90));
    let floor = Bound::AtLeast(0.93);
    let covered = coverage
        .iter()
        .filter(|tally| !floor.is_beyond(tally.share(), floor.slack(tally.given)))
        .count();
    report.judge_one(
        "headline, geometric",
        "share of cells with at least .93",
        covered as f64 / coverage.len() as f64,
        Bound::AtLeast(0.95),
        0.0,
    );
    report.judge("user-equal", &geometric, &column(&results, 1), floor);
    let flagged: usize = results.iter().map(|tallies| tallies[2].held).sum();
    let all: usize = results.iter().map(|tallies| tallies[2].given).sum();
    println!(
        "| one_user_dominates, geometric | | | | {:.3} | share flagged | | |",
        flagged as f64 / all as f64
    );

    let heavy = [[0.3, 0.0], [0.0, 0.3], [0.3, 0.3]];
    let heavy = if report.options.quick { &heavy[..2] } else { &heavy[..] };
    let heavy = grid(users, &BASES, &CORRELATIONS, heavy);
    let results = report.run("headline, one user with 30 %", &heavy, replications, look);
    report.judge(
        "headline, one user with 30 %",
        &heavy,
        &column(&results, 0),
        Bound::AtLeast(0.90),
    );
    report.judge("user-equal, one user with 30 %", &heavy, &column(&results, 1), floor);
}

/// `p < .05` exactly when the interval excludes zero: small and uniform arms.
fn p_values(report: &mut Report) {
    if !report.wants("p_values") {
        return;
    }
    let cells: Vec<Cell<u64>> =
        (0..20).map(|n| Cell { name: format!("part {n}"), world: n }).collect();
    let results = report.run("p_values", &cells, 5_000, |_, dice, replications| {
        let mut tally = Tally::default();
        for _ in 0..replications {
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
                    dice.sum(sessions, rate)
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
    report.judge("p < .05 iff 0 excluded", &cells, &results, Bound::AtLeast(1.0));
}

fn cuped(report: &mut Report) {
    if !report.wants("cuped") {
        return;
    }
    let users: &[usize] = if report.options.quick { &[600] } else { &[200, 600, 2_000] };
    let cells = grid(users, &BASES, &CORRELATIONS, &[[0.0, 0.0]]);
    let look = |world: &World, dice: &mut Dice, replications: usize| {
        let held_out = world.held_out();
        let mut tally = Tally::default();
        for _ in 0..replications {
            let user = |dice: &mut Dice| {
                let rate = dice.rate(world.base, world.icc);
                let (during, before) = (dice.visits(), dice.visits());
                let before = if dice.chance(0.3) { 0 } else { before };
                UserHistory { during: dice.sum(during, rate), before: dice.sum(before, rate) }
            };
            let mut arm = |users: usize| -> Vec<_> { (0..users).map(|_| user(dice)).collect() };
            let (treatment, holdout) = (arm(world.users - held_out), arm(held_out));
            if let Ok(ancova) = Ancova::of(&treatment, &holdout) {
                tally.count(ancova.interval.contains(0.0));
            }
        }
        tally
    };
    let results = report.run("cuped", &cells, report.options.replications, look);
    let (cells, results) = often_given(cells, results, report.options.replications);
    report.judge("CUPED", &cells, &results, Bound::AtLeast(0.93));
}

/// Cells in which an interval is given in less than a tenth of the replications say nothing about it.
fn often_given<T>(
    cells: Vec<Cell<T>>,
    tallies: Vec<Tally>,
    replications: usize,
) -> (Vec<Cell<T>>, Vec<Tally>) {
    cells.into_iter().zip(tallies).filter(|(_, tally)| 10 * tally.given >= replications).unzip()
}

/// A judge who is wrong more often in one arm, sessions drawn by verdict with different chances.
fn prediction_powered(report: &mut Report) {
    if !report.wants("prediction") {
        return;
    }
    let users: &[usize] = if report.options.quick { &[600] } else { &[200, 600, 2_000] };
    let cells = grid(users, &BASES, &CORRELATIONS, &[[0.0, 0.0]]);
    let look = |world: &World, dice: &mut Dice, replications: usize| {
        let held_out = world.held_out();
        let mut tally = Tally::default();
        for _ in 0..replications {
            let user = |dice: &mut Dice, sensitivity: f64, specificity: f64| {
                let rate = dice.rate(world.base, world.icc);
                let mut user = ReviewedUser::default();
                for _ in 0..dice.visits() {
                    let truth = dice.chance(rate);
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
            if let Ok(corrected) = PredictionPowered::of(&treatment, &holdout) {
                tally.count(corrected.interval.contains(0.0));
            }
        }
        tally
    };
    let results = report.run("prediction", &cells, report.options.replications, look);
    let (cells, results) = often_given(cells, results, report.options.replications);
    report.judge("prediction-powered", &cells, &results, Bound::AtLeast(0.93));
}

fn segments(report: &mut Report) {
    if !report.wants("segments") {
        return;
    }
    let users: &[usize] = if report.options.quick { &[600] } else { &[600, 2_000] };
    let correlations: &[f64] = if report.options.quick { &[0.2] } else { &[0.2, 0.6] };
    let cells = grid(users, &BASES, correlations, &[[0.0, 0.0]]);
    let names = ["app", "mail", "phone", "web"];
    let look = |world: &World, dice: &mut Dice, replications: usize| {
        let mut tallies = [Tally::default(); 2];
        for replication in 0..replications {
            let mut arms: [Vec<NumberedUser>; 2] = Default::default();
            for _ in 0..world.users {
                let arm = usize::from(dice.chance(world.holdout));
                let rate = dice.rate(world.base, world.icc);
                let favourite = dice.below(names.len()) as u32;
                let mut user = NumberedUser::new();
                for _ in 0..dice.visits() {
                    let other = dice.chance(0.3);
                    let segment = if other { dice.below(names.len()) as u32 } else { favourite };
                    user.push((segment, dice.sum(1, rate)));
                }
                arms[arm].push(user);
            }
            let family = SegmentFamily::of_numbered(
                &names,
                &arms[0],
                &arms[1],
                99,
                seeded(replication as u64, world.holdout),
            );
            let adjusted: Vec<f64> = family
                .segments
                .values()
                .flatten()
                .filter_map(|s| s.adjusted_p_value.ok())
                .collect();
            if !adjusted.is_empty() {
                tallies[0].count(adjusted.iter().any(|p| *p < 0.05));
            }
            if let Ok(test) = family.interaction {
                tallies[1].count(test.p_value <= 0.05);
            }
        }
        tallies
    };
    let replications = report.options.replications;
    let results = report.run("segments", &cells, replications, look);
    let column =
        |place: usize| -> Vec<Tally> { results.iter().map(|tally| tally[place]).collect() };
    let (adjusted, interaction) = (column(0), column(1));
    report.judge("segments, any adjusted p < .05", &cells, &adjusted, Bound::AtMost(0.07));
    report.judge("segments, interaction p <= .05", &cells, &interaction, Bound::AtMost(0.07));
}

// ---------------------------------------------------------------------------------------------
// Sixty looks

/// Users who come on some day, and again every few days.
struct Stream {
    /// Of each day, who has a session.
    sessions: Vec<Vec<usize>>,
    users: Vec<Visitor>,
}

struct Visitor {
    is_held_out: bool,
    first_day: usize,
}

impl Stream {
    fn draw(dice: &mut Dice, users_per_day: usize, holdout: f64) -> Self {
        let mut stream = Self { sessions: vec![Vec::new(); DAYS], users: Vec::new() };
        for first_day in 0..DAYS {
            for _ in 0..users_per_day {
                let user = stream.users.len();
                stream.users.push(Visitor { is_held_out: dice.chance(holdout), first_day });
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

    fn arms(&self, sums: &[UserSum]) -> [Arm; 2] {
        [false, true].map(|held_out| {
            let of_arm = self.users.iter().zip(sums).filter(|(u, _)| u.is_held_out == held_out);
            of_arm.map(|(_, sum)| *sum).collect()
        })
    }
}

#[derive(Clone, Copy)]
struct Daily {
    holdout: f64,
    users_per_day: usize,
    /// Success of treatment and holdout; the rate of evaluation, of escalation.
    rates: [f64; 2],
    icc: f64,
    /// Whether one user of the holdout always has 30 % of its sessions.
    is_heavy: bool,
}

impl Daily {
    fn named(self) -> Cell<Self> {
        let heavy = if self.is_heavy { ", one user in holdout" } else { "" };
        let name = format!(
            "{} % of {} a day, rate {}, icc {}{heavy}",
            100.0 * self.holdout,
            self.users_per_day,
            self.rates[1],
            self.icc
        );
        Cell { name, world: self }
    }

    fn planned(&self) -> AlwaysValid {
        AlwaysValid::planned_for((DAYS * self.users_per_day) as u64).unwrap()
    }

    /// Whether the decision was ever positive, ever negative.
    fn decisions(&self, dice: &mut Dice) -> [bool; 2] {
        let sequence = self.planned();
        let stream = Stream::draw(dice, self.users_per_day, self.holdout);
        let rates: Vec<f64> = stream
            .users
            .iter()
            .map(|user| dice.rate(self.rates[usize::from(user.is_held_out)], self.icc))
            .collect();
        let heavy_rate = dice.rate(self.rates[1], self.icc);
        let mut heavy = UserSum::default();
        let mut sums = vec![UserSum::default(); stream.users.len()];
        let mut ever = [false; 2];
        for day in 0..DAYS {
            for &user in &stream.sessions[day] {
                sums[user] = sums[user].plus(dice.sum(1, rates[user]));
            }
            let [treatment, mut holdout] = stream.arms(&sums);
            if self.is_heavy {
                let wanted = (holdout.session_count() as f64 * 3.0 / 7.0) as u64;
                let more = dice.sum(wanted.saturating_sub(heavy.sessions), heavy_rate);
                heavy = heavy.plus(more);
                let others = stream.users.iter().zip(&sums).filter(|(user, _)| user.is_held_out);
                holdout = others.map(|(_, sum)| *sum).chain([heavy]).collect();
            }
            let look = sequence.look(&Comparison::new(&treatment, &holdout));
            let decision = LiftDecision::from_look(&look, 0.0, true, false);
            ever[0] |= decision == Ok(LiftDecision::Positive);
            ever[1] |= decision == Ok(LiftDecision::Negative);
        }
        ever
    }
}

fn decisions(report: &mut Report) {
    if !report.wants("decisions") {
        return;
    }
    let quick = report.options.quick;
    let per_day: &[usize] = if quick { &[15] } else { &[8, 30] };
    let correlations: &[f64] = if quick { &[0.2] } else { &CORRELATIONS };
    let mut cells = Vec::new();
    for &holdout in &HOLDOUTS {
        for &users_per_day in per_day {
            for &base in &BASES {
                for &icc in correlations {
                    for is_heavy in [false, true] {
                        let rates = [base; 2];
                        cells.push(Daily { holdout, users_per_day, rates, icc, is_heavy }.named());
                    }
                }
            }
        }
    }
    let replications = report.options.replications;
    let results = report.run("decisions", &cells, replications, |world, dice, replications| {
        let mut tally = Tally::default();
        (0..replications).for_each(|_| tally.count(world.decisions(dice) != [false; 2]));
        tally
    });
    report.judge("decision, false in 60 looks", &cells, &results, Bound::AtMost(0.035));

    let helps =
        Daily { holdout: 0.1, users_per_day: 25, rates: [0.9, 0.8], icc: 0.2, is_heavy: false };
    let cells: Vec<_> =
        (0..4).map(|n| Cell { name: format!("80 to 90 %, part {n}"), world: helps }).collect();
    let part = replications.div_ceil(4);
    let results = report.run("power", &cells, part, |world, dice, replications| {
        let mut tally = Tally::default();
        (0..replications).for_each(|_| tally.count(world.decisions(dice)[0]));
        tally
    });
    let found = results.iter().map(Tally::share).sum::<f64>() / results.len() as f64;
    let slack = Bound::AtLeast(0.7).slack(4 * part);
    report.judge_one(
        "power of the decision",
        "80 to 90 %, 10 % of 25 a day",
        found,
        Bound::AtLeast(0.7),
        slack,
    );
}

/// Corrections, turns, escalations and tokens that differ in nothing between the arms.
fn guardrails(report: &mut Report) {
    if !report.wants("guardrails") {
        return;
    }
    let quick = report.options.quick;
    let per_day: &[usize] = if quick { &[15] } else { &[8, 30] };
    let mut cells = Vec::new();
    for &holdout in &HOLDOUTS {
        for &users_per_day in per_day {
            for escalation in [0.02, 0.2] {
                let rates = [escalation; 2];
                let world = Daily { holdout, users_per_day, rates, icc: 0.2, is_heavy: false };
                cells.push(world.named());
            }
        }
    }
    let look = |world: &Daily, dice: &mut Dice, replications: usize| {
        let sequence = world.planned();
        let mut tally = Tally::default();
        for _ in 0..replications {
            let stream = Stream::draw(dice, world.users_per_day, world.holdout);
            // How talkative, and how ready to escalate, a user is.
            let users: Vec<(f64, f64)> = stream
                .users
                .iter()
                .map(|_| ((0.6 * dice.normal()).exp(), dice.rate(world.rates[0], world.icc)))
                .collect();
            let mut sums = vec![[UserSum::default(); 4]; users.len()];
            let mut has_failed = false;
            for day in 0..DAYS {
                for &user in &stream.sessions[day] {
                    let (talk, escalates) = users[user];
                    let corrections = dice.geometric(1.0 + 0.4 * talk) - 1;
                    let turns = 1 + dice.geometric(1.0 + 3.0 * talk);
                    let tokens = (300.0 * talk * (0.9 * dice.normal()).exp()) as i64;
                    let escalated = i64::from(dice.chance(escalates));
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
    let replications = report.options.replications.div_ceil(if quick { 2 } else { 1 });
    let results = report.run("guardrails", &cells, replications, look);
    report.judge("guardrails, any falsely failed", &cells, &results, Bound::AtMost(0.05));
}

/// A perfect A/A experiment: three stages, three sources, two versions, triggered, and the evaluation rate.
fn health(report: &mut Report) {
    const CHECKS: usize = 10;
    if !report.wants("health") {
        return;
    }
    let quick = report.options.quick;
    let per_day: &[usize] = if quick { &[15] } else { &[8, 30] };
    let mut cells = Vec::new();
    for &holdout in &HOLDOUTS {
        for &users_per_day in per_day {
            for evaluated in [0.5, 0.9, 0.98] {
                let rates = [evaluated; 2];
                let world = Daily { holdout, users_per_day, rates, icc: 0.2, is_heavy: false };
                cells.push(world.named());
            }
        }
    }
    let look = |world: &Daily, dice: &mut Dice, replications: usize| {
        let level = level_of_one_check(CHECKS);
        let mut tally = Tally::default();
        for _ in 0..replications {
            let stream = Stream::draw(dice, world.users_per_day, world.holdout);
            let rates: Vec<f64> =
                stream.users.iter().map(|_| dice.rate(world.rates[0], world.icc)).collect();
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
                    published[user].evaluated += u64::from(dice.chance(rates[user]));
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
    let results = report.run("health", &cells, report.options.replications, look);
    report.judge("health, unhealthy in an A/A", &cells, &results, Bound::AtMost(0.01));
}

// ---------------------------------------------------------------------------------------------
// Outside experiments

#[derive(Clone, Copy)]
struct Period {
    users: usize,
    sessions: f64,
    base: f64,
    icc: f64,
    /// Share of the users of the first period who are in the second too.
    overlap: f64,
}

fn overview(report: &mut Report) {
    if !report.wants("overview") {
        return;
    }
    let users: &[usize] = if report.options.quick { &[60, 400] } else { &[30, 100, 400, 2_000] };
    let correlations: &[f64] = if report.options.quick { &[0.2] } else { &[0.0, 0.2, 0.4] };
    let mut cells = Vec::new();
    for &users in users {
        for sessions in [2.0, 6.0] {
            for base in [0.05, 0.2, 0.5, 0.8, 0.95] {
                for &icc in correlations {
                    for overlap in [0.0, 0.7] {
                        let world = Period { users, sessions, base, icc, overlap };
                        let name = format!(
                            "{users} users, {sessions} sessions, base {base}, icc {icc}, overlap {overlap}"
                        );
                        cells.push(Cell { name, world });
                    }
                }
            }
        }
    }
    let look = |world: &Period, dice: &mut Dice, replications: usize| {
        let mut tallies = [Tally::default(); 2];
        for _ in 0..replications {
            let (mut now, mut before) = (GroupSums::default(), GroupSums::default());
            let visit = |sums: &mut GroupSums, dice: &mut Dice, rate: f64, group: usize| {
                let sessions = dice.geometric(world.sessions);
                let sum = dice.sum(sessions, rate);
                sums.add(group, sum.sessions as f64, sum.total as f64);
            };
            for _ in 0..world.users {
                let (rate, group) = (dice.rate(world.base, world.icc), dice.below(GROUPS));
                visit(&mut before, dice, rate, group);
                if dice.chance(world.overlap) {
                    visit(&mut now, dice, rate, group);
                } else {
                    let (rate, group) = (dice.rate(world.base, world.icc), dice.below(GROUPS));
                    visit(&mut now, dice, rate, group);
                }
            }
            if let Ok(rate) = grouped_rate(&now) {
                tallies[0].count(rate.rate.interval.contains(world.base));
            }
            if let Ok(change) = grouped_change(&now, &before) {
                tallies[1].count(change.interval.contains(0.0));
            }
        }
        tallies
    };
    let results = report.run("overview", &cells, report.options.replications, look);
    let column =
        |place: usize| -> Vec<Tally> { results.iter().map(|tally| tally[place]).collect() };
    let (rates, changes) = (column(0), column(1));
    report.judge("overview, rate", &cells, &rates, Bound::AtLeast(0.92));
    report.judge("overview, change", &cells, &changes, Bound::AtLeast(0.92));
}

/// Five hundred rules that change nothing, cited by users who differ in success and in what they cite.
fn rules(report: &mut Report) {
    const RULES: usize = 500;
    if !report.wants("rules") {
        return;
    }
    #[derive(Clone, Copy)]
    struct Null {
        base: f64,
        icc: f64,
        users: usize,
    }
    let mut cells = Vec::new();
    for users in if report.options.quick { vec![1_000] } else { vec![1_000, 3_000] } {
        for base in [0.5, 0.79, 0.95] {
            for icc in [0.2, 0.4] {
                // Every world is a cell, so that few worlds run on all cores.
                let name = format!("{users} users, base {base}, icc {icc}");
                cells.push(Cell { name, world: Null { base, icc, users } });
            }
        }
    }
    let look = |world: &Null, dice: &mut Dice, replications: usize| {
        let (mut marked, mut given) = (0, 0);
        for _ in 0..replications {
            // Of each rule, by user: citing and not. A user has topics, which are in some rules' reach.
            let mut rows: Vec<Vec<CitingUser>> = vec![Vec::new(); RULES];
            for user in 0..world.users {
                let stratum = dice.below(4) as u32;
                let rate = dice.rate(world.base, world.icc);
                let sessions: Vec<(i64, Vec<usize>)> = (0..dice.geometric(6.0))
                    .map(|_| {
                        let topic = (user * 7) % 25;
                        let cited = (0..5)
                            .map(|_| {
                                let rule = (dice.unit().powi(2) * 20.0) as usize;
                                let of = if dice.chance(0.7) { topic } else { dice.below(25) };
                                of * 20 + rule
                            })
                            .collect();
                        (i64::from(dice.chance(rate)), cited)
                    })
                    .collect();
                let all = sessions.iter().fold(UserSum::default(), |sum, (total, _)| {
                    sum.plus(UserSum { sessions: 1, total: *total })
                });
                let mut citing = vec![UserSum::default(); RULES];
                for (total, cited) in &sessions {
                    let mut cited = cited.clone();
                    cited.sort_unstable();
                    cited.dedup();
                    for rule in cited {
                        citing[rule] = citing[rule].plus(UserSum { sessions: 1, total: *total });
                    }
                }
                for (rule, citing) in citing.into_iter().enumerate() {
                    let other = UserSum {
                        sessions: all.sessions - citing.sessions,
                        total: all.total - citing.total,
                    };
                    rows[rule].push(CitingUser { user: user as u32, stratum, citing, other });
                }
            }
            let associations: Vec<_> = rows.iter().map(|rows| Association::of(rows)).collect();
            let judged = mark(&associations);
            given += associations.iter().flatten().count();
            marked += judged.iter().flatten().filter(|rule| rule.is_marked).count();
        }
        (marked as f64 / replications as f64, given as f64 / replications as f64)
    };
    let worlds = report.options.replications.div_ceil(if report.options.quick { 30 } else { 20 });
    let results = report.run("rules", &cells, worlds, look);
    let worst = cells.iter().zip(&results).max_by(|one, other| one.1.0.total_cmp(&other.1.0));
    if let Some((cell, (marked, given))) = worst {
        let what = format!("marked on average, of {given:.0} given of 500, {}", cell.name);
        report.judge_one("500 rules without effect", &what, *marked, Bound::AtMost(0.999), 0.0);
    }
}
