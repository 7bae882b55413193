//! How well the judges of this process do on sessions whose outcome is known. Prints tables and asserts nothing.
#![allow(clippy::print_stdout)] // the tables are the point
#![allow(clippy::cast_precision_loss)] // counts of sessions

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::ids::Ids;
use judge::embedder::Embedder;
use judge::learned::{self, Labelled, Meaning, Sketch, Trained};
use judge::offline::OfflineJudge;
use judge::prompts::{self, Kind};
use judge::{Context, Grader, Limits, Outcome, PriceTable, Turn};
use stats::agreement::Confusion;
use stats::prediction_powered::{PredictedUser, estimated_rate};

mod session_file;

const HELP: &str = "\
bench_judge FILE_OR_FOLDER [--draws N] [--rate-draws N] [--embedder FOLDER]

Runs sessions with known outcomes through the rules and through the learned judge, and prints how well they do.

  --draws N       random draws of labels per table line (default 30)
  --rate-draws N  random draws for the agents' rates (default 200)
  --labels A,B,C  numbers of labels (default 50,100,200)
  --embedder F    also learn from vectors of the model in this folder (scripts/fetch-embedder)
";

struct Session {
    agent: String,
    task: String,
    is_success: bool,
    turns: Vec<Turn>,
    sketch: Sketch,
}

struct Options {
    files: Vec<PathBuf>,
    draws: u64,
    rate_draws: u64,
    labels: Vec<usize>,
    embedder: Embedder,
}

fn main() -> Result<(), String> {
    let options = options()?;
    for file in &options.files {
        let sessions = load(file, &options.embedder)?;
        let agents: BTreeSet<&str> = sessions.iter().map(|s| s.agent.as_str()).collect();
        let tasks: BTreeSet<&str> = sessions.iter().map(|s| s.task.as_str()).collect();
        let successes = sessions.iter().filter(|s| s.is_success).count();
        println!(
            "{}: {} sessions of {} agents, {} tasks, {:.1} % successes",
            file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            sessions.len(),
            agents.len(),
            tasks.len(),
            percent(successes, sessions.len()),
        );
        rules(&sessions)?;
        learned_grouped_by_task(&sessions, &options);
        leave_one_agent_out(&sessions, &options);
        rates(&sessions, &options);
        speed(&sessions);
    }
    Ok(())
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        files: Vec::new(),
        draws: 30,
        rate_draws: 200,
        labels: vec![50, 100, 200],
        embedder: Embedder::None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n\n{HELP}"));
        let number = |text: &str| text.parse().map_err(|_| format!("{text} is no number"));
        match word.as_str() {
            "--draws" => options.draws = number(&value()?)?,
            "--rate-draws" => options.rate_draws = number(&value()?)?,
            "--labels" => {
                let list = value()?;
                let list: Result<_, String> =
                    list.split(',').map(|n| number(n).map(|n| n as usize)).collect();
                options.labels = list?;
            }
            "--embedder" => options.embedder = Embedder::local(Path::new(&value()?))?,
            "--help" | "-h" => return Err(format!("{HELP}\n{}", session_file::FORM)),
            path => options.files.extend(session_file::files(Path::new(path))?),
        }
    }
    if options.files.is_empty() {
        return Err(format!("no file of sessions is named, or the folder has none\n\n{HELP}"));
    }
    Ok(options)
}

fn load(path: &Path, embedder: &Embedder) -> Result<Vec<Session>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| e.to_string())?;
    let sketch = |turns: &[Turn]| {
        let mut sketch = learned::sketch(turns);
        if let Some(name) = embedder.model() {
            let vector = runtime.block_on(embedder.embed_query(&learned::last_exchange(turns)));
            sketch.meaning = Meaning::new(name, vector.map_err(|e| e.to_string())?);
        }
        Ok::<_, String>(sketch)
    };
    let session = |line: session_file::Session| {
        let missing = || format!("{}: {} has no success", path.display(), line.name);
        Ok(Session {
            is_success: line.is_success.ok_or_else(missing)?,
            sketch: sketch(&line.turns)?,
            agent: line.agent,
            task: line.task,
            turns: line.turns,
        })
    };
    session_file::load(path)?.into_iter().map(session).collect()
}

