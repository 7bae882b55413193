//! Tests by assigning the users anew (Fisher, 1935): what the difference would be had the hash fallen
//! otherwise.
//!
//! The arm of a user is a hash, so the distribution of any statistic under "retrieval changes nothing" is
//! known without a model of the outcome: assign the same users with other salts and look how often the
//! statistic is as large. Users keep all their sessions, so that no independence between sessions or segments
//! is assumed.

use super::cluster::{Arm, UserSum};
use super::reason::{Defined, NullReason};
use super::reassignments::Reassignments;
use super::summation::sum;
use std::collections::BTreeMap;

/// Default number of re-assignments.
pub const REPETITIONS: u32 = 999;

/// Of a residual that should be zero, rounding leaves less than the root of this share of a session.
const NO_SPREAD: f64 = 1e-24;

/// The result of assigning users anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomisationTest {
    /// The statistic of the assignment that was made.
    pub statistic: f64,
    /// `(1 + how often it was reached) / (1 + repetitions)`, which is valid for any number of repetitions
    /// (Phipson and Smyth, 2010).
    pub p_value: f64,
    /// Number of re-assignments.
    pub repetitions: u32,
}

/// The randomisation p-value of no lift.
///
/// The statistic is `|p_T − p_C|/SE0` with the variance of pooled residuals ([`super::pooled`]), which is the
/// same for every assignment but for the arms' numbers of sessions. An assignment that leaves an arm empty is
/// not counted as reaching it.
///
/// Null if an arm has no evaluated session, and when all users have the same mean.
pub fn lift_by_reassignment(
    treatment: &Arm,
    holdout: &Arm,
    assignments: Reassignments,
) -> Defined<RandomisationTest> {
    let (of_treatment, of_holdout) = (one_segment(treatment), one_segment(holdout));
    let groups = [counted(&of_treatment, false), counted(&of_holdout, true)].concat();
    let users = Users::new(&[0], &groups)?;
    let assignments = assignments.affordable(groups.len());
    let z = |held_out: &[u64]| {
        let [segment] = users.segments(held_out).try_into().ok()?;
        let Segment { difference, spread } = segment?;
        Some(difference.abs() / (users.spread * spread).sqrt())
    };
    let statistic = z(&users.as_made()).ok_or(NullReason::ArmWithoutEvaluatedSessions)?;
    let reached = assignments
        .of_groups(users.sizes())
        .filter(|anew| z(anew).is_some_and(|value| value >= limit(statistic)))
        .count();
    let repetitions = assignments.repetitions;
    let p_value = p_value(reached as u32, repetitions);
    Ok(RandomisationTest { statistic, p_value, repetitions })
}

/// The randomisation tests of a family of segments.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentTests {
    /// Test that the lift is the same in all segments.
    pub interaction: Defined<RandomisationTest>,
    /// Of each segment, in the order of the labels: `(1 + how often the largest statistic of all segments
    /// reached this one's) / (1 + repetitions)` (Westfall and Young, 1993). When retrieval changes nothing,
    /// any of them is under 5 % in at most 5 % of experiments. Null if an arm of the segment has no evaluated
    /// session or all users of the segment have the same mean.
    pub adjusted_p_values: Vec<Defined<f64>>,
}

