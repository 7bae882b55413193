//! The analysis of an experiment: a pure function of the users' sums, the design and the looks before.
//!
//! The server makes the sums from its tables and the command line from a file; the numbers are the same.

mod arms;
mod breakdown;
mod delivery;
mod health;
mod inference;
mod judge;
mod part;

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::assignment::HASH_VERSION;
use super::looks::Looks;
use super::rows::Row;
use super::sums::{Cell, Stratum, UserSums};
use super::{Arm, Experiment};
use stats::always_valid::SMALLEST_ARM;
use stats::decision::Decision;
use stats::missing::evaluated_session_coverage;
use stats::{CiMethod, Comparison};

pub use arms::{ArmUsers, RetrievalExperimentArmMetrics};
pub use part::Part;

/// Goes up when the same input gives other numbers.
const VERSION: &str = "2";

/// What was planned before anything was seen.
#[derive(Clone, Debug)]
pub struct Design {
    pub holdout_percentage: f64,
    pub planned_users: u64,
    pub margin_percentage_points: f64,
    /// Of the documented interval.
    pub ci_method: CiMethod,
}

impl Design {
    pub fn of(experiment: &Experiment, ci_method: CiMethod) -> Self {
        Design {
            holdout_percentage: experiment.holdout_percentage,
            planned_users: u64::try_from(experiment.planned_users).unwrap_or(0),
            margin_percentage_points: experiment.margin_percentage_points,
            ci_method,
        }
    }

    fn holdout_share(&self) -> f64 {
        self.holdout_percentage / 100.0
    }
}

/// All users of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub users: Vec<UserSums>,
    pub strata: BTreeMap<u32, Stratum>,
}

impl Sample {
    /// Reads stored lines; `None` if one of them is none.
    pub fn parse(lines: &str, strata: BTreeMap<u32, Stratum>) -> Option<Self> {
        let parse = |lines: &str| lines.lines().map(UserSums::parse).collect::<Option<Vec<_>>>();
        let half = lines.get(..lines.len() / 2).and_then(|half| half.rfind('\n')).unwrap_or(0);
        let (first, rest) = lines.split_at(half);
        let (users, others) = std::thread::scope(|threads| {
            let others = threads.spawn(|| parse(rest.trim_start_matches('\n')));
            (parse(first), joined(others))
        });
        let mut users = users?;
        users.extend(others?);
        Some(Sample { users, strata })
    }

    /// Sums up rows, which may come in any order.
    pub fn of_rows(rows: Vec<Row>) -> Self {
        let mut by_user: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        for row in rows {
            by_user.entry(row.user.clone()).or_default().push(row);
        }
        let mut numbers: BTreeMap<Stratum, u32> = BTreeMap::new();
        let mut number = |stratum| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(stratum).or_insert(next)
        };
        let users = by_user.values().map(|rows| UserSums::of(rows, &mut number)).collect();
        let strata = numbers.into_iter().map(|(stratum, number)| (number, stratum)).collect();
        Sample { users, strata }
    }

    /// Evaluated sessions by reason.
    fn reasons(&self) -> [u64; 5] {
        let mut counts = [0; 5];
        for user in &self.users {
            for (count, of_user) in counts.iter_mut().zip(user.reasons) {
                *count += of_user;
            }
        }
        counts
    }

    /// A digest of everything the numbers depend on, whatever the order of users and the numbers of strata.
    fn digest(&self, design: &Design) -> String {
        let mut sorted: Vec<(&Stratum, u32)> = self.strata.iter().map(|(n, s)| (s, *n)).collect();
        sorted.sort_unstable();
        let places: BTreeMap<u32, u32> = (0..).zip(&sorted).map(|(i, (_, n))| (*n, i)).collect();
        let mut packed = Packed::default();
        let ends: Vec<usize> = self.users.iter().map(|user| packed.add(user, &places)).collect();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let mut users: Vec<&[u8]> =
            starts.zip(&ends).filter_map(|(start, end)| packed.bytes.get(start..*end)).collect();
        users.sort_unstable();
        let mut hash = Sha256::new();
        let Design { holdout_percentage, planned_users, margin_percentage_points, .. } = design;
        let design =
            format!("{VERSION} {holdout_percentage} {planned_users} {margin_percentage_points}");
        let mut text = |text: &str| {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        };
        text(&design);
        for (Stratum { source, agent_version, judge, prompt_version }, _) in &sorted {
            for part in [source, agent_version, judge, prompt_version] {
                text(part);
            }
        }
        for user in users {
            hash.update((user.len() as u64).to_be_bytes());
            hash.update(user);
        }
        hex::encode(hash.finalize())
    }
}