fn percent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

/// The rules over every session, by the reason they give.
fn rules(sessions: &[Session]) -> Result<(), String> {
    let clock = Clock::manual(0);
    let ids = Ids::seeded(clock.clone(), 1);
    let (judge, limits) = (Arc::new(OfflineJudge), Limits::default());
    let grader = Grader::new(judge, limits, PriceTable::default(), usize::MAX, clock, ids);
    let rubric = prompts::newest(Kind::SessionSuccess).ok_or("no rubric")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| e.to_string())?;
    let mut reasons: BTreeMap<(Outcome, String), (usize, usize)> = BTreeMap::new();
    let mut confusion = Confusion::default();
    let context = Context::default();
    for session in sessions {
        let judged = grader.session(rubric, &context, &session.turns);
        let verdict = runtime.block_on(judged).map_err(|e| e.to_string())?.verdict;
        if let Some(is_success) = verdict.is_success() {
            confusion.count(is_success, session.is_success);
        }
        let reason = verdict.undecided_reason.map_or(verdict.failure_reason, |r| r.to_string());
        let (all, right) = reasons.entry((verdict.outcome, reason)).or_default();
        *all += 1;
        *right += usize::from(session.is_success == (verdict.outcome != Outcome::Failure));
    }
    println!(
        "\nrules\n| outcome | why | sessions | right; of the undecided, successes |\n|---|---|---|---|"
    );
    for ((outcome, reason), (all, right)) in &reasons {
        println!("| {outcome} | {reason} | {all} | {:.0} % |", percent(*right, *all));
    }
    let failures = confusion.true_failures + confusion.false_failures;
    let precise = |right: u64, all: u64| percent(right as usize, all as usize);
    println!(
        "failures {failures}, {:.1} % right; successes {}, {:.1} % right; decided {:.1} %; κ of the decided {}",
        precise(confusion.true_failures, failures),
        confusion.judged_success(),
        precise(confusion.true_passes, confusion.judged_success()),
        percent(confusion.total() as usize, sessions.len()),
        number(kappa(&confusion)),
    );
    Ok(())
}

/// SplitMix64: the same draws every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((u128::from(z ^ (z >> 31))) * end as u128) >> 64) as usize
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

/// Predictions of one model for sessions it was not trained on.
#[derive(Default)]
struct Tested {
    /// Probability, outcome and truth.
    sessions: Vec<(f64, Outcome, bool)>,
    training: Duration,
}

impl Tested {
    fn confusion(&self) -> Confusion {
        let mut confusion = Confusion::default();
        for (_, outcome, truth) in &self.sessions {
            if let Some(is_success) = outcome.is_success() {
                confusion.count(is_success, *truth);
            }
        }
        confusion
    }

    /// Of the surest share, decided at even odds.
    fn surest(&self, share: f64) -> Confusion {
        let mut sorted: Vec<&(f64, Outcome, bool)> = self.sessions.iter().collect();
        sorted.sort_by(|a, b| (b.0 - 0.5).abs().total_cmp(&(a.0 - 0.5).abs()));
        let mut confusion = Confusion::default();
        for (p, _, truth) in sorted.into_iter().take((self.sessions.len() as f64 * share) as usize)
        {
            confusion.count(*p >= 0.5, *truth);
        }
        confusion
    }

    fn auc(&self) -> Option<f64> {
        let of = |wanted: bool| {
            let list = self.sessions.iter().filter(move |(_, _, truth)| *truth == wanted);
            list.map(|(p, ..)| *p).collect::<Vec<f64>>()
        };
        let (successes, failures) = (of(true), of(false));
        let mut won = 0.0;
        for s in &successes {
            for f in &failures {
                won += if s > f {
                    1.0
                } else if s == f {
                    0.5
                } else {
                    0.0
                };
            }
        }
        let pairs = successes.len() * failures.len();
        (pairs > 0).then(|| won / pairs as f64)
    }

