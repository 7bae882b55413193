//! From sums to what is shown: rates, intervals, tiles, charts. No storage here.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::sql::{Counted, GapLine, Lines, ScoreLine, ShadowLine, TurnLine, VerdictLine, place};
use super::windows::Bucket;
use crate::evaluation::results::sampling::CERTAIN;
use base::clock::rfc3339;
use stats::grouped::{
    GroupSums, GroupedChange, grouped_change, grouped_mean, grouped_mean_change, grouped_rate,
};
use stats::reason::{Defined, NullReason};

/// The bits of the windows in the tags of lines.
pub const TREND: i64 = 1;
pub const CURRENT: i64 = 2;
pub const PREVIOUS: i64 = 4;

/// A 95 % interval that accounts for users, or the reason why there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct RateInterval {
    /// Its ends, in the unit of the number it belongs to.
    pub ci95: Option<[f64; 2]>,
    pub ci95_null_reason: Option<NullReason>,
    /// Few users: read it with care.
    pub few_users: bool,
}

/// A 95 % interval of a change, or the reason why there is none. A change is one only when it excludes 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ChangeInterval {
    /// Its ends, in the unit of the change.
    pub delta_ci95: Option<[f64; 2]>,
    pub delta_ci95_null_reason: Option<NullReason>,
}

impl RateInterval {
    fn of(ends: Defined<([f64; 2], bool)>, scale: f64) -> Self {
        match ends {
            Ok((ends, few_users)) => RateInterval {
                ci95: Some(ends.map(|end| end * scale)),
                ci95_null_reason: None,
                few_users,
            },
            Err(reason) => {
                RateInterval { ci95: None, ci95_null_reason: Some(reason), few_users: false }
            }
        }
    }

    /// Of a rate, times `scale`.
    pub fn of_rate(sums: &GroupSums, scale: f64) -> Self {
        let rate = grouped_rate(sums);
        let ends = |rate: stats::grouped::GroupedRate| {
            ([rate.rate.interval.lower, rate.rate.interval.upper], rate.few_users)
        };
        Self::of(rate.map(ends), scale)
    }

    /// Of a mean, which is not below `least`.
    fn of_mean(sums: &GroupSums, least: f64, scale: f64) -> Self {
        let ends = grouped_mean(sums)
            .map(|mean| ([mean.interval.lower.max(least), mean.interval.upper], mean.few_users));
        Self::of(ends, scale)
    }
}

impl ChangeInterval {
    fn of(change: Defined<GroupedChange>, scale: f64) -> Self {
        match change {
            Ok(GroupedChange { interval, .. }) => ChangeInterval {
                delta_ci95: Some([interval.lower * scale, interval.upper * scale]),
                delta_ci95_null_reason: None,
            },
            Err(reason) => {
                ChangeInterval { delta_ci95: None, delta_ci95_null_reason: Some(reason) }
            }
        }
    }
}

/// One bar of the charts.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HeroBucket {
    /// The start of the day or week, UTC.
    pub ts: i64,
    /// 0 to 1; null without verdicts, and where rules alone judged.
    pub regular_rate: Option<f64>,
    /// The share of sessions that prefers the shadow responses, ties by half; null without comparisons.
    pub shadow_rate: Option<f64>,
    /// Judged sessions.
    pub regular_n: i64,
    /// Sessions with a comparison.
    pub shadow_n: i64,
    pub avg_corrections: Option<f64>,
    pub escalation_rate: Option<f64>,
    /// Interval of `regular_rate`.
    #[serde(flatten)]
    pub interval: RateInterval,
    /// Of the sessions that were due, the share with a verdict; null if none was due.
    pub judged_share: Option<f64>,
}

/// A rate of the current window, 0 to 1, and its change in points; null where there is nothing to say.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RateTile {
    pub current: Option<f64>,
    pub delta_pp: Option<f64>,
    #[serde(flatten)]
    pub interval: RateInterval,
    /// In points.
    #[serde(flatten)]
    pub change: ChangeInterval,
    /// Of the sessions of the current window that were due, the share with a verdict.
    pub judged_share: Option<f64>,
}