/// Assigns the users of all segments anew, for both questions at once.
///
/// `labels` are the segments to test; users carry their sums by label, and may appear in several.
///
/// For the interaction the common lift is taken out of the outcome first (Freedman and Lane, 1983), so that a
/// lift that is the same everywhere is no difference. The statistic is Cochran's Q, `Σ w·(D − D̄)²`, with
/// weights from the variance of pooled residuals, so that a uniform segment is not certain. It is null with
/// fewer than two segments, if an arm of a segment has no evaluated session, and when nothing varies.
///
/// The statistic of one segment is `|D|/SE0` with the residuals of the segment itself.
pub fn segments_by_reassignment(
    labels: &[u32],
    treatment: &[Vec<(u32, UserSum)>],
    holdout: &[Vec<(u32, UserSum)>],
    assignments: Reassignments,
) -> SegmentTests {
    let groups = [alike(treatment, false), alike(holdout, true)].concat();
    let assignments = assignments.affordable(groups.len());
    let users = match Users::new(labels, &groups) {
        Ok(users) => users,
        Err(reason) => {
            let adjusted_p_values = vec![Err(reason); labels.len()];
            return SegmentTests { interaction: Err(reason), adjusted_p_values };
        }
    };
    let apart = if labels.len() < 2 {
        Err(NullReason::FewerThanTwoSegments)
    } else {
        users.clone().without_common_lift()
    };
    let spreads = users.spreads();
    let as_made = users.as_made();
    let observed = users.statistics(&spreads, &as_made);
    let observed_q = apart
        .as_ref()
        .map_err(|reason| *reason)
        .and_then(|users| users.cochran_q(&as_made).ok_or(NullReason::ArmWithoutEvaluatedSessions));
    let mut reached = vec![0_u32; observed.len()];
    let mut reached_q = 0;
    for anew in assignments.of_groups(users.sizes()) {
        let largest =
            users.statistics(&spreads, &anew).into_iter().flatten().fold(0.0_f64, f64::max);
        for (count, statistic) in reached.iter_mut().zip(&observed) {
            *count += u32::from(statistic.is_ok_and(|statistic| largest >= limit(statistic)));
        }
        let q = apart.as_ref().ok().and_then(|users| users.cochran_q(&anew));
        reached_q += u32::from(q.is_some_and(|q| observed_q.is_ok_and(|o| q >= limit(o))));
    }
    let repetitions = assignments.repetitions;
    let p_value = |reached| p_value(reached, repetitions);
    SegmentTests {
        interaction: observed_q.map(|statistic| RandomisationTest {
            statistic,
            p_value: p_value(reached_q),
            repetitions,
        }),
        adjusted_p_values: observed
            .into_iter()
            .zip(reached)
            .map(|(observed, reached)| observed.map(|_| p_value(reached)))
            .collect(),
    }
}

/// Assignments that tie with the observed one must not be split by rounding.
fn limit(observed: f64) -> f64 {
    observed * (1.0 - 1e-9)
}

fn p_value(reached: u32, repetitions: u32) -> f64 {
    (1.0 + f64::from(reached)) / (1.0 + f64::from(repetitions))
}

/// Users of one arm with the same sums in every segment.
#[derive(Clone, Copy)]
struct Group<'a> {
    sums: &'a [(u32, UserSum)],
    users: u64,
    held_out: bool,
}

/// The users of an arm who are alike, with their number, all of them in segment 0.
fn one_segment(arm: &Arm) -> Vec<([(u32, UserSum); 1], u64)> {
    arm.alike().iter().map(|alike| ([(0, alike.user)], alike.count)).collect()
}

fn counted(arm: &[([(u32, UserSum); 1], u64)], held_out: bool) -> Vec<Group<'_>> {
    arm.iter().map(|(sums, users)| Group { sums, users: *users, held_out }).collect()
}

/// The users of an arm, those who are alike together, in an order that is not that of the list.
fn alike(arm: &[Vec<(u32, UserSum)>], held_out: bool) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<&[(u32, UserSum)], u64> = BTreeMap::new();
    for user in arm {
        *groups.entry(user).or_default() += 1;
    }
    groups.into_iter().map(|(sums, users)| Group { sums, users, held_out }).collect()
}

/// The sessions of each user of a group in one segment, and the residual of the outcome.
#[derive(Clone, Copy)]
struct Cell {
    group: usize,
    segment: usize,
    sessions: f64,
    residual: f64,
}

/// The difference of the means of residuals in one segment, and its variance where residuals have variance 1
/// per squared number of sessions.
#[derive(Clone, Copy)]
struct Segment {
    difference: f64,
    spread: f64,
}

/// Sums over the users of one arm in one segment.
#[derive(Clone, Copy, Default)]
struct Sums {
    sessions: f64,
    squares: f64,
    residuals: f64,
}

impl Sums {
    fn add(&mut self, cell: &Cell, users: u64) {
        let users = users as f64;
        self.sessions += users * cell.sessions;
        self.squares += users * cell.sessions * cell.sessions;
        self.residuals += users * cell.residual;
    }

    fn without(self, part: Self) -> Self {
        Self {
            sessions: self.sessions - part.sessions,
            squares: self.squares - part.squares,
            residuals: self.residuals - part.residuals,
        }
    }
}

/// Size of a group, and the arm it is in.
#[derive(Clone, Copy)]
struct Size {
    users: u64,
    held_out: bool,
}

#[derive(Clone)]
struct Users {
    cells: Vec<Cell>,
    groups: Vec<Size>,
    /// Of each segment, both arms together.
    segments: Vec<Sums>,
    /// `τ²`: the residual variance per squared number of sessions, over all users and segments.
    spread: f64,
}

