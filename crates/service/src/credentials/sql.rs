//! SQL of the table `credentials`.

use super::Credential;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;
use storage::{row, rows, run};

pub async fn insert(tx: &mut Tx, credential: &Credential, digest: &str) -> Result<()> {
    run!(
        tx,
        "INSERT INTO credentials
           (credential_id, org_id, role, governance, name, token_sha256, created_at, revoked_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, NULL)",
        &credential.credential_id,
        &credential.org_id,
        credential.role,
        credential.governance,
        &credential.name,
        digest,
        credential.created_at
    )?;
    Ok(())
}

pub async fn find_live(tx: &mut Tx, digest: &str) -> Result<Option<Credential>> {
    row!(
        tx,
        Credential,
        "SELECT credential_id, org_id, role, governance, name, created_at, revoked_at
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
        "SELECT credential_id, org_id, role, governance, name, created_at, revoked_at
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
