//! Whether sessions that cite a rule go better or worse than others: an association, by user, over all rules at once.
//!
//! It is computed from rows, because it compares a user's sessions with the same user's. That takes a while over many
//! sessions, so the newest ones are kept: as long as nothing changed they are exact, and one that took long may be a
//! hundred times as old as it took to compute.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use utoipa::ToSchema;

use super::numbers::{RateInterval, points};
use super::sql::{self, CitingSessions, JudgedUser};
use super::windows::Span;
use super::{OverviewRequest, SourceSet};
use crate::app::App;
use crate::sessions::CitationKind;
use base::owner::OrgId;
use stats::UserSum;
use stats::association::{Association, CitingUser, MarkedAssociation, SMALLEST_USERS, mark};
use stats::grouped::GroupSums;
use stats::reason::{Defined, NullReason};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::Subject;

/// Difference of success between sessions that cite a rule and sessions of the same users, or else of the same source and
/// version of the agent, that do not. Nothing was randomised: it is an association, not an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct RuleAssociation {
    /// In points; 0 is no difference.
    pub difference_pp: Option<f64>,
    /// 95 % interval, clustered by user.
    pub ci95_pp: Option<[f64; 2]>,
    /// Drawn towards no difference by what all rules show together; rules are in its order.
    pub shrunken_pp: Option<f64>,
    pub p_value: Option<f64>,
    /// Adjusted over all rules of the window (Benjamini and Hochberg).
    pub adjusted_p_value: Option<f64>,
    /// True if the adjusted p-value is below 0.1: only then is it worth a look.
    pub is_marked: bool,
    /// Users with a session that cites the rule and was compared.
    pub users: Option<usize>,
    pub null_reason: Option<NullReason>,
}

impl From<Defined<MarkedAssociation>> for RuleAssociation {
    fn from(marked: Defined<MarkedAssociation>) -> Self {
        match marked {
            Ok(MarkedAssociation { association, shrunken, adjusted_p_value, is_marked }) => {
                RuleAssociation {
                    difference_pp: Some(points(association.difference)),
                    ci95_pp: Some(
                        [association.interval.lower, association.interval.upper].map(points),
                    ),
                    shrunken_pp: Some(points(shrunken.mean)),
                    p_value: Some(association.p_value),
                    adjusted_p_value: Some(adjusted_p_value),
                    is_marked,
                    users: Some(association.users),
                    null_reason: None,
                }
            }
            Err(reason) => {
                RuleAssociation { null_reason: Some(reason), ..RuleAssociation::default() }
            }
        }
    }
}

/// Evidence about one rule, from the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuleEvidence {
    /// Interval of the success rate of sessions that cite it.
    pub success_rate: RateInterval,
    pub association: RuleAssociation,
}

/// The evidence about the rules of a part.
#[derive(Debug, Default)]
pub struct RulesEvidence(HashMap<(CitationKind, String), RuleEvidence>);

impl RulesEvidence {
    pub fn of(&self, kind: CitationKind, rule_id: &str) -> Option<RuleEvidence> {
        self.0.get(&(kind, rule_id.to_owned())).copied()
    }
}

/// The evidence of the whole and of each set of sources, and when it was computed.
#[derive(Debug)]
pub struct AllEvidence {
    pub whole: RulesEvidence,
    pub sets: Vec<RulesEvidence>,
    pub as_of: i64,
}

impl AllEvidence {
    /// No evidence: for an overview without rules.
    pub fn none(sets: usize, as_of: i64) -> Self {
        let sets = std::iter::repeat_with(RulesEvidence::default).take(sets).collect();
        AllEvidence { whole: RulesEvidence::default(), sets, as_of }
    }
}

/// The newest evidence of organizations, the newest last.
#[derive(Default)]
pub struct RecentEvidence(Mutex<VecDeque<Kept>>);

struct Kept {
    key: EvidenceKey,
    stamp: Option<i64>,
    computed_at: Instant,
    took: Duration,
    evidence: Arc<AllEvidence>,
}

/// Evidence that is kept is of an organization, a window, a version and sets of sources.
#[derive(Clone, PartialEq)]
struct EvidenceKey {
    org_id: OrgId,
    window: Span,
    agent_version: Option<String>,
    sets: Vec<SourceSet>,
}

impl EvidenceKey {
    /// True if the window is almost the same and the rest is.
    fn is_near(&self, other: &EvidenceKey) -> bool {
        let (one, two) = (self.window, other.window);
        let moved = (one.low - two.low).abs().max((one.high - two.high).abs());
        moved <= (one.high - one.low) / 100
            && self.org_id == other.org_id
            && self.agent_version == other.agent_version
            && self.sets == other.sets
    }
}

impl Kept {
    /// True if nothing changed since; or, where it took long, if it is near and not too old.
    fn serves(&self, key: &EvidenceKey, stamp: Option<i64>) -> bool {
        let is_exact = self.key == *key && self.stamp == stamp;
        let is_recent = self.took > SHORT && self.computed_at.elapsed() < self.took * 100;
        is_exact || (is_recent && self.key.is_near(key))
    }
}

