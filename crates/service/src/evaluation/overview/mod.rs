//! The overview: the numbers people look at every morning, exact and at once.
//!
//! - Every judged session counts once, by the verdict of the session: that on the latest version of the agent by the
//!   order of its requests, or, where a version is asked for, that on it. It belongs to the source and the time of its
//!   session's first request.
//! - Sums of whole weeks, days and hours come from rollups and from the deltas that are not folded into them yet, which
//!   are written in the transactions that change verdicts ([`sql::rollups`]); only the ragged ends of a window are
//!   counted from rows. Of one version of the agent, so are
//!   rules and shadow comparisons, whose rollups do not tell versions apart.
//! - All numbers of one answer come from one snapshot. Long lists of sessions follow page by page (`body.rs`).

mod body;
mod evidence;
mod hours;
pub mod http;
mod job;
mod known_sums;
mod numbers;
mod rules;
pub mod sql;
mod windows;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::EvaluationResult;
use super::effects::{self, Effect};
use crate::app::App;
use crate::organization::{self, OrganizationConfig};
use crate::sessions::CitationKind;
use base::owner::{OrgId, UserId};
use body::{Lists, StreamedList};
use evidence::AllEvidence;
use judge::offline;
use numbers::{OverviewSums, Part};
use sql::DAY;
use stats::learning_trials::TrialState;
use stats::reason::NullReason;
use storage::db::Tx;
use storage::error::{Error, Result};
use windows::{ROWS, Windows, ranges, ranges_of_whole};

pub use evidence::{RecentEvidence, RuleAssociation};
pub use hours::{HourQuery, Hours, SessionMetric};
pub use job::{FoldSums, fold_all, look_after_tables};
pub use known_sums::KnownSums;
pub use numbers::{
    ChangeInterval, ContextTile, HeroBucket, PartnerTileRow, ScoreDistribution, ShadowWinRateTrend,
};
pub use sql::prepare;
pub use sql::rollups::{DELTAS, gaps, install, trigger_names};
pub use sql::{Mark, fold, group_of, mismatches, rebuild};
pub use windows::Bucket;

/// Parameters of an overview.
#[derive(Clone, Debug)]
pub struct OverviewRequest {
    pub from_ts: i64,
    pub to_ts: i64,
    pub bucket: Bucket,
    pub include_shadow: bool,
    pub include_session_ids: bool,
    pub include_rules: bool,
    pub source_sets: Vec<SourceSet>,
    /// Nothing but this version of the agent.
    pub agent_version: Option<String>,
}

/// One labelled cohort of request sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSet {
    pub label: String,
    pub sources: Vec<String>,
}

base::vocabulary! {
    /// Amount of evidence behind an overview. `empty`: no results. `shadow_off`: no shadow comparison in the
    /// window, or none asked for. `early`: the first result is less than 14 days old, or there are fewer than
    /// 500 shadow verdicts. Else `full`.
    pub enum HeroState {
        Empty = "empty",
        ShadowOff = "shadow_off",
        Early = "early",
        Full = "full",
    }
}

#[derive(Serialize, ToSchema)]
pub struct HeroBlock {
    pub state: HeroState,
    /// 0 to 100; null without results, and where rules alone judged.
    pub regular_success_rate_pp: Option<f64>,
    /// The share of sessions whose shadow responses are preferred, ties by half; null without comparisons.
    pub shadow_success_rate_pp: Option<f64>,
    /// The share that prefers the regular responses minus that, in points.
    pub delta_pp: Option<f64>,
    /// Buckets with something in them, oldest first.
    pub buckets: Vec<HeroBucket>,
    /// Interval of `delta_pp`, in points.
    #[serde(flatten)]
    pub change: ChangeInterval,
    /// Interval of the success rate, in points.
    pub ci95_pp: Option<[f64; 2]>,
    pub ci95_null_reason: Option<NullReason>,
    /// Few users: read the interval with care.
    pub few_users: bool,
    /// Judged sessions in the window.
    pub n: i64,
    #[serde(flatten)]
    pub coverage: Coverage,
}

/// How much of what was due was judged, and what the verdicts can say.
#[derive(Serialize, ToSchema)]
pub struct Coverage {
    /// Of the sessions that were due, the share with a verdict; null if none was due.
    pub judged_share: Option<f64>,
    /// Sessions that were due and have no verdict: the judge abstained, or failed.
    pub without_verdict: i64,
    /// Rules alone judged: there is no success rate, only failures with evidence.
    pub only_rules: bool,
    /// Verdicts of failure.
    pub failures_with_evidence: i64,
    /// Ways to a success rate, for people; null unless rules alone judge.
    pub advice: Option<&'static str>,
}

