//! Properties of every history.

use super::baseline::Baseline;
use super::history::{History, place};
use super::window::Window;
use super::*;
use crate::grouped::{GROUPS, GroupSums};
use crate::testing::close;
use proptest::prelude::*;

/// The day on which rules are armed.
const ARMED: i64 = 30;
const WATCH: Watch = Watch::Armed { from: ARMED * DAY };

/// The same number between 0 and 1 for the same place.
fn chance(seed: u64, place: [i64; 4]) -> f64 {
    let mut state = seed;
    for part in place {
        state = (state ^ part.unsigned_abs()).wrapping_add(0x9E37_79B9_7F4A_7C15);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^= state >> 31;
    }
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

/// Sessions of one hour: each group has up to two, which succeed with the chance that is said of the group.
fn hour(seed: u64, time: i64, rate: impl Fn(usize) -> f64) -> Block {
    let mut sums = GroupSums::default();
    let (day, of_day) = place(time);
    for group in 0..GROUPS {
        let draw = |what: i64| chance(seed, [day, of_day as i64, group as i64, what]);
        let sessions = (3.0 * draw(0)).floor();
        let successes = (0..sessions as i64).filter(|n| draw(n + 1) < rate(group)).count();
        sums.add(group, sessions, successes as f64);
    }
    Block { time, sums }
}

/// Hours of days, with rates by time and group.
fn hours(seed: u64, days: i64, rate: impl Fn(i64, usize) -> f64) -> Vec<Block> {
    let times = (0..days * 24).map(|number| number * HOUR);
    times.map(|time| hour(seed, time, |group| rate(time, group))).collect()
}

fn judged(blocks: &[Block], now: i64, watch: Watch) -> Judgement {
    judge_change(blocks, now, watch, &Settings::SUCCESS).expect("settings are in range")
}

/// Blocks without those that begin at this time or later.
fn before(blocks: &[Block], time: i64) -> Vec<Block> {
    blocks.iter().copied().filter(|block| block.time < time).collect()
}

/// Judges every hour from the day on which the rule was armed; says what is news, with its hour.
fn news(blocks: &[Block], days: i64) -> Vec<(i64, AlertState)> {
    let mut watcher = Watcher::new(Settings::SUCCESS).expect("settings are in range");
    watcher.add(blocks);
    let (mut watch, mut last, mut news) = (WATCH, AlertState::Quiet, Vec::new());
    for now in (ARMED * DAY..days * DAY).step_by(3_600) {
        let judgement = watcher.judge(now, watch);
        watch = judgement.watch;
        if judgement.state != last {
            news.push((now / HOUR, judgement.state));
            last = judgement.state;
        }
    }
    news
}

#[test]
fn an_outage_is_told_once_and_is_over() {
    let outage = 40 * DAY + 9 * HOUR..42 * DAY;
    let blocks = hours(1, 60, |time, _| if outage.contains(&time) { 0.5 } else { 0.8 });
    let news = news(&blocks, 60);
    let states: Vec<AlertState> = news.iter().map(|(_, state)| *state).collect();
    use AlertState::{Quiet, Recovered, StillWorse, Worse};
    assert_eq!(states, [Worse, StillWorse, Recovered, Quiet]);
    let [worse, _, recovered, _] = news.as_slice() else { panic!("{news:?}") };
    assert!((40 * 24 + 9..41 * 24).contains(&worse.0), "{news:?}");
    assert!((42 * 24 + 12..45 * 24).contains(&recovered.0), "{news:?}");
    let judgement = judged(&blocks, worse.0 * HOUR, WATCH);
    assert_eq!(judgement.state, Worse);
    let since = judgement.since.expect("an episode has a beginning");
    assert!((since - outage.start).abs() <= 6 * HOUR, "{since}");
    let change = judgement.change.expect("an episode has a change");
    close(change.before, 0.8, 0.03);
    close(change.now - change.before, change.change, 1e-12);
    assert!(change.interval.upper < -0.03 && change.interval.contains(change.change));
    assert!(judgement.e_value >= judgement.threshold);
    close(judgement.threshold, 2_000.0, 1e-12);
}

#[test]
fn what_stays_becomes_the_new_four_weeks() {
    let blocks = hours(2, 80, |time, _| if time >= 40 * DAY { 0.6 } else { 0.8 });
    let states: Vec<AlertState> = news(&blocks, 80).into_iter().map(|(_, state)| state).collect();
    use AlertState::{Quiet, Settled, StillWorse, Worse};
    assert_eq!(states, [Worse, StillWorse, Settled, Quiet]);
}

#[test]
fn better_is_no_reason_for_an_alert() {
    assert_eq!(news(&hours(3, 60, |time, _| if time >= 40 * DAY { 0.95 } else { 0.8 }), 60), []);
}

#[test]
fn a_rule_collects_until_there_are_two_weeks() {
    let blocks = hours(4, 60, |_, _| 0.8);
    let state = |blocks: &[Block], day: i64| {
        let judgement = judged(blocks, day * DAY + 3 * HOUR, Watch::Armed { from: 0 });
        (judgement.state, judgement.reason)
    };
    let collecting = |reason| (AlertState::Collecting, Some(reason));
    assert_eq!(state(&[], 20), collecting(NullReason::TooLittleHistory));
    assert_eq!(state(&blocks, 13), collecting(NullReason::TooLittleHistory));
    assert_eq!(state(&blocks, 14), (AlertState::Quiet, None));
    let few: Vec<Block> = blocks
        .iter()
        .map(|block| {
            let mut sums = GroupSums::default();
            let groups = block.sums.groups().iter().take(9).enumerate();
            groups.for_each(|(group, one)| sums.add(group, one.sessions, one.successes));
            Block { sums, ..*block }
        })
        .collect();
    assert_eq!(state(&few, 30), collecting(NullReason::TooFewUsers));
    let nothing: Vec<Block> = blocks
        .iter()
        .map(|block| {
            let mut sums = GroupSums::default();
            block
                .sums
                .groups()
                .iter()
                .enumerate()
                .for_each(|(g, one)| sums.add(g, one.sessions, 0.0));
            Block { sums, ..*block }
        })
        .collect();
    let judgement = judge_change(&nothing, 30 * DAY, WATCH, &Settings::EFFORT);
    assert_eq!(judgement.map(|j| j.reason), Ok(Some(NullReason::ZeroBaseline)));
}

#[test]
fn settings_out_of_range_are_refused() {
    let refused = |settings: &Settings| judge_change(&[], 0, WATCH, settings).err();
    for size in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        for smallest in [Smallest::Absolute(size), Smallest::ShareOfMean(size)] {
            let settings = Settings { smallest, ..Settings::SUCCESS };
            assert_eq!(refused(&settings), Some(NullReason::InputOutOfRange));
        }
    }
    for false_alarms in [0.0, 1.0, -1.0, f64::NAN] {
        let settings = Settings { false_alarms, ..Settings::SUCCESS };
        assert_eq!(refused(&settings), Some(NullReason::InputOutOfRange));
    }
}

