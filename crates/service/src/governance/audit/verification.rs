//! `evenhand governance verify-audit`: the chain, and whatever else tells of the same operations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::super::{certificate, ledger, sql};
use crate::app::App;
use storage::error::Result;
use storage::subjects::audit::{self, AuditEvent, AuditStatus, Operation};
use storage::subjects::audit_head::hash_at;

/// Things kept elsewhere that the chain has to fit.
#[derive(Default)]
pub struct Expected {
    /// Number and hash of events, as an anchor or an earlier run gave them.
    pub events: Vec<(i64, String)>,
    /// Certificates of erasures.
    pub certificates: Vec<Value>,
}

/// The result of a verification.
#[derive(Debug, Default)]
pub struct AuditReport {
    pub events: i64,
    pub head: String,
    /// Everything that does not fit; empty when all is well.
    pub problems: Vec<String>,
    /// Things to know that are no problem.
    pub notes: Vec<String>,
}

/// Erasures and exports as the events tell of them.
#[derive(Default)]
struct Told {
    /// Hashes of the erasures by the number of their event.
    erasures: BTreeMap<i64, String>,
    /// Exports by subject and request.
    exports: BTreeSet<(String, String)>,
    restored: Vec<(i64, u64)>,
    sealed: Option<(i64, u64)>,
}

impl Told {
    fn look(&mut self, event: &AuditEvent) {
        let ok = event.status == AuditStatus::Ok.as_str();
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let count = |name: &str| event.counts.0.get(name).copied().unwrap_or(0);
        match event.operation.as_str() {
            of if of == Operation::Erase.as_str() && ok => {
                self.erasures.insert(event.sequence, event.hash.clone());
            }
            of if of == Operation::Export.as_str() && ok => {
                self.exports.insert((text(&event.subject_ref), text(&event.request_ref)));
            }
            of if of == Operation::Restored.as_str() => {
                self.restored.push((event.sequence, count("events_missing")));
            }
            of if of == Operation::Sealed.as_str() => {
                self.sealed = Some((event.sequence, count("events")));
            }
            _ => {}
        }
    }
}

pub async fn verify(app: &Arc<App>, expected: &Expected) -> Result<AuditReport> {
    let mut told = Told::default();
    let walked = audit::walk(&app.db, &app.subject_keys, |event| told.look(event)).await?;
    let mut report =
        AuditReport { events: walked.events, head: walked.head.clone(), ..AuditReport::default() };
    if let Some((sequence, problem)) = walked.broken_at {
        report.problems.push(format!("event {sequence}: {problem}"));
        return Ok(report);
    }
    for (sequence, missing) in &told.restored {
        report.notes.push(format!(
            "event {sequence}: the database went on from an earlier state; {missing} events after it are gone"
        ));
    }
    if let Some((sequence, events)) = told.sealed {
        report.notes.push(format!(
            "event {sequence} vouches for {events} events of before hashes had a key, as it found them"
        ));
    }
    compare_heads(app, &walked, &mut report).await?;
    compare_operations(app, &told, &mut report).await?;
    for (sequence, hash) in &expected.events {
        if hash_at(&app.db, *sequence).await?.as_ref() != Some(hash) {
            report.problems.push(format!("event {sequence} is not the expected one, or missing"));
        }
    }
    for signed in &expected.certificates {
        report.problems.extend(compare_certificate(app, &told, signed));
    }
    Ok(report)
}

async fn compare_heads(
    app: &App,
    walked: &audit::Verified,
    report: &mut AuditReport,
) -> Result<()> {
    let keys = &app.subject_keys;
    let mut heads = Vec::new();
    match app.audit_head.kept(keys) {
        Ok(Some(head)) => heads.push(("audit.head", head)),
        Ok(None) if app.audit_head.is_kept() => {
            report.problems.push("audit.head beside the erasure ledger is missing".to_owned());
        }
        Ok(None) => report.notes.push(
            "no end of the chain is kept outside the database: a cut one cannot be noticed here"
                .to_owned(),
        ),
        Err(problem) => report.problems.push(problem),
    }
    match app.audit_head.outside(keys) {
        Ok(outside) => heads.extend(outside),
        Err(problem) => report.problems.push(problem),
    }
    let entries = ledger::entries(app)?;
    for (place, head) in heads {
        let there = hash_at(&app.db, head.sequence).await?;
        if let Some(problem) = walked.lacks(&head, there.as_deref()) {
            report.problems.push(format!("{place}: {problem}"));
        }
        if head.ledger_lines > 0 {
            let line = usize::try_from(head.ledger_lines - 1).unwrap_or(usize::MAX);
            if entries.get(line).map(|entry| &entry.hash) != Some(&head.ledger_hash) {
                let lines = head.ledger_lines;
                report.problems.push(format!(
                    "{place}: line {lines} of the erasure ledger is not the one that was signed"
                ));
            }
        }
    }
    Ok(())
}

async fn compare_operations(app: &App, told: &Told, report: &mut AuditReport) -> Result<()> {
    let (purges, exports) = app
        .db
        .read("governance.audited_operations", (), |tx, ()| {
            Box::pin(async move {
                Ok((sql::purges::completed(tx).await?, sql::exports::all(tx).await?))
            })
        })
        .await?;
    let mut known = BTreeSet::new();
    for purge in &purges {
        let (sequence, hash) = (purge.audit_sequence.unwrap_or(0), purge.audit_hash.as_ref());
        known.insert(sequence);
        if told.erasures.get(&sequence) != hash || hash.is_none() {
            let id = &purge.purge_id;
            report.problems.push(format!("erasure {id} is complete without its event"));
        }
    }
    for sequence in told.erasures.keys().filter(|sequence| !known.contains(sequence)) {
        report.problems.push(format!("event {sequence} tells of an erasure that is not there"));
    }
    let exports: BTreeSet<(String, String)> = exports.into_iter().collect();
    let without_event = exports.difference(&told.exports).count();
    let without_row = told.exports.difference(&exports).count();
    if without_event > 0 {
        report.problems.push(format!("{without_event} exports are without their event"));
    }
    if without_row > 0 {
        report.problems.push(format!("{without_row} events tell of exports that are not there"));
    }
    if app.audit_head.is_kept() {
        let entries = ledger::entries(app)?;
        let noted: BTreeSet<&str> = entries.iter().map(|entry| entry.purge_id.as_str()).collect();
        for purge in purges.iter().filter(|purge| !noted.contains(purge.purge_id.as_str())) {
            report.problems.push(format!("erasure {} is not in the ledger", purge.purge_id));
        }
    }
    Ok(())
}

/// Reason that a certificate does not fit the chain, if it does not.
fn compare_certificate(app: &App, told: &Told, signed: &Value) -> Option<String> {
    let of = &signed["certificate"];
    let id = of["purge_id"].as_str().unwrap_or("?");
    if let Err(problem) = certificate::check_own(app, signed) {
        return Some(format!("the certificate of erasure {id}: {problem}"));
    }
    let sequence = of["audit_sequence"].as_i64().unwrap_or(0);
    let fits = told.erasures.get(&sequence).map(String::as_str) == of["audit_hash"].as_str();
    (!fits).then(|| format!("the certificate of erasure {id} names an event that is not there"))
}
