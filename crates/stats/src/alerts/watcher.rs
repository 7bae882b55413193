//! One rule over time: all windows that a drop may have begun with, and the episodes that come of them.

use super::baseline::{BASELINE_DAYS, Baseline};
use super::history::{Block, DAY, HOUR, HOURS, History, in_order, place};
use super::window::{Difference, Window};
use super::{AlertState, Change, Judgement, Settings, Watch};
use crate::ALPHA;
use crate::interval::Interval;
use crate::reason::{Defined, NullReason};
use std::collections::BTreeMap;

/// Windows begin at midnight and every so many hours.
const EVERY: usize = 3;
/// Share of a day's error budget that its midnight window has; the others have the rest in equal parts.
const WEIGHT_OF_MIDNIGHT: f64 = 0.75;
/// Days after which only the windows that began on one weekday are kept.
const KEPT_DAYS: i64 = 7;
/// Recovery is looked for in the last 1 to so many days.
const RECOVERY_DAYS: i64 = 14;
/// Standard errors by which these days have to tell a recovery from the drop.
const RECOVERY_ERRORS: f64 = 4.0;

/// The sums of one rule, with what was already computed from them.
///
/// Sums may be added at any time, also to hours long past (a late verdict) or with negative numbers (an erasure):
/// what was computed from them is then computed anew, so that a judgement depends on the sums alone.
#[derive(Clone, Debug)]
pub struct Watcher {
    settings: Settings,
    history: History,
    baselines: BTreeMap<i64, Defined<Baseline>>,
    watched: Option<Watched>,
}

/// The windows of a day, with all hours before `until`.
#[derive(Clone, Debug)]
struct Watched {
    armed_from: i64,
    day: i64,
    until: usize,
    windows: Vec<Started>,
}

#[derive(Clone, Debug)]
struct Started {
    at: i64,
    weight: f64,
    window: Window,
}

impl Started {
    fn day(&self) -> i64 {
        place(self.at).0
    }

    fn is_at_midnight(&self) -> bool {
        place(self.at).1 == 0
    }
}

/// The windows taken together.
struct Evidence {
    e_value: f64,
    /// Start of the window with the most evidence, and what it says.
    best: Option<(i64, Difference)>,
}

impl Watcher {
    /// Nothing yet. Null if the smallest change or the chance of a false alarm is out of range.
    pub fn new(settings: Settings) -> Defined<Self> {
        let chance = settings.false_alarms;
        let is_share = chance > 0.0 && chance < 1.0;
        if !is_share || !settings.smallest.is_valid() {
            return Err(NullReason::InputOutOfRange);
        }
        let history = History::new(settings.direction);
        Ok(Self { settings, history, baselines: BTreeMap::new(), watched: None })
    }

    /// Adds sums; those of one call give the same result in any order, to the last digit.
    pub fn add(&mut self, blocks: &[Block]) {
        let mut ordered: Vec<&Block> = blocks.iter().collect();
        ordered.sort_by(|one, other| in_order(one, other));
        if let Some(first) = ordered.first() {
            let (day, hour) = place(first.time);
            let _ = self.baselines.split_off(&(day + 1));
            self.watched.take_if(|watched| (day, hour) < (watched.day, watched.until));
        }
        ordered.into_iter().for_each(|block| self.history.add(block));
    }

    /// The judgement of this hour: see [`judge_change`](super::judge_change).
    pub fn judge(&mut self, now: i64, watch: Watch) -> Judgement {
        let until = self.settings.until(now);
        match watch {
            Watch::Armed { from } => self.judge_armed(until, from),
            Watch::Worse { since, noticed } => self.judge_episode(until, since, noticed),
        }
    }

    fn judge_armed(&mut self, until: i64, from: i64) -> Judgement {
        let watch = Watch::Armed { from };
        let (day, _) = place(until - 1);
        if let Some(reason) = self.baseline(day).as_ref().err().copied() {
            let collecting = self.judged(AlertState::Collecting, until, watch);
            return Judgement { reason: Some(reason), ..collecting };
        }
        let Evidence { e_value, best } = self.evidence(until, from);
        match best {
            Some((since, difference)) if e_value >= self.settings.threshold() => {
                let watch = Watch::Worse { since, noticed: until };
                Judgement {
                    e_value,
                    since: Some(since),
                    change: self.change(since, &difference),
                    ..self.judged(AlertState::Worse, until, watch)
                }
            }
            _ => Judgement { e_value, ..self.judged(AlertState::Quiet, until, watch) },
        }
    }

    fn judge_episode(&mut self, until: i64, since: i64, noticed: i64) -> Judgement {
        let (from_day, _) = place(since);
        let difference = self.between(from_day, since, until);
        let state = if self.is_over(until, since, noticed) {
            AlertState::Recovered
        } else if until >= since + BASELINE_DAYS * DAY {
            AlertState::Settled
        } else {
            AlertState::StillWorse
        };
        let watch = match state {
            AlertState::StillWorse => Watch::Worse { since, noticed },
            _ => Watch::Armed { from: until },
        };
        Judgement {
            since: Some(since),
            change: difference.and_then(|difference| self.change(since, &difference)),
            ..self.judged(state, until, watch)
        }
    }

