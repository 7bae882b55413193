//! Do the intervals and decisions hold what they promise? Simulated, so that the truth is known.
//!
//!   cargo run -p stats --example truth -- [--quick] [--replications N] [--seed N] [--sessions MEAN] \
//!     [--threads N] [--only TABLE] [--within PART OF A CELL'S NAME] [--cells]
//!
//! Every line has a floor or a ceiling; the program ends with 1 when a cell is beyond it. With 2,000
//! replications or more a cell is compared with the bound itself; with fewer, it fails when it is beyond the
//! bound by more than 2.5 standard errors of the simulation. Lines without a bound are for comparison.
//! `--quick` takes a reduced grid, `--cells` prints every cell and not only the worst of a line. Seeds are
//! those of the cells, so that a run is the same whatever the number of threads.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod alerts;
mod alerts_grid;
mod chance;
mod daily;
mod decisions;
mod intervals;
mod outside;
mod report;
mod stream;
mod trials;
mod trials_grid;

use report::{Options, Report, print_heading};
use std::process::ExitCode;
use std::time::Instant;

const HOLDOUTS: [f64; 4] = [0.05, 0.10, 0.20, 0.50];

fn main() -> ExitCode {
    let mut options = Options {
        replications: 2_000,
        quick: false,
        seed: 19,
        sessions: 3.0,
        threads: std::thread::available_parallelism().map_or(2, usize::from),
        only: None,
        within: None,
        cells: false,
    };
    let mut replications = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--replications" => replications = value().parse().ok(),
            "--seed" => options.seed = value().parse().unwrap_or(options.seed),
            "--sessions" => options.sessions = value().parse().unwrap_or(options.sessions),
            "--threads" => options.threads = value().parse().unwrap_or(options.threads),
            "--within" => options.within = Some(value()),
            "--cells" => options.cells = true,
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
    print_heading();
    let mut report = Report { options, started: Instant::now(), failures: Vec::new() };
    intervals::headline(&mut report);
    intervals::heavy(&mut report);
    intervals::p_values(&mut report);
    intervals::cuped(&mut report);
    intervals::prediction_powered(&mut report);
    intervals::segments(&mut report);
    decisions::decisions(&mut report);
    decisions::power(&mut report);
    decisions::planner(&mut report);
    daily::guardrails(&mut report);
    daily::health(&mut report);
    outside::overview(&mut report);
    outside::rules(&mut report);
    trials_grid::null_trials(&mut report);
    trials_grid::mixed_trials(&mut report);
    trials_grid::power_of_trials(&mut report);
    trials_grid::settled_trials(&mut report);
    trials_grid::intervals(&mut report);
    trials_grid::shrinkage(&mut report);
    alerts_grid::false_alarms(&mut report);
    alerts_grid::drops(&mut report);
    alerts_grid::episodes(&mut report);
    eprintln!("{} s", report.started.elapsed().as_secs());
    if report.failures.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\nBeyond their bounds:");
    report.failures.iter().for_each(|failure| println!("- {failure}"));
    ExitCode::FAILURE
}
