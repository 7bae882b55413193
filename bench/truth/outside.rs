//! Outside experiments: rates and changes of the overview, and rules that change nothing.

use super::chance::{Dice, Person};
use super::report::{Bound, Cell, Report, Tally};
use stats::UserSum;
use stats::association::{Association, CitingUser, mark};
use stats::grouped::{GROUPS, GroupSums, grouped_change, grouped_rate};

#[derive(Clone, Copy)]
struct Period {
    users: usize,
    sessions: f64,
    base: f64,
    icc: f64,
    /// Share of the users of the first period who are in the second too.
    overlap: f64,
}

pub fn overview(report: &mut Report) {
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
                        let name =
                            format!("{users} with {sessions} each, {base}, {icc}, {overlap}");
                        cells.push(Cell { name, world });
                    }
                }
            }
        }
    }
    let replications = report.replications(1.0);
    let look = |world: &Period, dice: &mut Dice| {
        let mut tallies = [Tally::default(); 2];
        for _ in 0..replications {
            let (mut now, mut before) = (GroupSums::default(), GroupSums::default());
            let visit =
                |sums: &mut GroupSums, dice: &mut Dice, (person, group): &mut (Person, usize)| {
                    let sessions = dice.geometric(world.sessions);
                    let sum = dice.sum(sessions, person);
                    sums.add(*group, sum.sessions as f64, sum.total as f64);
                };
            let new = |dice: &mut Dice| (Person::new(world.base, world.icc), dice.below(GROUPS));
            for _ in 0..world.users {
                let mut user = new(dice);
                visit(&mut before, dice, &mut user);
                if !dice.chance(world.overlap) {
                    user = new(dice);
                }
                visit(&mut now, dice, &mut user);
            }
            let rate = grouped_rate(&now);
            tallies[0].count_if_given(rate.map(|r| r.rate.interval.contains(world.base)));
            let change = grouped_change(&now, &before);
            tallies[1].count_if_given(change.map(|change| change.interval.contains(0.0)));
        }
        tallies
    };
    let results = report.run("overview", &cells, look);
    let column =
        |place: usize| -> Vec<Tally> { results.iter().map(|tally| tally[place]).collect() };
    let (rates, changes) = (column(0), column(1));
    report.judge("overview, rate", &cells, &rates, Bound::AtLeast(0.92));
    report.judge("overview, change", &cells, &changes, Bound::AtLeast(0.92));
}

/// Five hundred rules that change nothing, cited by users who differ in success and in what they cite.
pub fn rules(report: &mut Report) {
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
                let name = format!("{users} users, {base}, {icc}");
                cells.push(Cell { name, world: Null { base, icc, users } });
            }
        }
    }
    let worlds = report.replications(0.6).div_ceil(20);
    let look = |world: &Null, dice: &mut Dice| {
        let (mut marked, mut given) = (0, 0);
        for _ in 0..worlds {
            // Of each rule, by user: citing and not. A user has topics, which are in some rules' reach.
            let mut rows: Vec<Vec<CitingUser>> = vec![Vec::new(); RULES];
            for user in 0..world.users {
                let stratum = dice.below(4) as u32;
                let mut person = Person::new(world.base, world.icc);
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
                        (i64::from(person.succeeds(dice)), cited)
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
        (marked as f64 / worlds as f64, given as f64 / worlds as f64)
    };
    let results = report.run("rules", &cells, look);
    let worst = cells.iter().zip(&results).max_by(|one, other| one.1.0.total_cmp(&other.1.0));
    if let Some((cell, (marked, given))) = worst {
        let place = format!("{given:.0} given, {}", cell.name);
        report.judge_one("null rules marked of 500", &place, *marked, Bound::AtMost(0.999), 0.0);
    }
}
