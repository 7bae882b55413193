//! The certificate of an erasure: what was erased, when, by which version, signed so that it can be checked without
//! this installation.

use serde_json::{Value, json};

use super::purge::Purge;
use crate::app::App;
use crate::schema::MIGRATIONS;
use storage::db::Engine;
use storage::error::{Code, Error, Result};
use storage::subjects::sealing;

const DAY: i64 = 86_400;

/// The signed certificate of a complete erasure.
pub fn of(app: &App, purge: &Purge) -> Result<Value> {
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
    let certificate = json!({
        "certificate_version": 1,
        "purge_id": purge.purge_id,
        "subject_ref": purge.subject_ref,
        "request_ref": purge.request_ref,
        "erased": purge.deleted(),
        "shared_texts_masked": purge.shared_texts_masked(),
        "barrier_closed_at": purge.fence_at,
        "completed_at": completed_at,
        "level": if purge.physical_at.is_some() { "physical" } else { "logical" },
        "physical_at": purge.physical_at,
        "physical_after": physical_after,
        "backups_expire_at": completed_at + governance.backup_days * DAY,
        "engine": engine.map(Engine::name),
        "evenhand_version": env!("CARGO_PKG_VERSION"),
        "schema_version": MIGRATIONS.newest(),
        "audit_sequence": purge.audit_sequence,
        "audit_hash": purge.audit_hash,
    });
    sign(app, certificate)
}

/// `{certificate, key_id, public_key, signature}`.
pub fn sign(app: &App, certificate: Value) -> Result<Value> {
    let signed = app.subject_keys.sign(message(&certificate).as_bytes())?;
    Ok(json!({
        "certificate": certificate,
        "key_id": signed.key_id,
        "public_key": signed.public_key,
        "signature": signed.signature,
    }))
}

/// What is signed: the certificate as JSON with sorted names and no white space.
fn message(certificate: &Value) -> String {
    let mut sorted = certificate.clone();
    sorted.sort_all_objects();
    format!("evenhand-certificate-v1\n{sorted}")
}

/// Whether a signed certificate is whole; its public key then. With nothing but the file, this says that nobody changed
/// it since it was signed; who signed it, only a public key from elsewhere says.
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
