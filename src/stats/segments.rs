//! Does the lift differ between segments (sources, agent versions)?
//!
//! A user may have sessions in several segments; the tests take the dependence into account.
//! Segments too small to stand alone are pooled into one.

use super::cluster::{Arm, UserSum, Variance};
use super::comparison::{CiMethod, Comparison};
use super::heterogeneity::{ChiSquareTest, TestedSegment, cochran_q, interaction};
use super::interval::Interval;
use super::multiplicity::benjamini_hochberg;
use super::reason::{Defined, NullReason};
use std::collections::BTreeMap;

/// A segment stands alone from this many users in each arm.
pub const SMALLEST_ARM: usize = 10;
/// Nothing is shown about fewer people, both arms together.
pub const SMALLEST_SHOWN: usize = 5;

/// One user's sums by the name of the segment.
pub type SegmentedUser = BTreeMap<String, UserSum>;

/// Which segment a result is about.
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

/// One user's sums by label, small segments pooled.
pub(super) type Relabelled = BTreeMap<SegmentLabel, UserSum>;

impl Segments {
    /// Compares the segments.
    #[must_use]
    pub fn of(treatment: &[SegmentedUser], holdout: &[SegmentedUser]) -> Self {
        let relabel = relabelling(treatment, holdout);
        let [treatment, holdout] = [treatment, holdout].map(|users| {
            let mut users: Vec<_> = users.iter().map(&relabel).collect();
            users.sort_unstable();
            users
        });
        let (arms_t, arms_c) = (arms(&treatment), arms(&holdout));
        let none = Arm::default();
        let compared: Vec<(&SegmentLabel, Comparison<'_>)> = arms_t
            .keys()
            .chain(arms_c.keys().filter(|label| !arms_t.contains_key(label)))
            .map(|label| {
                let arm = |arms| BTreeMap::get(arms, label).unwrap_or(&none);
                (label, Comparison::new(arm(&arms_t), arm(&arms_c)))
            })
            .collect();
        let mut segments: BTreeMap<_, _> = compared
            .iter()
            .map(|(label, comparison)| ((*label).clone(), segment_lift(comparison)))
            .collect();
        adjust_p_values(&mut segments);
        let tested: Vec<_> = compared
            .into_iter()
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

fn is_large(users: [usize; 2]) -> bool {
    users.iter().all(|count| *count >= SMALLEST_ARM)
}

fn user_counts(comparison: &Comparison<'_>) -> [usize; 2] {
    [comparison.treatment.user_count(), comparison.holdout.user_count()]
}

/// Keeps the names of large segments and pools the others.
fn relabelling(
    treatment: &[SegmentedUser],
    holdout: &[SegmentedUser],
) -> impl Fn(&SegmentedUser) -> Relabelled {
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let both = treatment
        .iter()
        .map(|user| (user, [1, 0]))
        .chain(holdout.iter().map(|user| (user, [0, 1])));
    for (user, [in_treatment, in_holdout]) in both {
        for (name, _) in user.iter().filter(|(_, sums)| sums.sessions > 0) {
            let [t, c] = counts.entry(name.clone()).or_default();
            *t += in_treatment;
            *c += in_holdout;
        }
    }
    move |user| {
        let mut relabelled = Relabelled::new();
        for (name, sums) in user.iter().filter(|(_, sums)| sums.sessions > 0) {
            let label = match counts.get(name) {
                Some(counts) if is_large(*counts) => SegmentLabel::Named(name.clone()),
                _ => SegmentLabel::Pooled,
            };
            let cell = relabelled.entry(label).or_default();
            cell.sessions = cell.sessions.saturating_add(sums.sessions);
            cell.total = cell.total.saturating_add(sums.total);
        }
        relabelled
    }
}

fn arms(users: &[Relabelled]) -> BTreeMap<SegmentLabel, Arm> {
    let mut cells: BTreeMap<&SegmentLabel, Vec<UserSum>> = BTreeMap::new();
    for (label, sums) in users.iter().flatten() {
        cells.entry(label).or_default().push(*sums);
    }
    cells.into_iter().map(|(label, users)| (label.clone(), Arm::new(users))).collect()
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