#[test]
fn whole_hours_count_and_the_last_two_do_not() {
    let settings = Settings::SUCCESS;
    let now = 100 * DAY + 5 * HOUR + 1_234;
    assert_eq!(settings.until(now), 100 * DAY + 3 * HOUR);
    assert_eq!(settings.from(now), 43 * DAY);
    let blocks = hours(5, 45, |time, _| if time >= 44 * DAY { 0.2 } else { 0.8 });
    let now = 44 * DAY + 9 * HOUR;
    let judgement = judged(&blocks, now, WATCH);
    assert_eq!(judgement.state, AlertState::Worse);
    assert_eq!(judged(&before(&blocks, judgement.until), now, WATCH), judgement);
    assert_eq!(judged(&blocks, now + 3_599, WATCH), judgement);
    // Nothing that is older than what has to be given matters.
    let recent = hours(5, 100, |_, _| 0.8);
    let from = settings.from(100 * DAY);
    let needed: Vec<Block> = recent.iter().copied().filter(|block| block.time >= from).collect();
    assert_eq!(judged(&recent, 100 * DAY, WATCH), judged(&needed, 100 * DAY, WATCH));
}

/// All windows and their sum, with nothing kept from one to the other.
fn e_value_by_hand(blocks: &[Block], now: i64) -> f64 {
    let mut history = History::new(Direction::MoreIsBetter);
    blocks.iter().for_each(|block| history.add(block));
    let until = Settings::SUCCESS.until(now);
    let today = (until - 1).div_euclid(DAY);
    let mut total = 0.0;
    for start in (ARMED * DAY..until).step_by(3 * 3_600) {
        let (day, hour) = place(start);
        let is_kept = match hour {
            0 => today - day < 7 || (today - day < 28 && day % 7 == 0),
            _ => until - start <= DAY,
        };
        if !is_kept {
            continue;
        }
        let smallest = Settings::SUCCESS.smallest;
        let baseline = Baseline::before(&history, day, smallest).expect("four weeks");
        let mut window = Window::new();
        for time in (start..until).step_by(3_600) {
            let (day, hour) = place(time);
            window.add(&baseline, day, history.day(day), hour);
        }
        if let Some(difference) = window.difference(&baseline)
            && -difference.cautious >= 0.03
        {
            let weight = if hour == 0 { 0.75 } else { 0.25 / 7.0 };
            total += weight * difference.ln_e_value(&baseline).exp();
        }
    }
    total
}

