//! Before anybody is served: do the database, the erasure ledger and the signed end of the audit chain belong together?
//!
//! A database that is behind its ledger was restored from a backup: the erasures since are done again, and an audit event
//! says so. A database that is ahead of its ledger, or behind what is kept elsewhere, is not served.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::{ledger, sql};
use crate::app::App;
use crate::credentials;
use base::owner::OrgId;
use storage::error::{Error, Result};
use storage::subjects::COMMAND_LINE;
use storage::subjects::audit::{self, NewEvent, Operation};
use storage::subjects::audit_head::{SignedHead, hash_at};

/// The command after which a server starts again.
const REPAIR: &str = "If you restored this database on purpose, or lost the file, `evenhand governance accept-restored` \
    takes the database as it is, writes the missing lines of the ledger and signs anew; an audit event will say so.";

/// Compares, replays the ledger, and gives the number of erasures that were done again.
pub async fn agree(app: &Arc<App>) -> Result<usize> {
    let (end, _) = audit::end(&app.db).await?;
    let kept = app.audit_head.kept(&app.subject_keys).map_err(refused)?;
    compare_with_ledger(app, kept.as_ref()).await?;
    let missing = match &kept {
        Some(head) if head.sequence > end => head.sequence - end,
        Some(head) => {
            belongs(app, head, "audit.head").await?;
            0
        }
        None if app.audit_head.is_kept() && has_history(app, end).await? => {
            return Err(refused("audit.head beside the erasure ledger is missing".to_owned()));
        }
        None => 0,
    };
    for (place, head) in app.audit_head.outside(&app.subject_keys).map_err(refused)? {
        belongs(app, &head, place).await?;
    }
    let replayed = ledger::replay(app).await?;
    if missing > 0 {
        tracing::warn!(
            missing,
            "the database was restored: the newest events of its audit are gone"
        );
        note_restored(app, "start", missing).await?;
    }
    app.sign_audit_head().await;
    Ok(replayed)
}

/// Takes the database as it is: for an operator who knows why it does not agree.
pub async fn accept(app: &Arc<App>) -> Result<usize> {
    let noted = ledger_ids(app)?;
    let mut written = 0;
    for purge in completed(app).await?.into_iter().filter(|purge| !noted.contains(&purge.purge_id))
    {
        ledger::append(app, &purge)?;
        written += 1;
    }
    ledger::replay(app).await?;
    let (end, _) = audit::end(&app.db).await?;
    let kept = app.audit_head.kept(&app.subject_keys).ok().flatten();
    let missing = kept.map_or(0, |head| (head.sequence - end).max(0));
    note_restored(app, COMMAND_LINE, missing).await?;
    app.sign_audit_head().await;
    Ok(written)
}

/// True if something happened here that is in the audit, or should be.
async fn has_history(app: &App, end: i64) -> Result<bool> {
    Ok(end > 0 || !completed(app).await?.is_empty() || credentials::any_exist(app).await?)
}

fn refused(problem: String) -> Error {
    Error::Internal(format!("{problem}. {REPAIR}"))
}

fn ledger_ids(app: &App) -> Result<BTreeSet<String>> {
    Ok(ledger::entries(app)?.into_iter().map(|entry| entry.purge_id).collect())
}

async fn completed(app: &App) -> Result<Vec<super::super::purge::Purge>> {
    app.db
        .read("governance.completed_purges", (), |tx, ()| Box::pin(sql::purges::completed(tx)))
        .await
}

/// Refuses a ledger that lacks an erasure, or that does not go on from where it was signed.
async fn compare_with_ledger(app: &App, kept: Option<&SignedHead>) -> Result<()> {
    if !app.audit_head.is_kept() {
        return Ok(());
    }
    let entries = ledger::entries(app)?;
    if let Some(head) = kept.filter(|head| head.ledger_lines > 0) {
        let place = usize::try_from(head.ledger_lines - 1).unwrap_or(usize::MAX);
        if entries.get(place).map(|entry| &entry.hash) != Some(&head.ledger_hash) {
            let lines = head.ledger_lines;
            let found = entries.len();
            return Err(refused(format!(
                "the erasure ledger had {lines} lines when it was signed, and has other ones or fewer now ({found})"
            )));
        }
    }
    let noted: BTreeSet<&str> = entries.iter().map(|entry| entry.purge_id.as_str()).collect();
    let missing = completed(app).await?;
    let missing = missing.iter().filter(|purge| !noted.contains(purge.purge_id.as_str())).count();
    match missing {
        0 => Ok(()),
        missing => Err(refused(format!(
            "the erasure ledger lacks {missing} erasures that the database knows"
        ))),
    }
}

/// Refuses a chain that a signed head does not belong to.
async fn belongs(app: &App, head: &SignedHead, place: &str) -> Result<()> {
    let (end, _) = audit::end(&app.db).await?;
    let there = hash_at(&app.db, head.sequence).await?;
    if head.sequence > end {
        let missing = head.sequence - end;
        return Err(refused(format!(
            "{place} knows {missing} events of the audit that this database does not have: it is older"
        )));
    }
    if head.sequence > 0 && there.as_ref() != Some(&head.hash) {
        let sequence = head.sequence;
        return Err(refused(format!("{place} has another event {sequence} of the audit")));
    }
    Ok(())
}

async fn note_restored(app: &Arc<App>, actor: &str, missing: i64) -> Result<()> {
    let input = (app.clone(), actor.to_owned(), missing.unsigned_abs());
    app.db
        .write("governance.note_restored", input, |tx, (app, actor, missing)| {
            Box::pin(async move {
                let org_id = &OrgId::default();
                let event = NewEvent {
                    org_id,
                    operation: Operation::Restored,
                    ok: true,
                    actor_ref: &app.subject_keys.actor_ref(org_id, actor),
                    subject_ref: None,
                    request_ref: None,
                    counts: BTreeMap::from([("events_missing".to_owned(), *missing)]),
                    now: app.clock.now(),
                };
                audit::append(tx, &app.subject_keys, event).await.map(drop)
            })
        })
        .await
}
