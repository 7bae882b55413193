//! Adding, changing and approving agent playbooks, and where they came from.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlx::types::Json;

use super::requests::{NewAgentPlaybook, PlaybookChange};
use super::{AgentPlaybook, Kind, SourceWindow, embedding_job, sql, words};
use crate::app::App;
use crate::db::{Sequence, Tx};
use crate::error::{Error, InputProblem, Result};
use crate::governance::barrier;

struct Made {
    playbook: AgentPlaybook,
    terms: Vec<String>,
    windows: Vec<SourceWindow>,
}

/// Adds agent playbooks with their source windows, all or none, and gives their numbers.
pub async fn add(app: &Arc<App>, org_id: &str, new: Vec<NewAgentPlaybook>) -> Result<Vec<i64>> {
    let now = app.clock.now();
    let made: Vec<Made> = new.into_iter().map(|new| make(new, now)).collect();
    let input = (app.clone(), org_id.to_owned(), made, now);
    let numbers = app
        .db
        .write("learnings.add_agent_playbooks", input, |tx, (app, org_id, made, now)| {
            Box::pin(store(tx, app, org_id, made, *now))
        })
        .await?;
    app.db.announce_work().await;
    Ok(numbers)
}

fn make(new: NewAgentPlaybook, now: i64) -> Made {
    let playbook = AgentPlaybook {
        agent_playbook_id: 0,
        playbook_name: new.playbook_name,
        agent_version: new.agent_version,
        created_at: new.created_at.unwrap_or(now),
        content: new.content,
        trigger: new.trigger,
        rationale: new.rationale,
        playbook_status: new.playbook_status.to_owned(),
        playbook_metadata: Json(new.playbook_metadata),
        status: new.status.to_owned(),
        tags: Json(new.tags),
        source_windows: None,
    };
    Made { terms: terms(&playbook), playbook, windows: new.source_windows }
}

fn terms(playbook: &AgentPlaybook) -> Vec<String> {
    let mut texts = vec![
        playbook.trigger.as_str(),
        &playbook.content,
        &playbook.playbook_name,
        &playbook.rationale,
    ];
    texts.extend(playbook.tags.iter().map(String::as_str));
    words::terms_of(&texts)
}

async fn store(tx: &mut Tx, app: &App, org_id: &str, made: &[Made], now: i64) -> Result<Vec<i64>> {
    let owners = owners(tx, org_id, made).await?;
    let numbers = tx.next_numbers(Sequence::AgentPlaybooks, made.len()).await?;
    let scope = sql::admit_organization_scope(tx, org_id).await?;
    sql::next_version(tx, org_id).await?;
    for (Made { playbook, terms, .. }, number) in made.iter().zip(&numbers) {
        let playbook = AgentPlaybook { agent_playbook_id: *number, ..playbook.clone() };
        let terms = words::scoped(Kind::AgentPlaybook, scope, terms);
        sql::agent_playbooks::insert(tx, org_id, &playbook, &terms).await?;
    }
    for (user_id, links) in owners {
        let subject = barrier::open(tx, &app.subject_keys, org_id, &user_id, now).await?;
        for (place, window) in links {
            sql::agent_playbooks::link(tx, &subject, numbers[place], window).await?;
        }
    }
    embedding_job::enqueue(tx, app, org_id, None).await?;
    Ok(numbers)
}

/// The source windows by the user they lead to, each with the place of its agent playbook. One that leads
/// nowhere is a problem.
async fn owners<'a>(
    tx: &mut Tx,
    org_id: &str,
    made: &'a [Made],
) -> Result<BTreeMap<String, Vec<(usize, &'a SourceWindow)>>> {
    let (mut owners, mut problems) = (BTreeMap::new(), Vec::new());
    for (place, made) in made.iter().enumerate() {
        for (index, window) in made.windows.iter().enumerate() {
            let id = window.user_playbook_id;
            match sql::user_playbooks::owner(tx, org_id, id).await? {
                Some(user_id) => {
                    owners.entry(user_id).or_insert_with(Vec::new).push((place, window))
                }
                None => problems.push(InputProblem {
                    pointer: format!(
                        "/agent_playbooks/{place}/source_windows/{index}/user_playbook_id"
                    ),
                    code: "unknown".to_owned(),
                    detail: format!("there is no user playbook {id}"),
                }),
            }
        }
    }
    if problems.is_empty() { Ok(owners) } else { Err(Error::invalid(problems)) }
}

/// Changes an agent playbook; what the change does not name stays.
pub async fn change(app: &Arc<App>, org_id: &str, change: PlaybookChange) -> Result<()> {
    let input = (app.clone(), org_id.to_owned(), change);
    app.db
        .write("learnings.change_agent_playbook", input, |tx, (app, org_id, change)| {
            Box::pin(apply(tx, app, org_id, change))
        })
        .await?;
    app.db.announce_work().await;
    Ok(())
}

async fn apply(tx: &mut Tx, app: &App, org_id: &str, change: &PlaybookChange) -> Result<()> {
    sql::next_version(tx, org_id).await?;
    let held = sql::agent_playbooks::hold(tx, org_id, change.id).await?;
    let mut playbook = held.ok_or_else(|| Error::not_found("agent playbook"))?;
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
        playbook.status = status.to_owned();
    }
    if let Some(status) = change.playbook_status {
        playbook.playbook_status = status.to_owned();
    }
    if let Some(metadata) = &change.playbook_metadata {
        playbook.playbook_metadata = Json(metadata.clone());
    }
    if let Some(tags) = &change.tags {
        playbook.tags = Json(tags.clone());
    }
    change.check_still_says_something(&playbook.content, &playbook.trigger)?;
    let new_terms = if change.touches_text() {
        let scope = sql::admit_organization_scope(tx, org_id).await?;
        embedding_job::enqueue(tx, app, org_id, None).await?;
        Some(words::scoped(Kind::AgentPlaybook, scope, &terms(&playbook)))
    } else {
        None
    };
    sql::agent_playbooks::update(tx, org_id, &playbook, new_terms.as_deref()).await
}
