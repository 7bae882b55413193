//! Does the lift differ between segments (sources, agent versions)?
//!
//! A user may have sessions in several segments; the tests take the dependence into account.
//! Segments too small to stand alone are pooled into one.

use super::cluster::{Arm, UserSum, Variance};
use super::comparison::{CiMethod, Comparison};
use super::events::require_events;
use super::heterogeneity::{ChiSquareTest, TestedSegment, cochran_q, interaction};
use super::interval::Interval;
use super::multiplicity::benjamini_hochberg;
use super::randomisation::{RandomisationTest, segments_by_reassignment};
use super::reason::{Defined, NullReason};
use super::reassignments::Reassignments;
use std::collections::{BTreeMap, BTreeSet};

/// A segment stands alone from this many users in each arm.
pub const SMALLEST_ARM: usize = 10;
/// Nothing is shown about fewer people, both arms together.
pub const SMALLEST_SHOWN: usize = 5;

/// One user's sums by the name of the segment.
pub type SegmentedUser = BTreeMap<String, UserSum>;

/// Label of a segment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SegmentLabel {
    /// A segment that stands alone.
    Named(String),
    /// All segments that are too small to stand alone, taken together.
    Pooled,
}

/// The lift within one segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentLift {
    /// Users with sessions in the segment, treatment and holdout.
    pub users: [usize; 2],
    /// `p_T − p_C` within the segment.
    pub lift: Defined<f64>,
    /// CR2 standard error.
    pub standard_error: Defined<f64>,
    /// Bell–McCaffrey degrees of freedom.
    pub df: Defined<f64>,
    /// The headline interval.
    pub interval: Defined<Interval>,
    /// Two-sided p-value of no lift.
    pub p_value: Defined<f64>,
    /// The p-value adjusted over segments after Benjamini and Hochberg.
    pub adjusted_p_value: Defined<f64>,
}

/// All segments with the tests of whether they differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Segments {
    /// By label, the pooled segment last. Null where fewer than five people would be shown.
    pub segments: BTreeMap<SegmentLabel, Defined<SegmentLift>>,
    /// Wald's test that the lift is the same everywhere, in a regression on arm × segment with
    /// CR1 covariance clustered by user. Null with fewer than two segments of sufficient size, or
    /// without variance.
    pub interaction: Defined<ChiSquareTest>,
    /// Cochran's (1954) Q on the lifts and CR2 standard errors of the segments, which takes them as
    /// independent. Null as the interaction is.
    pub cochran_q: Defined<ChiSquareTest>,
}

/// One user's sums by the place of the label, small segments pooled, in order.
pub(super) type Relabelled = Vec<(u32, UserSum)>;

/// One user's sums by the number of the segment.
pub type NumberedUser = Vec<(u32, UserSum)>;

impl Segments {
    /// Compares the segments.
    #[must_use]
    pub fn of(treatment: &[SegmentedUser], holdout: &[SegmentedUser]) -> Self {
        let names: BTreeSet<&String> =
            treatment.iter().chain(holdout).flat_map(BTreeMap::keys).collect();
        let numbers: BTreeMap<&String, u32> = names.iter().copied().zip(0..).collect();
        let numbered = |users: &[SegmentedUser]| -> Vec<NumberedUser> {
            let sums =
                |user: &SegmentedUser| user.iter().map(|(n, sum)| (numbers[n], *sum)).collect();
            users.iter().map(sums).collect()
        };
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        Self::of_numbered(&names, &numbered(treatment), &numbered(holdout))
    }

    /// [`Segments::of`] for many users: segments are numbers, the places of their names in `names`.
    #[must_use]
    pub fn of_numbered(
        names: &[&str],
        treatment: &[NumberedUser],
        holdout: &[NumberedUser],
    ) -> Self {
        let labels = Labels::new(names, treatment, holdout);
        let [treatment, holdout] = [treatment, holdout].map(|users| {
            let mut users: Vec<_> = users.iter().map(|user| labels.relabel(user)).collect();
            users.sort_unstable();
            users
        });
        let (arms_t, arms_c) = (labels.arms(&treatment), labels.arms(&holdout));
        let compared: Vec<Comparison<'_>> = arms_t
            .iter()
            .zip(&arms_c)
            .map(|(treatment, holdout)| Comparison::new(treatment, holdout))
            .collect();
        let mut segments: BTreeMap<_, _> = labels
            .labels
            .iter()
            .zip(&compared)
            .map(|(label, comparison)| (label.clone(), segment_lift(comparison)))
            .collect();
        adjust_p_values(&mut segments);
        let tested: Vec<_> = (0..)
            .zip(compared)
            .filter(|(_, comparison)| is_large(user_counts(comparison)))
            .map(|(label, comparison)| TestedSegment { label, comparison })
            .collect();
        Self {
            segments,
            interaction: interaction(&tested, &treatment, &holdout),
            cochran_q: cochran_q(&tested),
        }
    }
}