    fn brier(&self) -> f64 {
        let squares =
            self.sessions.iter().map(|(p, _, truth)| (p - f64::from(u8::from(*truth))).powi(2));
        squares.sum::<f64>() / self.sessions.len().max(1) as f64
    }
}

fn kappa(confusion: &Confusion) -> Option<f64> {
    confusion.kappa().ok().map(|kappa| kappa.kappa)
}

fn labelled(session: &Session) -> Labelled {
    Labelled {
        sketch: session.sketch.clone(),
        user: session.task.clone(),
        is_success: session.is_success,
    }
}

fn train_on(sessions: &[&Session]) -> Option<(Trained, Duration)> {
    let labels: Vec<Labelled> = sessions.iter().map(|session| labelled(session)).collect();
    let started = Instant::now();
    let trained = learned::train(&labels).ok()?;
    Some((trained, started.elapsed()))
}

fn test(train: &[&Session], test: &[&Session]) -> Option<Tested> {
    let (trained, training) = train_on(train)?;
    let predicted = test.iter().map(|session| {
        let said = trained.model.predict(&session.sketch);
        (said.probability, said.outcome, session.is_success)
    });
    Some(Tested { sessions: predicted.collect(), training })
}

/// Mean and range of what there is of these.
fn spread(values: &[Option<f64>]) -> String {
    let there: Vec<f64> = values.iter().flatten().copied().collect();
    if there.is_empty() {
        return "none".to_owned();
    }
    let mean = there.iter().sum::<f64>() / there.len() as f64;
    let low = there.iter().copied().fold(f64::INFINITY, f64::min);
    let high = there.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let missing = values.len() - there.len();
    let missing = if missing > 0 { format!(", {missing} none") } else { String::new() };
    format!("{mean:.2} ({low:.2} to {high:.2}{missing})")
}

fn number(value: Option<f64>) -> String {
    value.map_or("none".to_owned(), |value| format!("{value:.2}"))
}

const HEAD: &str = "| labels | κ of what it decides | pooled κ | coverage | κ of all | κ of the surer half | AUC | Brier | failure right | success right | training, ms |
|---|---|---|---|---|---|---|---|---|---|---|";

fn line(name: &str, draws: &[Tested]) {
    let each = |of: &dyn Fn(&Tested) -> Option<f64>| draws.iter().map(of).collect::<Vec<_>>();
    let pooled = draws.iter().map(Tested::confusion).fold(Confusion::default(), |a, b| a.plus(&b));
    let share = |confusion: &Confusion, all: usize| confusion.total() as f64 / all.max(1) as f64;
    let failures = pooled.true_failures + pooled.false_failures;
    println!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {:.0} % | {:.0} % | {} |",
        spread(&each(&|d| kappa(&d.confusion()))),
        number(kappa(&pooled)),
        spread(&each(&|d| Some(share(&d.confusion(), d.sessions.len())))),
        spread(&each(&|d| kappa(&d.surest(1.0)))),
        spread(&each(&|d| kappa(&d.surest(0.5)))),
        spread(&each(&|d| d.auc())),
        spread(&each(&|d| Some(d.brier()))),
        percent(pooled.true_failures as usize, failures as usize),
        percent(pooled.true_passes as usize, pooled.judged_success() as usize),
        spread(&each(&|d| Some(d.training.as_secs_f64() * 1000.0))),
    );
}

/// Trained on labels of some tasks, tested on the sessions of the others.
fn learned_grouped_by_task(sessions: &[Session], options: &Options) {
    println!("\nlearned, tested on tasks it was not trained on ({} draws)\n{HEAD}", options.draws);
    for wanted in &options.labels {
        let draws = (0..options.draws).filter_map(|seed| {
            let mut draw = Draw(seed);
            let (train, held_out) = split_by_task(sessions, &mut draw, 0.4);
            let train = chosen(train, *wanted, &mut draw)?;
            test(&train, &held_out)
        });
        line(&wanted.to_string(), &draws.collect::<Vec<_>>());
    }
}

