//! Every null has a reason, and every reason can occur.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use base::vocabulary::Vocabulary;
use stats::agreement::{Confusion, mcnemar};
use stats::always_valid::{AlwaysValid, Look, RunningLooks};
use stats::association::{Association, CitingUser};
use stats::complier::{ComplierEffect, DeliveredUser, share_of_served};
use stats::cuped::{Ancova, Cuped, Moments, UserHistory, optimal_theta};
use stats::decision::LiftDecision;
use stats::grouped::{GroupSums, grouped_rate};
use stats::judge_correction::{
    JudgedUser, PredictionPowered, ReviewedUser, Tuning, WeightedConfusion,
    prediction_powered_rate, rogan_gladen_rate,
};
use stats::missing::{EvaluationCounts, evaluated_session_coverage};
use stats::planning::{DecisionPlanner, ReturningUsers};
use stats::power::{Clustering, Planner, intraclass_correlation, small_holdout_price};
use stats::robustness::{influence, user_weighted};
use stats::sample_ratio::{SampleRatio, SequentialSampleRatio};
use stats::segments::{SegmentLabel, SegmentedUser, Segments};
use stats::trend::{Slope, WeeklyUser};
use stats::{Arm, CiMethod, Comparison, Defined, Interval, NullReason, UserSum, Variance};
use std::collections::BTreeSet;
use std::fmt::Debug;

fn user(sessions: u64, total: i64) -> UserSum {
    UserSum { sessions, total }
}

/// Remembers the reasons that were seen.
#[derive(Default)]
struct Seen(BTreeSet<NullReason>);

impl Seen {
    fn null<T: Debug>(&mut self, value: Defined<T>, reason: NullReason) {
        match value {
            Err(actual) => assert_eq!(actual, reason),
            Ok(value) => panic!("{value:?} is not null because of {reason}"),
        }
        self.0.insert(reason);
    }
}