/// All segments in the family of the headline, with the randomisation test of whether they differ.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentFamily {
    /// By label, the pooled segment last. Null for segments of fewer than five people; interval and p-value
    /// are null under `too_few_events`, each segment by itself.
    ///
    /// The adjusted p-value is the larger of two: after Benjamini and Hochberg, which goes with the interval,
    /// and after Westfall and Young by assigning users anew, which holds also where intervals of segments
    /// cover less than they promise.
    pub segments: BTreeMap<SegmentLabel, Defined<SegmentLift>>,
    /// Test that the lift is the same in all segments of sufficient size, by assigning users anew. Null with
    /// fewer than two of them, or when nothing varies.
    pub interaction: Defined<RandomisationTest>,
}

impl SegmentFamily {
    /// Compares the segments; see [`Segments::of_numbered`] for the input.
    pub fn of_numbered(
        names: &[&str],
        treatment: &[NumberedUser],
        holdout: &[NumberedUser],
        assignments: Reassignments,
    ) -> Self {
        let labels = Labels::new(names, treatment, holdout);
        let [treatment, holdout] = [treatment, holdout].map(|users| -> Vec<Relabelled> {
            users.iter().map(|user| labels.relabel(user)).collect()
        });
        let (arms_t, arms_c) = (labels.arms(&treatment), labels.arms(&holdout));
        let compared: Vec<Comparison<'_>> =
            arms_t.iter().zip(&arms_c).map(|(t, c)| Comparison::new(t, c)).collect();
        let lift = |comparison: &Comparison<'_>| {
            let enough = require_events(comparison);
            segment_lift(comparison).map(|lift| SegmentLift {
                interval: enough.and(lift.interval),
                p_value: enough.and(lift.p_value),
                adjusted_p_value: enough.and(lift.p_value),
                ..lift
            })
        };
        let mut segments: BTreeMap<_, _> = labels
            .labels
            .iter()
            .zip(&compared)
            .map(|(label, comparison)| (label.clone(), lift(comparison)))
            .collect();
        adjust_p_values(&mut segments);
        let tested: Vec<u32> = (0..)
            .zip(&compared)
            .filter(|(_, comparison)| is_large(user_counts(comparison)))
            .map(|(label, _)| label)
            .collect();
        let tests = segments_by_reassignment(&tested, &treatment, &holdout, assignments);
        for (label, by_reassignment) in tested.iter().zip(tests.adjusted_p_values) {
            let segment = labels.labels.get(*label as usize).and_then(|l| segments.get_mut(l));
            if let Some(Ok(segment)) = segment {
                segment.adjusted_p_value =
                    segment.adjusted_p_value.and_then(|p| Ok(p.max(by_reassignment?)));
            }
        }
        Self { segments, interaction: tests.interaction }
    }
}

fn is_large(users: [usize; 2]) -> bool {
    users.iter().all(|count| *count >= SMALLEST_ARM)
}

fn user_counts(comparison: &Comparison<'_>) -> [usize; 2] {
    [comparison.treatment.user_count(), comparison.holdout.user_count()]
}

/// The labels that are left when small segments are pooled, in their order, and the label of each segment.
struct Labels {
    labels: Vec<SegmentLabel>,
    of_segment: Vec<u32>,
}

