//! SQL of the table `governance_exports`.

use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::{row, run};

pub async fn find(
    tx: &mut Tx,
    org_id: &OrgId,
    subject_refs: &str,
    request_refs: &str,
) -> Result<Option<String>> {
    let found = row!(
        tx,
        (String,),
        "SELECT export_id FROM governance_exports
         WHERE org_id = $1 AND subject_ref IN {texts:$2} AND request_ref IN {texts:$3}",
        org_id,
        subject_refs,
        request_refs
    )?;
    Ok(found.map(|(export_id,)| export_id))
}

/// Subject and request of every export.
pub async fn all(tx: &mut Tx) -> Result<Vec<(String, String)>> {
    storage::rows!(
        tx,
        (String, String),
        "SELECT subject_ref, request_ref FROM governance_exports ORDER BY export_id"
    )
}

pub async fn insert(
    tx: &mut Tx,
    org_id: &OrgId,
    export_id: &str,
    subject_ref: &str,
    request_ref: &str,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO governance_exports (export_id, org_id, subject_ref, request_ref, created_at)
         VALUES ($1, $2, $3, $4, $5)",
        export_id,
        org_id,
        subject_ref,
        request_ref,
        now
    )?;
    Ok(())
}

/// Pictures that are stored with a person's turns: `(turn, its URL, its bytes as text)` after a turn, in order.
pub async fn pictures(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    after: i64,
    limit: i64,
) -> Result<Vec<(i64, String, String)>> {
    storage::rows!(
        tx,
        (i64, String, String),
        "SELECT interaction_id, interacted_image_url, image_encoding FROM interactions
         WHERE org_id = $1 AND subject = $2 AND interaction_id > $3
           AND (interacted_image_url LIKE 'data:%' OR image_encoding <> '')
         ORDER BY interaction_id LIMIT $4 + 0",
        org_id,
        user_id,
        after,
        limit
    )
}
