//! From sums to what is shown: rates, intervals, tiles, charts. No storage here.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use utoipa::ToSchema;

use super::sql::{ScoreLine, ShadowLine, SumLine, TrendLine};
use crate::clock::rfc3339;
use crate::stats::wilson::wilson;

/// The tags of the windows.
pub const TREND: i64 = 0;
pub const CURRENT: i64 = 1;
pub const PREVIOUS: i64 = 2;

/// The 97.5th percentile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// One bar of the charts.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HeroBucket {
    /// The start of the day or week, UTC.
    pub ts: i64,
    /// 0 to 1; null without verdicts.
    pub regular_rate: Option<f64>,
    /// The share of sessions that prefers the shadow responses, ties by half; null without comparisons.
    pub shadow_rate: Option<f64>,
    /// Verdicts.
    pub regular_n: i64,
    /// Sessions with a comparison.
    pub shadow_n: i64,
    pub avg_corrections: Option<f64>,
    pub escalation_rate: Option<f64>,
    /// Wilson's interval of `regular_rate`.
    pub ci95: Option<[f64; 2]>,
}

/// A rate of the current window, 0 to 1, and its change in points; null where there is nothing to say.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RateTile {
    pub current: Option<f64>,
    pub delta_pp: Option<f64>,
}

/// Success when failures of type system_error are left out.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct BehaviorTile {
    pub current: Option<f64>,
    pub delta_pp: Option<f64>,
    pub eligible_sessions: i64,
    pub excluded_system_errors: i64,
}

/// A mean of the current window and its change; null where there is nothing to say.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MeanTile {
    pub current: Option<f64>,
    pub delta: Option<f64>,
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

/// How many sessions took how many corrections.
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
#[derive(Default)]
pub struct Material {
    pub sums: Vec<SumLine>,
    pub shadows: Vec<ShadowLine>,
    pub turns: Vec<TrendLine>,
    pub scores: Vec<ScoreLine>,
}

impl Material {
    /// The sources with a verdict in the trend window, in order.
    pub fn sources(&self) -> Vec<String> {
        let lines = self.sums.iter().filter(|line| line.tag == TREND);
        let sources: BTreeSet<&str> = lines.map(|line| line.source.as_str()).collect();
        sources.into_iter().map(str::to_owned).collect()
    }
}

impl SumLine {
    fn add(&mut self, other: &SumLine) {
        self.n += other.n;
        self.sessions += other.sessions;
        self.successes += other.successes;
        self.system_errors += other.system_errors;
        self.corrections += other.corrections;
        self.corrected_0 += other.corrected_0;
        self.corrected_1 += other.corrected_1;
        self.corrected_2 += other.corrected_2;
        self.corrected_3 += other.corrected_3;
        self.corrected_4 += other.corrected_4;
        self.corrected_5 += other.corrected_5;
        self.turns_n += other.turns_n;
        self.turns += other.turns;
        self.escalations += other.escalations;
    }

    pub fn success_rate(&self) -> Option<f64> {
        ratio(self.successes, self.n)
    }

    pub fn interval(&self) -> Option<[f64; 2]> {
        (self.n > 0).then(|| interval(self.successes, self.n))
    }

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
    material: &'a Material,
    sources: Option<&'a [String]>,
}

impl<'a> Part<'a> {
    pub fn whole(material: &'a Material) -> Self {
        Part { material, sources: None }
    }

    pub fn of(material: &'a Material, sources: &'a [String]) -> Self {
        Part { material, sources: Some(sources) }
    }

    fn has(&self, source: &str) -> bool {
        self.sources.is_none_or(|sources| sources.iter().any(|one| one == source))
    }

    fn sums(&self, tag: i64) -> impl Iterator<Item = &SumLine> {
        self.material.sums.iter().filter(move |line| line.tag == tag && self.has(&line.source))
    }

    fn shadows(&self) -> impl Iterator<Item = &ShadowLine> {
        self.material.shadows.iter().filter(|line| self.has(&line.source))
    }

    pub fn totals(&self, tag: i64) -> SumLine {
        let mut totals = SumLine::default();
        self.sums(tag).for_each(|line| totals.add(line));
        totals
    }