/// The numbers of users, seven bits to a byte, one after another.
#[derive(Default)]
struct Packed {
    bytes: Vec<u8>,
    /// Of the user at hand.
    cells: Vec<Cell>,
}

impl Packed {
    /// Adds a user, with the strata by their place; gives where they end.
    fn add(&mut self, user: &UserSums, places: &BTreeMap<u32, u32>) -> usize {
        user.fixed().into_iter().for_each(|number| self.number(number));
        let mut cells = std::mem::take(&mut self.cells);
        let placed = user.cells.iter().map(|cell| Cell {
            stratum: places.get(&cell.stratum).copied().unwrap_or(cell.stratum),
            ..*cell
        });
        cells.clear();
        cells.extend(placed);
        cells.sort_unstable();
        cells.iter().flat_map(Cell::numbers).for_each(|number| self.number(number));
        self.cells = cells;
        self.bytes.len()
    }

    fn number(&mut self, number: i64) {
        let mut rest = number.unsigned_abs();
        while rest >= 0x80 {
            self.bytes.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
    }
}

pub struct Arms<'a> {
    pub treatment: ArmUsers<'a>,
    pub holdout: ArmUsers<'a>,
}

/// All numbers of an experiment.
pub struct Analysis {
    pub treatment: RetrievalExperimentArmMetrics,
    pub holdout: RetrievalExperimentArmMetrics,
    pub lift_pp: Option<f64>,
    pub relative_lift: Option<f64>,
    pub interval_pp: Option<Value>,
    pub coverage: Option<f64>,
    pub unattributed: u64,
    /// `inference, always_valid, …`: everything beside the documented fields.
    pub additions: Part,
    pub contaminated: bool,
}

/// Analyses an experiment. `looks` are those before; this one is added to them.
pub fn analyse(sample: &Sample, design: &Design, as_of: i64, looks: &mut Looks) -> Analysis {
    let arms = Arms {
        treatment: ArmUsers::of(&sample.users, Arm::Treatment),
        holdout: ArmUsers::of(&sample.users, Arm::Holdout),
    };
    // Half of the work goes to a second core: an experiment may have a hundred thousand users.
    std::thread::scope(|threads| {
        let apart = threads.spawn(|| (breakdown::segments(sample, &arms), breakdown::trend(&arms)));
        let mut found = without_breakdown(sample, &arms, design, looks);
        let input_digest = sample.digest(design);
        let (segments, trend) = joined(apart);
        let analysis = Part::new()
            .with("version", VERSION)
            .with("as_of", as_of)
            .with("hash_version", HASH_VERSION)
            .with("ci_method", design.ci_method.as_str())
            .with("input_digest", input_digest);
        found.additions = found
            .additions
            .with("segments", segments)
            .with("trend", trend)
            .with("analysis", analysis);
        found
    })
}

/// What a thread gives; its panic goes on here.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Everything but segments, trend and digest.
fn without_breakdown(
    sample: &Sample,
    arms: &Arms<'_>,
    design: &Design,
    looks: &mut Looks,
) -> Analysis {
    let comparison = Comparison::new(&arms.treatment.outcome, &arms.holdout.outcome);
    let look = inference::look(&comparison, design, looks);
    let health = health::health(sample, arms, design, looks);
    let (guardrails, failed_guardrail) = breakdown::guardrails(arms);
    let margin = design.margin_percentage_points / 100.0;
    let decision =
        Decision::from_look(&look, margin, !health.suppresses_decision, failed_guardrail);
    let delivery = delivery::delivery(arms, design, looks);
    let [attributed, others @ ..] = sample.reasons();
    let unattributed = others.iter().sum();
    let contaminated = sample.users.iter().any(|user| user.contaminated > 0);
    let additions = Part::new()
        .with("inference", inference::inference(&comparison, design.ci_method))
        .maybe("always_valid", look.map(|look| inference::always_valid(&look, looks, design)))
        .with(
            "decision",
            Part::new()
                .maybe("decision", decision.map(Decision::as_str))
                .with("sentence", sentence(decision.ok(), &health.problems, arms))
                .with("margin_percentage_points", design.margin_percentage_points)
                .with("failed_guardrail", failed_guardrail),
        )
        .with("health", health.part)
        .maybe("delivery", delivery)
        .with("judge", judge::judge(sample, arms))
        .maybe("interference", delivery::interference(arms))
        .maybe("cuped", inference::cuped(arms))
        .with("guardrails", guardrails)
        .maybe("robustness", inference::robustness(&comparison));
    Analysis {
        treatment: arms.treatment.metrics(),
        holdout: arms.holdout.metrics(),
        lift_pp: comparison.lift().ok().map(|lift| lift * 100.0),
        relative_lift: comparison.relative_lift().ok(),
        interval_pp: inference::pair(comparison.interval(design.ci_method)),
        coverage: evaluated_session_coverage(attributed, unattributed).ok(),
        unattributed,
        additions,
        contaminated,
    }
}