    /// True if the last days are at most half the smallest change below what the four weeks before the episode let
    /// expect: so many whole days, but at most [`RECOVERY_DAYS`], that the drop of the episode would be told from
    /// that by [`RECOVERY_ERRORS`] standard errors.
    fn is_over(&mut self, until: i64, since: i64, noticed: i64) -> bool {
        let (day, _) = place(since);
        let Some(drop) = self.between(day, since, noticed).map(|difference| -difference.change)
        else {
            return false;
        };
        let half = self.baseline(day).as_ref().map_or(0.0, |baseline| baseline.smallest / 2.0);
        let longest = ((until - since) / DAY).min(RECOVERY_DAYS);
        let mut last =
            (1..=longest).filter_map(|days| self.between(day, until - days * DAY, until));
        let telling = last.find(|last| RECOVERY_ERRORS * last.standard_error < drop - half);
        telling.is_some_and(|last| -last.change <= half)
    }

    /// Hours from one time until before another, compared with the four weeks before `day`.
    fn between(&mut self, day: i64, from: i64, until: i64) -> Option<Difference> {
        let Self { history, baselines, settings, .. } = self;
        let baseline = of_day(baselines, history, settings, day).as_ref().ok()?;
        filled(history, baseline, from, until).difference(baseline)
    }

    fn evidence(&mut self, until: i64, armed_from: i64) -> Evidence {
        let (day, last_hour) = place(until - 1);
        let current = self.watched.take().filter(|watched| {
            (watched.day, watched.armed_from) == (day, armed_from) && watched.until <= last_hour + 1
        });
        let mut watched = current.unwrap_or_else(|| self.begin(day, armed_from));
        for hour in watched.until..=last_hour {
            let of_day = self.history.day(day);
            for started in
                watched.windows.iter_mut().filter(|s| s.at <= day * DAY + hour as i64 * HOUR)
            {
                if let Some(Ok(baseline)) = self.baselines.get(&started.day()) {
                    started.window.add(baseline, day, of_day, hour);
                }
            }
        }
        watched.until = last_hour + 1;
        let evidence = self.sum(&watched, until);
        self.watched = Some(watched);
        evidence
    }

    /// The windows of a day as they are when it begins.
    fn begin(&mut self, day: i64, armed_from: i64) -> Watched {
        self.baselines = self.baselines.split_off(&(day - BASELINE_DAYS));
        let mut windows = Vec::new();
        for first in day - BASELINE_DAYS + 1..=day {
            let is_kept = day - first < KEPT_DAYS || first.rem_euclid(7) == 0;
            if !is_kept || (first + 1) * DAY <= armed_from {
                continue;
            }
            let Self { history, baselines, settings, .. } = self;
            let Ok(baseline) = of_day(baselines, history, settings, first) else { continue };
            // Windows that begin during a day are kept for one day.
            let begun = if day - first <= 1 { HOURS } else { 1 };
            for hour in (0..begun).step_by(EVERY) {
                let at = first * DAY + hour as i64 * HOUR;
                let weight = match hour {
                    0 => WEIGHT_OF_MIDNIGHT,
                    _ => (1.0 - WEIGHT_OF_MIDNIGHT) / (HOURS / EVERY - 1) as f64,
                };
                if at >= armed_from {
                    let window = filled(history, baseline, at, day * DAY);
                    windows.push(Started { at, weight, window });
                }
            }
        }
        Watched { armed_from, day, until: 0, windows }
    }

    /// `M = Σ w·E` over the windows with a relevant drop.
    fn sum(&self, watched: &Watched, until: i64) -> Evidence {
        let mut evidence = Evidence { e_value: 0.0, best: None };
        let mut most = 0.0;
        for started in &watched.windows {
            let Some(Ok(baseline)) = self.baselines.get(&started.day()) else { continue };
            let is_kept = started.is_at_midnight() || until - started.at <= DAY;
            // The quick look first: most windows have no drop.
            if !is_kept || -started.window.change() < baseline.smallest {
                continue;
            }
            let difference = started.window.difference(baseline);
            let Some(difference) = difference.filter(|d| d.is_relevant(baseline)) else { continue };
            let e_value = (difference.ln_e_value(baseline).exp() * started.weight).min(f64::MAX);
            evidence.e_value = (evidence.e_value + e_value).min(f64::MAX);
            if e_value > most {
                most = e_value;
                evidence.best = Some((started.at, difference));
            }
        }
        evidence
    }

    fn baseline(&mut self, day: i64) -> &Defined<Baseline> {
        of_day(&mut self.baselines, &self.history, &self.settings, day)
    }

    /// A difference in the unit and direction of the metric.
    fn change(&mut self, since: i64, difference: &Difference) -> Option<Change> {
        let sign = self.settings.direction.sign();
        let baseline = self.baseline(place(since).0).as_ref().ok()?;
        let change = sign * difference.change;
        Some(Change {
            before: sign * difference.expected,
            now: sign * (difference.expected + difference.change),
            change,
            interval: Interval::around(change, difference.margin(baseline, ALPHA)),
            sessions: difference.sessions,
        })
    }

    fn judged(&self, state: AlertState, until: i64, watch: Watch) -> Judgement {
        Judgement {
            state,
            reason: None,
            until,
            since: None,
            change: None,
            e_value: 0.0,
            threshold: self.settings.threshold(),
            watch,
        }
    }
}

/// The four weeks before a day, computed once.
fn of_day<'a>(
    baselines: &'a mut BTreeMap<i64, Defined<Baseline>>,
    history: &History,
    settings: &Settings,
    day: i64,
) -> &'a Defined<Baseline> {
    baselines.entry(day).or_insert_with(|| Baseline::before(history, day, settings.smallest))
}

/// A window with the hours from one time until before another.
fn filled(history: &History, baseline: &Baseline, from: i64, until: i64) -> Window {
    let mut window = Window::new();
    let mut time = from;
    while time < until {
        let (number, hour) = place(time);
        window.add(baseline, number, history.day(number), hour);
        time += HOUR;
    }
    window
}
