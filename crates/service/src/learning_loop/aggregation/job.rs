//! The job of an agent version: find what several people taught, propose it, close the job.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;
use sqlx::types::Json;

use super::clusters::{self, Cluster, Member};
use super::duplicates::{self, Repeated};
use super::personal::{People, PersonTexts};
use crate::app::App;
use crate::learning_loop::payload;
use crate::learning_loop::sql::aggregation as sql;
use crate::learnings::decisions::{self, Decider, DecisionKind};
use crate::learnings::likeness::Likeness;
use crate::learnings::rows as learning_rows;
use crate::learnings::rows::agent_playbooks as playbook_rows;
use crate::learnings::{
    AgentPlaybook, LearningStatus, PROPOSED, PlaybookStatus, SourceWindow, USER_PLAYBOOKS_CHANGED,
    UserPlaybooksChanged, agent_playbooks, embedding_job, rejections, user_playbooks,
};
use crate::organization::{self, LearningConfig};
use base::owner::UserId;
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::jobs::{self, Claim, Handler, Outcome};
use storage::subjects::barrier;

/// Playbooks that are read at a time.
const BATCH: i64 = 2000;

pub struct AggregatePlaybooks;

impl Handler<App> for AggregatePlaybooks {
    fn kind(&self) -> &'static str {
        USER_PLAYBOOKS_CHANGED
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(aggregate(app, job))
    }
}

/// Playbooks and learning settings of an agent version, read in one snapshot.
struct AggregationInput {
    learning: LearningConfig,
    members: Vec<Member>,
    /// Agent playbooks that are not rejected.
    served: Vec<AgentPlaybook>,
    /// Sources of the served playbooks, as `(agent playbook, user playbook)`.
    links: BTreeSet<(i64, i64)>,
    rejected: Vec<BTreeSet<String>>,
}

impl AggregationInput {
    /// Different people who must have taught the same.
    fn people(&self) -> usize {
        usize::try_from(self.learning.min_users).unwrap_or(2).max(2)
    }
}

/// An agent playbook to write, new or with more sources.
struct Proposed {
    /// An agent playbook that is there already, or the text of a new one.
    to: Result<i64, Wording>,
    sources: Vec<Member>,
}

#[derive(Clone)]
struct Wording {
    trigger: String,
    content: String,
}

async fn aggregate(app: &Arc<App>, job: &Claim) -> Result<Outcome> {
    let UserPlaybooksChanged { agent_version: version } =
        payload(USER_PLAYBOOKS_CHANGED, &job.payload)?;
    let material = load(app, job, &version).await?;
    if !material.learning.aggregation {
        return Ok(Outcome::Done);
    }
    let people = material.people();
    let (material, found, repeated) = tokio::task::spawn_blocking(move || {
        let found = clusters::find(&material.members, people);
        let repeated = duplicates::find(&material.served);
        (material, found, repeated)
    })
    .await
    .map_err(|e| Error::Internal(e.to_string()))?;
    let mut proposed = Vec::new();
    for cluster in found {
        proposed.extend(propose(app, job, &material, &cluster).await?);
    }
    app.faults.reach("aggregate.before_save")?;
    let input = (app.clone(), job.clone(), version, proposed, repeated);
    app.db
        .write("learnings.save_aggregation", input, |tx, input| {
            let (app, job, version, proposed, repeated) = input;
            Box::pin(save(tx, app, job, version, proposed, repeated))
        })
        .await?;
    app.faults.reach("aggregate.after_save")?;
    app.db.announce_work().await;
    Ok(Outcome::Closed)
}

