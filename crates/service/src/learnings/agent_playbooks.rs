//! Adding, changing and approving agent playbooks, and where they came from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sqlx::types::Json;

use super::decisions::{self, Decider, DecisionKind};
use super::flags::{PlaybookFlag, text_flags};
use super::requests::{NewAgentPlaybook, PlaybookChange};
use super::{
    AgentPlaybook, LearningStatus, PlaybookStatus, SourceWindow, embedding_job, rejections,
    scoped_terms, sql, user_playbooks,
};
use crate::app::App;
use crate::organization;
use base::owner::{OrgId, UserId};
use base::words;
use judge::LearningKind;
use storage::db::{Sequence, Tx};
use storage::error::{Code, Error, InputProblem, Result};
use storage::subjects::barrier;

struct Made {
    playbook: AgentPlaybook,
    confirmed: bool,
    terms: Vec<String>,
    windows: Vec<SourceWindow>,
}

/// Adds agent playbooks with their source windows, all or none, and gives their numbers.
pub async fn add(
    app: &Arc<App>,
    org_id: &OrgId,
    new: Vec<NewAgentPlaybook>,
    decider: Decider,
) -> Result<Vec<i64>> {
    if matches!(decider, Decider::Agent { .. })
        && new.iter().any(|playbook| playbook.playbook_status == PlaybookStatus::Approved)
    {
        return Err(Error::refused(
            Code::ApprovalNeedsAPerson,
            "An agent key adds pending playbooks; a person approves them with a dashboard credential.",
        ));
    }
    let now = app.clock.now();
    let made: Vec<Made> = new.into_iter().map(|new| make(new, now)).collect();
    for Made { playbook, confirmed, .. } in &made {
        if playbook.playbook_status == PlaybookStatus::Approved && !confirmed {
            refuse_flagged(&text_flags(playbook))?;
        }
    }
    let input = (app.clone(), org_id.to_owned(), made, decider);
    let numbers = app
        .db
        .write("learnings.add_agent_playbooks", input, |tx, (app, org_id, made, decider)| {
            Box::pin(store(tx, app, org_id, made, decider))
        })
        .await?;
    app.sign_audit_head().await;
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
        playbook_status: new.playbook_status,
        playbook_metadata: Json(new.playbook_metadata),
        status: new.status,
        tags: Json(new.tags),
        source_windows: None,
        source_user_count: None,
        below_min_users: None,
        withheld_share: None,
        flags: None,
    };
    let (windows, confirmed) = (new.source_windows, new.confirmed);
    Made { terms: terms(&playbook), playbook, confirmed, windows }
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

async fn store(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    made: &[Made],
    decider: &Decider,
) -> Result<Vec<i64>> {
    let now = app.clock.now();
    let owners = owners(tx, org_id, made).await?;
    let numbers = tx.next_numbers(Sequence::AgentPlaybooks, made.len()).await?;
    let scope = sql::admit_organization_scope(tx, org_id).await?;
    sql::next_version(tx, org_id).await?;
    for (Made { playbook, terms, .. }, number) in made.iter().zip(&numbers) {
        let playbook = AgentPlaybook { agent_playbook_id: *number, ..playbook.clone() };
        let terms = scoped_terms(LearningKind::AgentPlaybook, scope, terms);
        sql::agent_playbooks::insert(tx, org_id, &playbook, &terms).await?;
        if playbook.playbook_status == PlaybookStatus::Rejected {
            rejections::remember_rejection(tx, app, org_id, &playbook).await?;
        }
    }
    for (user_id, links) in owners {
        let subject = barrier::open(tx, org_id, &user_id, now).await?;
        for (place, window) in links {
            sql::agent_playbooks::link(tx, &subject, numbers[place], window).await?;
        }
    }
    embedding_job::enqueue(tx, app, org_id, None).await?;
    let pending = made.iter().map(|made| &made.playbook);
    let pending = pending.filter(|p| p.playbook_status == PlaybookStatus::Pending);
    let versions: BTreeSet<&str> = pending.map(|p| p.agent_version.as_str()).collect();
    for version in versions {
        user_playbooks::announce_change(tx, app, org_id, version).await?;
    }
    // Last: the audit's turn comes after the locks on people, as everywhere.
    let added: Vec<(i64, PlaybookStatus)> = made
        .iter()
        .zip(&numbers)
        .map(|(made, number)| (*number, made.playbook.playbook_status))
        .collect();
    decisions::record_added(tx, app, org_id, &added, decider).await?;
    Ok(numbers)
}

