//! Properties of any experiment, not only of the reference cases.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use base::vocabulary::Vocabulary;
use proptest::collection::vec;
use proptest::prelude::*;
use stats::agreement::Confusion;
use stats::always_valid::AlwaysValid;
use stats::complier::{ComplierEffect, DeliveredUser};
use stats::cuped::{self, Moments, UserHistory};
use stats::fieller::Ratio;
use stats::guardrails::{Guardrail, HarmfulChange, assess};
use stats::judge_correction::{JudgedUser, Tuning, prediction_powered_rate, rogan_gladen_rate};
use stats::missing::{EvaluationCounts, worst_case_bounds};
use stats::multiplicity::{benjamini_hochberg, holm};
use stats::power::{Clustering, Planner, intraclass_correlation, small_holdout_price};
use stats::robustness::{influence, user_weighted};
use stats::sample_ratio::{SampleRatio, SequentialSampleRatio};
use stats::segments::{SegmentLabel, SegmentedUser, Segments};
use stats::trend::{Slope, WeeklyUser, weekly_lifts};
use stats::wilson::wilson;
use stats::{Arm, CiMethod, Comparison, Interval, NullReason, UserSum, Variance};

const ESTIMATORS: [Variance; 5] =
    [Variance::Cr0, Variance::Cr1, Variance::Delta, Variance::Cr2, Variance::Cr3];

/// Mostly a handful of sessions, now and then a user with hundreds.
fn session_count() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..8, 1 => 8_u64..400]
}

fn user() -> impl Strategy<Value = UserSum> {
    (session_count(), 0.0..=1.0_f64).prop_map(|(sessions, rate)| UserSum {
        sessions,
        total: (rate * sessions as f64).round() as i64,
    })
}

/// Arms as they occur, and arms that are degenerate in every way.
fn users() -> impl Strategy<Value = Vec<UserSum>> {
    let uniform = |rate: i64| {
        vec(session_count(), 0..12).prop_map(move |sizes| {
            let user =
                |sessions: u64| UserSum { sessions: 2 * sessions, total: rate * sessions as i64 };
            sizes.into_iter().map(user).collect()
        })
    };
    prop_oneof![
        6 => vec(user(), 0..40),
        1 => uniform(0),
        1 => uniform(1),
        1 => uniform(2),
    ]
}

fn arm(users: &[UserSum]) -> Arm {
    users.iter().copied().collect()
}

/// A vector with the same elements in another order.
fn with_shuffled<T: Clone + std::fmt::Debug>(
    items: impl Strategy<Value = Vec<T>>,
) -> impl Strategy<Value = (Vec<T>, Vec<T>)> {
    items.prop_flat_map(|items| (Just(items.clone()), Just(items).prop_shuffle()))
}

/// Everything that can be said about a comparison.
fn portrait(treatment: &Arm, holdout: &Arm) -> String {
    let comparison = Comparison::new(treatment, holdout);
    let errors = ESTIMATORS.map(|estimator| comparison.standard_error(estimator));
    let intervals: Vec<_> =
        CiMethod::ALL.iter().map(|method| comparison.interval(*method)).collect();
    let arms = [treatment, holdout].map(|arm| {
        (
            arm.kish_effective_users(),
            arm.effective_sample_size(),
            arm.design_effect(),
            intraclass_correlation(arm),
        )
    });
    let tests = (
        comparison.lift(),
        comparison.relative_lift(),
        comparison.relative_interval(),
        comparison.bell_mccaffrey_df(),
        comparison.welch_df(),
        (comparison.p_value(), comparison.cr2_p_value()),
    );
    let robust = (user_weighted(&comparison), influence(&comparison));
    let look = AlwaysValid::planned_for(100).and_then(|sequence| sequence.look(&comparison));
    let guarded =
        assess(&[Guardrail { comparison, harmful: HarmfulChange::Decrease, margin: 0.02 }]);
    format!("{errors:?} {intervals:?} {arms:?} {tests:?} {robust:?} {look:?} {guarded:?}")
}