async fn load(app: &App, job: &Claim, version: &str) -> Result<AggregationInput> {
    let model = app.embedder.model().unwrap_or_default().to_owned();
    let input = (job.org_id.clone(), version.to_owned(), model);
    app.db
        .read("learnings.aggregation", input, |tx, (org_id, version, model)| {
            Box::pin(async move {
                let learning = organization::config_in(tx, org_id).await?.config.learning;
                let mut members: Vec<Member> = Vec::new();
                loop {
                    let after = members.last().map_or(0, |member| member.user_playbook_id);
                    let next = sql::members(tx, org_id, version, model, after, BATCH).await?;
                    if next.is_empty() {
                        break;
                    }
                    members.extend(next);
                }
                let served = sql::served(tx, org_id, version).await?;
                let ids: Vec<i64> = served.iter().map(|p| p.agent_playbook_id).collect();
                let links = playbook_rows::windows(tx, org_id, &ids).await?;
                let rejected = rejections::rejected(tx, org_id, version).await?;
                Ok(AggregationInput {
                    learning,
                    members,
                    served,
                    links: links.into_iter().map(|(agent, user, _)| (agent, user)).collect(),
                    rejected,
                })
            })
        })
        .await
}

/// Proposal for a cluster: more sources of an existing playbook, a new one, or nothing.
async fn propose(
    app: &App,
    job: &Claim,
    material: &AggregationInput,
    cluster: &Cluster,
) -> Result<Option<Proposed>> {
    let members: Vec<Member> =
        cluster.members.iter().map(|place| material.members[*place].clone()).collect();
    let spokesmen = cluster.spokesmen.iter().map(|place| &material.members[*place]);
    let likeness = spokesmen.clone().next().map(Member::likeness).unwrap_or_default();
    let linked = |playbook: &&AgentPlaybook| {
        members.iter().any(|member| {
            material.links.contains(&(playbook.agent_playbook_id, member.user_playbook_id))
        })
    };
    let says_it = |playbook: &&AgentPlaybook| {
        let text = format!("{} {}", playbook.trigger, playbook.content);
        likeness.agrees(&Likeness::of(&text))
    };
    let served = material.served.iter();
    if let Some(playbook) = served.clone().find(linked).or_else(|| served.clone().find(says_it)) {
        let id = playbook.agent_playbook_id;
        let is_new = |m: &Member| !material.links.contains(&(id, m.user_playbook_id));
        let sources: Vec<Member> = members.into_iter().filter(is_new).collect();
        return Ok((!sources.is_empty()).then_some(Proposed { to: Ok(id), sources }));
    }
    let people = people(app, job, &members).await?;
    let least = material.people();
    if people.count() < least {
        return Ok(None);
    }
    let may_share = |text: &str| people.is_common(text, least) && people.is_impersonal(text, "");
    let Some(said) = spokesmen.clone().find(|m| may_share(&m.trigger) && may_share(&m.content))
    else {
        metrics::counter!("evenhand_aggregations_total", "outcome" => "refused_personal")
            .increment(1);
        tracing::info!("a playbook was not proposed: no wording of it is free of its people");
        return Ok(None);
    };
    let draft = Wording { trigger: said.trigger.clone(), content: said.content.clone() };
    if rejections::is_rejected(&material.rejected, &draft.trigger, &draft.content) {
        return Ok(None);
    }
    Ok(Some(Proposed { to: Err(draft), sources: members }))
}

/// The people behind a cluster, with what is known about them.
async fn people(app: &App, job: &Claim, members: &[Member]) -> Result<People> {
    let mut people: BTreeMap<&str, PersonTexts> = BTreeMap::new();
    for member in members {
        let person = people.entry(&member.user_id).or_default();
        person.user_id.clone_from(&member.user_id);
        person.texts.extend([member.trigger.clone(), member.content.clone()]);
    }
    let users: Vec<UserId> = people.keys().map(|user_id| UserId::from(*user_id)).collect();
    let input = (job.org_id.clone(), users);
    let known = app
        .db
        .read("learnings.known_of_sources", input, |tx, (org_id, users)| {
            Box::pin(sql::known_of(tx, org_id, users))
        })
        .await?;
    for (user_id, content) in known {
        if let Some(person) = people.get_mut(user_id.as_str()) {
            person.known.push(content);
        }
    }
    Ok(People::new(people.into_values().collect()))
}