    /// The shares that prefer the regular and the shadow responses, ties by half.
    pub fn shadow_shares(&self) -> Option<(f64, f64)> {
        let mut all = ShadowLine::default();
        self.shadows().for_each(|line| all.add(line));
        all.shares()
    }

    pub fn buckets(&self) -> Vec<HeroBucket> {
        let mut sums: BTreeMap<i64, (SumLine, ShadowLine)> = BTreeMap::new();
        self.sums(TREND).for_each(|line| sums.entry(line.ts).or_default().0.add(line));
        self.shadows().for_each(|line| sums.entry(line.ts).or_default().1.add(line));
        let bucket = |(ts, (sum, shadow)): (i64, (SumLine, ShadowLine))| HeroBucket {
            ts,
            regular_rate: sum.success_rate(),
            shadow_rate: shadow.shares().map(|(_, share)| share),
            regular_n: sum.n,
            shadow_n: shadow.n,
            avg_corrections: ratio(sum.corrections, sum.n),
            escalation_rate: ratio(sum.escalations, sum.n),
            ci95: sum.interval(),
        };
        sums.into_iter().map(bucket).collect()
    }

    pub fn tiles(&self) -> ContextTile {
        let (now, before) = (self.totals(CURRENT), self.totals(PREVIOUS));
        let change = |value: fn(&SumLine) -> Option<f64>| {
            let current = value(&now);
            (current, current.zip(value(&before)).map(|(now, before)| now - before))
        };
        let rate = |value: fn(&SumLine) -> Option<f64>| {
            let (current, delta) = change(value);
            RateTile { current, delta_pp: delta.map(points) }
        };
        let mean = |value: fn(&SumLine) -> Option<f64>| {
            let (current, delta) = change(value);
            MeanTile { current, delta }
        };
        let behavior = rate(|sum| ratio(sum.successes, sum.eligible()));
        ContextTile {
            success: rate(SumLine::success_rate),
            behavior_success: BehaviorTile {
                current: behavior.current,
                delta_pp: behavior.delta_pp,
                eligible_sessions: now.eligible(),
                excluded_system_errors: now.system_errors,
            },
            corrections: mean(|sum| ratio(sum.corrections, sum.n)),
            turns: mean(|sum| ratio(sum.turns, sum.turns_n)),
            escalation: rate(|sum| ratio(sum.escalations, sum.n)),
        }
    }

    pub fn distribution(&self) -> ScoreDistribution {
        ScoreDistribution {
            current_bins: self.totals(CURRENT).bins(),
            baseline_bins: self.totals(PREVIOUS).bins(),
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
    fn add(&mut self, other: &ShadowLine) {
        self.n += other.n;
        self.regular_better += other.regular_better;
        self.shadow_better += other.shadow_better;
    }

    fn shares(&self) -> Option<(f64, f64)> {
        let ties = self.n - self.regular_better - self.shadow_better;
        let share = |better: i64| ratio(2 * better + ties, 2 * self.n);
        share(self.regular_better).zip(share(self.shadow_better))
    }
}

pub fn win_rate_trend(lines: &[TrendLine], version: &str) -> ShadowWinRateTrend {
    let mut total = TrendLine::default();
    for line in lines {
        total.n += line.n;
        total.wins += line.wins;
        total.losses += line.losses;
        total.both_orders += line.both_orders;
        total.flips += line.flips;
    }
    let daily = lines.iter().map(|line| ShadowWinRateTrendPoint {
        date: rfc3339(line.ts).chars().take(10).collect(),
        n: line.n,
        wins: line.wins,
        losses: line.losses,
        ties: line.n - line.wins - line.losses,
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

/// Wilson's 95 % interval of `successes` of `n`, 0 to 1.
#[allow(clippy::cast_precision_loss)] // counts of sessions fit exactly
pub fn interval(successes: i64, n: i64) -> [f64; 2] {
    let interval = wilson(ratio(successes, n).unwrap_or(0.0), n as f64, Z);
    [interval.lower, interval.upper]
}
