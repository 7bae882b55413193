//! Alerts: how often one is raised although nothing got worse, how soon a drop is found, and how an episode ends.

use super::alerts::{BEFORE, CHANGES, DAYS, Heavy, Lived, Metric, PLAIN, Places, Verdicts, World};
use super::chance::Dice;
use super::report::{Bound, Cell, Report, Tally};
use stats::alerts::{AlertState, DAY, HOUR, Judgement, Watch, Watcher};
use stats::wilson::wilson;

/// The judgements of sixty days, hour by hour, that are news; ends early when `look` says so.
fn watch(world: &World, lived: &Lived, mut look: impl FnMut(&Judgement) -> bool) {
    let mut watcher = Watcher::new(world.settings()).unwrap();
    let first = BEFORE * DAY;
    let before: Vec<_> =
        lived.arrivals.range(..first).flat_map(|(_, blocks)| blocks.clone()).collect();
    watcher.add(&before);
    let mut watch = Watch::Armed { from: first };
    for now in (first + HOUR..=DAYS * DAY).step_by(HOUR as usize) {
        if let Some(blocks) = lived.arrivals.get(&(now - HOUR)) {
            watcher.add(blocks);
        }
        let judgement = watcher.judge(now, watch);
        watch = judgement.watch;
        let is_news = !matches!(
            judgement.state,
            AlertState::Collecting | AlertState::Quiet | AlertState::StillWorse
        );
        if is_news && !look(&judgement) {
            return;
        }
    }
}

fn null_worlds() -> Vec<(&'static str, World)> {
    let zipf = World { zipf: 1.0, icc: 0.4, ..PLAIN };
    vec![
        ("independent sessions", World { icc: 0.0, sessions_per_user: 1.0, ..PLAIN }),
        ("users, ICC .2", PLAIN),
        ("Zipf users, ICC .4", zipf),
        ("Zipf users, ICC .4, 98 % succeed", World { base: 0.98, ..zipf }),
        ("Zipf users for 10 days, 50 %", World { base: 0.5, lifetime: 10.0, ..zipf }),
        ("15 users in all, ICC .4", World { icc: 0.4, sessions_per_user: 1e9, ..PLAIN }),
        ("weekends 5 points worse", World { weekend: 0.05, ..PLAIN }),
        ("nights 6 points worse", World { night: 0.06, ..PLAIN }),
        ("2 points down in 60 days", World { drift: 0.02, ..PLAIN }),
        ("2 points up in 60 days", World { drift: -0.02, ..PLAIN }),
        ("days vary by 2 points", World { spread_of_days: 0.02, ..PLAIN }),
        ("a week with five times the users", World { has_burst: true, ..PLAIN }),
        ("every fifth day missing", World { missing: 0.2, ..PLAIN }),
        ("one user with 30 % stops", World { heavy: Heavy::Stops, ..PLAIN }),
        ("one user with 30 % turns bad", World { heavy: Heavy::TurnsBad, ..PLAIN }),
        ("a score between 0 and 1", World { metric: Metric::Score, zipf: 1.0, ..PLAIN }),
        ("turns, lognormal", World { metric: Metric::Turns, zipf: 1.0, ..PLAIN }),
        ("turns, Pareto 2.2", World { metric: Metric::Pareto, zipf: 1.0, ..PLAIN }),
        ("verdicts 12 hours late", World { verdicts: Verdicts::Late, ..PLAIN }),
        ("successes judged later", World { verdicts: Verdicts::FailuresFirst, ..PLAIN }),
    ]
}

const VOLUMES: [f64; 4] = [20.0, 100.0, 1_000.0, 20_000.0];

/// Fewer runs of worlds with more sessions.
fn runs(report: &Report, per_day: f64) -> usize {
    let share = match per_day {
        n if n <= 100.0 => 0.5,
        n if n <= 1_000.0 => 0.25,
        _ => 0.1,
    };
    (report.options.replications as f64 * share).ceil() as usize
}