/// A group's sessions taken out of all hours.
fn without(blocks: &[Block], left_out: usize) -> Vec<Block> {
    let others = |block: &Block| {
        let mut sums = block.sums;
        let own = block.sums.groups()[left_out];
        sums.add(left_out, -own.sessions, -own.successes);
        Block { sums, ..*block }
    };
    blocks.iter().map(others).collect()
}

#[test]
fn groups_are_left_out_as_if_they_had_not_been_there() {
    let blocks = hours(6, 37, |time, group| {
        0.75 + 0.2 * chance(60, [0, 0, 0, group as i64]) - if time >= 33 * DAY { 0.06 } else { 0.0 }
    });
    let of = |blocks: &[Block]| {
        let mut history = History::new(Direction::MoreIsBetter);
        blocks.iter().for_each(|block| history.add(block));
        let smallest = Smallest::Absolute(0.03);
        let baseline = Baseline::before(&history, 33, smallest).expect("four weeks");
        let mut window = Window::new();
        for time in (33 * DAY..37 * DAY).step_by(3_600) {
            let (day, hour) = place(time);
            window.add(&baseline, day, history.day(day), hour);
        }
        window.difference(&baseline).expect("32 groups")
    };
    let all = of(&blocks);
    let left: Vec<f64> = (0..GROUPS).map(|group| of(&without(&blocks, group)).change).collect();
    let largest = left.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    close(all.cautious, largest, 1e-2);
    let mean = left.iter().sum::<f64>() / 32.0;
    let jackknife = 31.0 / 32.0 * left.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
    close(all.standard_error.powi(2), jackknife, 0.35);
    assert!(all.standard_error.powi(2) >= 0.98 * jackknife, "at least what the groups show");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_order_of_blocks_does_not_matter(seed: u64, drop in 0.0..0.5_f64, shift in 1..1_000_usize) {
        let mut blocks = hours(seed, 38, |time, _| if time >= 35 * DAY { 0.8 - drop } else { 0.8 });
        // Weights that are no binary fractions, and two parts of the same hour.
        for block in &mut blocks {
            let mut sums = GroupSums::default();
            let groups = block.sums.groups().iter().enumerate();
            groups.for_each(|(g, one)| sums.add(g, one.sessions / 0.3, one.successes / 0.3));
            block.sums = sums;
        }
        blocks.extend(hours(seed ^ 1, 38, |_, _| 0.8));
        let now = 37 * DAY + 7 * HOUR;
        let expected = judged(&blocks, now, WATCH);
        let count = blocks.len();
        blocks.rotate_left(shift % count);
        prop_assert_eq!(judged(&blocks, now, WATCH), expected);
        blocks.reverse();
        prop_assert_eq!(judged(&blocks, now, WATCH), expected);
    }

    #[test]
    fn hour_by_hour_is_the_same_as_all_at_once(seed: u64, drop in 0.0..0.6_f64, late in 1..400_i64) {
        let rate = |time: i64, _| if time >= 33 * DAY { 0.8 - drop } else { 0.8 };
        let blocks = hours(seed, 37, rate);
        // Some sessions are judged late, some people are erased.
        let late_from = 30 * DAY;
        let corrections = hours(seed ^ 2, 37, |_, _| 0.8);
        let mut watcher = Watcher::new(Settings::SUCCESS).expect("settings are in range");
        watcher.add(&before(&blocks, late_from));
        let mut known = before(&blocks, late_from);
        let mut watch = WATCH;
        for now in (late_from..37 * DAY).step_by(3_600) {
            let arrived: Vec<Block> = blocks.iter().copied()
                .filter(|block| block.time == now - HOUR)
                .chain(corrections.iter().copied().filter(|block| {
                    block.time == now - late * HOUR && block.time % (7 * HOUR) == 0
                }))
                .collect();
            watcher.add(&arrived);
            known.extend(arrived);
            let judgement = watcher.judge(now, watch);
            if now % (5 * HOUR) == 0 {
                prop_assert_eq!(judgement, judged(&known, now, watch));
            }
            watch = judgement.watch;
        }
    }

    #[test]
    fn what_is_erased_was_never_there(seed: u64, group in 0..GROUPS, drop in 0.0..0.6_f64) {
        let blocks = hours(seed, 36, |time, _| if time >= 34 * DAY { 0.8 - drop } else { 0.8 });
        let others = without(&blocks, group);
        let now = 36 * DAY;
        let mut watcher = Watcher::new(Settings::SUCCESS).expect("settings are in range");
        watcher.add(&blocks);
        watcher.judge(now, WATCH);
        for block in &blocks {
            let mut sums = GroupSums::default();
            let own = block.sums.groups()[group];
            sums.add(group, -own.sessions, -own.successes);
            watcher.add(&[Block { sums, ..*block }]);
        }
        prop_assert_eq!(watcher.judge(now, WATCH), judged(&others, now, WATCH));
    }

    #[test]
    fn the_evidence_is_the_sum_over_all_windows(seed: u64, drop in 0.0..0.2_f64, hour in 0..240_i64) {
        let blocks = hours(seed, 46, |time, _| if time >= 32 * DAY { 0.8 - drop } else { 0.8 });
        let now = (ARMED + 5) * DAY + hour * HOUR;
        let judgement = judged(&blocks, now, WATCH);
        let expected = e_value_by_hand(&blocks, now);
        prop_assert!((judgement.e_value - expected).abs() <= 1e-9 * expected, "{expected}");
    }

    #[test]
    fn when_all_get_worse_there_is_more_evidence(seed: u64, drop in 0.0..0.3_f64, more in 0.0..0.3_f64, hour in 3..24_i64) {
        let blocks = hours(seed, 31, |time, _| if time >= 30 * DAY { 0.8 - drop } else { 0.8 });
        let worse: Vec<Block> = blocks
            .iter()
            .map(|block| {
                let by = if block.time >= ARMED * DAY { more } else { 0.0 };
                let mut sums = block.sums;
                let groups = block.sums.groups().iter().enumerate();
                groups.for_each(|(group, one)| sums.add(group, 0.0, -by * one.sessions));
                Block { sums, ..*block }
            })
            .collect();
        let now = ARMED * DAY + hour * HOUR;
        let (one, other) = (judged(&blocks, now, WATCH), judged(&worse, now, WATCH));
        prop_assert!(other.e_value >= one.e_value * (1.0 - 1e-9), "{one:?} {other:?}");
    }

    #[test]
    fn nobody_alone_causes_an_alert(seed: u64, heavy in 0..GROUPS, sessions in 0.0..5_000.0_f64, before in 0.0..=1.0_f64) {
        // All others are as good as before, to the last session.
        let blocks: Vec<Block> = (0..44 * 24)
            .map(|number| {
                let time = number * HOUR;
                let mut sums = GroupSums::default();
                (0..GROUPS).for_each(|group| sums.add(group, 10.0, 8.0));
                let own = (sessions * chance(seed, [number, 0, 0, 0])).floor();
                sums.add(heavy, own, if time < 35 * DAY { own * before } else { 0.0 });
                Block { time, sums }
            })
            .collect();
        for hour in (35 * 24..44 * 24).step_by(5) {
            let state = judged(&blocks, hour * HOUR, WATCH).state;
            prop_assert_eq!(state, AlertState::Quiet);
        }
    }

    #[test]
    fn more_and_less_are_mirrored(seed: u64, drop in 0.0..0.4_f64) {
        let blocks = hours(seed, 40, |time, _| if time >= 38 * DAY { 0.8 - drop } else { 0.8 });
        let failures: Vec<Block> = blocks
            .iter()
            .map(|block| {
                let mut sums = GroupSums::default();
                let groups = block.sums.groups().iter().enumerate();
                groups.for_each(|(g, one)| sums.add(g, one.sessions, one.sessions - one.successes));
                Block { sums, ..*block }
            })
            .collect();
        let settings = Settings { direction: Direction::LessIsBetter, ..Settings::SUCCESS };
        let now = 39 * DAY + 8 * HOUR;
        let one = judged(&blocks, now, WATCH);
        let other = judge_change(&failures, now, WATCH, &settings).expect("settings are in range");
        prop_assert_eq!(one.state, other.state);
        prop_assert!((one.e_value - other.e_value).abs() <= 1e-6 * one.e_value);
        if let (Some(one), Some(other)) = (one.change, other.change) {
            prop_assert!((one.before - (1.0 - other.before)).abs() < 1e-9);
            prop_assert!((one.now - (1.0 - other.now)).abs() < 1e-9);
            prop_assert!((one.interval.lower + other.interval.upper).abs() < 1e-9);
        }
    }

    #[test]
    fn the_unit_of_the_sums_does_not_matter(seed: u64, unit in 0.01..100.0_f64) {
        let blocks = hours(seed, 40, |time, _| if time >= 37 * DAY { 0.7 } else { 0.8 });
        let scaled: Vec<Block> = blocks
            .iter()
            .map(|block| {
                let mut sums = GroupSums::default();
                let groups = block.sums.groups().iter().enumerate();
                groups.for_each(|(g, one)| sums.add(g, unit * one.sessions, unit * one.successes));
                Block { sums, ..*block }
            })
            .collect();
        let now = 39 * DAY;
        let (one, other) = (judged(&blocks, now, WATCH), judged(&scaled, now, WATCH));
        prop_assert_eq!(one.state, other.state);
        prop_assert!((one.e_value - other.e_value).abs() <= 1e-6 * one.e_value);
    }
}