async fn save(
    tx: &mut Tx,
    app: &App,
    job: &Claim,
    version: &str,
    proposed: &[Proposed],
    repeated: &[Repeated],
) -> Result<()> {
    let now = app.clock.now();
    jobs::hold(tx, job).await?;
    let mut inherited = Vec::new();
    for Repeated { kept, duplicates } in repeated {
        let links = playbook_rows::source_links(tx, &job.org_id, duplicates).await?;
        inherited.extend(links.into_iter().map(|link| (*kept, link)));
    }
    let sources = proposed.iter().flat_map(|p| p.sources.iter().map(|m| m.user_id.clone()));
    let inherited_from = inherited.iter().map(|(_, (user_id, ..))| user_id.clone());
    let users: BTreeSet<UserId> = sources.chain(inherited_from).collect();
    let users: Vec<UserId> = users.into_iter().collect();
    let subjects = barrier::open_known(tx, &job.org_id, &users).await?;
    for (kept, (user_id, user_playbook_id, Json(source_interaction_ids))) in inherited {
        if let Some(subject) = subjects.get(&user_id) {
            let window = SourceWindow { user_playbook_id, source_interaction_ids };
            playbook_rows::link(tx, subject, kept, &window).await?;
        }
    }
    if !repeated.is_empty() {
        learning_rows::next_version(tx, &job.org_id).await?;
    }
    for Repeated { duplicates, .. } in repeated {
        for id in playbook_rows::archive_pending(tx, &job.org_id, duplicates).await? {
            decisions::record(
                tx,
                app,
                &job.org_id,
                id,
                DecisionKind::Archived,
                &Decider::Aggregation,
            )
            .await?;
        }
    }
    let (mut made, mut has_changed) = (0, false);
    for Proposed { to, sources } in proposed {
        // Erased, deleted or changed meanwhile: it no longer speaks for anybody.
        let mut standing = Vec::new();
        for member in sources.iter().filter(|member| subjects.contains_key(&member.user_id)) {
            if sql::still_says(tx, &job.org_id, member).await? {
                standing.push(member);
            }
        }
        let id = match to {
            Ok(id) if playbook_rows::hold(tx, &job.org_id, *id).await?.is_some() => *id,
            Ok(_) => continue,
            // A source that the text was compared with is gone: the next run compares anew.
            Err(_) if standing.len() < sources.len() => {
                has_changed = true;
                continue;
            }
            Err(draft) => {
                let id = agent_playbooks::put(tx, &job.org_id, new(draft, version, now)).await?;
                let (proposed, by) = (DecisionKind::Proposed, Decider::Aggregation);
                decisions::record(tx, app, &job.org_id, id, proposed, &by).await?;
                made += 1;
                id
            }
        };
        for member in standing {
            let window = SourceWindow {
                user_playbook_id: member.user_playbook_id,
                source_interaction_ids: member.source_interaction_ids.0.clone(),
            };
            if let Some(subject) = subjects.get(&member.user_id) {
                playbook_rows::link(tx, subject, id, &window).await?;
            }
        }
    }
    if made > 0 {
        embedding_job::enqueue(tx, app, &job.org_id, None).await?;
        metrics::counter!("evenhand_aggregations_total", "outcome" => "proposed").increment(made);
    }
    app.faults.reach("aggregate.amid_save")?;
    jobs::finish(tx, job, now).await?;
    if has_changed {
        user_playbooks::announce_change(tx, app, &job.org_id, version).await
    } else {
        Ok(())
    }
}

fn new(draft: &Wording, version: &str, now: i64) -> AgentPlaybook {
    AgentPlaybook {
        agent_playbook_id: 0,
        playbook_name: String::new(),
        agent_version: version.to_owned(),
        created_at: now,
        content: draft.content.clone(),
        trigger: draft.trigger.clone(),
        rationale: "Several people taught this independently.".to_owned(),
        playbook_status: PlaybookStatus::Pending,
        playbook_metadata: Json(json!({
            "origin": "aggregation",
            PROPOSED: {"trigger": draft.trigger, "content": draft.content},
        })),
        status: LearningStatus::Current,
        tags: Json(Vec::new()),
        source_windows: None,
        source_user_count: None,
        below_min_users: None,
        withheld_share: None,
        flags: None,
    }
}