/// The source windows by the user they lead to, each with the place of its agent playbook. One that leads
/// nowhere is a problem.
async fn owners<'a>(
    tx: &mut Tx,
    org_id: &OrgId,
    made: &'a [Made],
) -> Result<BTreeMap<UserId, Vec<(usize, &'a SourceWindow)>>> {
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

/// Writes one new playbook and gives its number.
pub async fn put(tx: &mut Tx, org_id: &OrgId, mut playbook: AgentPlaybook) -> Result<i64> {
    playbook.agent_playbook_id = tx.next_numbers(Sequence::AgentPlaybooks, 1).await?[0];
    let scope = sql::admit_organization_scope(tx, org_id).await?;
    sql::next_version(tx, org_id).await?;
    let terms = scoped_terms(LearningKind::AgentPlaybook, scope, &terms(&playbook));
    sql::agent_playbooks::insert(tx, org_id, &playbook, &terms).await?;
    Ok(playbook.agent_playbook_id)
}

/// Stores a text that is no longer what it was, with what it is found by. The vector of the old one goes.
pub async fn rewrite(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    playbook: &AgentPlaybook,
) -> Result<()> {
    let scope = sql::admit_organization_scope(tx, org_id).await?;
    let terms = scoped_terms(LearningKind::AgentPlaybook, scope, &terms(playbook));
    sql::agent_playbooks::update(tx, org_id, playbook, Some(&terms)).await?;
    sql::vectors::delete_of_agent_playbook(tx, org_id, playbook.agent_playbook_id).await?;
    embedding_job::enqueue(tx, app, org_id, None).await
}

/// Changes an agent playbook; what the change does not name stays.
pub async fn change(
    app: &Arc<App>,
    org_id: &OrgId,
    change: PlaybookChange,
    decider: Decider,
) -> Result<()> {
    let input = (app.clone(), org_id.to_owned(), change, decider);
    app.db
        .write("learnings.change_agent_playbook", input, |tx, (app, org_id, change, decider)| {
            Box::pin(apply(tx, app, org_id, change, decider))
        })
        .await?;
    app.sign_audit_head().await;
    app.db.announce_work().await;
    Ok(())
}

/// Whether aggregation proposed this playbook and too few of its people are left.
async fn has_few_people(tx: &mut Tx, org_id: &OrgId, id: i64) -> Result<bool> {
    let least = organization::config_in(tx, org_id).await?.config.learning.min_users;
    let left = sql::agent_playbooks::source_users(tx, org_id, &[id]).await?;
    let left = left.first().map_or(0, |(_, people)| *people);
    Ok(left < least && !sql::agent_playbooks::aggregated(tx, org_id, &[id]).await?.is_empty())
}

fn refuse_flagged(flags: &[PlaybookFlag]) -> Result<()> {
    if flags.is_empty() {
        return Ok(());
    }
    let reasons: Vec<&str> = flags
        .iter()
        .map(|flag| match flag {
            PlaybookFlag::Payment => "it asks for payment data",
            PlaybookFlag::Credentials => "it speaks of passwords, codes or the like",
            PlaybookFlag::Link => "it names a link or an address",
            PlaybookFlag::FewPeople => "too few of the people who taught it are still there",
        })
        .collect();
    let detail = format!(
        "Look at this playbook again: {}. Every agent would be served it. Send `confirmed`: true to approve it.",
        reasons.join("; ")
    );
    Err(Error::refused(Code::ConfirmationNeeded, &detail))
}

/// [`change`] as part of a transaction.
pub async fn apply(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    change: &PlaybookChange,
    decider: &Decider,
) -> Result<()> {
    sql::next_version(tx, org_id).await?;
    let held = sql::agent_playbooks::hold(tx, org_id, change.id).await?;
    let mut playbook = held.ok_or_else(|| Error::not_found("agent playbook"))?;
    let before = playbook.playbook_status;
    let was_archived = playbook.status == LearningStatus::Archived;
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
    if let Some(status) = change.playbook_status {
        playbook.playbook_status = status;
    }
    if let Some(metadata) = &change.playbook_metadata {
        playbook.playbook_metadata = Json(metadata.clone());
    }
    if let Some(tags) = &change.tags {
        playbook.tags = Json(tags.clone());
    }
    change.check_still_says_something(&playbook.content, &playbook.trigger)?;
    let is_approved = playbook.playbook_status == PlaybookStatus::Approved;
    let is_new_approval = before != PlaybookStatus::Approved || change.touches_text();
    if is_approved && is_new_approval && !change.confirmed {
        let mut flags = text_flags(&playbook);
        if before == PlaybookStatus::Pending && has_few_people(tx, org_id, change.id).await? {
            flags.push(PlaybookFlag::FewPeople);
        }
        refuse_flagged(&flags)?;
    }
    let new_terms = if change.touches_text() {
        let scope = sql::admit_organization_scope(tx, org_id).await?;
        embedding_job::enqueue(tx, app, org_id, None).await?;
        Some(scoped_terms(LearningKind::AgentPlaybook, scope, &terms(&playbook)))
    } else {
        None
    };
    sql::agent_playbooks::update(tx, org_id, &playbook, new_terms.as_deref()).await?;
    let id = playbook.agent_playbook_id;
    if change.touches_text() {
        decisions::record(tx, app, org_id, id, DecisionKind::Edited, decider).await?;
    }
    if playbook.status == LearningStatus::Archived && !was_archived {
        decisions::record(tx, app, org_id, id, DecisionKind::Archived, decider).await?;
    }
    if playbook.playbook_status != before {
        decisions::record(tx, app, org_id, id, playbook.playbook_status.into(), decider).await?;
    }
    match (before, playbook.playbook_status) {
        (_, PlaybookStatus::Rejected) => {
            rejections::remember_rejection(tx, app, org_id, &playbook).await
        }
        (PlaybookStatus::Rejected, _) => rejections::forget_rejection(tx, org_id, &playbook).await,
        _ => Ok(()),
    }
}