/// Some of these sessions at random; nothing if there are not so many.
fn chosen<'a>(
    mut of: Vec<&'a Session>,
    wanted: usize,
    draw: &mut Draw,
) -> Option<Vec<&'a Session>> {
    draw.shuffle(&mut of);
    (of.len() >= wanted).then(|| {
        of.truncate(wanted);
        of
    })
}

/// Sessions of some tasks, and those of a share of the tasks that is held out.
fn split_by_task<'a>(
    sessions: &'a [Session],
    draw: &mut Draw,
    held_out: f64,
) -> (Vec<&'a Session>, Vec<&'a Session>) {
    let tasks: BTreeSet<&str> = sessions.iter().map(|s| s.task.as_str()).collect();
    let mut tasks: Vec<&str> = tasks.into_iter().collect();
    draw.shuffle(&mut tasks);
    let count = (tasks.len() as f64 * held_out) as usize;
    let out: BTreeSet<&str> = tasks.into_iter().take(count).collect();
    sessions.iter().partition(|s| !out.contains(s.task.as_str()))
}

/// Trained on labels of the other agents, tested on one that it never saw, and on other tasks.
fn leave_one_agent_out(sessions: &[Session], options: &Options) {
    let agents: BTreeSet<&str> = sessions.iter().map(|s| s.agent.as_str()).collect();
    let (Some(wanted), true) = (options.labels.iter().max(), agents.len() > 1) else { return };
    println!("\nlearned from {wanted} labels of the other agents and other tasks\n{HEAD}");
    for agent in agents {
        let draws = (0..options.draws.div_ceil(3)).filter_map(|seed| {
            let mut draw = Draw(1000 + seed);
            let (train, out) = split_by_task(sessions, &mut draw, 0.4);
            let train = train.into_iter().filter(|s| s.agent != agent).collect::<Vec<_>>();
            let out: Vec<&Session> = out.into_iter().filter(|s| s.agent == agent).collect();
            let train = chosen(train, *wanted, &mut draw)?;
            test(&train, &out)
        });
        line(agent, &draws.collect::<Vec<_>>());
    }
}

/// The agents' success rates from labels drawn at random, prediction-powered: the mean probability of all sessions,
/// corrected by the mean error on the labelled ones, which are predicted out of fold. An agent with fewer labels than
/// the service asks for has no estimate in that draw.
fn rates(sessions: &[Session], options: &Options) {
    let Some(wanted) = options.labels.iter().max() else { return };
    let mut agents: BTreeMap<&str, Rates> = BTreeMap::new();
    for seed in 0..options.rate_draws {
        let mut draw = Draw(5000 + seed);
        let mut order: Vec<usize> = (0..sessions.len()).collect();
        draw.shuffle(&mut order);
        if order.len() < *wanted {
            return;
        }
        let train: Vec<&Session> = order[..*wanted].iter().map(|at| &sessions[*at]).collect();
        let Some((trained, _)) = train_on(&train) else { continue };
        let mut said: Vec<(f64, bool)> = sessions
            .iter()
            .map(|session| (trained.model.predict(&session.sketch).probability, false))
            .collect();
        for (at, probability) in order.iter().zip(&trained.out_of_fold) {
            said[*at] = (*probability, true);
        }
        let names: BTreeSet<&str> = sessions.iter().map(|s| s.agent.as_str()).collect();
        for agent in names {
            agents.entry(agent).or_default().add(agent, sessions, &said);
        }
    }
    println!(
        "\nrates of the agents from {wanted} labels drawn at random ({} draws)
| agent | sessions | true rate | mean error of the estimate, points | labels only, points | model only, points | interval holds the truth | half width, points | refused, under 30 labels |
|---|---|---|---|---|---|---|---|---|",
        options.rate_draws
    );
    for (agent, rates) in agents {
        let mean = |list: &[f64]| 100.0 * list.iter().sum::<f64>() / list.len().max(1) as f64;
        println!(
            "| {agent} | {} | {:.1} % | {:.1} | {:.1} | {:.1} | {:.1} % | {:.1} | {:.0} % |",
            rates.sessions,
            100.0 * rates.truth,
            mean(&rates.errors),
            mean(&rates.errors_of_labels),
            mean(&rates.errors_of_model),
            percent(rates.covered, rates.errors.len()),
            mean(&rates.half_widths),
            percent(rates.refused, rates.refused + rates.errors.len()),
        );
    }
}

