//! Running the cells of a grid on all cores, and holding what they say to a bound.

use super::chance::Dice;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

pub struct Options {
    pub replications: usize,
    pub quick: bool,
    pub seed: u64,
    /// Mean number of sessions of a user in an experiment, above 1.
    pub sessions: f64,
    pub threads: usize,
    pub only: Option<String>,
    /// Part of the names of the cells to run; all if none.
    pub within: Option<String>,
    /// Whether every cell is printed, not only the worst of a line.
    pub cells: bool,
}

/// Share of the replications, among those in which a figure was given, in which something held.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub tried: usize,
    pub given: usize,
    pub held: usize,
}

impl Tally {
    pub fn count(&mut self, held: bool) {
        self.tried += 1;
        self.given += 1;
        self.held += usize::from(held);
    }

    /// Counts what may be null.
    pub fn count_if_given<E>(&mut self, held: Result<bool, E>) {
        match held {
            Ok(held) => self.count(held),
            Err(_) => self.tried += 1,
        }
    }

    pub fn share(&self) -> f64 {
        self.held as f64 / self.given.max(1) as f64
    }

    /// Cells in which an interval is given in less than a tenth of the replications say nothing about it.
    fn is_often_given(&self) -> bool {
        self.given > 0 && 10 * self.given >= self.tried
    }
}

#[derive(Clone, Copy)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
    Between(f64, f64),
    /// Nothing is asked.
    None,
}

impl Bound {
    pub fn is_beyond(self, share: f64, slack: f64) -> bool {
        match self {
            Self::AtLeast(floor) => share < floor - slack,
            Self::AtMost(ceiling) => share > ceiling + slack,
            Self::Between(floor, ceiling) => share < floor - slack || share > ceiling + slack,
            Self::None => false,
        }
    }

    /// Tolerance for chance: nothing from 2,000 replications on, else 2.5 standard errors.
    pub fn slack(self, replications: usize) -> f64 {
        let (Self::AtLeast(p) | Self::AtMost(p) | Self::Between(p, _)) = self else { return 0.0 };
        if replications >= 2_000 {
            return 0.0;
        }
        let p = p.clamp(0.005, 0.995);
        2.5 * (p * (1.0 - p) / replications as f64).sqrt()
    }

    fn named(self) -> String {
        match self {
            Self::AtLeast(floor) => format!(">= {floor}"),
            Self::AtMost(ceiling) => format!("<= {ceiling}"),
            Self::Between(floor, ceiling) => format!("{floor} to {ceiling}"),
            Self::None => String::new(),
        }
    }

    /// Distance of a share to its bound; positive on the wrong side.
    fn badness(self, share: f64) -> f64 {
        match self {
            Self::AtLeast(_) | Self::None => -share,
            Self::AtMost(_) => share,
            Self::Between(floor, ceiling) => (share - f64::midpoint(floor, ceiling)).abs(),
        }
    }
}

/// A place in the grid with a name to print and a seed of its own.
pub struct Cell<T> {
    pub name: String,
    pub world: T,
}

pub struct Report {
    pub options: Options,
    pub started: Instant,
    pub failures: Vec<String>,
}

impl Report {
    pub fn wants(&self, table: &str) -> bool {
        self.options.only.as_deref().is_none_or(|only| table.contains(only))
    }

    /// Replications of a cell: fewer on the reduced grid, there as many times `weight`.
    pub fn replications(&self, weight: f64) -> usize {
        if self.options.quick {
            (self.options.replications as f64 * weight).ceil() as usize
        } else {
            self.options.replications
        }
    }

    /// Runs all cells, with a line of progress.
    pub fn run<T: Sync, R: Send + Default>(
        &self,
        table: &str,
        cells: &[Cell<T>],
        one: impl Fn(&T, &mut Dice) -> R + Sync,
    ) -> Vec<R> {
        self.run_with(self.options.sessions, table, cells, one)
    }

    /// The same with another mean number of sessions of a user.
    pub fn run_with<T: Sync, R: Send + Default>(
        &self,
        sessions: f64,
        table: &str,
        cells: &[Cell<T>],
        one: impl Fn(&T, &mut Dice) -> R + Sync,
    ) -> Vec<R> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.options.threads {
                scope.spawn(|| {
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(cell) = cells.get(place) else { break };
                        let seed = self.options.seed ^ ((place as u64 + 1) << 32);
                        let mut dice = Dice::new(seed, sessions);
                        let within = self.options.within.as_deref().unwrap_or_default();
                        let result = if cell.name.contains(within) {
                            one(&cell.world, &mut dice)
                        } else {
                            R::default()
                        };
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
    pub fn judge<T>(&mut self, what: &str, cells: &[Cell<T>], tallies: &[Tally], bound: Bound) {
        let mut judged: Vec<(&Tally, &str)> = tallies
            .iter()
            .zip(cells)
            .filter(|(tally, _)| tally.is_often_given())
            .map(|(tally, cell)| (tally, cell.name.as_str()))
            .collect();
        judged.sort_by(|one, other| one.0.share().total_cmp(&other.0.share()));
        let median = judged.get(judged.len() / 2).map(|(tally, _)| tally.share());
        let beyond: Vec<String> = judged
            .iter()
            .filter(|(tally, _)| bound.is_beyond(tally.share(), bound.slack(tally.given)))
            .map(|(tally, name)| {
                format!("{what}: {:.3} of {} in {name}", tally.share(), tally.given)
            })
            .collect();
        let worst = judged.iter().max_by(|one, other| {
            bound.badness(one.0.share()).total_cmp(&bound.badness(other.0.share()))
        });
        let sum = |of: fn(&Tally) -> usize| tallies.iter().map(of).sum::<usize>() as f64;
        let line = Line {
            what,
            bound: bound.named(),
            cells: judged.len(),
            median,
            worst: worst.map(|(tally, _)| tally.share()),
            given: Some(sum(|tally| tally.given) / sum(|tally| tally.tried)),
            place: worst.map_or("", |(_, name)| name),
        };
        line.print();
        if self.options.cells {
            judged.iter().for_each(|(tally, name)| println!("    {:.3}  {name}", tally.share()));
        }
        self.failures.extend(beyond);
    }

    /// Prints one number for a whole table, and notes it when it is beyond the bound.
    pub fn judge_one(&mut self, what: &str, place: &str, value: f64, bound: Bound, slack: f64) {
        let bound_named = bound.named();
        let worst = Some(value);
        Line { what, bound: bound_named, cells: 1, median: None, worst, given: None, place }
            .print();
        if bound.is_beyond(value, slack) {
            self.failures.push(format!("{what}: {value:.3}, {place}"));
        }
    }
}

struct Line<'a> {
    what: &'a str,
    bound: String,
    cells: usize,
    median: Option<f64>,
    worst: Option<f64>,
    given: Option<f64>,
    place: &'a str,
}

impl Line<'_> {
    fn print(&self) {
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        let share = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
        println!(
            "| {:<28} | {:<12} | {:>5} | {:>6} | {:>5} | {:>5} | {} |",
            self.what,
            self.bound,
            self.cells,
            number(self.median),
            number(self.worst),
            share(self.given),
            self.place
        );
    }
}

/// The heading of all lines.
pub fn print_heading() {
    println!("| {:<28} | {:<12} | cells | median | worst | given | worst in |", "what", "bound");
    println!("|{:-<30}|{:-<14}|------:|-------:|------:|------:|----------|", "", "");
}
