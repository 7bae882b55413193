//! Attribution of successes and failures to the rules that sessions cite.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::body::Lists;
use super::evidence::{AllEvidence, RuleAssociation, RulesEvidence};
use super::numbers::TREND;
use super::sql::{self, CitedRules, Counted};
use super::windows::{Span, share};
use super::{OverviewRequest, RuleAttributionRow, RuleTrial, SourceSet};
use crate::evaluation::effects::AllEffects;
use crate::sessions::CitationKind;
use base::owner::OrgId;
use storage::db::{Tx, listed};
use storage::error::Result;

/// This many of the rules that help most are shown, and as many of those that harm most.
const SHOWN: usize = 10;

/// The rules of the whole, and of each set of sources.
pub struct Attribution {
    pub whole: Vec<RuleAttributionRow>,
    pub sets: Vec<Vec<RuleAttributionRow>>,
}

/// Kind and id of a rule.
type RuleKey<'a> = (CitationKind, &'a str);

/// Sessions that cite rules, and how many of them went well.
type SessionsByRule<'a> = HashMap<RuleKey<'a>, (i64, i64)>;

/// A rule, and the sessions that cite it.
#[derive(Clone, Copy)]
struct Cited<'a> {
    kind: CitationKind,
    rule_id: &'a str,
    n: i64,
    successes: i64,
    association: RuleAssociation,
    trial: Option<RuleTrial>,
}

/// Counts of the sessions that cite rules, evidence and trials.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub counted: &'a Counted,
    pub evidence: &'a AllEvidence,
    /// Empty where trials are off.
    pub trials: &'a AllEffects,
}

impl Cited<'_> {
    fn failures(&self) -> i64 {
        self.n - self.successes
    }

    /// Successes minus failures.
    fn net(&self) -> i64 {
        self.successes - self.failures()
    }

    /// The difference that the rule makes, as far as it is known: by a trial, or else by association; 0 where it is not.
    fn effect(&self) -> f64 {
        let by_trial = self.trial.and_then(|trial| trial.shrunken_pp);
        by_trial.or(self.association.shrunken_pp).unwrap_or(0.0)
    }
}

/// The sources of each part, as the rollups name them: of the whole, and of each set of sources.
pub fn sources_of_parts(sets: &[SourceSet]) -> Vec<Vec<String>> {
    let mut parts = vec![vec![sql::ALL_SOURCES.to_owned()]];
    parts.extend(sets.iter().map(|set| set.sources.iter().map(|s| sql::one_source(s)).collect()));
    parts
}

/// The rules of the whole and of each set, from the lists of [`CitedRules`] of all their sources.
pub async fn attribution(
    tx: &mut Tx,
    org_id: &OrgId,
    window: Span,
    request: &OverviewRequest,
    Known { counted, evidence, trials }: Known<'_>,
    lists: &mut Lists,
) -> Result<Attribution> {
    let (sets, agent_version) = (&request.source_sets, request.agent_version.as_deref());
    let parts = sources_of_parts(sets);
    let sources = std::iter::once(None).chain(sets.iter().map(|set| Some(&*set.sources)));
    let mut found: Vec<CitedRules<'_>> = Vec::new();
    for text in &counted.cited_rules {
        found.append(&mut listed(text)?);
    }
    let evidences: Vec<&RulesEvidence> =
        std::iter::once(&evidence.whole).chain(&evidence.sets).collect();
    let no_trials = AllEffects::default();
    // Trials are of all sources together.
    let all_trials = std::iter::once(trials).chain(std::iter::repeat(&no_trials));
    let known: Vec<(&RulesEvidence, &AllEffects)> =
        evidences.iter().copied().zip(all_trials).collect();
    let cited = summed(&found, &parts, &known);
    let shown: BTreeSet<RuleKey<'_>> =
        cited.iter().flatten().map(|rule| (rule.kind, rule.rule_id)).collect();
    let shown: Vec<RuleKey<'_>> = shown.into_iter().collect();
    let titles = sql::rule_titles(tx, org_id, &shown, window, agent_version).await?;
    let titles: HashMap<RuleKey<'_>, &str> = titles
        .iter()
        .map(|(kind, rule_id, title)| ((*kind, rule_id.as_str()), title.as_str()))
        .collect();
    let mut rows =
        cited.into_iter().zip(sources).zip(evidences).map(|((cited, sources), evidence)| {
            let row = |rule: Cited<'_>| RuleAttributionRow {
                rule_id: rule.rule_id.to_owned(),
                kind: rule.kind,
                title: titles
                    .get(&(rule.kind, rule.rule_id))
                    .map_or_else(String::new, |t| (*t).to_owned()),
                successes_with: rule.successes,
                failures_with: rule.failures(),
                net_sessions: rule.net(),
                cited_session_ids: lists.citing(rule.kind, rule.rule_id, sources),
                success_rate_ci95: evidence
                    .of(rule.kind, rule.rule_id)
                    .and_then(|evidence| evidence.success_rate.ci95),
                association: rule.association,
                trial: rule.trial,
            };
            cited.into_iter().map(row).collect()
        });
    Ok(Attribution { whole: rows.next().unwrap_or_default(), sets: rows.collect() })
}

