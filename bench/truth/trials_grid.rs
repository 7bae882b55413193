//! Trials of playbooks: how often one without effect is called, how soon one with an effect is, and how often the
//! intervals are right.

use super::chance::{Counted, Dice, Person};
use super::report::{Bound, Cell, Report, Tally};
use super::trials::{Organization, called, epoch};
use stats::learning_trials::{Epoch, TrialEffect, planned_users};
use stats::shrinkage::{Centre, NoisyEffect, shrink, shrink_over_spreads};

const WEEKLY: Organization = Organization {
    playbooks: 100,
    users_per_day: 150.0,
    of_user: 15,
    of_session: 8,
    base: 0.85,
    icc: 0.2,
    share: 0.2,
    effective: 0,
    effect: 0.0,
    days: 112,
    every: 7,
    changes: None,
};

/// 2,000 new users a week.
const DAILY: Organization =
    Organization { playbooks: 500, users_per_day: 2_000.0 / 7.0, days: 60, every: 1, ..WEEKLY };

/// Worlds in which no playbook changes anything.
pub fn null_trials(report: &mut Report) {
    if !report.wants("trials: null") {
        return;
    }
    let quick = report.options.quick;
    let mut cells = Vec::new();
    let cell = |name: String, world: Organization| Cell {
        name: format!("{name}, {:.0} users a week each", 7.0 * world.found_per_day()),
        world,
    };
    for base in [0.02, 0.5, 0.85, 0.98] {
        for share in [0.05, 0.2, 0.5] {
            let is_hard = base > 0.9 && share < 0.3;
            if !quick || is_hard {
                cells.push(cell(
                    format!("{base}, share {share}"),
                    Organization { base, share, ..WEEKLY },
                ));
            }
        }
    }
    if !quick {
        for (share, after) in [(0.2, 0.05), (0.05, 0.5)] {
            let world = Organization { share, changes: Some((42, after)), ..WEEKLY };
            cells.push(cell(format!("0.85, share {share} then {after}"), world));
        }
    }
    any_called(report, "100 null trials, any called", &cells, 0.1);
    let shares: &[(f64, f64)] =
        if quick { &[(0.98, 0.2)] } else { &[(0.5, 0.2), (0.85, 0.2), (0.98, 0.2), (0.98, 0.05)] };
    let cells: Vec<_> = shares
        .iter()
        .map(|&(base, share)| {
            cell(format!("{base}, share {share}"), Organization { base, share, ..DAILY })
        })
        .collect();
    any_called(report, "500 null trials, 60 looks", &cells, 0.05);
}

fn any_called(report: &mut Report, what: &str, cells: &[Cell<Organization>], weight: f64) {
    let worlds = if report.options.quick {
        report.replications(weight)
    } else {
        report.options.replications.div_ceil(10)
    };
    let results = report.run(what, cells, |world, dice| {
        let mut tally = Tally::default();
        for _ in 0..worlds {
            let mut is_any = false;
            world.run(dice, |_, trials| {
                is_any |= called(trials).iter().any(|called| *called != [false; 2]);
            });
            tally.count(is_any);
        }
        tally
    });
    report.judge(what, cells, &results, Bound::AtMost(0.1));
}

