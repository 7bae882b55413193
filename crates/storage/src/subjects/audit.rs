//! The audit chain: who exported, erased, readmitted, made and revoked keys, changed the configuration and decided about
//! agent playbooks.
//!
//! Events hold references and counts, never tokens, ids, content or error texts. Each carries the hash of the one
//! before it: nothing can be changed, left out or put in between without [`verify`] noticing. An event is written
//! in the transaction of what it tells about.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use sqlx::types::Json;

use super::sql;
use crate::db::{Db, Tx};
use crate::error::Result;
use base::owner::OrgId;

/// The predecessor of the first event.
const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Events read at a time.
const PAGE: i64 = 1000;

base::vocabulary! {
    pub enum Operation {
        Export = "EXPORT",
        Erase = "ERASE",
        Readmit = "READMIT",
        KeyCreate = "KEY_CREATE",
        KeyRevoke = "KEY_REVOKE",
        Config = "CONFIG",
        Playbook = "PLAYBOOK",
    }
}

base::vocabulary! {
    /// Status of an audited operation.
    pub enum AuditStatus {
        Ok = "ok",
        Error = "error",
    }
}

/// An event to be appended.
pub struct NewEvent<'a> {
    pub org_id: &'a OrgId,
    pub operation: Operation,
    pub ok: bool,
    pub actor_ref: &'a str,
    pub subject_ref: Option<&'a str>,
    pub request_ref: Option<&'a str>,
    pub counts: BTreeMap<String, u64>,
    pub now: i64,
}

/// An event as it is stored. Its words are read as texts: one that somebody changed is to break the chain, not the
/// reading.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct AuditEvent {
    pub sequence: i64,
    pub org_id: OrgId,
    pub operation: String,
    pub status: String,
    pub actor_ref: String,
    pub subject_ref: Option<String>,
    pub request_ref: Option<String>,
    pub counts: Json<BTreeMap<String, u64>>,
    pub created_at: i64,
    pub previous_hash: String,
    pub hash: String,
}

impl AuditEvent {
    /// SHA-256 over every field, each with its length before it, so that no two events read the same.
    fn digest(&self) -> String {
        let counts = serde_json::to_string(&self.counts.0).unwrap_or_default();
        let mut digest = Sha256::new();
        let (sequence, time) = (self.sequence.to_string(), self.created_at.to_string());
        for part in [
            Some("audit_v1"),
            Some(&sequence),
            Some(&self.org_id),
            Some(&self.operation),
            Some(&self.status),
            Some(&self.actor_ref),
            self.subject_ref.as_deref(),
            self.request_ref.as_deref(),
            Some(&counts),
            Some(&time),
            Some(&self.previous_hash),
        ] {
            match part {
                Some(text) => {
                    digest.update((text.len() as u64).to_be_bytes());
                    digest.update(text.as_bytes());
                }
                None => digest.update(u64::MAX.to_be_bytes()),
            }
        }
        hex::encode(digest.finalize())
    }
}

/// Appends an event as part of `tx` and gives its place in the chain and its hash.
pub async fn append(tx: &mut Tx, event: NewEvent<'_>) -> Result<(i64, String)> {
    sql::audit::take_turns(tx).await?;
    let (last, previous_hash) =
        sql::audit::head(tx).await?.unwrap_or_else(|| (0, GENESIS.to_owned()));
    let mut stored = AuditEvent {
        sequence: last + 1,
        org_id: event.org_id.to_owned(),
        operation: event.operation.to_string(),
        status: if event.ok { AuditStatus::Ok } else { AuditStatus::Error }.to_string(),
        actor_ref: event.actor_ref.to_owned(),
        subject_ref: event.subject_ref.map(str::to_owned),
        request_ref: event.request_ref.map(str::to_owned),
        counts: Json(event.counts),
        created_at: event.now,
        previous_hash,
        hash: String::new(),
    };
    stored.hash = stored.digest();
    sql::audit::insert(tx, &stored).await?;
    Ok((stored.sequence, stored.hash))
}

/// The result of walking the chain.
#[derive(Debug, PartialEq, Eq)]
pub struct Verified {
    pub events: i64,
    /// The hash of the newest event: write it down elsewhere, and a chain cut off at its end shows too.
    pub head: String,
    /// The first event that does not fit, and why.
    pub broken_at: Option<(i64, &'static str)>,
}

/// Walks the chain from its beginning.
pub async fn verify(db: &Db) -> Result<Verified> {
    db.read("governance.verify_audit", (), |tx, ()| Box::pin(walk(tx))).await
}

async fn walk(tx: &mut Tx) -> Result<Verified> {
    let mut walked = Verified { events: 0, head: GENESIS.to_owned(), broken_at: None };
    loop {
        let page = sql::audit::after(tx, walked.events, PAGE).await?;
        if page.is_empty() {
            return Ok(walked);
        }
        for event in page {
            let problem = if event.sequence != walked.events + 1 {
                Some("an event before it is missing")
            } else if event.previous_hash != walked.head {
                Some("it does not follow the event before it")
            } else if event.digest() != event.hash {
                Some("it was changed")
            } else {
                None
            };
            if let Some(problem) = problem {
                walked.broken_at = Some((event.sequence, problem));
                return Ok(walked);
            }
            walked.events = event.sequence;
            walked.head = event.hash;
        }
    }
}
