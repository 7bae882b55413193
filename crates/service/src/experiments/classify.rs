//! From stored rows to rows of the analysis: every evaluated session gets exactly one reason.
//!
//! A session belongs to the experiment when any of its requests carries its metadata, whenever it began or ended: the
//! arm is a hash of the user, so that a session that began with a greeting before the first search, or went on after
//! the stop, cannot be in the wrong one. Such sessions are counted beside the reason.

use std::collections::{BTreeMap, BTreeSet};

use super::rows::{Reason, SessionRow};
use super::{Arm, Experiment};
use base::owner::{OrgId, UserId};
use storage::subjects::Subject;

/// Seconds before first exposure that count as a user's history.
pub const HISTORY: i64 = 30 * 86_400;
const WEEK: i64 = 7 * 86_400;

/// The newest verdict on a session.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Verdict {
    pub subject: Subject,
    pub session_id: String,
    /// Time of the session's first request.
    pub created_at: i64,
    pub is_success: bool,
    pub number_of_corrections: i64,
    pub user_turns_to_resolution: Option<i64>,
    pub is_escalated: bool,
    pub source: String,
    pub agent_version: String,
    pub judge: String,
    pub prompt_version: String,
    pub label: Option<bool>,
}

/// A session that has requests under one arm of the experiment.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Published {
    pub subject: Subject,
    pub session_id: String,
    pub arm: Arm,
    /// Time of the whole session's last request.
    pub last_request_at: i64,
    /// Output tokens of the whole session, and its turns whose tokens are unknown.
    pub tokens: i64,
    pub unknown: i64,
    /// Turns that carried learnings, of requests under this arm.
    pub carried: i64,
    /// True if sampling left the session out.
    pub sampled_out: bool,
    /// 1 if the session was due and has no verdict.
    pub gaps: i64,
}

/// Exposure of a session: learnings found and served by its searches.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Exposure {
    pub subject: Subject,
    pub session_id: String,
    pub arm: Arm,
    pub first_exposed_at: i64,
    pub found: i64,
    pub served: i64,
    pub served_new: i64,
    pub served_from_holdout: i64,
}

/// Everything stored of one user that an experiment may count.
#[derive(Clone, Debug, Default)]
pub struct StoredUser {
    /// One per session.
    pub verdicts: Vec<Verdict>,
    pub published: Vec<Published>,
    pub exposures: Vec<Exposure>,
}

/// One user, seen by one experiment.
struct View<'a> {
    experiment: &'a Experiment,
    /// The arm of the hash.
    assigned: Arm,
    first_exposed_at: Option<i64>,
    in_both_arms: bool,
    /// The stored arms of each session.
    arms: BTreeMap<&'a str, BTreeSet<Arm>>,
}

impl View<'_> {
    fn is_in_window(&self, moment: i64) -> bool {
        let Experiment { started_at, ended_at, .. } = self.experiment;
        moment >= *started_at && ended_at.is_none_or(|end| moment <= end)
    }

    /// The first reason that applies, in the order in which they are listed.
    fn reason(&self, verdict: &Verdict) -> Reason {
        let arms = self.arms.get(verdict.session_id.as_str());
        let mut arms = arms.into_iter().flatten();
        match (arms.next(), arms.next()) {
            (None, _) => Reason::NoMetadata,
            (Some(_), Some(_)) => Reason::MixedArms,
            (Some(arm), None) if *arm != self.assigned => Reason::ArmMismatch,
            _ if self.in_both_arms => Reason::UserInBothArms,
            _ => Reason::Attributed,
        }
    }

    /// True if a session without attribution lies within [`HISTORY`] before the user's first exposure.
    fn is_history(&self, verdict: &Verdict) -> bool {
        let before = |first: i64| (first - HISTORY..first).contains(&verdict.created_at);
        self.first_exposed_at.is_some_and(before)
    }
}

/// The rows of one user.
pub fn rows_of(
    org_id: &OrgId,
    user_id: &UserId,
    experiment: &Experiment,
    stored: &StoredUser,
) -> Vec<SessionRow> {
    let mut arms: BTreeMap<&str, BTreeSet<Arm>> = BTreeMap::new();
    for published in &stored.published {
        arms.entry(&published.session_id).or_default().insert(published.arm);
    }
    let view = View {
        experiment,
        assigned: experiment.arm_of(org_id, user_id),
        first_exposed_at: stored.exposures.iter().map(|e| e.first_exposed_at).min(),
        in_both_arms: arms.values().flatten().collect::<BTreeSet<_>>().len() > 1,
        arms,
    };
    let mut exposures: BTreeMap<&str, &Exposure> =
        stored.exposures.iter().map(|e| (e.session_id.as_str(), e)).collect();
    let mut verdicts: BTreeMap<&str, &Verdict> =
        stored.verdicts.iter().map(|v| (v.session_id.as_str(), v)).collect();
    let blank = || SessionRow { user: user_id.to_owned(), ..SessionRow::default() };
    let mut rows = Vec::new();
    for published in &stored.published {
        let mut row = SessionRow {
            arm: Some(published.arm),
            session: Some(published.session_id.clone()),
            tokens: (published.unknown == 0).then_some(published.tokens),
            carried: published.carried > 0,
            sampled_out: published.sampled_out,
            without_verdict: published.gaps > 0,
            exposed: Some(false),
            ..blank()
        };
        // Verdict and exposure of a session that is there under both arms stand with the first.
        if let Some(exposure) = exposures.remove(published.session_id.as_str()) {
            row.expose(exposure);
        }
        if let Some(verdict) = verdicts.remove(published.session_id.as_str()) {
            row.judge(verdict, &view);
            let first = view.first_exposed_at;
            row.began_before_exposure = first.is_some_and(|first| verdict.created_at < first);
            let end = experiment.ended_at;
            row.ended_after_stop = end.is_some_and(|end| published.last_request_at > end);
        }
        rows.push(row);
    }
    for verdict in verdicts.into_values() {
        let mut row = SessionRow { session: Some(verdict.session_id.clone()), ..blank() };
        row.judge(verdict, &view);
        if view.is_in_window(verdict.created_at) {
            rows.push(row.clone());
        }
        if view.is_history(verdict) {
            rows.push(SessionRow { pre_period: true, reason: None, ..row });
        }
    }
    for exposure in exposures.into_values() {
        let mut row = SessionRow { arm: Some(exposure.arm), ..blank() };
        row.expose(exposure);
        rows.push(row);
    }
    rows
}

impl SessionRow {
    fn expose(&mut self, exposure: &Exposure) {
        let whole = |n: i64| u64::try_from(n).unwrap_or(0);
        self.exposed = Some(true);
        self.found = whole(exposure.found);
        self.served = whole(exposure.served);
        self.served_new = whole(exposure.served_new);
        self.served_from_holdout = whole(exposure.served_from_holdout);
    }

    fn judge(&mut self, verdict: &Verdict, view: &View<'_>) {
        self.success = Some(verdict.is_success);
        self.reason = Some(view.reason(verdict));
        self.corrections = Some(verdict.number_of_corrections);
        self.turns = verdict.user_turns_to_resolution;
        self.escalated = Some(verdict.is_escalated);
        self.week = u32::try_from((verdict.created_at - view.experiment.started_at) / WEEK).ok();
        self.source = Some(verdict.source.clone());
        self.agent_version = Some(verdict.agent_version.clone());
        self.judge = Some(verdict.judge.clone());
        self.prompt_version = Some(verdict.prompt_version.clone());
        self.label = verdict.label;
    }
}