#[derive(Default)]
struct Rates {
    sessions: usize,
    truth: f64,
    errors: Vec<f64>,
    errors_of_labels: Vec<f64>,
    errors_of_model: Vec<f64>,
    half_widths: Vec<f64>,
    covered: usize,
    refused: usize,
}

impl Rates {
    fn add(&mut self, agent: &str, sessions: &[Session], said: &[(f64, bool)]) {
        let of_agent = || sessions.iter().zip(said).filter(|(session, _)| session.agent == agent);
        let truth = |session: &Session| f64::from(u8::from(session.is_success));
        let all = of_agent().count() as f64;
        let labelled: Vec<(f64, f64)> = of_agent()
            .filter(|(_, (_, labelled))| *labelled)
            .map(|(session, (p, _))| (truth(session), *p))
            .collect();
        self.sessions = all as usize;
        self.truth = of_agent().map(|(session, _)| truth(session)).sum::<f64>() / all;
        // The estimate of the service, a user for each session: everybody of these users came once.
        let users: Vec<PredictedUser> = of_agent()
            .map(|(session, (p, is_labelled))| {
                let mut user = PredictedUser::default();
                user.predict(*p);
                if *is_labelled {
                    user.label(*p, session.is_success, 1.0);
                }
                user
            })
            .collect();
        let Ok(rate) = estimated_rate(&users) else {
            self.refused += 1;
            return;
        };
        let predicted: Vec<f64> = of_agent().map(|(_, (p, _))| *p).collect();
        let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len().max(1) as f64;
        let model = mean(&predicted);
        let half_width = (rate.interval.upper - rate.interval.lower) / 2.0;
        let labels = mean(&labelled.iter().map(|(y, _)| *y).collect::<Vec<_>>());
        self.errors.push((rate.estimate - self.truth).abs());
        self.errors_of_labels.push((labels - self.truth).abs());
        self.errors_of_model.push((model - self.truth).abs());
        self.half_widths.push(half_width);
        let held = rate.interval.lower <= self.truth && self.truth <= rate.interval.upper;
        self.covered += usize::from(held);
    }
}

/// How long training takes with 2,000 labels (sessions are used again under other users), and one verdict.
fn speed(sessions: &[Session]) {
    let many: Vec<Labelled> = (0..2000)
        .map(|n| {
            let mut one = labelled(&sessions[n % sessions.len()]);
            one.user = format!("{} {}", one.user, n / sessions.len());
            one
        })
        .collect();
    let started = Instant::now();
    let Ok(trained) = learned::train(&many) else { return };
    let training = started.elapsed();
    let verdict = |session: &Session| {
        let started = Instant::now();
        std::hint::black_box(trained.model.predict(&learned::sketch(&session.turns)));
        started.elapsed().as_secs_f64() * 1e6
    };
    let mut verdicts: Vec<f64> = sessions.iter().map(verdict).collect();
    verdicts.sort_by(f64::total_cmp);
    let at = |share: usize| verdicts[(verdicts.len() - 1) * share / 100];
    println!(
        "\ntraining on 2,000 labels {:.2} s, a verdict {:.0} µs (median; 95 % within {:.0} µs), the model {} bytes",
        training.as_secs_f64(),
        at(50),
        at(95),
        trained.model.encode().len(),
    );
}
