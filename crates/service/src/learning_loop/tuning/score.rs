//! The scorecard: what verdicts say about each learning, with how sure that is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::LOOKBACK_SECONDS;
use crate::app::App;
use crate::evaluation::effects::{AllEffects, Effect};
use crate::evaluation::{self, VerdictOnLearning};
use crate::experiments::{self, ServedLift, ServedLifts};
use crate::learning_loop::sql::tuning as sql;
use crate::learnings::{LearningStatus, PlaybookStatus};
use base::owner::{OrgId, UserId};
use judge::{DiagnosisCategory, LearningImpact, LearningKind};
use stats::association::FALSE_DISCOVERY_RATE;
use stats::distributions::{normal_critical_value, normal_upper_tail};
use stats::learning_trials::TrialState;
use stats::multiplicity::benjamini_hochberg;
use stats::shrinkage::{Centre, NoisyEffect, shrink};
use stats::wilson::wilson;
use stats::{ALPHA, Interval, UserSum};
use storage::db::Tx;
use storage::error::Result;

/// Verdicts that are looked at, the newest.
const VERDICTS: i64 = 200_000;
/// Sessions named with a score, the newest.
const SESSIONS: usize = 20;
const TITLE: usize = 200;

base::vocabulary! {
    /// The call of a playbook's trial; without one the sign of a learning's attributable impact where it is marked as
    /// more than chance; else `unclear`.
    pub enum LearningStanding {
        Helps = "helps",
        Hurts = "hurts",
        Unclear = "unclear",
    }
}

base::vocabulary! {
    /// By what verdicts are clustered: `session` where all are of one person.
    pub enum ClusteredBy {
        User = "user",
        Session = "session",
    }
}

/// Filters of the scorecard. Times are those of the judged turns.
#[derive(Clone, Debug, Default)]
pub struct ScorecardQuery {
    pub kind: Option<LearningKind>,
    pub learning_id: Option<String>,
    pub agent_version: Option<String>,
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub limit: usize,
}