/// Nothing gets worse, for sixty days.
pub fn false_alarms(report: &mut Report) {
    if !report.wants("alerts: null") {
        return;
    }
    let quick = report.options.quick;
    let mut cells = Vec::new();
    for (name, world) in null_worlds() {
        for per_day in VOLUMES {
            let is_hard = per_day < 50.0 && (world.zipf > 0.0 || world.heavy == Heavy::TurnsBad)
                || (99.0..1_000.0).contains(&per_day) && world.weekend + world.night > 0.0;
            if !quick || is_hard {
                let name = format!("{name}, {per_day} a day");
                cells.push(Cell { name, world: World { per_day, ..world } });
            }
        }
    }
    let counts: Vec<usize> = cells.iter().map(|cell| runs(report, cell.world.per_day)).collect();
    let counted: Vec<_> = cells
        .into_iter()
        .zip(counts)
        .map(|(cell, runs)| Cell { name: cell.name, world: (cell.world, runs) })
        .collect();
    let results = report.run("alerts: null", &counted, |(world, runs), dice| {
        let places = world.places();
        let mut tally = Tally::default();
        for _ in 0..*runs {
            let mut is_any = false;
            watch(world, &world.live(&places, dice), |_| {
                is_any = true;
                false
            });
            tally.count(is_any);
        }
        tally
    });
    report.judge("alerts, false in 60 days", &counted, &results, Bound::AtMost(0.03));
    if !quick {
        println!(
            "\n| nothing gets worse | runs | false alarms | 95 % interval |\n|---|---:|---:|---|"
        );
        for (cell, tally) in counted.iter().zip(&results).filter(|(_, tally)| tally.given > 0) {
            let interval = wilson(tally.share(), tally.given as f64, 1.96);
            println!(
                "| {} | {} | {:.3} | {:.3} to {:.3} |",
                cell.name,
                tally.given,
                tally.share(),
                interval.lower,
                interval.upper
            );
        }
        println!();
    }
}

/// Outcomes of the runs of a world in which something gets worse.
#[derive(Default)]
struct Found {
    runs: usize,
    early: usize,
    /// Days from the drop to the alert; infinite if there was none.
    delays: Vec<f64>,
    /// Days from the true start to the one that is told.
    starts: Vec<f64>,
    /// Whether the interval contains the true change since then.
    covered: Tally,
}

impl Found {
    fn add(&mut self, world: &World, lived: &Lived) {
        self.runs += 1;
        let mut first = None;
        watch(world, lived, |judgement| {
            first = Some(*judgement);
            false
        });
        let dropped_at = lived.dropped_at;
        let Some(judgement) = first.filter(|judgement| judgement.until > dropped_at) else {
            self.early += usize::from(first.is_some());
            self.delays.push(f64::INFINITY);
            return;
        };
        let days = |seconds: i64| seconds as f64 / DAY as f64;
        let now = judgement.until + i64::from(world.settings().settling_hours) * HOUR;
        self.delays.push(days(now - dropped_at));
        if let (Some(since), Some(change)) = (judgement.since, judgement.change) {
            self.starts.push(days(since - dropped_at));
            let sessions = |from: i64| -> f64 {
                let blocks = lived.arrivals.values().flatten();
                let inside = blocks.filter(|b| from <= b.time && b.time < judgement.until);
                inside.map(|block| block.sums.sessions()).sum()
            };
            let share = sessions(since.max(dropped_at)) / sessions(since);
            self.covered.count(change.interval.contains(-world.drop * share));
        }
    }

    fn share(&self) -> f64 {
        let found = self.delays.iter().filter(|delay| delay.is_finite()).count();
        found as f64 / self.runs.max(1) as f64
    }
}

fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (share * values.len() as f64) as usize;
    values.get(place.min(values.len().saturating_sub(1))).copied().unwrap_or(f64::INFINITY)
}