/// Equal texts mean equal bits.
fn text(value: impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

fn mirrored(interval: Interval) -> Interval {
    Interval::between(-interval.lower, -interval.upper)
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * (1.0 + one.abs())
}

fn close_intervals(one: Interval, other: Interval) -> bool {
    close(one.lower, other.lower) && close(one.upper, other.upper)
}

proptest! {
    #[test]
    fn an_interval_contains_the_lift_and_has_a_width(t in users(), c in users()) {
        let (t, c) = (arm(&t), arm(&c));
        let comparison = Comparison::new(&t, &c);
        for &method in CiMethod::ALL {
            if let Ok(interval) = comparison.interval(method) {
                prop_assert!(interval.contains(comparison.lift().unwrap()), "{method:?}");
                prop_assert!(interval.width() > 0.0, "{method:?} {interval:?}");
                prop_assert!(interval.width().is_finite());
            }
        }
        if let Ok(interval) = comparison.relative_interval() {
            prop_assert!(interval.contains(comparison.relative_lift().unwrap()));
            prop_assert!(interval.width() > 0.0);
        }
    }

    #[test]
    fn the_headline_is_null_only_for_want_of_users(t in users(), c in users()) {
        let (t, c) = (arm(&t), arm(&c));
        let headline = Comparison::new(&t, &c).interval(CiMethod::default());
        let fewest = t.user_count().min(c.user_count());
        let reason = match fewest {
            0 => Some(NullReason::ArmWithoutEvaluatedSessions),
            1 => Some(NullReason::FewerThanTwoEvaluatedUsersInAnArm),
            _ => None,
        };
        prop_assert_eq!(headline.err(), reason);
        if let Ok(interval) = headline {
            prop_assert!(interval.lower >= -1.0 && interval.upper <= 1.0);
        }
    }

    #[test]
    fn the_order_of_users_does_not_matter(
        (t, shuffled_t) in with_shuffled(users()),
        (c, shuffled_c) in with_shuffled(users()),
    ) {
        prop_assert_eq!(
            portrait(&arm(&t), &arm(&c)),
            portrait(&arm(&shuffled_t), &arm(&shuffled_c))
        );
    }

    #[test]
    fn repeating_every_session_adds_no_information(t in users(), c in users(), k in 2_u64..50) {
        let repeat = |users: &[UserSum]| -> Arm {
            let repeated = |user: &UserSum| UserSum {
                sessions: user.sessions * k,
                total: user.total * k as i64,
            };
            users.iter().map(repeated).collect()
        };
        let (once, often) = ((arm(&t), arm(&c)), (repeat(&t), repeat(&c)));
        let (one, many) = (Comparison::new(&once.0, &once.1), Comparison::new(&often.0, &often.1));
        for method in [CiMethod::Cr2BellMcCaffrey, CiMethod::DeltaWelch] {
            match (one.interval(method), many.interval(method)) {
                (Ok(one), Ok(many)) => prop_assert!(close_intervals(one, many)),
                (one, many) => prop_assert_eq!(one.err(), many.err()),
            }
        }
        // The headline counts an arm as no more than N sessions, a limit that k lifts.
        let unlimited = |arm: &Arm| arm.design_effect().is_ok_and(|effect| effect >= 1.0)
            || arm.has_zero_variance();
        if let (Ok(one), Ok(many)) = (one.interval(CiMethod::default()), many.interval(CiMethod::default())) {
            if unlimited(&once.0) && unlimited(&once.1) {
                prop_assert!(close_intervals(one, many), "{one:?} {many:?}");
            }
            prop_assert!(many.width() <= one.width() + 1e-9);
        }
    }

    #[test]
    fn swapping_the_arms_mirrors_the_interval(t in users(), c in users()) {
        let (t, c) = (arm(&t), arm(&c));
        let (one, other) = (Comparison::new(&t, &c), Comparison::new(&c, &t));
        for &method in CiMethod::ALL {
            match (one.interval(method), other.interval(method)) {
                (Ok(one), Ok(other)) => prop_assert!(close_intervals(one, mirrored(other))),
                (one, other) => prop_assert_eq!(one.err(), other.err()),
            }
        }
    }

    #[test]
    fn success_and_failure_are_interchangeable(t in users(), c in users()) {
        let failures = |users: &[UserSum]| -> Arm {
            let flipped = |user: &UserSum| UserSum {
                total: user.sessions as i64 - user.total,
                ..*user
            };
            users.iter().map(flipped).collect()
        };
        let (t, c, not_t, not_c) = (arm(&t), arm(&c), failures(&t), failures(&c));
        let (one, other) = (Comparison::new(&t, &c), Comparison::new(&not_t, &not_c));
        match (one.interval(CiMethod::default()), other.interval(CiMethod::default())) {
            (Ok(one), Ok(other)) => prop_assert!(close_intervals(one, mirrored(other))),
            (one, other) => prop_assert_eq!(one.err(), other.err()),
        }
    }

    #[test]
    fn zero_variance_is_exact(users in users()) {
        let arm = arm(&users);
        let alike = arm.alike().iter().map(|alike| alike.user).all(|user| {
            i128::from(user.total) * i128::from(arm.session_count())
                == i128::from(arm.total()) * i128::from(user.sessions)
        });
        prop_assert_eq!(alike, arm.has_zero_variance());
        for estimator in ESTIMATORS {
            if let Ok(variance) = arm.variance(estimator) {
                prop_assert_eq!(variance == 0.0, alike);
            }
        }
    }

    #[test]
    fn degrees_of_freedom_lie_between_one_and_the_number_of_users(t in users(), c in users()) {
        let (t, c) = (arm(&t), arm(&c));
        if let Ok(df) = Comparison::new(&t, &c).bell_mccaffrey_df() {
            prop_assert!(df >= 1.0 - 1e-12);
            prop_assert!(df <= (t.user_count() + c.user_count() - 2) as f64 + 1e-9);
        }
    }

    #[test]
    fn leaving_users_out_one_by_one_gives_the_same_shift(t in users(), c in users()) {
        let (arm_t, arm_c) = (arm(&t), arm(&c));
        let comparison = Comparison::new(&arm_t, &arm_c);
        if let Ok(influence) = influence(&comparison) {
            let lift = comparison.lift().unwrap();
            let without = |users: &[UserSum], skip: usize| -> Arm {
                let kept = users.iter().enumerate().filter(|(index, _)| *index != skip);
                kept.map(|(_, user)| *user).collect()
            };
            let shifts_t = (0..t.len()).map(|g| Comparison::new(&without(&t, g), &arm_c).lift());
            let shifts_c = (0..c.len()).map(|g| Comparison::new(&arm_t, &without(&c, g)).lift());
            let largest = shifts_t.chain(shifts_c)
                .map(|shifted| (shifted.unwrap() - lift).abs())
                .fold(0.0, f64::max);
            prop_assert!(close(largest, influence.largest_leave_one_user_out_shift));
        }
    }

    #[test]
    fn wilson_stays_within_the_unit_interval(p in 0.0..=1.0_f64, n in 1e-3..1e9_f64, t in 0.1..100.0_f64) {
        let interval = wilson(p, n, t);
        prop_assert!(interval.lower >= 0.0 && interval.upper <= 1.0);
        prop_assert!(interval.contains(p) && interval.width() > 0.0);
        let wider = wilson(p, n, t * 1.5);
        prop_assert!(wider.lower <= interval.lower + 1e-12 && interval.upper <= wider.upper + 1e-12);
    }

    #[test]
    fn adjusted_p_values_are_monotone(p in vec(0.0..=1.0_f64, 0..20)) {
        let (holm, bh) = (holm(&p), benjamini_hochberg(&p));
        for ((p, holm), bh) in p.iter().zip(&holm).zip(&bh) {
            prop_assert!(p <= bh && *bh <= holm + 1e-15 && *holm <= 1.0);
        }
        for adjusted in [&holm, &bh] {
            let mut order: Vec<_> = p.iter().zip(adjusted).collect();
            order.sort_by(|one, other| one.0.total_cmp(other.0));
            prop_assert!(order.is_sorted_by(|one, other| one.1 <= other.1));
        }
    }

    #[test]
    fn the_sequential_p_never_rises(
        share in 0.001..0.999_f64,
        increments in vec((0_u64..5000, 0_u64..5000), 1..40),
    ) {
        let mut test = SequentialSampleRatio::new(share).unwrap();
        let (mut treatment, mut holdout, mut before) = (0, 0, 1.0);
        for (t, c) in increments {
            (treatment, holdout) = (treatment + t, holdout + c);
            let p = test.look(treatment, holdout);
            prop_assert!(p > 0.0 && p <= before);
            before = p;
        }
    }

    #[test]
    fn p_values_of_the_sample_ratio_are_probabilities(
        t in 0_u64..100_000, c in 0_u64..100_000, share in 0.001..0.999_f64,
    ) {
        if let Ok(ratio) = SampleRatio::test(t, c, share) {
            for p in [ratio.chi_square_p, ratio.exact_binomial_p, ratio.p_value()] {
                prop_assert!((0.0..=1.0).contains(&p));
            }
            let swapped = SampleRatio::test(c, t, 1.0 - share).unwrap();
            prop_assert!(close(ratio.exact_binomial_p, swapped.exact_binomial_p));
        }
    }

    #[test]
    fn fieller_contains_the_ratio(
        numerator in -5.0..5.0_f64, denominator in -5.0..5.0_f64,
        spread in (0.0..1.0_f64, 0.0..1.0_f64, -1.0..1.0_f64), t in 0.5..15.0_f64,
    ) {
        let ratio = Ratio {
            numerator, denominator,
            numerator_variance: spread.0,
            denominator_variance: spread.1,
            covariance: spread.2 * (spread.0 * spread.1).sqrt(),
        };
        if let Ok(interval) = ratio.interval(t) {
            prop_assert!(interval.contains(numerator / denominator));
            prop_assert!(interval.width().is_finite());
        }
    }

    #[test]
    fn worst_cases_enclose_the_lift(t in (1_u64..50, 0_u64..50, 0_u64..50), c in (1_u64..50, 0_u64..50, 0_u64..50)) {
        let counts = |(successes, failures, unevaluated): (u64, u64, u64)| EvaluationCounts {
            published: successes + failures + unevaluated,
            evaluated: successes + failures,
            successes,
        };
        let (t, c) = (counts(t), counts(c));
        let rate = |arm: EvaluationCounts| arm.successes as f64 / arm.evaluated as f64;
        let bounds = worst_case_bounds(&t, &c).unwrap();
        let lift = rate(t) - rate(c);
        prop_assert!(bounds.lower <= lift + 1e-12 && lift <= bounds.upper + 1e-12);
    }

    #[test]
    fn a_planned_experiment_sees_what_it_was_planned_for(
        baseline in 0.05..0.95_f64, effect in 0.01..0.2_f64, share in 0.02..0.98_f64,
        icc in 0.0..0.6_f64, mean_sessions in 1.0..20.0_f64,
    ) {
        let planner = Planner {
            baseline,
            clustering: Clustering { mean_sessions, squared_variation: 0.7, intraclass_correlation: icc },
            power: 0.8,
        };
        let size = planner.size_for(effect, share, 10.0).unwrap();
        let seen = planner
            .smallest_detectable_effect(size.treatment_users, size.holdout_users)
            .unwrap();
        prop_assert!(seen <= effect * (1.0 + 1e-12));
        let users = size.treatment_users + size.holdout_users;
        prop_assert_eq!(size.days, Some(users.div_ceil(10)));
    }
}

// ---------------------------------------------------------------------------------------------
// Order of users in the analyses with richer records

fn history() -> impl Strategy<Value = Vec<UserHistory>> {
    vec((user(), user()).prop_map(|(during, before)| UserHistory { during, before }), 0..30)
}

fn delivered() -> impl Strategy<Value = Vec<DeliveredUser>> {
    let one = (user(), 0.0..=1.0_f64).prop_map(|(outcome, share)| DeliveredUser {
        outcome,
        delivered: (share * outcome.sessions as f64) as u64,
    });
    vec(one, 0..30)
}

fn judged() -> impl Strategy<Value = Vec<JudgedUser>> {
    let one = (user(), [0_u64..4, 0..4, 0..4, 0..4]).prop_map(|(judged, cells)| {
        let [true_passes, false_passes, false_failures, true_failures] = cells;
        JudgedUser {
            unlabelled: judged.sessions,
            unlabelled_passes: judged.total as u64,
            labelled: Confusion { true_passes, false_passes, false_failures, true_failures },
        }
    });
    vec(one, 0..20)
}

fn weekly() -> impl Strategy<Value = Vec<WeeklyUser>> {
    vec(proptest::collection::btree_map(0_u32..6, user(), 0..4), 0..30)
}

fn segmented() -> impl Strategy<Value = Vec<SegmentedUser>> {
    vec(proptest::collection::btree_map("[abcd]", user(), 0..3), 0..60)
}

proptest! {
    #[test]
    fn the_order_of_users_does_not_matter_for_cuped_and_compliers(
        (t, shuffled_t) in with_shuffled(history()),
        (c, shuffled_c) in with_shuffled(history()),
        (d, shuffled_d) in with_shuffled(delivered()),
        (e, shuffled_e) in with_shuffled(delivered()),
    ) {
        let adjusted = |t: &[UserHistory], c: &[UserHistory]| {
            let (t, c) = (Moments::of(t)?, Moments::of(c)?);
            cuped::adjust(&t, &c, cuped::optimal_theta(&t, &c)?)
        };
        prop_assert_eq!(text(adjusted(&t, &c)), text(adjusted(&shuffled_t, &shuffled_c)));
        let effect = ComplierEffect::of;
        prop_assert_eq!(text(effect(&d, &e)), text(effect(&shuffled_d, &shuffled_e)));
    }

    #[test]
    fn the_order_of_users_does_not_matter_for_the_trend(
        (t, shuffled_t) in with_shuffled(weekly()),
        (c, shuffled_c) in with_shuffled(weekly()),
    ) {
        prop_assert_eq!(text(Slope::of(&t, &c)), text(Slope::of(&shuffled_t, &shuffled_c)));
        prop_assert_eq!(text(weekly_lifts(&t, &c)), text(weekly_lifts(&shuffled_t, &shuffled_c)));
    }

    #[test]
    fn the_order_of_users_does_not_matter_for_segments_and_labels(
        (t, shuffled_t) in with_shuffled(segmented()),
        (c, shuffled_c) in with_shuffled(segmented()),
        (j, shuffled_j) in with_shuffled(judged()),
    ) {
        prop_assert_eq!(text(Segments::of(&t, &c)), text(Segments::of(&shuffled_t, &shuffled_c)));
        for tuning in [Tuning::Full, Tuning::Optimal] {
            let rate = |users: &[JudgedUser]| text(prediction_powered_rate(users, tuning));
            prop_assert_eq!(rate(&j), rate(&shuffled_j));
        }
    }

    #[test]
    fn an_adjusted_lift_is_never_less_precise(t in history(), c in history()) {
        if let (Ok(t), Ok(c)) = (Moments::of(&t), Moments::of(&c))
            && let Ok(theta) = cuped::optimal_theta(&t, &c)
            && let (Ok(plain), Ok(adjusted)) = (cuped::adjust(&t, &c, 0.0), cuped::adjust(&t, &c, theta))
        {
            prop_assert!(adjusted.standard_error <= plain.standard_error * (1.0 + 1e-12));
            prop_assert!(adjusted.interval.contains(adjusted.estimate));
        }
    }

    #[test]
    fn a_corrected_rate_lies_in_its_interval(users in users(), cells in [0_u64..40, 0..40, 0..40, 0..40]) {
        let [true_passes, false_passes, false_failures, true_failures] = cells;
        let labels = Confusion { true_passes, false_passes, false_failures, true_failures };
        if let Ok(rate) = rogan_gladen_rate(&arm(&users), &labels) {
            prop_assert!((0.0..=1.0).contains(&rate.estimate));
            prop_assert!(rate.interval.contains(rate.estimate) && rate.interval.width() > 0.0);
            prop_assert!(rate.interval.lower >= 0.0 && rate.interval.upper <= 1.0);
        }
        if let Ok(kappa) = labels.kappa() {
            prop_assert!(kappa.kappa <= 1.0 + 1e-12 && kappa.kappa >= -1.0 - 1e-12);
        }
    }

    #[test]
    fn a_constant_trend_has_no_slope(t in weekly(), c in weekly()) {
        // The same rate in every week: as many successes as sessions.
        let always = |users: Vec<WeeklyUser>| -> Vec<WeeklyUser> {
            let all = |sums: UserSum| UserSum { total: sums.sessions as i64, ..sums };
            users.into_iter().map(|user| user.into_iter().map(|(week, sums)| (week, all(sums))).collect()).collect()
        };
        if let Ok(slope) = Slope::of(&always(t), &always(c)) {
            prop_assert!(slope.per_week.abs() < 1e-9);
            prop_assert!(slope.cr2_standard_error < 1e-6);
        }
    }

    #[test]
    fn every_user_is_in_some_segment(t in segmented(), c in segmented()) {
        let result = Segments::of(&t, &c);
        for (label, segment) in &result.segments {
            match (label, segment) {
                (SegmentLabel::Named(_), Ok(segment)) => prop_assert!(segment.users.iter().all(|count| *count >= 10)),
                (SegmentLabel::Pooled, Ok(segment)) => prop_assert!(segment.users.iter().sum::<usize>() >= 5),
                (SegmentLabel::Named(_), Err(reason)) => prop_assert!(false, "{reason}"),
                (SegmentLabel::Pooled, Err(reason)) => prop_assert_eq!(*reason, NullReason::FewerThanFiveUsers),
            }
        }
    }
}

#[test]
fn the_price_of_a_small_holdout() {
    for (share, price) in [(0.05, 2.29), (0.10, 1.67), (0.20, 1.25), (0.50, 1.00)] {
        assert!((small_holdout_price(share).unwrap() - price).abs() < 0.005);
    }
    assert_eq!(small_holdout_price(0.0), Err(NullReason::InputOutOfRange));
}

/// With one segment per user the covariance is diagonal and Wald's test is a weighted sum of
/// squares; a user in two segments must change it.
#[test]
fn a_user_in_two_segments_counts_once() {
    let user = |segment: &str, total: i64| {
        SegmentedUser::from([(segment.to_owned(), UserSum { sessions: 4, total })])
    };
    let arm = |shift: i64| -> Vec<SegmentedUser> {
        let of = |segment: &'static str, extra: i64| {
            (0..12).map(move |index| user(segment, (index + shift + extra) % 5))
        };
        of("chat", 0).chain(of("mail", 1)).collect()
    };
    let apart = Segments::of(&arm(0), &arm(2));
    let joined = |users: Vec<SegmentedUser>| -> Vec<SegmentedUser> {
        let (chat, mail) = users.split_at(12);
        let merge = |(one, other): (&SegmentedUser, &SegmentedUser)| {
            one.clone().into_iter().chain(other.clone()).collect()
        };
        chat.iter().zip(mail).map(merge).collect()
    };
    let together = Segments::of(&joined(arm(0)), &joined(arm(2)));
    assert_eq!(apart.segments, together.segments);
    assert_ne!(apart.interaction, together.interaction);
    assert_eq!(apart.cochran_q, together.cochran_q);
}