/// 25 playbooks that help by 8 points and 25 that hurt by as much among 500, with 2,000 users a week.
pub fn mixed_trials(report: &mut Report) {
    const WEEKS: usize = 26;
    if !report.wants("trials: mixed") || report.options.quick {
        return;
    }
    let world =
        Organization { base: 0.8, effective: 25, effect: 0.08, days: 7 * WEEKS, every: 7, ..DAILY };
    let wide = Organization { of_user: 60, of_session: 20, ..world };
    let worlds = report.options.replications.div_ceil(400);
    for world in [world, wide] {
        // Every few worlds are a cell, so that they run on all cores.
        let cells: Vec<_> = (0..8).map(|n| Cell { name: n.to_string(), world }).collect();
        let results = report.run("trials, some effective", &cells, |world, dice| {
            let mut sums = vec![[0.0; 3]; WEEKS];
            for _ in 0..worlds {
                world.run(dice, |day, trials| {
                    let (mut right, mut wrong) = (0.0, 0.0);
                    for (playbook, called) in called(trials).into_iter().enumerate() {
                        let effect = world.effect_of(playbook);
                        let is_right = called == [effect > 0.0, effect < 0.0];
                        if called != [false; 2] {
                            *(if is_right { &mut right } else { &mut wrong }) += 1.0;
                        }
                    }
                    let week = &mut sums[day / 7 - 1];
                    week[0] += right / (2 * world.effective) as f64;
                    week[1] += wrong / (right + wrong + f64::EPSILON);
                    week[2] += wrong;
                });
            }
            sums
        });
        let runs = (worlds * cells.len()) as f64;
        let mean = |week: usize, place: usize| {
            results.iter().map(|sums| sums[week - 1][place]).sum::<f64>() / runs
        };
        let found = 7.0 * world.found_per_day();
        let place = format!("{found:.0} users a week each, worst of {WEEKS} weeks, {runs} worlds");
        let worst = (1..=WEEKS).map(|week| mean(week, 1)).fold(0.0, f64::max);
        report.judge_one("50 of 500, false of called", &place, worst, Bound::AtMost(0.1), 0.0);
        for week in [4, 8, 12, 16, 20, 26] {
            let what = format!("  +-8 points, week {week}");
            report.judge_one(&what, "share of the 50 called", mean(week, 0), Bound::None, 0.0);
        }
    }
}

/// Playbooks with users of their own, who come in one week and have all their sessions in it.
#[derive(Clone, Copy)]
struct OwnUsers {
    share: f64,
    users_per_week: usize,
    /// Success with and without, of those that have an effect.
    rates: [f64; 2],
    base: f64,
    weeks: usize,
}

/// Playbooks with an effect, of 100.
const EFFECTIVE: usize = 10;

impl OwnUsers {
    fn week(&self, rates: [f64; 2], arms: &mut [Counted; 2], dice: &mut Dice) {
        for _ in 0..self.users_per_week {
            let arm = usize::from(dice.chance(self.share));
            let sessions = dice.visits();
            arms[arm].add(dice.sum(sessions, &mut Person::new(rates[arm], 0.2)));
        }
    }

    fn plan(&self) -> u64 {
        planned_users(Some(self.users_per_week as f64), &[])
    }
}

/// How soon a true effect is called.
pub fn power_of_trials(report: &mut Report) {
    if !report.wants("trials: power") {
        return;
    }
    let rows: &[(f64, usize, f64, f64)] = &[
        (0.2, 60, 0.85, 0.15),
        (0.2, 200, 0.85, 0.08),
        (0.2, 200, 0.85, 0.15),
        (0.05, 200, 0.9, 0.15),
    ];
    let mut cells = Vec::new();
    for &(share, users_per_week, base, effect) in rows {
        let weeks = if share < 0.1 || users_per_week < 100 { 16 } else { 8 };
        for (kind, rates) in [("hurts", [base - effect, base]), ("helps", [base, base - effect])] {
            let name = format!(
                "share {share}, {users_per_week} a week, {:.0} points, base {base}, {kind}",
                100.0 * effect
            );
            let world = OwnUsers { share, users_per_week, rates, base, weeks };
            if !report.options.quick || (cells.is_empty() && kind == "hurts") {
                cells.push(Cell { name, world });
            }
        }
    }
    let worlds = if report.options.quick {
        report.replications(0.1)
    } else {
        report.options.replications.div_ceil(20)
    };
    let results = report.run("trials, power", &cells, |world, dice| {
        let mut by_week = vec![Tally::default(); world.weeks];
        for _ in 0..worlds {
            let mut arms: Vec<[Counted; 2]> = Vec::new();
            arms.resize_with(100, Default::default);
            for tally in &mut by_week {
                for (playbook, arms) in arms.iter_mut().enumerate() {
                    let is_effective = playbook < EFFECTIVE;
                    let rates = if is_effective { world.rates } else { [world.base; 2] };
                    world.week(rates, arms, dice);
                }
                let trials: Vec<Vec<Epoch>> = arms
                    .iter()
                    .map(|[served, withheld]| {
                        vec![epoch([served.arm(), withheld.arm()], world.share, world.plan())]
                    })
                    .collect();
                let [with, without] = world.rates;
                for called in called(&trials).iter().take(EFFECTIVE) {
                    tally.count(*called == [with > without, with < without]);
                }
            }
        }
        by_week
    });
    for (cell, by_week) in cells.iter().zip(&results) {
        for week in [4, 8, 12, 16] {
            if let Some(tally) = by_week.get(week - 1) {
                let what = format!("trial called, week {week}");
                // Sixty users a week find 15 points in twelve weeks, four times of five.
                let bound = match (cell.world.users_per_week, week) {
                    (60, 12) => Bound::AtLeast(0.8),
                    _ => Bound::None,
                };
                let slack = bound.slack(tally.given);
                report.judge_one(&what, &cell.name, tally.share(), bound, slack);
            }
        }
    }
}

