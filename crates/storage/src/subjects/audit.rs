//! The audit chain: who exported, erased, readmitted, deleted, made and revoked keys, changed the configuration, decided
//! about agent playbooks, and was refused at the governance endpoints.
//!
//! Events hold references and counts, never tokens, ids, content or error texts. Each carries a keyed hash (HMAC) over
//! itself and the hash of the one before it: without the installation's key nothing can be changed, left out, put in
//! between or written anew without [`walk`] noticing. That the end is missing shows [`super::audit_head`]. An event is
//! written in the transaction of what it tells about.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use sqlx::types::Json;

use super::{COMMAND_LINE, KeyPurpose, SubjectKeys, sql};
use crate::db::{Db, Tx};
use crate::error::Result;
use base::owner::OrgId;

/// The predecessor of the first event.
const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Begins the hashes that have a key.
const KEYED: &str = "v2_";
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
        Delete = "DELETE",
        /// Calls of governance endpoints without the right to, with their number.
        Refused = "REFUSED",
        /// The events before it were written when hashes had no key: it vouches for them as they were found then.
        Sealed = "SEALED",
        /// The database went on from an earlier state: events after it are gone.
        Restored = "RESTORED",
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
    fn is_keyed(&self) -> bool {
        self.hash.starts_with(KEYED)
    }

    /// The keyed hashes over every field under every key, the current one last.
    fn keyed_digests(&self, keys: &SubjectKeys) -> Vec<String> {
        let counts = serde_json::to_string(&self.counts.0).unwrap_or_default();
        let (sequence, time) = (self.sequence.to_string(), self.created_at.to_string());
        let option = |part: &Option<String>| match part {
            Some(text) => format!("+{text}"),
            None => "-".to_owned(),
        };
        let parts = [
            "audit_v2",
            &sequence,
            &self.org_id,
            &self.operation,
            &self.status,
            &self.actor_ref,
            &option(&self.subject_ref),
            &option(&self.request_ref),
            &counts,
            &time,
            &self.previous_hash,
        ];
        let stamps = keys.all_stamps(KeyPurpose::Audit, &parts);
        stamps.into_iter().map(|stamp| format!("{KEYED}{stamp}")).collect()
    }

    /// As it was before hashes had a key: SHA-256 over every field, each with its length before it.
    pub fn plain_digest(&self) -> String {
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
pub async fn append(tx: &mut Tx, keys: &SubjectKeys, event: NewEvent<'_>) -> Result<(i64, String)> {
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
    stored.hash = stored.keyed_digests(keys).pop().unwrap_or_default();
    sql::audit::insert(tx, &stored).await?;
    Ok((stored.sequence, stored.hash))
}

/// Vouches for a chain of before hashes had a key, as it is now. For the migration that brings the key.
pub async fn seal_plain(tx: &mut Tx, keys: &SubjectKeys, now: i64) -> Result<()> {
    match sql::audit::head(tx).await? {
        Some((sequence, hash)) if !hash.starts_with(KEYED) => {
            let event = NewEvent {
                org_id: &OrgId::default(),
                operation: Operation::Sealed,
                ok: true,
                actor_ref: &keys.actor_ref(&OrgId::default(), COMMAND_LINE),
                subject_ref: None,
                request_ref: None,
                counts: BTreeMap::from([("events".to_owned(), sequence.unsigned_abs())]),
                now,
            };
            append(tx, keys, event).await.map(drop)
        }
        _ => Ok(()),
    }
}

/// Events of an organization before the event `before`, the newest first.
pub async fn newest(
    tx: &mut Tx,
    org_id: &OrgId,
    before: i64,
    limit: i64,
) -> Result<Vec<AuditEvent>> {
    sql::audit::before(tx, org_id, before, limit).await
}

/// Number and hash of the newest event.
pub async fn end(db: &Db) -> Result<(i64, String)> {
    let head =
        db.lookup("governance.audit_end", (), |tx, ()| Box::pin(sql::audit::head(tx))).await?;
    Ok(head.unwrap_or_else(|| (0, GENESIS.to_owned())))
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
pub async fn verify(db: &Db, keys: &SubjectKeys) -> Result<Verified> {
    walk(db, keys, |_| {}).await
}

/// [`verify`], with a look at every event that fits.
pub async fn walk(
    db: &Db,
    keys: &SubjectKeys,
    mut look: impl FnMut(&AuditEvent),
) -> Result<Verified> {
    let mut walked = Verified { events: 0, head: GENESIS.to_owned(), broken_at: None };
    let mut keyed = false;
    loop {
        let page = db
            .read("governance.verify_audit", walked.events, |tx, after| {
                Box::pin(sql::audit::after(tx, *after, PAGE))
            })
            .await?;
        if page.is_empty() {
            break;
        }
        for event in page {
            if let Some(problem) = problem(&event, &walked, keyed, keys) {
                walked.broken_at = Some((event.sequence, problem));
                return Ok(walked);
            }
            look(&event);
            keyed = event.is_keyed();
            walked.events = event.sequence;
            walked.head = event.hash;
        }
    }
    if walked.events > 0 && !keyed {
        walked.broken_at = Some((1, "no event has a hash under this installation's key"));
    }
    Ok(walked)
}

fn problem(
    event: &AuditEvent,
    walked: &Verified,
    keyed: bool,
    keys: &SubjectKeys,
) -> Option<&'static str> {
    if event.sequence != walked.events + 1 {
        return Some("an event before it is missing");
    }
    if event.previous_hash != walked.head {
        return Some("it does not follow the event before it");
    }
    let fits = match event.is_keyed() {
        true => event.keyed_digests(keys).contains(&event.hash),
        false => event.plain_digest() == event.hash,
    };
    if !fits {
        return Some("it was changed");
    }
    let is_seal = event.operation == Operation::Sealed.as_str();
    match (event.is_keyed(), keyed) {
        (false, true) => Some("its hash has no key, and that of the one before it has"),
        (true, false) if walked.events > 0 && !is_seal => {
            Some("nothing vouches for the events before it")
        }
        _ => None,
    }
}