/// Scorecard of one learning.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Score {
    pub kind: LearningKind,
    pub learning_id: String,
    /// Owner; null for agent playbooks.
    pub user_id: Option<UserId>,
    pub agent_version: String,
    /// The beginning of its text.
    pub title: String,
    /// Null when it is current.
    pub status: Option<LearningStatus>,
    /// Approval, of agent playbooks only.
    pub playbook_status: Option<PlaybookStatus>,
    pub relevance: Relevance,
    /// Over all verdicts on its present text.
    pub impact: Impact,
    /// The same without negative verdicts whose verified diagnosis lays the problem elsewhere. Tuning goes by this one.
    pub attributable_impact: Impact,
    /// The attributable impact drawn towards none by what all learnings show together.
    pub shrunken_impact: Option<f64>,
    /// P-value of the attributable impact, adjusted over all learnings (Benjamini and Hochberg).
    pub adjusted_p_value: Option<f64>,
    /// True if the adjusted p-value is below 0.1. Nothing is proposed about a learning that is not marked.
    pub is_marked: bool,
    /// By a trial that called it; without one by verdicts.
    pub standing: LearningStanding,
    /// Different sessions it was judged in.
    pub sessions: i64,
    /// Different people among them.
    pub users: i64,
    /// The newest of these sessions.
    pub cited_sessions: Vec<CitedSession>,
    /// Verified, supported diagnoses by category.
    pub diagnoses: BTreeMap<String, i64>,
    /// Verdicts on an older text of it, which do not count.
    pub outdated_verdicts: i64,
    /// Of agent playbooks, where an experiment ran: sessions that were served it beside those of the holdout. A
    /// description, because it is served where it seems to fit; null with the reason.
    pub arm_lift: Option<ServedLift>,
    pub arm_lift_reason: Option<&'static str>,
    /// Of agent playbooks that are or were on trial: success with it minus success without it.
    pub trial_effect: Option<Effect>,
    /// The open proposal about it, if there is one.
    pub proposal_id: Option<String>,
    /// Digest of the present text, as in proposals.
    #[serde(skip)]
    pub digest: String,
    #[serde(skip)]
    pub content: String,
    #[serde(skip)]
    pub trigger: String,
    /// Verdicts that count against it: those that show what is wrong with its text first.
    #[serde(skip)]
    pub against: Vec<VerdictOnLearning>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Relevance {
    pub judged: i64,
    pub relevant: i64,
    /// The share that was relevant; null without verdicts.
    pub rate: Option<f64>,
    /// Wilson's 95 % interval, over sessions.
    #[schema(value_type = Option<Vec<f64>>)]
    pub ci95: Option<(f64, f64)>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Impact {
    pub judged: i64,
    pub positive: i64,
    pub negative: i64,
    pub neutral: i64,
    /// From -1 (always negative) to 1 (always positive); null without verdicts.
    pub mean: Option<f64>,
    /// 95 % interval of the mean, clustered by `clustered_by`; null with fewer than two clusters.
    #[schema(value_type = Option<Vec<f64>>)]
    pub ci95: Option<(f64, f64)>,
    /// Of no impact: below 0.05 where the interval excludes 0.
    pub p_value: Option<f64>,
    pub clustered_by: ClusteredBy,
    /// Number of clusters.
    pub clusters: i64,
    #[serde(skip)]
    pub standard_error: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub struct CitedSession {
    pub user_id: UserId,
    pub session_id: String,
}

/// A learning as it is now.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Present {
    pub kind: LearningKind,
    pub learning_id: String,
    pub user_id: Option<UserId>,
    pub agent_version: String,
    pub content: String,
    pub trigger: String,
    pub status: LearningStatus,
    pub playbook_status: Option<PlaybookStatus>,
}

/// The scores of an organization's learnings: those that hurt most first, then those that help most.
pub async fn scorecard(
    app: &Arc<App>,
    org_id: &OrgId,
    query: ScorecardQuery,
) -> Result<Vec<Score>> {
    let input = (app.clone(), org_id.to_owned(), query);
    let mut scores = app
        .db
        .read("learnings.scorecard", input, |tx, (app, org_id, query)| {
            Box::pin(async move {
                let effects = evaluation::effects::in_transaction(app, tx, org_id, None).await?;
                scores(tx, org_id, query, &effects, app.clock.now()).await
            })
        })
        .await?;
    if scores.iter().any(|score| score.kind == LearningKind::AgentPlaybook) {
        let lifts = experiments::served_lifts(app, org_id).await?;
        for score in &mut scores {
            score.tell_lift(lifts.as_ref());
        }
    }
    Ok(scores)
}

impl Score {
    fn tell_effect(&mut self, effects: &AllEffects) {
        let effect = self.learning_id.parse().ok().and_then(|id| effects.of(id));
        let Some(effect) = effect else { return };
        match effect.state {
            TrialState::Helps => self.standing = LearningStanding::Helps,
            TrialState::Hurts => self.standing = LearningStanding::Hurts,
            TrialState::NoSignYet => {}
        }
        self.trial_effect = Some(effect.clone());
    }

    fn tell_lift(&mut self, lifts: Option<&ServedLifts>) {
        if self.kind != LearningKind::AgentPlaybook {
            return;
        }
        self.arm_lift = lifts.and_then(|lifts| lifts.of(&self.learning_id, &self.agent_version));
        self.arm_lift_reason = match (lifts, &self.arm_lift) {
            (None, _) => Some("no experiment ran"),
            (_, None) => Some("no judged session of the newest experiment was served it"),
            _ => None,
        };
    }
}

/// [`scorecard`] as part of a transaction.
pub async fn scores(
    tx: &mut Tx,
    org_id: &OrgId,
    query: &ScorecardQuery,
    effects: &AllEffects,
    now: i64,
) -> Result<Vec<Score>> {
    let from = query.from.unwrap_or(now - LOOKBACK_SECONDS);
    // Also for one learning: it is marked among all of them.
    let verdicts =
        evaluation::verdicts_on_learnings(tx, org_id, None, None, from, query.to, VERDICTS).await?;
    let mut by_learning: BTreeMap<(LearningKind, String), Vec<VerdictOnLearning>> = BTreeMap::new();
    for verdict in verdicts {
        let key = (verdict.kind, verdict.learning_id.clone());
        by_learning.entry(key).or_default().push(verdict);
    }
    let mut proposals: BTreeMap<(LearningKind, String), String> = sql::open_proposals(tx, org_id)
        .await?
        .into_iter()
        .map(|(kind, learning_id, proposal_id)| ((kind, learning_id), proposal_id))
        .collect();
    let mut scores = Vec::new();
    for present in sql::present(tx, org_id, by_learning.keys()).await? {
        let key = (present.kind, present.learning_id.clone());
        let Some(verdicts) = by_learning.remove(&key) else { continue };
        let proposal_id = proposals.remove(&key);
        scores.push(Score { proposal_id, ..score(present, verdicts) });
    }
    mark(&mut scores);
    for score in scores.iter_mut().filter(|score| score.kind == LearningKind::AgentPlaybook) {
        score.tell_effect(effects);
    }
    scores.retain(|score| query.asks_for(score));
    let rank = |score: &Score| match score.standing {
        LearningStanding::Hurts => 0,
        LearningStanding::Helps => 1,
        LearningStanding::Unclear => 2,
    };
    // The result of a trial comes before verdicts.
    let effect = |score: &Score| {
        let shrunken = score.trial_effect.as_ref().and_then(|effect| effect.shrunken);
        shrunken.map_or(0.0, |shrunken| shrunken.mean.abs())
    };
    let weight = |score: &Score| score.shrunken_impact.unwrap_or(0.0).abs();
    scores.sort_by(|a, b| {
        let by_effect = effect(b).total_cmp(&effect(a));
        let by_weight =
            by_effect.then(weight(b).total_cmp(&weight(a))).then(b.sessions.cmp(&a.sessions));
        rank(a).cmp(&rank(b)).then(by_weight).then(a.learning_id.cmp(&b.learning_id))
    });
    scores.truncate(query.limit);
    Ok(scores)
}

/// Verdicts are given newest first.
fn score(present: Present, verdicts: Vec<VerdictOnLearning>) -> Score {
    let digest = evaluation::learning_digest(&present.content, &present.trigger);
    let is_present = |verdict: &VerdictOnLearning| {
        verdict.evaluated_playbook_digest.as_ref().is_none_or(|judged| *judged == digest)
    };
    let (counted, outdated): (Vec<_>, Vec<_>) = verdicts.into_iter().partition(is_present);
    let mut diagnoses: BTreeMap<String, i64> = BTreeMap::new();
    for category in counted.iter().filter_map(VerdictOnLearning::verified_diagnosis) {
        *diagnoses.entry(category.to_string()).or_default() += 1;
    }
    let attributable = |verdict: &&VerdictOnLearning| {
        use DiagnosisCategory::{ApplicationFailure, ExternalFailure, NoIssue};
        verdict.impact != Some(LearningImpact::Negative)
            || !matches!(
                verdict.verified_diagnosis(),
                Some(ApplicationFailure | ExternalFailure | NoIssue)
            )
    };
    let all: Vec<&VerdictOnLearning> = counted.iter().collect();
    let held: Vec<&VerdictOnLearning> = counted.iter().filter(attributable).collect();
    let attributable_impact = impact(&held);
    let mut cited_sessions: Vec<CitedSession> = Vec::new();
    for verdict in &counted {
        let (user_id, session_id) = (verdict.user_id.clone(), verdict.session_id.clone());
        let session = CitedSession { user_id, session_id };
        if !cited_sessions.contains(&session) && cited_sessions.len() < SESSIONS {
            cited_sessions.push(session);
        }
    }
    let text = if present.content.is_empty() { &present.trigger } else { &present.content };
    let title = text.chars().take(TITLE).collect();
    let negative = held.iter().filter(|verdict| verdict.impact == Some(LearningImpact::Negative));
    let mut against: Vec<VerdictOnLearning> = negative.map(|verdict| (*verdict).clone()).collect();
    let defect = Some(DiagnosisCategory::ContentDefect);
    against.sort_by_key(|verdict| verdict.verified_diagnosis() != defect);
    Score {
        relevance: relevance(&all),
        impact: impact(&all),
        shrunken_impact: None,
        adjusted_p_value: None,
        is_marked: false,
        standing: LearningStanding::Unclear,
        sessions: count(all.iter().map(|v| (&v.user_id, &v.session_id))),
        users: count(all.iter().map(|v| &v.user_id)),
        cited_sessions,
        diagnoses,
        outdated_verdicts: i64::try_from(outdated.len()).unwrap_or(i64::MAX),
        arm_lift: None,
        arm_lift_reason: Some("it is one person's, and a person is in one arm"),
        trial_effect: None,
        proposal_id: None,
        against,
        attributable_impact,
        title,
        digest,
        kind: present.kind,
        learning_id: present.learning_id,
        user_id: present.user_id,
        agent_version: present.agent_version,
        status: present.status.unless_current(),
        playbook_status: present.playbook_status,
        content: present.content,
        trigger: present.trigger,
    }
}

impl ScorecardQuery {
    fn asks_for(&self, score: &Score) -> bool {
        self.kind.is_none_or(|kind| kind == score.kind)
            && self.learning_id.as_ref().is_none_or(|id| *id == score.learning_id)
            && self.agent_version.as_ref().is_none_or(|version| *version == score.agent_version)
    }
}

/// Looks at all learnings together: of many, some stand out by luck alone.
fn mark(scores: &mut [Score]) {
    let effect = |impact: &Impact| Some((impact.mean?, impact.standard_error?, impact.p_value?));
    let known: Vec<(&mut Score, (f64, f64, f64))> = scores
        .iter_mut()
        .filter_map(|score| effect(&score.attributable_impact).map(|effect| (score, effect)))
        .collect();
    let effects: Vec<NoisyEffect> = known
        .iter()
        .map(|(_, (estimate, standard_error, _))| NoisyEffect {
            estimate: *estimate,
            standard_error: *standard_error,
        })
        .collect();
    let p_values: Vec<f64> = known.iter().map(|(_, (.., p_value))| *p_value).collect();
    let judged =
        shrink(&effects, Centre::Zero).effects.into_iter().zip(benjamini_hochberg(&p_values));
    for ((score, (mean, ..)), (shrunken, adjusted)) in known.into_iter().zip(judged) {
        score.shrunken_impact = Some(shrunken.mean);
        score.adjusted_p_value = Some(adjusted);
        score.is_marked = adjusted < FALSE_DISCOVERY_RATE;
        score.standing = match score.is_marked {
            true if mean < 0.0 => LearningStanding::Hurts,
            true => LearningStanding::Helps,
            false => LearningStanding::Unclear,
        };
    }
}

fn count<T: Ord>(items: impl Iterator<Item = T>) -> i64 {
    i64::try_from(items.collect::<BTreeSet<T>>().len()).unwrap_or(i64::MAX)
}

fn relevance(verdicts: &[&VerdictOnLearning]) -> Relevance {
    let judged: Vec<_> = verdicts
        .iter()
        .filter_map(|v| Some((v.is_relevant?, (&v.user_id, &v.session_id))))
        .collect();
    let relevant = judged.iter().filter(|(relevant, _)| *relevant).count();
    let rate = (!judged.is_empty()).then(|| relevant as f64 / judged.len() as f64);
    // Several turns of one session are no independent opinions.
    let sessions = count(judged.iter().map(|(_, session)| session)) as f64;
    let interval = rate.map(|rate| wilson(rate, sessions, 1.959_963_984_540_054));
    Relevance {
        judged: i64::try_from(judged.len()).unwrap_or(i64::MAX),
        relevant: i64::try_from(relevant).unwrap_or(i64::MAX),
        rate,
        ci95: interval.map(|i| (i.lower, i.upper)),
    }
}

fn impact(verdicts: &[&VerdictOnLearning]) -> Impact {
    let judged: Vec<(i64, &str, &str)> = verdicts
        .iter()
        .filter_map(|verdict| {
            let value = match verdict.impact? {
                LearningImpact::Positive => 1,
                LearningImpact::Negative => -1,
                LearningImpact::Neutral => 0,
            };
            Some((value, verdict.user_id.as_str(), verdict.session_id.as_str()))
        })
        .collect();
    let of = |wanted| i64::try_from(judged.iter().filter(|v| v.0 == wanted).count()).unwrap_or(0);
    let by_user = judged.iter().map(|v| v.1).collect::<BTreeSet<_>>().len() >= 2;
    let mut sums: BTreeMap<(&str, &str), UserSum> = BTreeMap::new();
    for (value, user, session) in &judged {
        let key = if by_user { (*user, "") } else { (*user, *session) };
        let sum = sums.entry(key).or_default();
        sum.sessions += 1;
        sum.total += value;
    }
    let clusters = sums.len();
    let squares: i64 = sums.values().map(|sum| sum.total * sum.total).sum();
    let (mean, standard_error) = match judged.len() as f64 {
        0.0 => (None, None),
        n => (
            Some((of(1) - of(-1)) as f64 / n),
            (clusters >= 2 && squares > 0).then(|| (squares as f64).sqrt() / n),
        ),
    };
    // Around "no impact": where all clusters say the same, residuals around their mean would be none.
    let interval = mean.zip(standard_error).map(|(mean, standard_error)| {
        let margin = normal_critical_value(ALPHA / 2.0) * standard_error;
        Interval::around(mean, margin).clamped(Interval::between(-1.0, 1.0))
    });
    let p_value = |(mean, standard_error): (f64, f64)| {
        (2.0 * normal_upper_tail(mean.abs() / standard_error)).min(1.0)
    };
    Impact {
        judged: i64::try_from(judged.len()).unwrap_or(i64::MAX),
        positive: of(1),
        negative: of(-1),
        neutral: of(0),
        mean,
        standard_error,
        ci95: interval.map(|i| (i.lower, i.upper)),
        p_value: mean.zip(standard_error).map(p_value),
        clustered_by: if by_user { ClusteredBy::User } else { ClusteredBy::Session },
        clusters: i64::try_from(clusters).unwrap_or(i64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::LearningImpact::{Negative, Positive};
    use judge::LearningKind;

    fn verdict(user: &str, session: &str, impact: LearningImpact) -> VerdictOnLearning {
        VerdictOnLearning {
            kind: LearningKind::UserPlaybook,
            learning_id: "1".to_owned(),
            user_id: user.into(),
            session_id: session.to_owned(),
            interaction_id: 1,
            is_relevant: None,
            impact: Some(impact),
            diagnosis: None,
            evaluated_playbook_digest: None,
            diagnosis_evidence_complete: false,
        }
    }

    fn present(number: i32) -> Present {
        Present {
            kind: LearningKind::UserPlaybook,
            learning_id: number.to_string(),
            user_id: None,
            agent_version: String::new(),
            content: String::new(),
            trigger: String::new(),
            status: LearningStatus::Current,
            playbook_status: None,
        }
    }

    fn of(list: &[VerdictOnLearning]) -> Impact {
        impact(&list.iter().collect::<Vec<_>>())
    }

    #[test]
    fn few_verdicts_prove_nothing_and_five_alike_do() {
        let negative = |n: usize| -> Vec<_> {
            (0..n).map(|n| verdict(&format!("u{n}"), "s", Negative)).collect()
        };
        assert_eq!(of(&negative(1)).ci95, None);
        assert!(of(&negative(3)).ci95.unwrap().1 > 0.0);
        let five = of(&negative(5));
        assert!(five.ci95.unwrap().1 < 0.0, "{five:?}");
        assert_eq!((five.mean, five.clustered_by), (Some(-1.0), ClusteredBy::User));
    }

    /// 500 learnings that do nothing, judged by 2 to 30 users each, ten times: hardly one is called harmful or helpful.
    #[test]
    fn in_a_world_without_effects_next_to_nothing_is_marked() {
        let mut state = 5_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        let mut marked = 0;
        for _ in 0..10 {
            let mut scores: Vec<Score> = (0..500)
                .map(|number| {
                    let users = 2 + below(29);
                    let verdicts = (0..users).map(|user| {
                        let impact = if below(2) == 0 { Negative } else { Positive };
                        verdict(&format!("u{user}"), "s", impact)
                    });
                    score(present(number), verdicts.collect())
                })
                .collect();
            mark(&mut scores);
            marked += scores.iter().filter(|score| score.is_marked).count();
        }
        assert!(marked < 10, "{marked} marks in ten worlds");
    }

    #[test]
    fn one_that_hurts_is_found_among_many_that_do_nothing() {
        let mut scores: Vec<Score> = (0..200)
            .map(|number| {
                let verdicts = (0..20).map(|user| {
                    let negative = number == 7 || (user + number) % 2 == 0;
                    verdict(&format!("u{user}"), "s", if negative { Negative } else { Positive })
                });
                score(present(number), verdicts.collect())
            })
            .collect();
        mark(&mut scores);
        let hurting = scores.iter().filter(|score| score.standing != LearningStanding::Unclear);
        let hurting: Vec<_> =
            hurting.map(|score| (score.learning_id.as_str(), score.standing)).collect();
        assert_eq!(hurting, [("7", LearningStanding::Hurts)]);
        assert!(scores[7].shrunken_impact.unwrap() > -1.0);
    }

    #[test]
    fn turns_of_one_session_are_one_opinion() {
        let many: Vec<_> = (0..50).map(|_| verdict("ada", "s1", Negative)).collect();
        let found = of(&many);
        assert_eq!((found.ci95, found.clusters, found.judged), (None, 1, 50));
    }

    #[test]
    fn mixed_verdicts_leave_it_open() {
        let mixed: Vec<_> = (0..6)
            .map(|n| verdict(&format!("u{n}"), "s", if n % 2 == 0 { Negative } else { Positive }))
            .collect();
        let (lower, upper) = of(&mixed).ci95.unwrap();
        assert!(lower < 0.0 && upper > 0.0);
    }
}