/// Playbooks that help: from the week after they are first called they are withheld from 2 % only, which starts a
/// second epoch. How many are still called later.
pub fn settled_trials(report: &mut Report) {
    const WEEKS: usize = 52;
    const AFTERWARDS: usize = 26;
    if !report.wants("trials: settled") || report.options.quick {
        return;
    }
    let mut cells = Vec::new();
    for effect in [0.08, 0.15] {
        for effective in [1, EFFECTIVE] {
            let rates = [0.85, 0.85 - effect];
            let world =
                OwnUsers { share: 0.2, users_per_week: 200, rates, base: 0.85, weeks: WEEKS };
            let points = 100.0 * effect;
            let name = format!("0.2 then 0.02, 200 a week, {points:.0} points, {effective} of 100");
            cells.push(Cell { name, world: (world, effective) });
        }
    }
    let playbooks = report.options.replications.div_ceil(5);
    let results = report.run("trials, settled", &cells, |(world, effective), dice| {
        let mut since = vec![Tally::default(); AFTERWARDS];
        let later = OwnUsers { share: 0.02, ..*world };
        for _ in 0..playbooks / effective {
            let mut arms: Vec<[[Counted; 2]; 2]> = Vec::new();
            arms.resize_with(*effective, Default::default);
            let mut settled: Vec<Option<usize>> = vec![None; *effective];
            for week in 0..WEEKS {
                let mut trials: Vec<Vec<Epoch>> = Vec::new();
                for (arms, settled) in arms.iter_mut().zip(&settled) {
                    let is_later = settled.is_some();
                    let now = if is_later { &later } else { world };
                    now.week(world.rates, &mut arms[usize::from(is_later)], dice);
                    let of = |arms: &[Counted; 2], of: &OwnUsers| {
                        epoch([arms[0].arm(), arms[1].arm()], of.share, of.plan())
                    };
                    let second = is_later.then(|| of(&arms[1], &later));
                    trials.push([of(&arms[0], world)].into_iter().chain(second).collect());
                }
                // The others show nothing.
                trials.resize_with(100, Vec::new);
                for (called, settled) in called(&trials).iter().zip(&mut settled) {
                    match *settled {
                        Some(then) => {
                            if let Some(tally) = since.get_mut(week - then - 1) {
                                tally.count(called[0]);
                            }
                        }
                        None if called[0] => *settled = Some(week),
                        None => {}
                    }
                }
            }
        }
        since
    });
    for (cell, since) in cells.iter().zip(&results) {
        let lowest = since.iter().map(Tally::share).fold(1.0, f64::min);
        report.judge_one("settled, called, least week", &cell.name, lowest, Bound::None, 0.0);
        let last = since[AFTERWARDS - 1].share();
        report.judge_one("  26 weeks later", &cell.name, last, Bound::None, 0.0);
    }
}