/// Ways to a success rate while rules alone judge.
const ADVICE: &str = "Rules see failures with evidence and little else. For a success rate report outcomes \
    (/api/session_outcome), label at least 50 sessions so that the learned judge can be trained, or set a provider's key \
    or judge.model.";

impl Coverage {
    fn of(part: &Part<'_>, judge_is_rules: bool) -> Self {
        let totals = &part.trend;
        let without_verdict = part.without_verdict();
        let only_rules = totals.is_by_rules() || (totals.n() == 0 && judge_is_rules);
        Coverage {
            judged_share: part.judged_share(),
            without_verdict,
            only_rules,
            failures_with_evidence: totals.failures(),
            advice: only_rules.then_some(ADVICE),
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct RuleAttributionRow {
    pub rule_id: String,
    pub kind: CitationKind,
    pub title: String,
    pub successes_with: i64,
    pub failures_with: i64,
    pub net_sessions: i64,
    /// Oldest first; empty with `include_session_ids: false`.
    #[schema(value_type = Vec<String>)]
    pub cited_session_ids: StreamedList,
    /// Interval of the success rate of sessions that cite it, 0 to 1, which accounts for users; null with few of them.
    pub success_rate_ci95: Option<[f64; 2]>,
    pub association: RuleAssociation,
    /// Of agent playbooks that are or were on trial, over all time and sources: what causes the difference is the playbook.
    pub trial: Option<RuleTrial>,
}

/// The effect of an agent playbook by a trial: it was withheld from users chosen at random.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct RuleTrial {
    pub state: TrialState,
    /// Success with it minus success without it, in points; null while too little is known.
    pub effect_pp: Option<f64>,
    /// 95 % over all looks together.
    pub always_valid_ci95_pp: Option<[f64; 2]>,
    /// Drawn towards none by what all trials show together.
    pub shrunken_pp: Option<f64>,
    /// Users with a judged session who got it, and from whom it was withheld.
    pub served_users: u64,
    pub withheld_users: u64,
}

impl From<&Effect> for RuleTrial {
    fn from(effect: &Effect) -> Self {
        let estimate = &effect.estimate;
        RuleTrial {
            state: effect.state,
            effect_pp: estimate.effect,
            always_valid_ci95_pp: estimate
                .always_valid_lower
                .zip(estimate.always_valid_upper)
                .map(|(lower, upper)| [lower, upper]),
            shrunken_pp: effect.shrunken.map(|shrunken| shrunken.mean),
            served_users: effect.served.users,
            withheld_users: effect.withheld.users,
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct SourceSessions {
    pub source: String,
    #[schema(value_type = Vec<String>)]
    pub session_ids: StreamedList,
    #[schema(value_type = Vec<SessionKeyView>)]
    pub sessions: StreamedList,
}

/// A session and whose it is.
#[derive(Serialize, ToSchema)]
pub struct SessionKeyView {
    pub user_id: UserId,
    pub session_id: String,
}

#[derive(Serialize, ToSchema)]
pub struct SourceSetEvaluationMetrics {
    pub label: String,
    pub sources: Vec<String>,
    /// Distinct (user, session) pairs.
    pub session_count: i64,
    /// One for each of them; empty with `include_session_ids: false`.
    #[schema(value_type = Vec<String>)]
    pub session_ids: StreamedList,
    /// 0 to 100; 0 without sessions.
    pub success_rate_pp: f64,
    pub buckets: Vec<HeroBucket>,
    pub context_tiles: ContextTile,
    pub score_distribution: ScoreDistribution,
    pub rule_attribution: Vec<RuleAttributionRow>,
    pub partner_tiles: Vec<PartnerTileRow>,
    /// Interval of the success rate, in points.
    pub ci95_pp: Option<[f64; 2]>,
    pub ci95_null_reason: Option<NullReason>,
    /// Few users: read the interval with care.
    pub few_users: bool,
    /// Judged sessions in the window.
    pub n: i64,
    #[serde(flatten)]
    pub coverage: Coverage,
}

#[derive(Serialize, ToSchema)]
pub struct SourceSetComparison {
    /// Sources with a verdict in the window.
    pub available_sources: Vec<String>,
    pub source_sessions: Vec<SourceSessions>,
    pub sets: Vec<SourceSetEvaluationMetrics>,
    /// Distinct (user, session) pairs in none of the sets.
    pub unmatched_session_count: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = GetEvaluationOverviewResponse)]
pub struct Overview {
    pub hero: HeroBlock,
    pub context_tiles: ContextTile,
    /// Empty with `include_rules: false`.
    pub rule_attribution: Vec<RuleAttributionRow>,
    /// When the intervals and associations of rules were computed; over many sessions it may be some minutes ago.
    pub rules_as_of: i64,
    pub score_distribution: ScoreDistribution,
    pub partner_tiles: Vec<PartnerTileRow>,
    /// null with `include_shadow: false`.
    pub shadow_win_rate_trend: Option<ShadowWinRateTrend>,
    /// The newest 100 of the window.
    pub recent_results: Vec<EvaluationResult>,
    /// null without source sets.
    pub source_set_comparison: Option<SourceSetComparison>,
    /// Versions of the agent with a verdict in the window, in the order of their names; all of them, also when one is
    /// asked for.
    pub available_agent_versions: Vec<String>,
    /// The judges of the verdicts in `recent_results`, the most frequent first.
    pub judges: Vec<JudgeShare>,
}

/// A judge, and how many of the newest verdicts are its.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct JudgeShare {
    /// `rules`, `learned/<number>`, or provider/model as the provider reported it.
    pub judge: String,
    /// Rules over words, not a model: they decide on evidence alone, and have no success rate.
    pub is_rules: bool,
    pub n: usize,
}

impl JudgeShare {
    fn of(results: &[EvaluationResult]) -> Vec<JudgeShare> {
        let mut counts = BTreeMap::<&str, usize>::new();
        for result in results {
            *counts.entry(&result.judge).or_default() += 1;
        }
        let share = |(judge, n): (&str, usize)| JudgeShare {
            judge: judge.to_owned(),
            is_rules: offline::is_rules(judge),
            n,
        };
        let mut shares: Vec<_> = counts.into_iter().map(share).collect();
        shares.sort_by_key(|share| std::cmp::Reverse(share.n));
        shares
    }
}

/// Answers an overview: everything that is short at once, then the lists.
pub async fn overview(
    app: &Arc<App>,
    org_id: &OrgId,
    request: OverviewRequest,
) -> Result<axum::body::Body> {
    let (overview, lists) = read(app, org_id, request).await?;
    let text = serde_json::to_string(&overview).map_err(|e| Error::Internal(e.to_string()))?;
    Ok(body::stream(app, org_id.to_owned(), text, lists))
}

/// The first block of an overview: the success rate of the window.
pub async fn hero(app: &Arc<App>, org_id: &OrgId, request: OverviewRequest) -> Result<HeroBlock> {
    Ok(read(app, org_id, request).await?.0.hero)
}

async fn read(
    app: &Arc<App>,
    org_id: &OrgId,
    request: OverviewRequest,
) -> Result<(Overview, Lists)> {
    let config = organization::recent(app, org_id).await?;
    let input = (app.clone(), org_id.to_owned(), request, config);
    app.db
        .read_standby_planned("evaluation.overview", input, |tx, (app, org_id, request, config)| {
            Box::pin(compute(app, tx, org_id, request, config))
        })
        .await
}

/// First results younger than this many seconds, or fewer shadow verdicts than [`ENOUGH`], are `early`.
const YOUNG: i64 = 14 * DAY;
const ENOUGH: i64 = 500;

async fn compute(
    app: &App,
    tx: &mut Tx,
    org_id: &OrgId,
    request: &OverviewRequest,
    config: &OrganizationConfig,
) -> Result<(Overview, Lists)> {
    let windows = Windows::new(request.from_ts, request.to_ts);
    let judge_is_rules = app.judge.is_offline();
    let bucket = request.bucket;
    let version = &config.shadow_comparison_judge_prompt_version;
    let trend = [(numbers::TREND, windows.trend)];
    let recent = [(numbers::CURRENT, windows.current), (numbers::PREVIOUS, windows.previous)];
    let all = [trend[0], recent[0], recent[1]];
    let shadowed: &[_] = if request.include_shadow { &trend } else { &[] };
    let agent_version = request.agent_version.as_deref();
    // The sums of shadow comparisons do not tell versions of the agent apart.
    let coarsest = |seconds| if agent_version.is_some() { ROWS } else { seconds };
    let rule_sources = rules::sources_of_parts(&request.source_sets).concat();
    let ruled: &[_] = if request.include_rules { &trend } else { &[] };
    let asked = sql::Asked {
        org_id,
        window: windows.trend,
        verdicts: if agent_version.is_none() && request.source_sets.is_empty() {
            ranges_of_whole(&all, bucket.seconds())
        } else {
            ranges(&all, bucket.seconds())
        },
        shadows: ranges(shadowed, coarsest(bucket.seconds())),
        turns: ranges(shadowed, coarsest(DAY)),
        judge_prompt_version: version,
        scores: ranges(&recent, ROWS),
        versions: ranges(&trend, sql::WEEK),
        // The sums of rules do not tell versions apart either.
        rules: ranges(ruled, coarsest(sql::FOUR_WEEKS)),
        rule_sources: &rule_sources,
        agent_version,
    };
    let current = sql::current(tx, &asked).await?;
    let counted = known_sums::count(app, tx, &asked, &current).await?;
    let recent_results = sql::newest(tx, &asked).await?;
    let material = OverviewSums { bucket, counted, scores: current.scores };
    let counted = &material.counted;
    let mut lists =
        Lists::new(windows.trend, request.agent_version.clone(), request.include_session_ids);
    let evidence = match request.include_rules {
        true => evidence::evidence(app, tx, org_id, windows.trend, request, counted.stamp).await?,
        false => Arc::new(AllEvidence::none(request.source_sets.len(), app.clock.now())),
    };
    let trials = match request.include_rules && config.learning_trials.enabled {
        true => effects::in_transaction(app, tx, org_id, None).await?,
        false => Arc::default(),
    };
    let known = rules::Known { counted, evidence: &evidence, trials: &trials };
    let rules = rules::attribution(tx, org_id, windows.trend, request, known, &mut lists).await?;
    let whole = Part::whole(&material);
    let trend = numbers::win_rate_trend(&counted.turns, version);
    let compared = trend.window_total.n;
    let totals = &whole.trend;
    let is_young = counted.first_at.is_none_or(|at| app.clock.now() - at < YOUNG);
    let state = match () {
        () if totals.n() == 0 => HeroState::Empty,
        () if compared == 0 => HeroState::ShadowOff,
        () if is_young || compared < ENOUGH => HeroState::Early,
        () => HeroState::Full,
    };
    let preferences = whole.preferences();
    let shares = preferences.shares();
    let interval = totals.interval(100.0);
    let overview = Overview {
        hero: HeroBlock {
            state,
            regular_success_rate_pp: totals.success_rate().map(numbers::points),
            shadow_success_rate_pp: shares.map(|(_, shadow)| numbers::points(shadow)),
            delta_pp: shares.map(|(regular, shadow)| numbers::points(regular - shadow)),
            buckets: whole.buckets(),
            change: preferences.interval(),
            ci95_pp: interval.ci95,
            ci95_null_reason: interval.ci95_null_reason,
            few_users: interval.few_users,
            n: totals.n(),
            coverage: Coverage::of(&whole, judge_is_rules),
        },
        context_tiles: whole.tiles(),
        rule_attribution: rules.whole,
        rules_as_of: evidence.as_of,
        score_distribution: whole.distribution(),
        partner_tiles: whole.partner_tiles(),
        shadow_win_rate_trend: request.include_shadow.then_some(trend),
        judges: JudgeShare::of(&recent_results),
        recent_results,
        source_set_comparison: if request.source_sets.is_empty() {
            None
        } else {
            Some(compare(&whole, &request.source_sets, rules.sets, &mut lists, judge_is_rules))
        },
        available_agent_versions: counted.agent_versions.clone(),
    };
    Ok((overview, lists))
}

fn compare(
    whole: &Part<'_>,
    sets: &[SourceSet],
    rules: Vec<Vec<RuleAttributionRow>>,
    lists: &mut Lists,
    judge_is_rules: bool,
) -> SourceSetComparison {
    let material = whole.material;
    let available_sources = material.sources();
    let mut source_sessions = Vec::new();
    for source in &available_sources {
        source_sessions.push(SourceSessions {
            source: source.clone(),
            session_ids: lists.sessions(std::slice::from_ref(source), false),
            sessions: lists.sessions(std::slice::from_ref(source), true),
        });
    }
    let all = whole.trend.n();
    let (mut metrics, mut matched) = (Vec::new(), 0);
    for (set, rule_attribution) in sets.iter().zip(rules) {
        let part = Part::of(material, &set.sources);
        let totals = &part.trend;
        let interval = totals.interval(100.0);
        matched += totals.n();
        metrics.push(SourceSetEvaluationMetrics {
            label: set.label.clone(),
            sources: set.sources.clone(),
            session_count: totals.n(),
            session_ids: lists.sessions(&set.sources, false),
            success_rate_pp: totals.success_rate().map_or(0.0, numbers::points),
            buckets: part.buckets(),
            context_tiles: part.tiles(),
            score_distribution: part.distribution(),
            rule_attribution,
            partner_tiles: part.partner_tiles(),
            ci95_pp: interval.ci95,
            ci95_null_reason: interval.ci95_null_reason,
            few_users: interval.few_users,
            n: totals.n(),
            coverage: Coverage::of(&part, judge_is_rules),
        });
    }
    SourceSetComparison {
        available_sources,
        source_sessions,
        sets: metrics,
        unmatched_session_count: all - matched,
    }
}