/// Something gets worse on the thirtieth of sixty days.
pub fn drops(report: &mut Report) {
    if !report.wants("alerts: drops") {
        return;
    }
    let quick = report.options.quick;
    let mut cells = Vec::new();
    for per_day in [20.0, 100.0, 1_000.0, 10_000.0] {
        for drop in [0.05, 0.1, 0.2] {
            let is_asked = (per_day, drop) == (100.0, 0.2) || (per_day, drop) == (1_000.0, 0.1);
            if !quick || is_asked {
                let name = format!("{per_day} a day, {} points", 100.0 * drop);
                cells.push(Cell { name, world: World { per_day, drop, zipf: 0.7, ..PLAIN } });
            }
        }
    }
    let runs = report.options.replications.div_ceil(8);
    let mut results = report.run("alerts: drops", &cells, |world, dice: &mut Dice| {
        let places: Places = world.places();
        let mut found = Found::default();
        (0..runs).for_each(|_| found.add(world, &world.live(&places, dice)));
        found
    });
    for (cell, found) in cells.iter().zip(&results).filter(|(_, found)| found.runs > 0) {
        if (cell.world.per_day, cell.world.drop) == (1_000.0, 0.1) {
            let bound = Bound::AtLeast(0.95);
            let slack = bound.slack(found.runs);
            report.judge_one("alerts, drop found", &cell.name, found.share(), bound, slack);
        }
    }
    if quick {
        return;
    }
    println!(
        "\n| sessions | drop | found | days, median | days, 90 % | start told, 10 to 90 % | interval holds |\n|---|---|---:|---:|---:|---|---:|"
    );
    for (cell, found) in cells.iter().zip(&mut results).filter(|(_, found)| found.runs > 0) {
        println!(
            "| {} | {} | {:.2} | {:.1} | {:.1} | {:+.1} to {:+.1} | {:.2} |",
            cell.world.per_day,
            100.0 * cell.world.drop,
            found.share(),
            quantile(&mut found.delays, 0.5),
            quantile(&mut found.delays, 0.9),
            quantile(&mut found.starts, 0.1),
            quantile(&mut found.starts, 0.9),
            found.covered.share()
        );
    }
    println!();
}

#[derive(Default)]
struct Episodes {
    runs: usize,
    found: usize,
    /// Runs with a second alert.
    twice: usize,
    /// Runs in which the first episode ends as recovered.
    recovered: usize,
    /// Days from the end of the drop to that; from its beginning if it has no end.
    delays: Vec<f64>,
}

/// How often one drop is told twice, and when it is said to be over.
pub fn episodes(report: &mut Report) {
    if !report.wants("alerts: episodes") || report.options.quick {
        return;
    }
    let mut cells = Vec::new();
    for per_day in [100.0, 1_000.0, 10_000.0] {
        for (drop, drop_days) in [(0.1, DAYS), (0.2, DAYS), (0.2, 3), (0.6, 1)] {
            let length = if drop_days < DAYS {
                format!("for {drop_days} days")
            } else {
                "that stays".into()
            };
            let name = format!("{per_day} a day, {} points {length}", 100.0 * drop);
            cells.push(Cell { name, world: World { per_day, drop, drop_days, ..PLAIN } });
        }
    }
    let runs = report.options.replications.div_ceil(10);
    let results = report.run("alerts: episodes", &cells, |world, dice: &mut Dice| {
        let places = world.places();
        let mut episodes = Episodes::default();
        for _ in 0..runs {
            let lived = world.live(&places, dice);
            let (mut alerts, mut ended) = (0, None);
            watch(world, &lived, |judgement| {
                match judgement.state {
                    AlertState::Worse => alerts += 1,
                    state => ended = ended.or(Some((state, judgement.until))),
                }
                true
            });
            episodes.runs += 1;
            episodes.found += usize::from(alerts > 0);
            episodes.twice += usize::from(alerts > 1);
            if let Some((AlertState::Recovered, until)) = ended {
                episodes.recovered += 1;
                let last = if world.drop_days < DAYS { world.drop_days * DAY } else { 0 };
                episodes.delays.push((until - lived.dropped_at - last) as f64 / DAY as f64);
            }
        }
        episodes
    });
    println!(
        "\n| what happens on day {} | found | told twice | recovered | days until then, median |\n|---|---:|---:|---:|---:|",
        CHANGES - BEFORE
    );
    for (cell, mut found) in cells.iter().zip(results).filter(|(_, found)| found.runs > 0) {
        let share = |count: usize| count as f64 / found.runs as f64;
        println!(
            "| {} | {:.2} | {:.3} | {:.2} | {:.1} |",
            cell.name,
            share(found.found),
            share(found.twice),
            share(found.recovered),
            quantile(&mut found.delays, 0.5)
        );
    }
    println!();
}