impl Users {
    fn new(labels: &[u32], groups: &[Group<'_>]) -> Defined<Self> {
        let places: BTreeMap<u32, usize> = labels.iter().copied().zip(0..).collect();
        let mut totals = vec![(0.0, 0.0); labels.len()];
        for Group { sums, users, .. } in groups {
            for (label, sums) in *sums {
                if let Some(total) = places.get(label).and_then(|place| totals.get_mut(*place)) {
                    total.0 += *users as f64 * sums.sessions as f64;
                    total.1 += *users as f64 * sums.total as f64;
                }
            }
        }
        let cell = |group: usize, (label, sums): &(u32, UserSum)| {
            let segment = *places.get(label)?;
            let (sessions, total) = totals.get(segment)?;
            let own = sums.sessions as f64;
            let residual = sums.total as f64 - total / sessions * own;
            (sums.sessions > 0).then_some(Cell { group, segment, sessions: own, residual })
        };
        let cells = groups
            .iter()
            .enumerate()
            .flat_map(|(group, of)| of.sums.iter().filter_map(move |sums| cell(group, sums)))
            .collect();
        let size = |group: &Group<'_>| Size { users: group.users, held_out: group.held_out };
        let users = Self {
            cells,
            groups: groups.iter().map(size).collect(),
            segments: vec![Sums::default(); labels.len()],
            spread: 0.0,
        };
        users.with_sums()
    }

    fn with_sums(mut self) -> Defined<Self> {
        self.segments = self.sums_over(&self.sizes().collect::<Vec<_>>());
        let over = |term: fn(&Cell) -> f64| {
            sum(self.cells.iter().map(|cell| self.users_of(cell) * term(cell)))
        };
        let (residuals, squares) =
            (over(|cell| cell.residual.powi(2)), over(|cell| cell.sessions.powi(2)));
        self.spread = residuals / squares;
        if squares <= 0.0 {
            Err(NullReason::ArmWithoutEvaluatedSessions)
        } else if self.spread <= NO_SPREAD {
            Err(NullReason::ZeroVariance)
        } else {
            Ok(self)
        }
    }

    fn sizes(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().map(|group| group.users)
    }

    fn users_of(&self, cell: &Cell) -> f64 {
        self.groups.get(cell.group).map_or(0.0, |group| group.users as f64)
    }

    /// Of each segment, over this many users of each group.
    fn sums_over(&self, wanted: &[u64]) -> Vec<Sums> {
        let mut sums = vec![Sums::default(); self.segments.len()];
        for cell in &self.cells {
            if let (Some(sums), Some(users)) = (sums.get_mut(cell.segment), wanted.get(cell.group))
                && *users > 0
            {
                sums.add(cell, *users);
            }
        }
        sums
    }

    fn was_held_out(&self, group: usize) -> bool {
        self.groups.get(group).is_some_and(|group| group.held_out)
    }

    /// Numbers of users held out of each group by the assignment that was made.
    fn as_made(&self) -> Vec<u64> {
        self.groups.iter().map(|group| if group.held_out { group.users } else { 0 }).collect()
    }

    /// `τ²` of each segment by itself.
    fn spreads(&self) -> Vec<f64> {
        let mut residuals = vec![0.0; self.segments.len()];
        for cell in &self.cells {
            if let Some(residuals) = residuals.get_mut(cell.segment) {
                *residuals += self.users_of(cell) * cell.residual.powi(2);
            }
        }
        let squares = self.segments.iter().map(|sums| sums.squares);
        residuals.into_iter().zip(squares).map(|(residuals, squares)| residuals / squares).collect()
    }

    /// `|D|/SE0` of each segment.
    fn statistics(&self, spreads: &[f64], held_out: &[u64]) -> Vec<Defined<f64>> {
        let segments = self.segments(held_out).into_iter().zip(spreads);
        segments
            .map(|(segment, own)| {
                let segment = segment.ok_or(NullReason::ArmWithoutEvaluatedSessions)?;
                if *own <= NO_SPREAD {
                    return Err(NullReason::ZeroVariance);
                }
                Ok(segment.difference.abs() / (own * segment.spread).sqrt())
            })
            .collect()
    }

    /// `None` when an arm of a segment is empty.
    fn cochran_q(&self, held_out: &[u64]) -> Option<f64> {
        let segments: Vec<Segment> = self.segments(held_out).into_iter().collect::<Option<_>>()?;
        let mean = common_difference(&segments);
        let squares = segments.iter().map(|s| (s.difference - mean).powi(2) / s.spread);
        Some(sum(squares) / self.spread)
    }

    /// Residuals under the same lift in every segment.
    fn without_common_lift(self) -> Defined<Self> {
        let segments: Vec<Segment> = self
            .segments(&self.as_made())
            .into_iter()
            .collect::<Option<_>>()
            .ok_or(NullReason::ArmWithoutEvaluatedSessions)?;
        let lift = common_difference(&segments);
        let treated = |group: &Size| if group.held_out { 0 } else { group.users };
        let treated = self.sums_over(&self.groups.iter().map(treated).collect::<Vec<_>>());
        let share = |segment: usize| {
            let (treated, all) = (treated.get(segment)?, self.segments.get(segment)?);
            Some(treated.sessions / all.sessions)
        };
        let left = |cell: &Cell| {
            let arm = if self.was_held_out(cell.group) { 0.0 } else { 1.0 };
            let expected = lift * (arm - share(cell.segment)?) * cell.sessions;
            Some(Cell { residual: cell.residual - expected, ..*cell })
        };
        let cells = self.cells.iter().filter_map(left).collect();
        Self { cells, ..self }.with_sums()
    }

    /// Every segment under an assignment; `None` for one that has an empty arm.
    fn segments(&self, held_out: &[u64]) -> Vec<Option<Segment>> {
        let held_out = self.sums_over(held_out);
        let segment = |(all, c): (&Sums, &Sums)| {
            let t = all.without(*c);
            (t.sessions > 0.0 && c.sessions > 0.0).then(|| Segment {
                difference: t.residuals / t.sessions - c.residuals / c.sessions,
                spread: t.squares / t.sessions.powi(2) + c.squares / c.sessions.powi(2),
            })
        };
        self.segments.iter().zip(&held_out).map(segment).collect()
    }
}

/// The lift that all segments have in common, weighted by how well each is known.
fn common_difference(segments: &[Segment]) -> f64 {
    let weight = sum(segments.iter().map(|s| s.spread.recip()));
    sum(segments.iter().map(|s| s.difference / s.spread)) / weight
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(count: u64, failures: u64) -> Vec<UserSum> {
        (0..count)
            .map(|n| UserSum {
                sessions: 1 + n % 3,
                total: if n < failures { 0 } else { (1 + n % 3) as i64 },
            })
            .collect()
    }

    #[test]
    fn a_large_lift_is_reached_by_no_other_assignment() {
        let assignments = Reassignments { seed: 1, holdout_share: 0.3, repetitions: 199 };
        let test = |treatment: Vec<UserSum>, holdout: Vec<UserSum>| {
            lift_by_reassignment(&Arm::new(treatment), &Arm::new(holdout), assignments)
        };
        let large = test(users(140, 10), users(60, 40));
        assert!(large.is_ok_and(|test| (test.p_value - 1.0 / 200.0).abs() < 1e-12));
        let none = test(users(140, 28), users(60, 12));
        assert!(none.is_ok_and(|test| test.p_value > 0.2), "{none:?}");
        let uniform = test(users(140, 0), users(60, 0));
        assert_eq!(uniform, Err(NullReason::ZeroVariance));
    }

    #[test]
    fn a_lift_that_is_the_same_everywhere_is_no_interaction() {
        let assignments = Reassignments { seed: 2, holdout_share: 0.5, repetitions: 199 };
        let in_segment = |label: u32, users: Vec<UserSum>| -> Vec<Vec<(u32, UserSum)>> {
            users.into_iter().map(|user| vec![(label, user)]).collect()
        };
        let same = |label| in_segment(label, users(60, 10));
        let worse = |label| in_segment(label, users(60, 40));
        let treatment = [same(0), same(1)].concat();
        let holdout = [worse(0), worse(1)].concat();
        let test = |labels: &[u32], treatment: &[_], holdout: &[_]| {
            segments_by_reassignment(labels, treatment, holdout, assignments)
        };
        let everywhere = test(&[0, 1], &treatment, &holdout);
        assert!(everywhere.interaction.is_ok_and(|t| t.p_value > 0.5), "{everywhere:?}");
        let small = |p: &Defined<f64>| p.is_ok_and(|p| p < 0.01);
        assert!(everywhere.adjusted_p_values.iter().all(small), "{everywhere:?}");
        let opposite = [worse(0), same(1)].concat();
        let treatment = [same(0), worse(1)].concat();
        let differing = test(&[0, 1], &treatment, &opposite);
        assert!(differing.interaction.is_ok_and(|t| t.p_value < 0.01), "{differing:?}");
        let one = test(&[0], &treatment, &opposite);
        assert_eq!(one.interaction, Err(NullReason::FewerThanTwoSegments));
        assert!(one.adjusted_p_values.iter().all(small), "{one:?}");
        let none = test(&[7], &treatment, &opposite);
        assert_eq!(none.adjusted_p_values, [Err(NullReason::ArmWithoutEvaluatedSessions)]);
    }
}
