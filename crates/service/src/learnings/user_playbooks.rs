//! Adding and changing user playbooks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sqlx::types::Json;

use super::requests::{NewUserPlaybook, PlaybookChange};
use super::{UserPlaybook, embedding_job, scoped_terms, sql};
use crate::app::App;
use base::owner::OrgId;
use base::words;
use judge::LearningKind;
use serde::{Deserialize, Serialize};
use serde_json::json;
use storage::db::{Sequence, Tx};
use storage::error::{Error, Result};
use storage::jobs::{self, NewJob, OnDuplicate};
use storage::subjects::{SubjectWrite, barrier};

/// Adds user playbooks, all or none, and gives their numbers.
pub async fn add(app: &Arc<App>, org_id: &OrgId, new: Vec<NewUserPlaybook>) -> Result<Vec<i64>> {
    let now = app.clock.now();
    let made: Vec<(UserPlaybook, Vec<String>)> = new
        .into_iter()
        .map(|new| {
            let playbook = make(new, now);
            let terms = terms(&playbook);
            (playbook, terms)
        })
        .collect();
    let input = (app.clone(), org_id.to_owned(), made, now);
    let numbers = app
        .db
        .write("learnings.add_user_playbooks", input, |tx, (app, org_id, made, now)| {
            Box::pin(store(tx, app, org_id, made, *now))
        })
        .await?;
    app.db.announce_work().await;
    Ok(numbers)
}

fn make(new: NewUserPlaybook, now: i64) -> UserPlaybook {
    UserPlaybook {
        user_playbook_id: 0,
        user_id: new.user_id,
        agent_version: new.agent_version,
        request_id: new.request_id,
        playbook_name: new.playbook_name,
        created_at: new.created_at.unwrap_or(now),
        content: new.content,
        trigger: new.trigger,
        rationale: new.rationale,
        status: new.status,
        source: new.source,
        source_interaction_ids: Json(new.source_interaction_ids),
        tags: Json(new.tags),
    }
}

fn terms(playbook: &UserPlaybook) -> Vec<String> {
    let mut texts = vec![
        playbook.trigger.as_str(),
        &playbook.content,
        &playbook.playbook_name,
        &playbook.rationale,
    ];
    texts.extend(playbook.tags.iter().map(String::as_str));
    words::terms_of(&texts)
}

async fn store(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    made: &[(UserPlaybook, Vec<String>)],
    now: i64,
) -> Result<Vec<i64>> {
    let numbers = tx.next_numbers(Sequence::UserPlaybooks, made.len()).await?;
    let mut owners = BTreeMap::new();
    // In the order of their ids: two batches that name the same people do not wait for each other in a circle.
    for user_id in made.iter().map(|(p, _)| &p.user_id).collect::<BTreeSet<_>>() {
        let subject = barrier::open(tx, org_id, user_id, now).await?;
        subject.admits(None, now)?;
        let scope = sql::admit_scope(tx, &subject).await?;
        embedding_job::enqueue(tx, app, org_id, Some(&subject)).await?;
        owners.insert(user_id, (subject, scope));
    }
    for ((playbook, terms), number) in made.iter().zip(&numbers) {
        let Some((subject, scope)) = owners.get(&playbook.user_id) else {
            continue;
        };
        let playbook = UserPlaybook { user_playbook_id: *number, ..playbook.clone() };
        let terms = scoped_terms(LearningKind::UserPlaybook, *scope, terms);
        sql::user_playbooks::insert(tx, subject, &playbook, &terms).await?;
    }
    for version in made.iter().map(|(p, _)| &p.agent_version).collect::<BTreeSet<_>>() {
        announce_change(tx, app, org_id, version).await?;
    }
    Ok(numbers)
}

/// Writes one new playbook in a transaction that has the right to, and gives its number.
pub async fn put(tx: &mut Tx, subject: &SubjectWrite, mut playbook: UserPlaybook) -> Result<i64> {
    let scope = sql::admit_scope(tx, subject).await?;
    playbook.user_playbook_id = tx.next_numbers(Sequence::UserPlaybooks, 1).await?[0];
    let terms = scoped_terms(LearningKind::UserPlaybook, scope, &terms(&playbook));
    sql::user_playbooks::insert(tx, subject, &playbook, &terms).await?;
    Ok(playbook.user_playbook_id)
}

/// Changes a user playbook; what the change does not name stays.
pub async fn change(app: &Arc<App>, org_id: &OrgId, change: PlaybookChange) -> Result<()> {
    let input = (app.clone(), org_id.to_owned(), change, app.clock.now());
    app.db
        .write("learnings.change_user_playbook", input, |tx, (app, org_id, change, now)| {
            Box::pin(apply(tx, app, org_id, change, *now))
        })
        .await?;
    app.db.announce_work().await;
    Ok(())
}

/// [`change`] as part of a transaction.
pub async fn apply(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    change: &PlaybookChange,
    now: i64,
) -> Result<()> {
    let held = sql::user_playbooks::hold(tx, org_id, change.id).await?;
    let mut playbook = held.ok_or_else(|| Error::not_found("user playbook"))?;
    let subject = barrier::open(tx, org_id, &playbook.user_id, now).await?;
    let put = |target: &mut String, value: &Option<String>| {
        if let Some(value) = value {
            target.clone_from(value);
        }
    };
    put(&mut playbook.playbook_name, &change.playbook_name);
    put(&mut playbook.agent_version, &change.agent_version);
    put(&mut playbook.content, &change.content);
    put(&mut playbook.trigger, &change.trigger);
    put(&mut playbook.rationale, &change.rationale);
    if let Some(status) = change.status {
        playbook.status = status;
    }
    if let Some(tags) = &change.tags {
        playbook.tags = Json(tags.clone());
    }
    change.check_still_says_something(&playbook.content, &playbook.trigger)?;
    let new_terms = if change.touches_text() {
        let scope = sql::admit_scope(tx, &subject).await?;
        embedding_job::enqueue(tx, app, org_id, Some(&subject)).await?;
        Some(scoped_terms(LearningKind::UserPlaybook, scope, &terms(&playbook)))
    } else {
        None
    };
    announce_change(tx, app, org_id, &playbook.agent_version).await?;
    sql::user_playbooks::update(tx, &subject, &playbook, new_terms.as_deref()).await
}

/// The kind of the job that follows changes to the user playbooks of an agent version; who handles it is wired.
pub const USER_PLAYBOOKS_CHANGED: &str = "aggregate_playbooks";

/// The payload of that job.
#[derive(Debug, Serialize, Deserialize)]
pub struct UserPlaybooksChanged {
    pub agent_version: String,
}

/// Playbooks that come within this time are looked at together.
const GATHER_SECONDS: i64 = 10;

/// Announces that user playbooks of an agent version changed, in the transaction that changes them.
pub async fn announce_change(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    agent_version: &str,
) -> Result<()> {
    let job = NewJob {
        kind: USER_PLAYBOOKS_CHANGED,
        org_id,
        subject: None,
        parent_id: None,
        payload: json!(UserPlaybooksChanged { agent_version: agent_version.to_owned() }),
        dedupe_key: Some(agent_version.to_owned()),
        on_duplicate: OnDuplicate::Move,
        run_at: app.clock.now() + GATHER_SECONDS,
        max_attempts: 12,
    };
    jobs::enqueue(tx, app, job).await.map(drop)
}