/// Evidence that took at most this long is computed anew whenever a verdict changed.
const SHORT: Duration = Duration::from_millis(20);
/// Evidence is kept for this many questions: the ranges, sources and versions that people switch between.
const MOST: usize = 128;

/// The evidence in a window; `stamp` is that of the verdicts in the transaction.
pub async fn evidence(
    app: &App,
    tx: &mut Tx,
    org_id: &OrgId,
    window: Span,
    request: &OverviewRequest,
    stamp: Option<i64>,
) -> Result<Arc<AllEvidence>> {
    let key = EvidenceKey {
        org_id: org_id.clone(),
        window,
        agent_version: request.agent_version.clone(),
        sets: request.source_sets.clone(),
    };
    let recent = app.state::<RecentEvidence>();
    {
        let recent = recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = recent.iter().rev().find(|kept| kept.serves(&key, stamp)) {
            return Ok(kept.evidence.clone());
        }
    }
    let begun = Instant::now();
    let (judged, citing) =
        sql::by_user(tx, org_id, window, request.agent_version.as_deref()).await?;
    let part = |sources: Option<&[String]>| assess(&judged, &citing, sources);
    let evidence = Arc::new(AllEvidence {
        whole: part(None),
        sets: request.source_sets.iter().map(|set| part(Some(&set.sources))).collect(),
        as_of: app.clock.now(),
    });
    let kept =
        Kept { key, stamp, computed_at: begun, took: begun.elapsed(), evidence: evidence.clone() };
    let mut recent = recent.0.lock().unwrap_or_else(PoisonError::into_inner);
    recent.retain(|older| !older.key.is_near(&kept.key));
    if recent.len() >= MOST {
        recent.pop_front();
    }
    recent.push_back(kept);
    Ok(evidence)
}

/// Sums of users by number of user and of stratum.
type UserSums = BTreeMap<(u32, u32), UserSum>;

fn assess(
    judged: &[JudgedUser],
    citing: &[CitingSessions],
    sources: Option<&[String]>,
) -> RulesEvidence {
    let has = |source: &String| sources.is_none_or(|sources| sources.contains(source));
    let mut users: HashMap<Subject, u32> = HashMap::new();
    let mut strata: HashMap<(&str, &str), u32> = HashMap::new();
    let mut all = UserSums::new();
    for row in judged.iter().filter(|row| has(&row.source)) {
        let place = (
            number(&mut users, row.subject),
            number(&mut strata, (row.source.as_str(), row.agent_version.as_str())),
        );
        all.insert(place, user_sum(row.n, row.successes));
    }
    let mut rules: BTreeMap<(CitationKind, &str), (UserSums, GroupSums)> = BTreeMap::new();
    for row in citing.iter().filter(|row| has(&row.source)) {
        let stratum = (row.source.as_str(), row.agent_version.as_str());
        let (Some(&user), Some(&stratum)) = (users.get(&row.subject), strata.get(&stratum)) else {
            continue;
        };
        let (sums, groups) = rules.entry((row.kind, &row.rule_id)).or_default();
        sums.insert((user, stratum), user_sum(row.n, row.successes));
        let group = usize::try_from(row.user_group).unwrap_or(0);
        #[allow(clippy::cast_precision_loss)] // counts of sessions fit exactly
        groups.add(group, row.n as f64, row.successes as f64);
    }
    let associations: Vec<Defined<Association>> =
        rules.values().map(|(citing, _)| associate(&all, citing)).collect();
    let marked = mark(&associations);
    let evidence = rules.into_iter().zip(marked).map(|(((kind, rule_id), (_, groups)), marked)| {
        let evidence = RuleEvidence {
            success_rate: RateInterval::of_rate(&groups, 1.0),
            association: marked.into(),
        };
        ((kind, rule_id.to_owned()), evidence)
    });
    RulesEvidence(evidence.collect())
}

fn associate(all: &UserSums, citing: &UserSums) -> Defined<Association> {
    if citing.len() < SMALLEST_USERS {
        return Err(NullReason::TooFewEvents);
    }
    // Both are in the order of their keys.
    let mut citing = citing.iter().peekable();
    let rows: Vec<CitingUser> = all
        .iter()
        .map(|(&(user, stratum), sums)| {
            while citing.next_if(|(key, _)| **key < (user, stratum)).is_some() {}
            let citing = citing.next_if(|(key, _)| **key == (user, stratum));
            let citing = citing.map(|(_, sums)| *sums).unwrap_or_default();
            let other = UserSum {
                sessions: sums.sessions.saturating_sub(citing.sessions),
                total: sums.total - citing.total,
            };
            CitingUser { user, stratum, citing, other }
        })
        .collect();
    Association::of(&rows)
}

fn user_sum(n: i64, successes: i64) -> UserSum {
    UserSum { sessions: u64::try_from(n).unwrap_or(0), total: successes }
}

/// The number of a thing: that of its first appearance.
fn number<K: std::hash::Hash + Eq>(numbers: &mut HashMap<K, u32>, key: K) -> u32 {
    let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    *numbers.entry(key).or_insert(next)
}