#[test]
fn every_reason_occurs() {
    let mut seen = Seen::default();
    comparisons(&mut seen);
    health(&mut seen);
    always_valid_and_decision(&mut seen);
    cuped(&mut seen);
    planning(&mut seen);
    segments(&mut seen);
    trend(&mut seen);
    judge(&mut seen);
    outside_experiments(&mut seen);
    // The overview says it, in `evaluation::undecided`.
    seen.0.insert(NullReason::OnlyRulesJudged);
    let all: BTreeSet<_> = NullReason::ALL.iter().copied().collect();
    let missed: Vec<_> = all.difference(&seen.0).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

fn comparisons(seen: &mut Seen) {
    let none = Arm::default();
    let one = Arm::new([user(3, 1)]);
    let some = Arm::new([user(3, 1), user(4, 3)]);
    let failing = Arm::new([user(3, 0), user(4, 0)]);
    let counts = Arm::new([user(3, 10), user(4, 2)]);
    let small = Arm::new([user(2, 1), user(3, 0)]);

    let empty = Comparison::new(&none, &some);
    seen.null(empty.lift(), NullReason::ArmWithoutEvaluatedSessions);
    seen.null(none.mean(), NullReason::ArmWithoutEvaluatedSessions);
    seen.null(empty.interval(CiMethod::default()), NullReason::ArmWithoutEvaluatedSessions);
    let single = Comparison::new(&some, &one);
    assert!(single.lift().is_ok());
    let too_few = NullReason::FewerThanTwoEvaluatedUsersInAnArm;
    for &method in CiMethod::ALL {
        seen.null(single.interval(method), too_few);
    }
    seen.null(single.standard_error(Variance::Cr0), too_few);
    seen.null(single.bell_mccaffrey_df(), too_few);
    seen.null(single.p_value(), too_few);
    seen.null(single.relative_interval(), too_few);
    seen.null(influence(&single), too_few);
    seen.null(user_weighted(&single), too_few);

    let from_zero = Comparison::new(&some, &failing);
    seen.null(from_zero.relative_lift(), NullReason::ZeroBaseline);
    seen.null(from_zero.relative_interval(), NullReason::ZeroBaseline);
    let certain = Comparison::new(&failing, &failing);
    assert_eq!(certain.p_value(), Ok(1.0));
    seen.null(certain.cr2_p_value(), NullReason::ZeroVariance);
    seen.null(certain.interval(CiMethod::Cr1), NullReason::ZeroVariance);
    seen.null(failing.design_effect(), NullReason::ZeroVariance);
    assert_eq!(failing.effective_sample_size(), Ok(2.0));
    seen.null(Comparison::new(&some, &small).relative_interval(), NullReason::UnboundedInterval);
    seen.null(
        Comparison::new(&counts, &some).interval(CiMethod::default()),
        NullReason::OutcomeNotBinary,
    );

    let delivered = |outcome, delivered| DeliveredUser { outcome, delivered };
    let alike = [delivered(user(2, 1), 1), delivered(user(4, 1), 2)];
    let effect = ComplierEffect::of(&alike, &alike).unwrap();
    seen.null(effect.effect, NullReason::NoDifferenceInDelivery);
}

fn health(seen: &mut Seen) {
    seen.null(SampleRatio::test(0, 0, 0.1), NullReason::NoUsers);
    for share in [0.0, 1.0, -0.1, f64::NAN] {
        seen.null(SampleRatio::test(9, 1, share), NullReason::InputOutOfRange);
        seen.null(SequentialSampleRatio::new(share), NullReason::InputOutOfRange);
    }
    seen.null(evaluated_session_coverage(0, 0), NullReason::NoEvaluatedSessions);
    seen.null(share_of_served(0, 0), NullReason::NothingServed);
    assert_eq!(share_of_served(1, 4), Ok(0.25));
    seen.null(
        EvaluationCounts::default().evaluation_rate(),
        NullReason::ArmWithoutPublishedSessions,
    );
}

fn always_valid_and_decision(seen: &mut Seen) {
    let sequence = AlwaysValid::planned_for(100).unwrap();
    let arm = |users: i64| -> Arm { (0..users).map(|g| user(2, g % 3)).collect() };
    let (large, small) = (arm(60), arm(29));
    let early = sequence.look(&Comparison::new(&large, &small));
    for early in [early, sequence.look(&Comparison::new(&small, &large))] {
        seen.null(early, NullReason::FewerThanThirtyEvaluatedUsersInAnArm);
        assert_eq!(
            LiftDecision::from_look(&early, 0.01, true, false),
            Ok(LiftDecision::Collecting)
        );
    }
    let none = sequence.look(&Comparison::new(&Arm::default(), &large));
    seen.null(none, NullReason::ArmWithoutEvaluatedSessions);
    let uniform: Arm = (0..30).map(|_| user(2, 2)).collect();
    assert!(sequence.look(&Comparison::new(&uniform, &large)).is_ok());
    assert!(sequence.look(&Comparison::new(&uniform, &uniform)).is_ok());
    seen.null(AlwaysValid::planned_for(0), NullReason::InputOutOfRange);

    let mut running = RunningLooks::default();
    seen.null(running.p_value(), NullReason::NoLooks);
    for centre in [0.0, 1.0] {
        running.absorb(&Look { interval: Interval::around(centre, 0.1), p_value: 0.2 });
    }
    seen.null(running.interval(), NullReason::EmptyIntersection);
    assert_eq!(running.p_value(), Ok(0.2));
    seen.null(LiftDecision::from_look(&early, 0.01, false, false), NullReason::Unhealthy);
}

fn cuped(seen: &mut Seen) {
    let arm = |users: i64, before: fn(i64) -> UserSum| -> Vec<UserHistory> {
        let history = |g: i64| UserHistory { during: user(4, g % 2 * 2 + 1), before: before(g) };
        (0..users).map(history).collect()
    };
    let both = |users, before| {
        let arm = arm(users, before);
        Cuped::of(&arm, &arm)
    };
    let steady: fn(i64) -> UserSum = |_| user(2, 1);
    let unrelated: fn(i64) -> UserSum = |g| user(2, g / 2 % 2 * 2);
    let related: fn(i64) -> UserSum = |g| user(4, (g % 2) * 2 + g / 2 % 2);
    seen.null(both(40, related), NullReason::FewerThanHundredUsers);
    let rare: fn(i64) -> UserSum = |g| user(u64::from(g % 6 == 0) * 2, 0);
    seen.null(both(60, rare), NullReason::TooLittleHistory);
    seen.null(both(60, |_| user(0, 0)), NullReason::TooLittleHistory);
    seen.null(both(60, steady), NullReason::ConstantPrePeriod);
    seen.null(both(60, unrelated), NullReason::VarianceNotReduced);
    assert!(both(60, related).is_ok_and(|cuped| cuped.variance_reduction > 0.5));
    let heavy = |mut arm: Vec<UserHistory>| {
        arm.push(UserHistory { during: user(90, 40), before: user(4, 2) });
        arm
    };
    let (few, many) = (arm(29, related), arm(90, related));
    seen.null(Ancova::of(&many, &few), NullReason::TooFewEvents);
    seen.null(Ancova::of(&heavy(arm(90, related)), &many), NullReason::OneUserDominates);
    assert!(Ancova::of(&many, &many).is_ok_and(|ancova| ancova.variance_reduction > 0.5));
    let moments = Moments::of(&arm(60, steady)).unwrap();
    seen.null(optimal_theta(&moments, &moments), NullReason::ConstantPrePeriod);
}

fn planning(seen: &mut Seen) {
    let singles: Arm = (0..5).map(|g| user(1, g % 2)).collect();
    seen.null(intraclass_correlation(&singles), NullReason::NoUserWithTwoSessions);
    let uniform = Arm::new([user(2, 2), user(3, 3)]);
    seen.null(intraclass_correlation(&uniform), NullReason::ZeroVariance);
    seen.null(Clustering::seen_in(&uniform), NullReason::ZeroVariance);
    seen.null(small_holdout_price(1.0), NullReason::InputOutOfRange);

    let past = Arm::new([user(2, 2), user(3, 0), user(7, 5)]);
    let planner =
        Planner { baseline: 0.6, clustering: Clustering::seen_in(&past).unwrap(), power: 0.8 };
    let by_definition = 1.0 + (62.0 / 12.0 - 1.0) * intraclass_correlation(&past).unwrap();
    assert!((planner.clustering.design_effect() - by_definition).abs() < 1e-12);
    seen.null(planner.smallest_detectable_effect(0, 10), NullReason::NoUsers);
    seen.null(planner.size_for(0.0, 0.1, 5.0), NullReason::InputOutOfRange);
    let size = planner.size_for(0.05, 0.1, 0.0).unwrap();
    assert_eq!(size.days, None);
    let daily = DecisionPlanner { baseline: 0.6, holdout_share: 0.5, power: 0.8 };
    let few = ReturningUsers::seen_in(past.clone(), 30.0).unwrap();
    seen.null(daily.days_for(0.1, &few, 365), NullReason::OutOfReach);
    let certain = Planner { baseline: 1.0, ..planner };
    seen.null(certain.smallest_detectable_effect(10, 10), NullReason::InputOutOfRange);
}

fn segments(seen: &mut Seen) {
    let arm = |sizes: &[(&str, i64)]| -> Vec<SegmentedUser> {
        let members = |&(name, size): &(&str, i64)| {
            let name = name.to_owned();
            (0..size).map(move |g| SegmentedUser::from([(name.clone(), user(3, g % 4))]))
        };
        sizes.iter().flat_map(members).collect()
    };
    let sizes = [("large", 12), ("tiny", 2)];
    let result = Segments::of(&arm(&sizes), &arm(&sizes));
    let large = SegmentLabel::Named("large".to_owned());
    assert!(result.segments.get(&large).is_some_and(Result::is_ok));
    seen.null(*result.segments.get(&SegmentLabel::Pooled).unwrap(), NullReason::FewerThanFiveUsers);
    seen.null(result.interaction, NullReason::FewerThanTwoSegments);
    seen.null(result.cochran_q, NullReason::FewerThanTwoSegments);

    // Nine users in one arm of each: pooled, and then large enough together.
    let sizes = [("a", 12), ("b", 9), ("c", 9)];
    let pooled = Segments::of(&arm(&sizes), &arm(&sizes));
    assert_eq!(pooled.segments.len(), 2);
    assert!(pooled.interaction.is_ok_and(|test| test.df == 1));
}

fn trend(seen: &mut Seen) {
    let weekly = |cells: &[(u32, u64, i64)]| -> WeeklyUser {
        let cell = |&(week, sessions, total): &(u32, u64, i64)| (week, user(sessions, total));
        cells.iter().map(cell).collect()
    };
    let steady = [
        weekly(&[(0, 2, 1), (1, 2, 2)]),
        weekly(&[(0, 1, 0), (1, 3, 1)]),
        weekly(&[(1, 2, 1), (2, 1, 1)]),
    ];
    let one_week = [weekly(&[(3, 2, 1)]), weekly(&[(3, 1, 0)])];
    let one_mover = [weekly(&[(0, 2, 1), (4, 2, 2)]), weekly(&[(0, 3, 1)])];
    assert!(Slope::of(&steady, &steady).is_ok());
    seen.null(Slope::of(&steady, &one_week), NullReason::FewerThanTwoWeeks);
    seen.null(Slope::of(&one_mover, &steady), NullReason::OneUserDeterminesSlope);
    seen.null(Slope::of(&[], &steady), NullReason::ArmWithoutEvaluatedSessions);
}

fn judge(seen: &mut Seen) {
    let few = NullReason::FewerThanThirtyLabelledUsers;
    seen.null(stats::prediction_powered::estimated_rate(&[]), few);
    let table = |true_passes, false_passes, false_failures, true_failures| Confusion {
        true_passes,
        false_passes,
        false_failures,
        true_failures,
    };
    let judged = |unlabelled, labelled| JudgedUser {
        unlabelled,
        unlabelled_passes: unlabelled / 2,
        labelled,
    };
    let none = Confusion::default();
    let good = table(40, 5, 5, 40);
    let rate = |users: &[JudgedUser]| prediction_powered_rate(users, Tuning::Optimal);
    seen.null(rate(&[judged(4, none); 3]), NullReason::NoLabels);
    seen.null(rate(&[judged(0, good); 3]), NullReason::NoUnlabelledSessions);
    seen.null(
        rate(&[judged(4, good), judged(3, none)]),
        NullReason::FewerThanTwoEvaluatedUsersInAnArm,
    );
    assert!(rate(&[judged(4, good), judged(3, good)]).is_ok());

    let mut labelled = WeightedConfusion::default();
    labelled.count(true, false, 0.5);
    let reviewed = [ReviewedUser { judged: 3, passes: 2, labelled, labels: 1 }; 29];
    seen.null(
        PredictionPowered::of(&reviewed, &reviewed),
        NullReason::FewerThanThirtyLabelledUsersInAnArm,
    );

    let arm = Arm::new([user(30, 15), user(40, 22), user(20, 9)]);
    let corrected = |labels: Confusion| rogan_gladen_rate(&arm, &labels);
    assert!(corrected(good).is_ok());
    seen.null(corrected(table(0, 3, 0, 9)), NullReason::NoLabelledSuccesses);
    seen.null(corrected(table(3, 0, 9, 0)), NullReason::NoLabelledFailures);
    seen.null(corrected(table(5, 5, 5, 5)), NullReason::JudgeNoBetterThanChance);
    seen.null(
        rogan_gladen_rate(&Arm::new([user(90, 1), user(90, 0)]), &table(400, 300, 0, 100)),
        NullReason::JudgeRateOutsideErrorRates,
    );
    seen.null(none.agreement(), NullReason::NoLabels);
    seen.null(table(9, 0, 0, 0).kappa(), NullReason::NoVariationInLabels);
    seen.null(mcnemar(0, 0), NullReason::NoDiscordantPairs);
}

fn outside_experiments(seen: &mut Seen) {
    let mut sums = GroupSums::default();
    seen.null(grouped_rate(&sums), NullReason::NoEvaluatedSessions);
    (0..4).for_each(|group| sums.add(group, 5.0, 3.0));
    seen.null(grouped_rate(&sums), NullReason::TooFewUsers);
    let alone = CitingUser { user: 1, stratum: 1, citing: user(3, 2), other: user(0, 0) };
    seen.null(Association::of(&[alone]), NullReason::NothingToCompareWith);
}