/// Success when failures of type system_error are left out.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct BehaviorTile {
    pub current: Option<f64>,
    pub delta_pp: Option<f64>,
    pub eligible_sessions: i64,
    pub excluded_system_errors: i64,
    #[serde(flatten)]
    pub interval: RateInterval,
    /// In points.
    #[serde(flatten)]
    pub change: ChangeInterval,
    /// Of the sessions of the current window that were due, the share with a verdict.
    pub judged_share: Option<f64>,
}

/// A mean of the current window and its change; null where there is nothing to say.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MeanTile {
    pub current: Option<f64>,
    pub delta: Option<f64>,
    #[serde(flatten)]
    pub interval: RateInterval,
    #[serde(flatten)]
    pub change: ChangeInterval,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ContextTile {
    pub success: RateTile,
    pub behavior_success: BehaviorTile,
    pub corrections: MeanTile,
    /// The user's turns, of successes.
    pub turns: MeanTile,
    pub escalation: RateTile,
}

/// Histogram of corrections per session.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ScoreDistribution {
    pub current_bins: [i64; 6],
    pub baseline_bins: [i64; 6],
    pub labels: [&'static str; 6],
}

/// The mean of one scorer's imported scores.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct PartnerTileRow {
    pub scorer_name: String,
    pub current: f64,
    pub n: i64,
    /// null without scores in the window before.
    pub delta: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ShadowWinRateTrendPoint {
    /// `2026-01-15`, UTC.
    pub date: String,
    pub n: i64,
    pub wins: i64,
    pub losses: i64,
    pub ties: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ShadowWinRateTrendWindowTotal {
    pub n: i64,
    pub wins: i64,
    pub losses: i64,
    pub ties: i64,
    /// wins / n; 0 without verdicts.
    pub win_rate: f64,
    /// (wins − losses) / n; 0 without verdicts.
    pub net_win: f64,
    /// The share of pairs judged in both orders whose answer depended on the order; null without such pairs.
    pub flip_rate: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ShadowWinRateTrend {
    /// Days with a verdict, oldest first.
    pub daily: Vec<ShadowWinRateTrendPoint>,
    pub window_total: ShadowWinRateTrendWindowTotal,
    pub judge_prompt_version: String,
}

/// All sums that an overview is made of.
pub struct OverviewSums {
    pub bucket: Bucket,
    pub counted: Arc<Counted>,
    pub scores: Vec<ScoreLine>,
}

impl OverviewSums {
    /// The sources with a verdict in the trend window, in order.
    pub fn sources(&self) -> Vec<String> {
        let mut verdicts: BTreeMap<&str, i64> = BTreeMap::new();
        for (share, line) in self.counted.verdicts.of_window(TREND) {
            *verdicts.entry(&line.source).or_default() += share * line.n;
        }
        verdicts.into_iter().filter(|(_, n)| *n > 0).map(|(name, _)| name.to_owned()).collect()
    }
}

/// Verdicts as they were counted, and as many sessions as they stand for: each counts by the inverse of the chance that
/// its session had to be judged (Hájek). With one chance for all both give the same rates.
#[derive(Clone, Debug, Default)]
pub struct VerdictSums {
    /// Without sums by group.
    pub counted: VerdictLine,
    /// In units of [`WEIGHT`].
    weighted: VerdictLine,
}

/// Weight of a session that was certain to be judged.
pub const WEIGHT: i64 = CERTAIN;

/// The number of sessions that one with this chance stands for, in units of [`WEIGHT`].
pub fn weight(chance: i64) -> i64 {
    WEIGHT * CERTAIN / chance.max(1)
}

impl VerdictSums {
    fn add(&mut self, share: i64, line: &VerdictLine) {
        self.counted.add_sums(share, line);
        self.weighted.add(share * weight(line.chance), line);
    }

    /// Sessions with a verdict.
    pub fn n(&self) -> i64 {
        self.counted.n
    }

    /// True if every verdict is one of the rules on their own: they see failures, and hardly a success.
    pub fn is_by_rules(&self) -> bool {
        self.counted.n > 0 && self.counted.by_rules == self.counted.n
    }

    /// Nothing where rules alone judged.
    pub fn success_rate(&self) -> Option<f64> {
        self.ratio(|sum| (sum.successes, sum.n)).filter(|_| !self.is_by_rules())
    }

    /// Interval of the success rate, times `scale`; none where there is no rate.
    pub fn interval(&self, scale: f64) -> RateInterval {
        if self.is_by_rules() {
            return RateInterval::of(Err(NullReason::OnlyRulesJudged), scale);
        }
        let groups = self.groups(|group| (group[place::N], group[place::SUCCESSES]));
        RateInterval::of_rate(&groups, scale)
    }

    pub fn failures(&self) -> i64 {
        self.counted.n - self.counted.successes
    }

    /// Of the sessions that were due, the share with a verdict, beside these without one, which are weighted too.
    fn share_of(&self, gaps: i64) -> Option<f64> {
        ratio(self.weighted.n, self.weighted.n + gaps)
    }

    /// One sum over another, both weighted.
    fn ratio(&self, parts: impl Fn(&VerdictLine) -> (i64, i64)) -> Option<f64> {
        let (part, whole) = parts(&self.weighted);
        ratio(part, whole)
    }

    /// Sums by group of users, scaled so that they add up to the sessions that were counted.
    #[allow(clippy::cast_precision_loss)] // counts of sessions fit exactly
    fn groups(&self, of_group: impl Fn(&[i64; 7]) -> (i64, i64)) -> GroupSums {
        let mean_weight = self.weighted.n as f64 / (self.counted.n as f64).max(1.0);
        self.weighted.groups.sums(mean_weight.max(1.0), of_group)
    }
}

impl VerdictLine {
    fn eligible(&self) -> i64 {
        self.n - self.system_errors
    }

    fn bins(&self) -> [i64; 6] {
        [
            self.corrected_0,
            self.corrected_1,
            self.corrected_2,
            self.corrected_3,
            self.corrected_4,
            self.corrected_5,
        ]
    }
}

/// The whole, or some sources of it.
pub struct Part<'a> {
    pub material: &'a OverviewSums,
    sources: Option<&'a [String]>,
    /// Sums of the whole time that was asked for.
    pub trend: VerdictSums,
    current: VerdictSums,
    previous: VerdictSums,
}

impl<'a> Part<'a> {
    pub fn whole(material: &'a OverviewSums) -> Self {
        Part::new(material, None)
    }

    pub fn of(material: &'a OverviewSums, sources: &'a [String]) -> Self {
        Part::new(material, Some(sources))
    }

    fn new(material: &'a OverviewSums, sources: Option<&'a [String]>) -> Self {
        let mut part = Part {
            material,
            sources,
            trend: VerdictSums::default(),
            current: VerdictSums::default(),
            previous: VerdictSums::default(),
        };
        let totals = |window| {
            let mut totals = VerdictSums::default();
            part.verdicts(window).for_each(|(share, line)| totals.add(share, line));
            totals
        };
        [part.trend, part.current, part.previous] = [TREND, CURRENT, PREVIOUS].map(totals);
        part
    }

    fn has(&self, source: &str) -> bool {
        self.sources.is_none_or(|sources| sources.iter().any(|one| one == source))
    }

    /// The verdict lines of a window with their sign, see [`share`](super::windows::share).
    fn verdicts(&self, window: i64) -> impl Iterator<Item = (i64, &VerdictLine)> {
        let lines = self.material.counted.verdicts.of_window(window);
        lines.filter(|(_, line)| self.has(&line.source))
    }

    /// Lines of sessions without a verdict, as [`Part::verdicts`].
    fn gaps(&self, window: i64) -> impl Iterator<Item = (i64, &GapLine)> {
        let lines = self.material.counted.gaps.of_window(window);
        lines.filter(|(_, line)| self.has(&line.source))
    }

    /// Sessions of the trend window that were due and have no verdict.
    pub fn without_verdict(&self) -> i64 {
        self.gaps(TREND).map(|(share, line)| share * line.n).sum()
    }

    /// Of the sessions of the trend window that were due, the share with a verdict; nothing if none was due.
    pub fn judged_share(&self) -> Option<f64> {
        self.trend.share_of(self.weighted_gaps(TREND))
    }

    /// Sessions of a window that were due and have no verdict, weighted.
    fn weighted_gaps(&self, window: i64) -> i64 {
        self.gaps(window).map(|(share, line)| share * weight(line.chance) * line.n).sum()
    }

    fn shadows(&self) -> impl Iterator<Item = (i64, &ShadowLine)> {
        let lines = self.material.counted.shadows.of_window(TREND);
        lines.filter(|(_, line)| self.has(&line.source))
    }

    /// Preferences of the sessions with shadow comparisons.
    pub fn preferences(&self) -> ShadowLine {
        let mut all = ShadowLine::default();
        self.shadows().for_each(|(share, line)| all.add(share, line));
        all
    }

    pub fn buckets(&self) -> Vec<HeroBucket> {
        let mut sums: BTreeMap<i64, (VerdictSums, ShadowLine, i64)> = BTreeMap::new();
        let bucket = self.material.bucket;
        for (share, line) in self.verdicts(TREND) {
            sums.entry(bucket.start(line.start)).or_default().0.add(share, line);
        }
        for (share, line) in self.shadows() {
            sums.entry(bucket.start(line.start)).or_default().1.add(share, line);
        }
        for (share, line) in self.gaps(TREND) {
            let gaps = &mut sums.entry(bucket.start(line.start)).or_default().2;
            *gaps += share * weight(line.chance) * line.n;
        }
        let bucket =
            |(ts, (sum, shadow, gaps)): (i64, (VerdictSums, ShadowLine, i64))| HeroBucket {
                judged_share: sum.share_of(gaps),
                ts,
                regular_rate: sum.success_rate(),
                shadow_rate: shadow.shares().map(|(_, share)| share),
                regular_n: sum.n(),
                shadow_n: shadow.n,
                avg_corrections: sum.ratio(|sum| (sum.corrections, sum.n)),
                escalation_rate: sum.ratio(|sum| (sum.escalations, sum.n)),
                interval: sum.interval(1.0),
            };
        sums.into_iter().map(bucket).filter(|one| one.regular_n > 0 || one.shadow_n > 0).collect()
    }

    pub fn tiles(&self) -> ContextTile {
        let (now, before) = (&self.current, &self.previous);
        let judged_share = now.share_of(self.weighted_gaps(CURRENT));
        let change = |value: fn(&VerdictSums) -> Option<f64>| {
            let current = value(now);
            (current, current.zip(value(before)).map(|(now, before)| now - before))
        };
        let groups =
            |counts: fn(&[i64; 7]) -> (i64, i64)| [now.groups(counts), before.groups(counts)];
        let rate = |value: fn(&VerdictSums) -> Option<f64>, counts: fn(&[i64; 7]) -> (i64, i64)| {
            let ((current, delta), [now, before]) = (change(value), groups(counts));
            let (interval, change) = (
                RateInterval::of_rate(&now, 1.0),
                ChangeInterval::of(grouped_change(&now, &before), 100.0),
            );
            // Rules alone have no rate, and so no interval.
            let by_rules = NullReason::OnlyRulesJudged;
            RateTile {
                current,
                delta_pp: delta.map(points),
                interval: match current {
                    None if interval.ci95.is_some() => RateInterval::of(Err(by_rules), 1.0),
                    _ => interval,
                },
                change: match delta {
                    None if change.delta_ci95.is_some() => ChangeInterval::of(Err(by_rules), 1.0),
                    _ => change,
                },
                judged_share,
            }
        };
        let mean = |value: fn(&VerdictSums) -> Option<f64>, counts: fn(&[i64; 7]) -> (i64, i64)| {
            let ((current, delta), [now, before]) = (change(value), groups(counts));
            MeanTile {
                current,
                delta,
                interval: RateInterval::of_mean(&now, 0.0, 1.0),
                change: ChangeInterval::of(grouped_mean_change(&now, &before), 1.0),
            }
        };
        let behavior = rate(
            |sum| {
                let rate = sum.ratio(|sum| (sum.successes, sum.eligible()));
                rate.filter(|_| !sum.is_by_rules())
            },
            |group| (group[place::N] - group[place::SYSTEM_ERRORS], group[place::SUCCESSES]),
        );
        ContextTile {
            success: rate(VerdictSums::success_rate, |group| {
                (group[place::N], group[place::SUCCESSES])
            }),
            behavior_success: BehaviorTile {
                current: behavior.current,
                delta_pp: behavior.delta_pp,
                eligible_sessions: now.counted.eligible(),
                excluded_system_errors: now.counted.system_errors,
                interval: behavior.interval,
                change: behavior.change,
                judged_share,
            },
            corrections: mean(
                |sum| sum.ratio(|sum| (sum.corrections, sum.n)),
                |group| (group[place::N], group[place::CORRECTIONS]),
            ),
            turns: mean(
                |sum| sum.ratio(|sum| (sum.turns, sum.turns_n)),
                |group| (group[place::TURNS_N], group[place::TURNS]),
            ),
            escalation: rate(
                |sum| sum.ratio(|sum| (sum.escalations, sum.n)),
                |group| (group[place::N], group[place::ESCALATIONS]),
            ),
        }
    }

    pub fn distribution(&self) -> ScoreDistribution {
        ScoreDistribution {
            current_bins: self.current.counted.bins(),
            baseline_bins: self.previous.counted.bins(),
            labels: ["0", "1", "2", "3", "4", "5+"],
        }
    }

    pub fn partner_tiles(&self) -> Vec<PartnerTileRow> {
        let mut sums: BTreeMap<(i64, &str), (i64, f64)> = BTreeMap::new();
        for line in self.material.scores.iter().filter(|line| self.has(&line.source)) {
            let sum = sums.entry((line.tag, &line.scorer_name)).or_default();
            *sum = (sum.0 + line.n, sum.1 + line.total);
        }
        #[allow(clippy::cast_precision_loss)] // a number of scores
        let mean = |(n, total): (i64, f64)| total / n as f64;
        let current = sums.range((CURRENT, "")..(PREVIOUS, ""));
        current
            .map(|((_, scorer), now)| PartnerTileRow {
                scorer_name: (*scorer).to_owned(),
                current: mean(*now),
                n: now.0,
                delta: sums.get(&(PREVIOUS, *scorer)).map(|before| mean(*now) - mean(*before)),
            })
            .collect()
    }
}

impl ShadowLine {
    /// Interval of the difference of the shares, in points.
    pub fn interval(&self) -> ChangeInterval {
        let sums = self.groups.sums(1.0, |[n, regular, shadow, ..]| (*n, regular - shadow));
        let RateInterval { ci95, ci95_null_reason, .. } = RateInterval::of_mean(&sums, -1.0, 100.0);
        ChangeInterval { delta_ci95: ci95, delta_ci95_null_reason: ci95_null_reason }
    }

    /// The shares that prefer the regular and the shadow responses, ties by half.
    pub fn shares(&self) -> Option<(f64, f64)> {
        let ties = self.n - self.regular_better - self.shadow_better;
        let share = |better: i64| ratio(2 * better + ties, 2 * self.n);
        share(self.regular_better).zip(share(self.shadow_better))
    }
}

pub fn win_rate_trend(turns: &Lines<TurnLine>, version: &str) -> ShadowWinRateTrend {
    let (mut total, mut days) = (TurnLine::default(), BTreeMap::<i64, TurnLine>::new());
    for (share, line) in turns.of_window(TREND) {
        total.add(share, line);
        days.entry(Bucket::Day.start(line.start)).or_default().add(share, line);
    }
    let daily = days.into_iter().filter(|(_, sum)| sum.n > 0);
    let daily = daily.map(|(ts, sum)| ShadowWinRateTrendPoint {
        date: rfc3339(ts).chars().take(10).collect(),
        n: sum.n,
        wins: sum.wins,
        losses: sum.losses,
        ties: sum.n - sum.wins - sum.losses,
    });
    ShadowWinRateTrend {
        daily: daily.collect(),
        window_total: ShadowWinRateTrendWindowTotal {
            n: total.n,
            wins: total.wins,
            losses: total.losses,
            ties: total.n - total.wins - total.losses,
            win_rate: ratio(total.wins, total.n).unwrap_or(0.0),
            net_win: ratio(total.wins - total.losses, total.n).unwrap_or(0.0),
            flip_rate: ratio(total.flips, total.both_orders),
        },
        judge_prompt_version: version.to_owned(),
    }
}

#[allow(clippy::cast_precision_loss)] // counts of sessions fit exactly
fn ratio(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A fraction in percentage points.
pub fn points(fraction: f64) -> f64 {
    fraction * 100.0
}