/// The decision, for people.
fn sentence(decision: Option<Decision>, problems: &[String], arms: &Arms<'_>) -> String {
    match decision {
        None => format!("No decision while something is wrong: {}.", problems.join("; ")),
        Some(Decision::Collecting) => {
            let fewest = [&arms.holdout, &arms.treatment]
                .map(|arm| (arm.outcome.user_count(), arm.arm.as_str()))
                .into_iter()
                .min_by_key(|(users, _)| *users);
            let (users, arm) = fewest.unwrap_or_default();
            format!("Too early to decide: {users} of {SMALLEST_ARM} evaluated {arm} users so far.")
        }
        Some(Decision::Positive) => "Retrieval helps: users with it succeed more often.".to_owned(),
        Some(Decision::Negative) => "Retrieval harms: users with it succeed less often.".to_owned(),
        Some(Decision::NoEffectAtPrecision) => {
            "Whatever the effect is, it is smaller than the margin that matters.".to_owned()
        }
        Some(Decision::Inconclusive) => "Not decided yet: keep it running.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design() -> Design {
        Design {
            holdout_percentage: 50.0,
            planned_users: 200,
            margin_percentage_points: 2.0,
            ci_method: CiMethod::default(),
        }
    }

    fn rows(order: impl Iterator<Item = u32>) -> Vec<Row> {
        let row = |n: u32| Row {
            user: format!("u{}", n % 40),
            arm: Some(if n.is_multiple_of(2) { Arm::Treatment } else { Arm::Holdout }),
            session: Some(format!("s{n}")),
            success: Some(!n.is_multiple_of(3)),
            source: Some(format!("source-{}", n % 5)),
            ..Row::default()
        };
        order.map(row).collect()
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let (one, other) = (Sample::of_rows(rows(0..200)), Sample::of_rows(rows((0..200).rev())));
        assert_eq!(one.digest(&design()), other.digest(&design()));
        let [a, b] =
            [one, other].map(|sample| analyse(&sample, &design(), 0, &mut Looks::default()));
        assert_eq!(
            serde_json::to_string(&a.additions).unwrap(),
            serde_json::to_string(&b.additions).unwrap()
        );
        let less = Sample::of_rows(rows(0..199));
        assert_ne!(less.digest(&design()), Sample::of_rows(rows(0..200)).digest(&design()));
    }

    #[test]
    fn every_null_of_the_parts_has_a_reason() {
        fn walk(path: &str, value: &Value, missing: &mut Vec<String>) {
            if let Value::Object(object) = value {
                for (name, value) in object {
                    let reason = object.get(&format!("{name}_null_reason"));
                    let excused = name.ends_with("_null_reason") || name == "name";
                    if value.is_null() && !excused && !reason.is_some_and(Value::is_string) {
                        missing.push(format!("{path}/{name}"));
                    }
                    walk(&format!("{path}/{name}"), value, missing);
                }
            }
        }
        for count in [0, 1, 2, 3, 200] {
            let sample = Sample::of_rows(rows(0..count));
            let found = analyse(&sample, &design(), 0, &mut Looks::default());
            let mut missing = Vec::new();
            walk("", &Value::from(found.additions), &mut missing);
            assert!(missing.is_empty(), "{count}: {missing:?}");
        }
    }
}
