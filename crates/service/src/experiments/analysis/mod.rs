//! The analysis of an experiment: a pure function of the users' sums, the design and the looks before.
//!
//! The server makes the sums from its tables and the command line from a file; the numbers are the same.

mod arms;
mod balance;
mod breakdown;
mod delivery;
mod health;
mod inference;
mod judge;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::assignment::HASH_VERSION;
use super::looks::Looks;
use super::part::{Pair, pair_points, part};
use super::rows::SessionRow;
use super::sums::{Stratum, UserSums, WeekCell};
use super::{Arm, Experiment};
use base::owner::UserId;
use stats::always_valid::SMALLEST_ARM;
use stats::decision::LiftDecision;
use stats::missing::evaluated_session_coverage;
use stats::{CiMethod, Comparison, Defined};

pub use arms::{ArmUsers, RetrievalExperimentArmMetrics};
pub use health::ContaminatedSession;

use breakdown::{ExperimentGuardrail, ExperimentSegments, ExperimentTrend};
use delivery::{ExperimentDelivery, ExperimentInterference};
use health::ExperimentHealth;
use inference::{AlwaysValidLift, CupedLift, ExperimentInference, ExperimentRobustness};
use judge::ExperimentJudges;

/// Goes up when the same input gives other numbers.
const VERSION: &str = "3";

/// Design of an experiment, fixed before anything was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    pub holdout_percentage: f64,
    pub planned_users: u64,
    pub margin_percentage_points: f64,
    /// Method of the documented interval.
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

    pub fn holdout_share(&self) -> f64 {
        self.holdout_percentage / 100.0
    }
}

/// All users of an experiment, in parts.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub parts: Vec<Arc<Vec<UserSums>>>,
    pub strata: BTreeMap<u32, Stratum>,
}

impl Sample {
    pub fn users(&self) -> impl Iterator<Item = &UserSums> {
        self.parts.iter().flat_map(|part| part.iter())
    }

    /// The strata, told apart by one of their values.
    fn grouped<'a, T: Ord>(&'a self, value: impl Fn(&'a Stratum) -> T) -> Grouping<T> {
        let values: BTreeSet<T> = self.strata.values().map(&value).collect();
        let values: Vec<T> = values.into_iter().collect();
        let mut places = vec![None; self.strata.keys().max().map_or(0, |last| *last as usize + 1)];
        for (number, stratum) in &self.strata {
            if let Some(place) = places.get_mut(*number as usize) {
                *place = values.binary_search(&value(stratum)).ok();
            }
        }
        Grouping { values, places }
    }

    /// Sums up rows, which may come in any order.
    pub fn of_rows(rows: Vec<SessionRow>) -> Self {
        let mut by_user: BTreeMap<UserId, Vec<SessionRow>> = BTreeMap::new();
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
        Sample { parts: vec![Arc::new(users)], strata }
    }

    /// Evaluated sessions by reason.
    fn reasons(&self) -> [u64; 5] {
        let mut counts = [0; 5];
        for user in self.users() {
            for (count, of_user) in counts.iter_mut().zip(user.reasons) {
                *count += of_user;
            }
        }
        counts
    }