/// The rules that are shown of each part, those that make the most difference first.
fn summed<'a>(
    found: &'a [CitedRules<'a>],
    parts: &[Vec<String>],
    known: &[(&RulesEvidence, &AllEffects)],
) -> Vec<Vec<Cited<'a>>> {
    let part_of: HashMap<&str, usize> = parts
        .iter()
        .enumerate()
        .flat_map(|(part, sources)| sources.iter().map(move |source| (source.as_str(), part)))
        .collect();
    let mut sums: Vec<SessionsByRule<'_>> = vec![HashMap::new(); parts.len()];
    for CitedRules { tag, source, lines } in found {
        let Some(&part) = part_of.get(&**source) else { continue };
        let share = share(*tag, TREND);
        for line in lines {
            let sum = sums[part].entry((line.kind, &*line.rule_id)).or_default();
            *sum = (sum.0 + share * line.n, sum.1 + share * line.successes);
        }
    }
    let parts = sums.into_iter().zip(known);
    parts.map(|(sums, (evidence, trials))| most_telling(sums, evidence, trials)).collect()
}

fn most_telling<'a>(
    sums: SessionsByRule<'a>,
    evidence: &RulesEvidence,
    trials: &AllEffects,
) -> Vec<Cited<'a>> {
    let rules = sums.into_iter().filter(|(_, (n, _))| *n > 0);
    let rules = rules.map(|((kind, rule_id), (n, successes))| {
        let association = evidence.of(kind, rule_id).map(|evidence| evidence.association);
        let id = (kind == CitationKind::AgentPlaybook).then(|| rule_id.parse().ok()).flatten();
        let trial = id.and_then(|id| trials.of(id)).map(RuleTrial::from);
        Cited { kind, rule_id, n, successes, association: association.unwrap_or_default(), trial }
    });
    let mut rules: Vec<Cited<'_>> = rules.collect();
    rules.sort_unstable_by(order);
    let (mut helpful, mut harmful, mut neutral) = (Vec::new(), Vec::new(), Vec::new());
    for rule in rules {
        let (group, most) = match rule.effect() {
            effect if effect > 0.0 => (&mut helpful, SHOWN),
            effect if effect < 0.0 => (&mut harmful, SHOWN),
            _ => (&mut neutral, 2 * SHOWN),
        };
        if group.len() < most {
            group.push(rule);
        }
    }
    // Rules that nothing is known about fill the places that are left.
    let places = 2 * SHOWN - helpful.len() - harmful.len();
    let mut shown = helpful;
    shown.append(&mut harmful);
    shown.extend(neutral.into_iter().take(places));
    shown.sort_unstable_by(order);
    shown
}

/// By effect, then by volume, then by id.
fn order(one: &Cited<'_>, other: &Cited<'_>) -> std::cmp::Ordering {
    let by_effect = other.effect().abs().total_cmp(&one.effect().abs());
    by_effect.then_with(|| {
        let rest =
            |rule: &Cited<'_>| (Reverse(rule.n), rule.rule_id.to_owned(), rule.kind.as_str());
        rest(one).cmp(&rest(other))
    })
}
