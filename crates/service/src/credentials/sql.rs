//! SQL of the tables `credentials` and `browser_sessions`.

use super::Credential;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;
use storage::{row, rows, run};

pub async fn insert(tx: &mut Tx, credential: &Credential, digest: &str) -> Result<()> {
    run!(
        tx,
        "INSERT INTO credentials
           (credential_id, org_id, role, governance, reads, name, token_sha256, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        &credential.credential_id,
        &credential.org_id,
        credential.role,
        credential.governance,
        credential.reads,
        &credential.name,
        digest,
        credential.created_at,
        credential.expires_at
    )?;
    Ok(())
}

pub async fn find_live(tx: &mut Tx, digest: &str) -> Result<Option<Credential>> {
    row!(
        tx,
        Credential,
        "SELECT credential_id, org_id, role, governance, reads, name, created_at, expires_at, last_used_at,
                revoked_at
         FROM credentials WHERE token_sha256 = $1 AND revoked_at IS NULL",
        digest
    )
}

/// A live credential with the digest of its token.
pub async fn find_live_by_id(
    tx: &mut Tx,
    credential_id: &str,
) -> Result<Option<(Credential, String)>> {
    let digest = row!(
        tx,
        (String,),
        "SELECT token_sha256 FROM credentials WHERE credential_id = $1 AND revoked_at IS NULL",
        credential_id
    )?;
    let Some((digest,)) = digest else { return Ok(None) };
    Ok(find_live(tx, &digest).await?.map(|credential| (credential, digest)))
}

pub async fn any(tx: &mut Tx) -> Result<bool> {
    Ok(row!(tx, (String,), "SELECT credential_id FROM credentials LIMIT 1")?.is_some())
}

pub async fn list(tx: &mut Tx, org_id: Option<&OrgId>) -> Result<Vec<Credential>> {
    rows!(
        tx,
        Credential,
        "SELECT credential_id, org_id, role, governance, reads, name, created_at, expires_at, last_used_at,
                revoked_at
         FROM credentials WHERE $1 IS NULL OR org_id = $1
         ORDER BY created_at DESC, credential_id DESC",
        org_id
    )
}

/// False when it was revoked before.
pub async fn revoke(tx: &mut Tx, credential_id: &str, now: i64) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE credentials SET revoked_at = $2 WHERE credential_id = $1 AND revoked_at IS NULL",
        credential_id,
        now
    )?;
    Ok(touched > 0)
}

/// Notes that a credential was used.
pub async fn touch(tx: &mut Tx, credential_id: &str, hour: i64) -> Result<()> {
    run!(
        tx,
        "UPDATE credentials SET last_used_at = $2
         WHERE credential_id = $1 AND (last_used_at IS NULL OR last_used_at < $2)",
        credential_id,
        hour
    )?;
    Ok(())
}

/// A browser that is signed in: its credential's id, the digest of the token it signed in with, and its end.
pub async fn browser(tx: &mut Tx, session: &str) -> Result<Option<(String, String, i64)>> {
    row!(
        tx,
        (String, String, i64),
        "SELECT credential_id, token_sha256, ends_at FROM browser_sessions WHERE session_sha256 = $1",
        session
    )
}

/// Signs a browser in. Those whose time is over go.
pub async fn insert_browser(
    tx: &mut Tx,
    session: &str,
    credential_id: &str,
    token_digest: &str,
    now: i64,
    ends_at: i64,
) -> Result<()> {
    run!(tx, "DELETE FROM browser_sessions WHERE ends_at <= $1", now)?;
    run!(
        tx,
        "INSERT INTO browser_sessions (session_sha256, credential_id, token_sha256, created_at, ends_at)
         VALUES ($1, $2, $3, $4, $5)",
        session,
        credential_id,
        token_digest,
        now,
        ends_at
    )?;
    Ok(())
}

pub async fn delete_browser(tx: &mut Tx, session: &str) -> Result<()> {
    run!(tx, "DELETE FROM browser_sessions WHERE session_sha256 = $1", session)?;
    Ok(())
}