    /// A digest of everything the numbers depend on, whatever the order of users and the numbers of strata.
    fn digest(&self, design: &Design) -> String {
        let strata = self.grouped(|stratum| stratum);
        let mut packed = Packed::default();
        let ends: Vec<usize> = self.users().map(|user| packed.add(user, &strata)).collect();
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
        for Stratum { source, agent_version, judge, prompt_version } in &strata.values {
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

/// The different values of something that strata have, in order, and the place among them of each stratum.
struct Grouping<T> {
    values: Vec<T>,
    /// By the number of the stratum.
    places: Vec<Option<usize>>,
}

impl<T> Grouping<T> {
    fn place(&self, stratum: u32) -> Option<usize> {
        self.places.get(stratum as usize).copied().flatten()
    }
}

/// The numbers of users, seven bits to a byte, one after another.
#[derive(Default)]
struct Packed {
    bytes: Vec<u8>,
    /// Scratch space: the cells of the user being added.
    cells: Vec<WeekCell>,
}

impl Packed {
    /// Adds a user, with the strata by their place; gives where they end.
    fn add(&mut self, user: &UserSums, strata: &Grouping<&Stratum>) -> usize {
        user.fixed().into_iter().for_each(|number| self.number(number));
        let mut cells = std::mem::take(&mut self.cells);
        let placed = user.cells.iter().map(|cell| WeekCell {
            stratum: strata
                .place(cell.stratum)
                .and_then(|place| u32::try_from(place).ok())
                .unwrap_or(cell.stratum),
            ..*cell
        });
        cells.clear();
        cells.extend(placed);
        cells.sort_unstable();
        cells.iter().flat_map(WeekCell::numbers).for_each(|number| self.number(number));
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

part! {
    /// All numbers of an experiment.
    pub struct Analysis {
        pub treatment: RetrievalExperimentArmMetrics,
        pub holdout: RetrievalExperimentArmMetrics,
        pub success_rate_lift_percentage_points: Option<f64>,
        pub relative_success_lift: Option<f64>,
        /// Lower and upper end, clustered by user.
        pub confidence_interval_95_percentage_points: Option<Pair>,
        /// The share of evaluated sessions that belong to the experiment.
        pub evaluated_session_coverage: Option<f64>,
        pub unattributed_evaluated_session_count: u64,
        pub inference: ExperimentInference,
        pub always_valid: Defined<AlwaysValidLift>,
        pub decision: ExperimentDecision,
        pub health: ExperimentHealth,
        pub delivery: Defined<ExperimentDelivery>,
        pub judge: ExperimentJudges,
        pub interference: Defined<ExperimentInterference>,
        pub cuped: Defined<CupedLift>,
        pub guardrails: Vec<ExperimentGuardrail>,
        pub robustness: Defined<ExperimentRobustness>,
        pub segments: ExperimentSegments,
        pub trend: ExperimentTrend,
        pub analysis: AnalysisStamp,
    }
}

part! {
    /// Decision of an experiment so far, safe to read every day.
    pub struct ExperimentDecision {
        /// null while something is wrong.
        pub decision: Defined<LiftDecision>,
        /// The decision, for people.
        pub sentence: String,
        /// The smallest lift that matters.
        pub margin_percentage_points: f64,
        pub failed_guardrail: bool,
    }
}

part! {
    /// Provenance of the numbers: the same input and version give the same numbers.
    pub struct AnalysisStamp {
        pub version: &'static str,
        pub as_of: i64,
        /// Version of the assignment hash.
        pub hash_version: &'static str,
        pub ci_method: CiMethod,
        /// A digest of everything the numbers depend on.
        pub input_digest: String,
    }
}

/// Analyses an experiment. `looks` are those before; this one is added to them.
pub fn analyse(sample: &Sample, design: &Design, as_of: i64, looks: &mut Looks) -> Analysis {
    let arms = Arms {
        treatment: ArmUsers::of(sample, Arm::Treatment),
        holdout: ArmUsers::of(sample, Arm::Holdout),
    };
    // Half of the work goes to a second core: an experiment may have a hundred thousand users.
    std::thread::scope(|threads| {
        let apart =
            threads.spawn(|| (breakdown::segments(sample, &arms, design), breakdown::trend(&arms)));
        together(sample, &arms, design, looks, || {
            let analysis = AnalysisStamp {
                version: VERSION,
                as_of,
                hash_version: HASH_VERSION,
                ci_method: design.ci_method,
                input_digest: sample.digest(design),
            };
            let (segments, trend) = joined(apart);
            (segments, trend, analysis)
        })
    })
}

/// Result of a thread; resumes its panic here.
pub fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Makes everything but segments, trend and stamp, which `others` gives.
fn together(
    sample: &Sample,
    arms: &Arms<'_>,
    design: &Design,
    looks: &mut Looks,
    others: impl FnOnce() -> (ExperimentSegments, ExperimentTrend, AnalysisStamp),
) -> Analysis {
    let comparison = Comparison::new(&arms.treatment.outcome, &arms.holdout.outcome);
    let look = inference::look(&comparison, design, looks);
    let (health, suppresses_decision) = health::health(sample, arms, design, looks);
    let (guardrails, failed_guardrail) = breakdown::guardrails(arms, design);
    let margin = design.margin_percentage_points / 100.0;
    let decision = LiftDecision::from_look(&look, margin, !suppresses_decision, failed_guardrail);
    let delivery = delivery::delivery(arms, design, looks);
    let [attributed, not_counted @ ..] = sample.reasons();
    let unattributed = not_counted.iter().sum();
    let sentence = sentence(decision.ok(), &health.problems, arms);
    let judge = judge::judge(sample, arms);
    let interference = delivery::interference(arms);
    let cuped = inference::cuped(arms);
    let robustness = inference::robustness(&comparison, arms, design);
    let inference = inference::inference(&comparison, design.ci_method);
    let always_valid = look.map(|look| inference::always_valid(&look, looks, design));
    let (segments, trend, analysis) = others();
    Analysis {
        treatment: arms.treatment.metrics(),
        holdout: arms.holdout.metrics(),
        success_rate_lift_percentage_points: comparison.lift().ok().map(|lift| lift * 100.0),
        relative_success_lift: comparison.relative_lift().ok(),
        confidence_interval_95_percentage_points: pair_points(
            comparison.interval(design.ci_method),
        )
        .ok(),
        evaluated_session_coverage: evaluated_session_coverage(attributed, unattributed).ok(),
        unattributed_evaluated_session_count: unattributed,
        inference,
        always_valid,
        decision: ExperimentDecision {
            decision,
            sentence,
            margin_percentage_points: design.margin_percentage_points,
            failed_guardrail,
        },
        health,
        delivery,
        judge,
        interference,
        cuped,
        guardrails,
        robustness,
        segments,
        trend,
        analysis,
    }
}

/// The decision, for people.
fn sentence(decision: Option<LiftDecision>, problems: &[String], arms: &Arms<'_>) -> String {
    match decision {
        None => format!("No decision while something is wrong: {}.", problems.join("; ")),
        Some(LiftDecision::Collecting) => {
            let fewest = [&arms.holdout, &arms.treatment]
                .map(|arm| (arm.outcome.user_count(), arm.arm.as_str()))
                .into_iter()
                .min_by_key(|(users, _)| *users);
            let (users, arm) = fewest.unwrap_or_default();
            format!("Too early to decide: {users} of {SMALLEST_ARM} evaluated {arm} users so far.")
        }
        Some(LiftDecision::Positive) => {
            "Retrieval helps: users with it succeed more often.".to_owned()
        }
        Some(LiftDecision::Negative) => {
            "Retrieval harms: users with it succeed less often.".to_owned()
        }
        Some(LiftDecision::NoEffectAtPrecision) => {
            "Whatever the effect is, it is smaller than the margin that matters.".to_owned()
        }
        Some(LiftDecision::Inconclusive) => "Not decided yet: keep it running.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn design() -> Design {
        Design {
            holdout_percentage: 50.0,
            planned_users: 200,
            margin_percentage_points: 2.0,
            ci_method: CiMethod::default(),
        }
    }

    fn rows(order: impl Iterator<Item = u32>) -> Vec<SessionRow> {
        let row = |n: u32| SessionRow {
            user: format!("u{}", n % 40).into(),
            arm: Some(if n.is_multiple_of(2) { Arm::Treatment } else { Arm::Holdout }),
            session: Some(format!("s{n}")),
            success: Some(!n.is_multiple_of(3)),
            source: Some(format!("source-{}", n % 5)),
            ..SessionRow::default()
        };
        order.map(row).collect()
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let (one, other) = (Sample::of_rows(rows(0..200)), Sample::of_rows(rows((0..200).rev())));
        assert_eq!(one.digest(&design()), other.digest(&design()));
        let [a, b] =
            [one, other].map(|sample| analyse(&sample, &design(), 0, &mut Looks::default()));
        assert_eq!(serde_json::to_string(&a).unwrap(), serde_json::to_string(&b).unwrap());
        let less = Sample::of_rows(rows(0..199));
        assert_ne!(less.digest(&design()), Sample::of_rows(rows(0..200)).digest(&design()));
    }

    #[test]
    fn sampling_leaves_nothing_unknown_and_a_missing_verdict_does() {
        let unjudged = |sampled_out: bool| {
            let extra = (0..100).map(|n| SessionRow {
                session: Some(format!("more{n}")),
                success: None,
                sampled_out,
                ..rows(std::iter::once(2 * n)).remove(0)
            });
            let sample = Sample::of_rows(rows(0..200).into_iter().chain(extra).collect());
            analyse(&sample, &design(), 0, &mut Looks::default())
        };
        let complete = analyse(&Sample::of_rows(rows(0..200)), &design(), 0, &mut Looks::default());
        let bounds = complete.health.worst_case_lift_pp;
        let (left_out, missing) = (unjudged(true).health, unjudged(false).health);
        assert_eq!(left_out.worst_case_lift_pp, bounds, "all that was asked for is there");
        assert_eq!(left_out.evaluation_rate.treatment, Ok(1.0));
        assert!(left_out.healthy, "{:?}", left_out.problems);
        assert_eq!(missing.evaluation_rate.treatment, Ok(0.5));
        assert!(missing.worst_case_lift_pp.unwrap()[1] > bounds.unwrap()[1]);
    }

    #[test]
    fn a_source_that_only_one_arm_has_is_a_problem() {
        let skewed = rows(0..400).into_iter().map(|row| {
            let source = if row.arm == Some(Arm::Holdout) { "web" } else { "app" };
            // Different users, so that there are enough of them.
            let user = row.session.clone().unwrap_or_default().into();
            SessionRow { user, source: Some(source.to_owned()), ..row }
        });
        let sample = Sample::of_rows(skewed.collect());
        let found = analyse(&sample, &design(), 0, &mut Looks::default()).health;
        assert_eq!(found.problems, ["users of the source \"app\" are not split as planned"]);
    }

    #[test]
    fn the_arms_are_compared_before_the_first_exposure() {
        let before = rows(0..400).into_iter().map(|row| SessionRow {
            arm: None,
            pre_period: true,
            corrections: Some(1),
            session: row.session.as_ref().map(|id| format!("before {id}")),
            success: Some(row.arm == Some(Arm::Treatment)),
            ..row
        });
        let sample = Sample::of_rows(rows(0..400).into_iter().chain(before).collect());
        let balance = analyse(&sample, &design(), 0, &mut Looks::default()).health.balance;
        assert_eq!(
            (balance.success_rate.treatment, balance.success_rate.holdout),
            (Ok(1.0), Ok(0.0))
        );
        assert!(balance.success_rate.interval_95.is_ok_and(|[low, _]| low > 0.0));
        assert_eq!(balance.sessions_per_user.difference, Ok(0.0));
        assert_eq!(balance.corrections_per_session.treatment, Ok(1.0));
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
            let mut found = serde_json::to_value(found).unwrap();
            // The documented fields have theirs in `inference`, if any.
            let documented = [
                "success_rate_lift",
                "relative_success_lift",
                "confidence_interval",
                "evaluated_session",
            ];
            found.as_object_mut().unwrap().retain(|name, _| {
                !["treatment", "holdout"].contains(&name.as_str())
                    && !documented.iter().any(|start| name.starts_with(start))
            });
            walk("", &found, &mut missing);
            assert!(missing.is_empty(), "{count}: {missing:?}");
        }
    }
}
