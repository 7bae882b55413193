//! One user's part in an experiment, as sums: all that the analysis asks of a user.
//!
//! Stored as one line of integers, because an analysis reads the lines of all users at once: a hundred thousand of
//! them arrive as one text and are read in a tenth of a second.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Arm;
use super::rows::{Reason, SessionRow};
use stats::UserSum;
use stats::agreement::Confusion;

/// Stratum of a session: the values by which an experiment is broken down.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx_macros::FromRow)]
pub struct Stratum {
    pub source: String,
    pub agent_version: String,
    pub judge: String,
    pub prompt_version: String,
}

/// Sessions that count, of one stratum and week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WeekCell {
    pub stratum: u32,
    pub week: u32,
    pub sum: UserSum,
}

impl WeekCell {
    /// In the order of the line.
    pub fn numbers(&self) -> [i64; 4] {
        let sessions = i64::try_from(self.sum.sessions).unwrap_or(i64::MAX);
        [i64::from(self.stratum), i64::from(self.week), sessions, self.sum.total]
    }
}

/// Version of the stored line, its first number. Raise it when the numbers of a line change: lines of another version
/// are computed anew.
const ENCODING: i64 = 2;
/// Numbers of a line before its cells.
const FIXED: usize = 40;

/// The numbers of a line, quicker than by cutting it up; `None` for what is no number.
struct Numbers<'a> {
    rest: &'a [u8],
}

impl Iterator for Numbers<'_> {
    type Item = Option<i64>;

    fn next(&mut self) -> Option<Option<i64>> {
        // Nearly all are of one digit.
        if let [digit @ b'0'..=b'9', b' ', rest @ ..] = self.rest {
            self.rest = rest;
            return Some(Some(i64::from(digit - b'0')));
        }
        if self.rest.is_empty() {
            return None;
        }
        let (mut number, mut digits) = (Some(0i64), 0);
        while let [byte, rest @ ..] = self.rest {
            self.rest = rest;
            match byte {
                b'0'..=b'9' => {
                    digits += 1;
                    let digit = i64::from(byte - b'0');
                    number = number.and_then(|n| n.checked_mul(10)?.checked_add(digit));
                }
                b' ' => break,
                _ => number = None,
            }
        }
        Some(number.filter(|_| digits > 0))
    }
}

/// The sums of one user. Arrays of two are by arm, [`Arm::index`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UserSums {
    /// 1 where the user was exposed.
    pub exposed: [u64; 2],
    /// 1 where some search found something.
    pub triggered_user: [u64; 2],
    pub published: [u64; 2],
    /// Published sessions that sampling left out: nobody asked for a verdict on them.
    pub sampled_out: [u64; 2],
    /// Published sessions whose token counts are all known, and their output tokens.
    pub token_sessions: [u64; 2],
    pub tokens: [i64; 2],
    /// Evaluated sessions by reason; the first are those that count, and what follows is of those alone.
    pub reasons: [u64; 5],
    /// Sessions that count and began before the user's first search, or ended after the stop.
    pub began_before_exposure: u64,
    pub ended_after_stop: u64,
    pub successes: i64,
    pub corrections: i64,
    pub turn_sessions: u64,
    pub turns: i64,
    pub escalations: i64,
    /// Sessions that got a learning.
    pub delivered: u64,
    /// Sessions whose searches found something.
    pub triggered: UserSum,
    pub labelled: Confusion,
    /// Sessions of the thirty days before first exposure.
    pub before: UserSum,
    pub before_corrections: i64,
    /// Learnings handed over, those of them made after the start, and those from playbooks with holdout sources.
    pub served: u64,
    pub served_new: u64,
    pub served_from_holdout: u64,
    /// Holdout sessions whose turns carried learnings.
    pub contaminated: u64,
    /// Published sessions that were due and have no verdict.
    pub without_verdict: [u64; 2],
    pub cells: Vec<WeekCell>,
}

