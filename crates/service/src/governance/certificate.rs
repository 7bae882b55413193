//! The certificate of an erasure: what was erased, when, by which version, signed so that it can be checked without
//! this installation.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::purge::Purge;
use crate::app::App;
use crate::schema::MIGRATIONS;
use storage::db::Engine;
use storage::error::{Code, Error, Result};
use storage::subjects::KeyPurpose;
use storage::subjects::sealing::{self, Signed};

const DAY: i64 = 86_400;

base::vocabulary! {
    /// Depth of an erasure.
    pub enum ErasureLevel {
        /// From the tables.
        Logical = "logical",
        /// From the files of the server as well.
        Physical = "physical",
    }
}

/// Certificate of an erasure: rows erased, time, version and depth.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Certificate {
    certificate_version: i64,
    purge_id: String,
    subject_ref: String,
    request_ref: String,
    /// Rows by target.
    erased: BTreeMap<String, u64>,
    /// Agent playbooks in which something that only this person said was masked.
    shared_texts_masked: u64,
    /// Learned judges that had learned from this person and were deleted, and those trained again without them.
    judge_models_deleted: u64,
    judge_models_retrained: u64,
    barrier_closed_at: i64,
    completed_at: i64,
    level: ErasureLevel,
    physical_at: Option<i64>,
    /// On PostgreSQL: when rewritten tables are out of the log and of the backups.
    physical_after: Option<i64>,
    backups_expire_at: i64,
    engine: Option<Engine>,
    evenhand_version: &'static str,
    schema_version: i64,
    audit_sequence: Option<i64>,
    audit_hash: Option<String>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SignedCertificate {
    certificate: Certificate,
    /// The governance key behind the signature.
    key_id: String,
    /// Ed25519, in hex.
    public_key: String,
    /// Over `evenhand-certificate-v1`, a newline, and the certificate as JSON with sorted names and no white space.
    signature: String,
}

/// The signed certificate of a complete erasure.
pub fn of(app: &App, purge: &Purge) -> Result<SignedCertificate> {
    let Some(completed_at) = purge.completed_at.filter(|_| purge.is_complete()) else {
        return Err(Error::refused(
            Code::PurgeNotComplete,
            "There is a certificate when the erasure is complete; ask for its status until then.",
        ));
    };
    let governance = &app.settings.governance;
    let engine = app.db.engine();
    // Rewritten tables leave the old ones in the log and in the backups taken before.
    let physical_after = match engine {
        Some(Engine::Postgres) => {
            let days = governance.rewrite_days + governance.wal_days.max(governance.backup_days);
            Some(completed_at + days * DAY)
        }
        _ => None,
    };
    let level = match purge.physical_at {
        Some(_) => ErasureLevel::Physical,
        None => ErasureLevel::Logical,
    };
    let certificate = Certificate {
        certificate_version: 1,
        purge_id: purge.purge_id.clone(),
        subject_ref: purge.subject_ref.clone(),
        request_ref: purge.request_ref.clone(),
        erased: purge.deleted(),
        shared_texts_masked: purge.shared_texts_masked(),
        judge_models_deleted: purge.models_deleted(),
        judge_models_retrained: purge.models_retrained(),
        barrier_closed_at: purge.fence_at,
        completed_at,
        level,
        physical_at: purge.physical_at,
        physical_after,
        backups_expire_at: completed_at + governance.backup_days * DAY,
        engine,
        evenhand_version: env!("CARGO_PKG_VERSION"),
        schema_version: MIGRATIONS.newest(),
        audit_sequence: purge.audit_sequence,
        audit_hash: purge.audit_hash.clone(),
    };
    let Signed { key_id, public_key, signature } = sign(app, &certificate)?;
    Ok(SignedCertificate { certificate, key_id, public_key, signature })
}

/// The signature of a certificate, or of what a drill found.
pub fn sign(app: &App, certificate: &impl Serialize) -> Result<Signed> {
    let value = serde_json::to_value(certificate).map_err(|e| Error::Internal(e.to_string()))?;
    app.subject_keys.sign(KeyPurpose::Signing, message(&value).as_bytes())
}

/// The message that is signed: the certificate as JSON with sorted names and no white space.
fn message(certificate: &Value) -> String {
    let mut sorted = certificate.clone();
    sorted.sort_all_objects();
    format!("evenhand-certificate-v1\n{sorted}")
}

/// Verifies a certificate of this installation.
pub fn check_own(app: &App, signed: &Value) -> Result<(), String> {
    let public_key = check(signed)?;
    let own = app.subject_keys.public_keys(KeyPurpose::Signing);
    match own.iter().any(|(_, key)| *key == public_key) {
        true => Ok(()),
        false => Err("it was signed by somebody else".to_owned()),
    }
}

/// Verifies a signed certificate and gives its public key. With nothing but the file, this says that nobody
/// changed it since it was signed; the signer is known only by a public key from elsewhere.
pub fn check(signed: &Value) -> Result<String, String> {
    let text = |name: &str| signed[name].as_str().ok_or(format!("it has no {name}"));
    let (public_key, signature) = (text("public_key")?, text("signature")?);
    if !signed["certificate"].is_object() {
        return Err("it has no certificate".to_owned());
    }
    let message = message(&signed["certificate"]);
    if sealing::is_signed(public_key, message.as_bytes(), signature) {
        Ok(public_key.to_owned())
    } else {
        Err("its signature does not fit: it was changed".to_owned())
    }
}