/// One playbook by itself: the fixed interval after twelve weeks, the always-valid one at every week; both also
/// when the share changed halfway.
pub fn intervals(report: &mut Report) {
    if !report.wants("trials: intervals") {
        return;
    }
    let quick = report.options.quick;
    let mut cells = Vec::new();
    for base in [0.02, 0.5, 0.85, 0.98] {
        for share in [0.05, 0.2, 0.5] {
            for effect in [0.0, 0.1] {
                for after in [None, Some(0.1)] {
                    let is_possible = effect == 0.0 || (0.2..0.9).contains(&base);
                    let is_quick = after.is_none() && share < 0.3;
                    if !is_possible || (quick && !is_quick) {
                        continue;
                    }
                    let rates = [base - effect, base];
                    let world = OwnUsers { share, users_per_week: 100, rates, base, weeks: 12 };
                    let then = after.map_or(String::new(), |share| format!(" then {share}"));
                    let name = format!("{base} - {effect}, share {share}{then}");
                    cells.push(Cell { name, world: (world, after) });
                }
            }
        }
    }
    let replications =
        if quick { report.replications(0.5) } else { report.options.replications.div_ceil(2) };
    let results = report.run("trials, intervals", &cells, |(world, after), dice| {
        let mut tallies = [Tally::default(); 2];
        let truth = world.rates[0] - world.rates[1];
        let later = OwnUsers { share: after.unwrap_or(world.share), ..*world };
        for _ in 0..replications {
            let mut arms = [[Counted::default(), Counted::default()], Default::default()];
            let mut held = Err(());
            let mut covers = Err(());
            for week in 0..world.weeks {
                let is_later = after.is_some() && week >= world.weeks / 2;
                let epoch_world = if is_later { &later } else { world };
                epoch_world.week(world.rates, &mut arms[usize::from(is_later)], dice);
                let epochs: Vec<Epoch> = arms
                    .iter()
                    .zip([world, &later])
                    .take(1 + usize::from(is_later))
                    .map(|(arms, of)| epoch([arms[0].arm(), arms[1].arm()], of.share, of.plan()))
                    .collect();
                if let Ok(effect) = TrialEffect::of(&epochs) {
                    covers = Ok(effect.interval.contains(truth));
                    held = Ok(held.unwrap_or(true) && effect.always_valid.contains(truth));
                }
            }
            tallies[0].count_if_given(covers);
            tallies[1].count_if_given(held.map(|held| !held));
        }
        tallies
    });
    let [fixed, daily] = [0, 1].map(|n| results.iter().map(|r| r[n]).collect::<Vec<Tally>>());
    report.judge("trial, 95 % interval", &cells, &fixed, Bound::AtLeast(0.92));
    report.judge("trial, ever outside", &cells, &daily, Bound::AtMost(0.05));
}

/// Shrunken effects where effects are normal, and their estimates too.
pub fn shrinkage(report: &mut Report) {
    #[derive(Clone, Copy)]
    struct Effects {
        playbooks: usize,
        mean: f64,
        spread: f64,
    }
    if !report.wants("trials: shrinkage") {
        return;
    }
    let mut cells = Vec::new();
    let counts: &[usize] = if report.options.quick { &[10, 100] } else { &[10, 30, 100, 500] };
    for &playbooks in counts {
        for spread in [0.01, 0.03, 0.06, 0.1] {
            for mean in [0.0, 0.03] {
                if report.options.quick && mean > 0.0 {
                    continue;
                }
                let name = format!("{playbooks} playbooks, N({mean}, {spread})");
                cells.push(Cell { name, world: Effects { playbooks, mean, spread } });
            }
        }
    }
    let worlds = if report.options.quick {
        report.replications(0.1)
    } else {
        report.options.replications.div_ceil(10)
    };
    let results = report.run("trials, shrinkage", &cells, |world, dice| {
        let mut tallies = [Tally::default(); 3];
        // Effects of one world miss together, so that the number of worlds matters.
        for _ in 0..worlds * (500 / world.playbooks).clamp(1, 5) {
            let drawn: Vec<(f64, NoisyEffect)> = (0..world.playbooks)
                .map(|_| {
                    let effect = world.mean + world.spread * dice.normal();
                    // From 2 to 10 points, as with a thousand to fifty withheld users.
                    let standard_error = 0.02 * 5.0_f64.powf(dice.unit());
                    let estimate = effect + standard_error * dice.normal();
                    (effect, NoisyEffect { estimate, standard_error })
                })
                .collect();
            let effects: Vec<NoisyEffect> = drawn.iter().map(|(_, noisy)| *noisy).collect();
            let ways = [
                shrink_over_spreads(&effects),
                shrink(&effects, Centre::Zero),
                shrink(&effects, Centre::Mean),
            ];
            for (tally, way) in tallies.iter_mut().zip(ways) {
                for ((truth, _), shrunken) in drawn.iter().zip(&way.effects) {
                    tally.count(shrunken.interval.contains(*truth));
                }
            }
        }
        tallies
    });
    let lines = [
        ("shrunken 90 % interval", Bound::AtLeast(0.85)),
        ("  with the likeliest spread", Bound::None),
        ("  that, drawn to the mean", Bound::None),
    ];
    for (place, (what, bound)) in lines.into_iter().enumerate() {
        let tallies: Vec<Tally> = results.iter().map(|tallies| tallies[place]).collect();
        report.judge(what, &cells, &tallies, bound);
    }
}