impl UserSums {
    /// Sums up the rows of one user; `number` gives a stratum its number.
    pub fn of(rows: &[SessionRow], mut number: impl FnMut(Stratum) -> u32) -> Self {
        let mut sums = Self::default();
        let mut cells: BTreeMap<(u32, u32), UserSum> = BTreeMap::new();
        let named = |arm| {
            rows.iter().any(|row| row.arm == Some(arm) && row.session.is_some() && !row.pre_period)
        };
        let in_both = Arm::BOTH.into_iter().all(named);
        for row in rows {
            if row.pre_period {
                add_verdict(&mut sums.before, row.success);
                sums.before_corrections += row.corrections.unwrap_or(0);
                continue;
            }
            let index = row.arm.map(Arm::index);
            if let Some(index) = index {
                sums.exposed[index] |= u64::from(row.exposed != Some(false));
                sums.triggered_user[index] |= u64::from(row.found > 0);
                sums.served += row.served;
                sums.served_new += row.served_new;
                sums.served_from_holdout += row.served_from_holdout;
            }
            if row.session.is_none() {
                continue;
            }
            if let Some(index) = index {
                sums.published[index] += 1;
                sums.sampled_out[index] += u64::from(row.sampled_out && row.success.is_none());
                if let Some(tokens) = row.tokens {
                    sums.token_sessions[index] += 1;
                    sums.tokens[index] += tokens;
                }
                sums.contaminated += u64::from(row.carried && row.arm == Some(Arm::Holdout));
                sums.without_verdict[index] +=
                    u64::from(row.without_verdict && row.success.is_none());
            }
            let Some(success) = row.success else {
                continue;
            };
            let reason = match (row.reason, row.arm) {
                (Some(reason), _) if reason != Reason::Attributed => reason,
                (_, None) => Reason::NoMetadata,
                _ if in_both => Reason::UserInBothArms,
                _ => Reason::Attributed,
            };
            sums.reasons[reason as usize] += 1;
            if reason == Reason::Attributed {
                sums.count(row, success);
                let cell = (number(row.stratum()), row.week.unwrap_or(0));
                add_verdict(cells.entry(cell).or_default(), Some(success));
            }
        }
        sums.cells = cells
            .into_iter()
            .map(|((stratum, week), sum)| WeekCell { stratum, week, sum })
            .collect();
        sums
    }

    fn count(&mut self, row: &SessionRow, success: bool) {
        self.began_before_exposure += u64::from(row.began_before_exposure);
        self.ended_after_stop += u64::from(row.ended_after_stop);
        self.successes += i64::from(success);
        self.corrections += row.corrections.unwrap_or(0);
        if let Some(turns) = row.turns {
            self.turn_sessions += 1;
            self.turns += turns;
        }
        self.escalations += i64::from(row.escalated.unwrap_or(false));
        self.delivered += u64::from(row.served > 0 || row.carried);
        if row.found > 0 {
            add_verdict(&mut self.triggered, Some(success));
        }
        if let Some(label) = row.label {
            self.labelled.count(success, label);
        }
    }

    /// The arm of a user who was published in one arm only, else the one they were exposed to.
    pub fn arm(&self) -> Option<Arm> {
        let only = |counts: [u64; 2]| match counts.map(|count| count > 0) {
            [true, false] => Some(Arm::Treatment),
            [false, true] => Some(Arm::Holdout),
            _ => None,
        };
        only(self.published).or_else(|| only(self.exposed))
    }

