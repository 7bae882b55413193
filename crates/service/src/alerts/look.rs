//! One look at the rules of an organization: sums, judgement, and what is told of it.

use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::Arc;

use super::{Episode, Rule, sql};
use crate::app::App;
use crate::evaluation::overview::{HourQuery, Hours, SessionMetric};
use crate::webhooks::{self, AlertNews, Event};
use base::owner::OrgId;
use stats::alerts::{AlertState, Change, Judgement, judge_change};
use stats::reason::NullReason;
use storage::db::Tx;
use storage::error::{Error, Result};

/// Looks at every rule that is turned on.
pub async fn look(app: &Arc<App>, org_id: &OrgId) -> Result<()> {
    let now = app.clock.now();
    let (rules, hours) = app
        .db
        .read_standby("alerts.read", (org_id.clone(), now), |tx, (org_id, now)| {
            Box::pin(read(tx, org_id, *now))
        })
        .await?;
    let judged = tokio::task::spawn_blocking(move || {
        let judged = |rule: Rule| {
            let sums = hours.get(&query(&rule, now));
            let judgement =
                sums.map_or(Err(NullReason::NoEvaluatedSessions), |hours| judge(&rule, hours, now));
            (rule, judgement)
        };
        rules.into_iter().map(judged).collect::<Vec<_>>()
    })
    .await
    .map_err(|e| Error::Internal(format!("a look at a rule failed: {e}")))?;
    for (rule, judgement) in judged {
        let input = (app.clone(), org_id.clone(), rule, judgement);
        app.db
            .write("alerts.save", input, |tx, (app, org_id, rule, judgement)| {
                Box::pin(save(tx, app, org_id, rule, judgement))
            })
            .await?;
    }
    Ok(())
}

/// The sums that a rule is judged by.
fn query(rule: &Rule, now: i64) -> HourQuery {
    let settings = rule.settings();
    HourQuery {
        from: settings.from(now),
        to: settings.until(now),
        source: rule.source.clone(),
        agent_version: rule.agent_version.clone(),
    }
}

async fn read(
    tx: &mut Tx,
    org_id: &OrgId,
    now: i64,
) -> Result<(Vec<Rule>, BTreeMap<HourQuery, Hours>)> {
    let rules: Vec<Rule> =
        sql::list(tx, org_id).await?.into_iter().filter(|rule| rule.enabled).collect();
    let mut hours = BTreeMap::new();
    for query in rules.iter().map(|rule| query(rule, now)) {
        if let Entry::Vacant(place) = hours.entry(query) {
            let sums = Hours::read(tx, org_id, place.key()).await?;
            place.insert(sums);
        }
    }
    Ok((rules, hours))
}

/// Judges a rule; nothing where rules alone judged, of whom there is no success rate.
fn judge(rule: &Rule, hours: &Hours, now: i64) -> Result<Judgement, NullReason> {
    if rule.metric == SessionMetric::SuccessRate && hours.only_rules() {
        return Err(NullReason::OnlyRulesJudged);
    }
    judge_change(&hours.blocks(rule.metric), now, rule.watch(), &rule.settings())
}

/// Stores a judgement and tells of it, unless the rule was changed or judged in between.
async fn save(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    rule: &Rule,
    judgement: &Result<Judgement, NullReason>,
) -> Result<()> {
    let Some(mut there) = sql::hold(tx, org_id, &rule.rule_id).await? else {
        return Ok(());
    };
    let is_as_it_was = there.enabled
        && there.watch() == rule.watch()
        && there.looked_until == rule.looked_until
        && there.smallest_change == rule.smallest_change;
    if !is_as_it_was {
        return Ok(());
    }
    let judgement = match judgement {
        Ok(judgement) => judgement,
        Err(reason) => {
            (there.state, there.reason) = (AlertState::Collecting, Some(*reason));
            return sql::update(tx, org_id, &there).await;
        }
    };
    there.state = judgement.state;
    there.reason = judgement.reason;
    there.looked_until = judgement.until;
    there.evidence = judgement.e_value;
    there.set_watch(judgement.watch);
    sql::update(tx, org_id, &there).await?;
    let now = app.clock.now();
    match judgement.state {
        AlertState::Worse => {
            let (Some(since), Some(change)) = (judgement.since, judgement.change) else {
                return Err(Error::Internal("an alert without a change".to_owned()));
            };
            let episode = begun(now, since, &change);
            sql::insert_episode(tx, org_id, &there.rule_id, &episode).await?;
            let event = Event::AlertRaised(news(&there, &episode, None));
            webhooks::emit(tx, app, org_id, None, &event).await
        }
        state @ (AlertState::Recovered | AlertState::Settled) => {
            let Some(episode) = sql::open_episode(tx, org_id, &there.rule_id).await? else {
                return Ok(());
            };
            sql::end_episode(tx, org_id, &there.rule_id, state.as_str(), now).await?;
            let event = Event::AlertCleared(news(&there, &episode, Some(state.as_str())));
            webhooks::emit(tx, app, org_id, None, &event).await
        }
        AlertState::Collecting | AlertState::Quiet | AlertState::StillWorse => Ok(()),
    }
}

fn begun(now: i64, since: i64, change: &Change) -> Episode {
    Episode {
        raised_at: now,
        worse_since: since,
        cleared_at: None,
        cleared_as: None,
        mean_before: change.before,
        mean_since: change.now,
        difference: change.change,
        ci_lower: change.interval.lower,
        ci_upper: change.interval.upper,
        sessions: change.sessions,
    }
}

fn news(rule: &Rule, episode: &Episode, cleared_as: Option<&'static str>) -> AlertNews {
    AlertNews {
        rule_id: rule.rule_id.clone(),
        rule_name: rule.name.clone(),
        metric: rule.metric.as_str(),
        source: rule.source.clone(),
        agent_version: rule.agent_version.clone(),
        worse_since: episode.worse_since,
        mean_before: episode.mean_before,
        mean_since: episode.mean_since,
        difference: episode.difference,
        ci_lower: episode.ci_lower,
        ci_upper: episode.ci_upper,
        sessions: episode.sessions,
        cleared_as,
    }
}