impl Labels {
    fn new(names: &[&str], treatment: &[NumberedUser], holdout: &[NumberedUser]) -> Self {
        let mut counts = vec![[0, 0]; names.len()];
        for (arm, users) in [treatment, holdout].into_iter().enumerate() {
            for (segment, _) in users.iter().flatten().filter(|(_, sum)| sum.sessions > 0) {
                if let Some(count) = counts.get_mut(*segment as usize) {
                    count[arm] += 1;
                }
            }
        }
        let mut labels: Vec<SegmentLabel> = names
            .iter()
            .zip(&counts)
            .filter(|(_, counts)| is_large(**counts))
            .map(|(name, _)| SegmentLabel::Named((*name).to_owned()))
            .collect();
        labels.sort_unstable();
        let pooled = labels.len() as u32;
        let place = |name: &&str| {
            let named = |label: &SegmentLabel| matches!(label, SegmentLabel::Named(n) if n == name);
            (0..).zip(&labels).find(|(_, label)| named(label)).map_or(pooled, |(place, _)| place)
        };
        let of_segment = names.iter().map(place).collect();
        if counts.iter().any(|counts| !is_large(*counts) && counts.iter().any(|c| *c > 0)) {
            labels.push(SegmentLabel::Pooled);
        }
        Self { labels, of_segment }
    }

    /// A user's sums by the place of the label, in order.
    fn relabel(&self, user: &NumberedUser) -> Relabelled {
        let mut relabelled = Relabelled::with_capacity(user.len());
        for (segment, sum) in user.iter().filter(|(_, sum)| sum.sessions > 0) {
            let Some(label) = self.of_segment.get(*segment as usize) else {
                continue;
            };
            match relabelled.iter_mut().find(|(known, _)| known == label) {
                Some((_, known)) => *known = known.plus(*sum),
                None => relabelled.push((*label, *sum)),
            }
        }
        relabelled.sort_unstable();
        relabelled
    }

    fn arms(&self, users: &[Relabelled]) -> Vec<Arm> {
        let mut cells: Vec<Vec<UserSum>> = vec![Vec::new(); self.labels.len()];
        for (label, sum) in users.iter().flatten() {
            if let Some(cell) = cells.get_mut(*label as usize) {
                cell.push(*sum);
            }
        }
        cells.into_iter().map(Arm::new).collect()
    }
}

fn segment_lift(comparison: &Comparison<'_>) -> Defined<SegmentLift> {
    let users = user_counts(comparison);
    if users.iter().sum::<usize>() < SMALLEST_SHOWN {
        return Err(NullReason::FewerThanFiveUsers);
    }
    let p_value = comparison.p_value();
    Ok(SegmentLift {
        users,
        lift: comparison.lift(),
        standard_error: comparison.standard_error(Variance::Cr2),
        df: comparison.bell_mccaffrey_df(),
        interval: comparison.interval(CiMethod::ClusteredNewcombe),
        p_value,
        adjusted_p_value: p_value,
    })
}

fn adjust_p_values(segments: &mut BTreeMap<SegmentLabel, Defined<SegmentLift>>) {
    let defined = |segment: &SegmentLift| segment.p_value.ok();
    let p_values: Vec<_> = segments.values().flatten().filter_map(defined).collect();
    let with_p = segments.values_mut().flatten().filter(|segment| segment.p_value.is_ok());
    for (segment, adjusted) in with_p.zip(benjamini_hochberg(&p_values)) {
        segment.adjusted_p_value = Ok(adjusted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_segments_are_shown_and_not_judged() {
        let users = |count: u64, segment: u32, failures: u64| -> Vec<NumberedUser> {
            let total = |n| i64::from(n >= failures);
            (0..count).map(|n| vec![(segment, UserSum { sessions: 1, total: total(n) })]).collect()
        };
        let treatment = [users(60, 0, 10), users(60, 1, 10), users(4, 2, 1)].concat();
        let holdout = [users(40, 0, 8), users(20, 1, 4), users(3, 2, 1)].concat();
        let names = ["web", "mail", "phone"];
        let assignments = Reassignments { seed: 4, holdout_share: 0.3, repetitions: 99 };
        let family = SegmentFamily::of_numbered(&names, &treatment, &holdout, assignments);
        let named = |name: &str| family.segments.get(&SegmentLabel::Named(name.to_owned()));
        assert!(named("web").is_some_and(|s| s.is_ok_and(|s| s.adjusted_p_value.is_ok())));
        assert!(named("mail").is_some_and(|s| s.is_ok_and(|s| s.lift.is_ok()
            && s.p_value == Err(NullReason::TooFewEvents)
            && s.interval == Err(NullReason::TooFewEvents))));
        assert!(named("phone").is_none());
        assert!(family.segments.contains_key(&SegmentLabel::Pooled));
        assert!(family.interaction.is_ok_and(|test| test.p_value > 0.1));
    }
}