    /// Sessions that count, and the successes among them.
    pub fn outcome(&self) -> UserSum {
        UserSum { sessions: self.reasons[0], total: self.successes }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The line that [`UserSums::parse`] reads.
    pub fn line(&self) -> String {
        let mut line = String::with_capacity(128);
        for number in std::iter::once(ENCODING).chain(self.numbers()) {
            // Writing to a text cannot fail.
            let _ = write!(line, "{number} ");
        }
        line.pop();
        line
    }

    /// All numbers in the order of the line.
    fn numbers(&self) -> impl Iterator<Item = i64> {
        self.fixed().into_iter().chain(self.cells.iter().flat_map(WeekCell::numbers))
    }

    /// The numbers that every user has.
    pub fn fixed(&self) -> [i64; FIXED] {
        let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let [[a, b], [c, d], [e, f], [g, h], [left_out_t, left_out_c]] = [
            self.exposed,
            self.triggered_user,
            self.published,
            self.token_sessions,
            self.sampled_out,
        ]
        .map(|pair| pair.map(whole));
        let [tokens_t, tokens_c] = self.tokens;
        let [r0, r1, r2, r3, r4] = self.reasons.map(whole);
        let labelled = &self.labelled;
        [
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            left_out_t,
            left_out_c,
            tokens_t,
            tokens_c,
            r0,
            r1,
            r2,
            r3,
            r4,
            whole(self.began_before_exposure),
            whole(self.ended_after_stop),
            self.successes,
            self.corrections,
            whole(self.turn_sessions),
            self.turns,
            self.escalations,
            whole(self.delivered),
            whole(self.triggered.sessions),
            self.triggered.total,
            whole(labelled.true_passes),
            whole(labelled.false_passes),
            whole(labelled.false_failures),
            whole(labelled.true_failures),
            whole(self.before.sessions),
            self.before.total,
            self.before_corrections,
            whole(self.served),
            whole(self.served_new),
            whole(self.served_from_holdout),
            whole(self.contaminated),
            whole(self.without_verdict[0]),
            whole(self.without_verdict[1]),
        ]
    }

    /// Reads a line; `None` if it is none, or of another encoding.
    pub fn parse(line: &str) -> Option<Self> {
        let mut numbers = Numbers { rest: line.as_bytes() };
        let mut next = || numbers.next()?;
        if next()? != ENCODING {
            return None;
        }
        let mut sums = Self::default();
        for pair in [
            &mut sums.exposed,
            &mut sums.triggered_user,
            &mut sums.published,
            &mut sums.token_sessions,
            &mut sums.sampled_out,
        ] {
            *pair = [next()?.try_into().ok()?, next()?.try_into().ok()?];
        }
        sums.tokens = [next()?, next()?];
        for count in &mut sums.reasons {
            *count = next()?.try_into().ok()?;
        }
        let mut whole = || u64::try_from(next()?).ok();
        sums.began_before_exposure = whole()?;
        sums.ended_after_stop = whole()?;
        let signed = |n: u64| i64::try_from(n).ok();
        sums.successes = signed(whole()?)?;
        sums.corrections = signed(whole()?)?;
        sums.turn_sessions = whole()?;
        sums.turns = signed(whole()?)?;
        sums.escalations = signed(whole()?)?;
        sums.delivered = whole()?;
        sums.triggered = UserSum { sessions: whole()?, total: signed(whole()?)? };
        sums.labelled = Confusion {
            true_passes: whole()?,
            false_passes: whole()?,
            false_failures: whole()?,
            true_failures: whole()?,
        };
        sums.before = UserSum { sessions: whole()?, total: signed(whole()?)? };
        sums.before_corrections = signed(whole()?)?;
        sums.served = whole()?;
        sums.served_new = whole()?;
        sums.served_from_holdout = whole()?;
        sums.contaminated = whole()?;
        sums.without_verdict = [whole()?, whole()?];
        let spaces = numbers.rest.iter().filter(|byte| **byte == b' ').count();
        sums.cells.reserve_exact(spaces.div_ceil(4));
        while let Some(stratum) = numbers.next() {
            let mut next = || numbers.next()?;
            sums.cells.push(WeekCell {
                stratum: stratum?.try_into().ok()?,
                week: next()?.try_into().ok()?,
                sum: UserSum { sessions: next()?.try_into().ok()?, total: next()? },
            });
        }
        Some(sums)
    }
}

/// Adds a session's verdict, if it has one.
fn add_verdict(sum: &mut UserSum, success: Option<bool>) {
    if let Some(success) = success {
        sum.sessions += 1;
        sum.total += i64::from(success);
    }
}

impl SessionRow {
    fn stratum(&self) -> Stratum {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        Stratum {
            source: text(&self.source),
            agent_version: text(&self.agent_version),
            judge: text(&self.judge),
            prompt_version: text(&self.prompt_version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(arm: Option<Arm>, success: Option<bool>) -> SessionRow {
        let session = Some("s".to_owned());
        SessionRow { user: "u".into(), arm, session, success, ..SessionRow::default() }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let rows = [
            SessionRow {
                tokens: Some(12),
                week: Some(3),
                began_before_exposure: true,
                found: 2,
                served: 2,
                ..row(Some(Arm::Treatment), Some(true))
            },
            SessionRow {
                label: Some(false),
                corrections: Some(4),
                ..row(Some(Arm::Treatment), Some(true))
            },
            SessionRow { pre_period: true, ..row(None, Some(false)) },
            row(None, Some(false)),
            SessionRow { session: None, ..row(Some(Arm::Treatment), None) },
        ];
        let sums = UserSums::of(&rows, |_| 7);
        assert_eq!(UserSums::parse(&sums.line()), Some(sums.clone()));
        assert_eq!(sums.arm(), Some(Arm::Treatment));
        assert_eq!(sums.outcome(), UserSum { sessions: 2, total: 2 });
        assert_eq!(sums.reasons, [2, 1, 0, 0, 0]);
        assert_eq!((sums.began_before_exposure, sums.ended_after_stop), (1, 0));
        assert_eq!(sums.before, UserSum { sessions: 1, total: 0 });
        assert_eq!(sums.cells.len(), 2);
        assert_eq!((sums.delivered, sums.labelled.false_passes, sums.tokens), (1, 1, [12, 0]));
        let other_version = format!("{}{}", ENCODING + 1, &sums.line()[1..]);
        for broken in ["", "2", "2 x", &format!("{} 1", sums.line()), &other_version] {
            assert_eq!(UserSums::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn nobody_counts_in_both_arms() {
        let rows = [row(Some(Arm::Treatment), Some(true)), row(Some(Arm::Holdout), Some(true))];
        let sums = UserSums::of(&rows, |_| 0);
        assert_eq!(sums.reasons[Reason::UserInBothArms as usize], 2);
        assert_eq!((sums.outcome().sessions, sums.published, sums.arm()), (0, [1, 1], None));
    }
}
