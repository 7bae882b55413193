//! SQL of the table `organization_configs`.

use serde_json::{Map, Value};
use sqlx::types::Json;

use super::OrganizationConfig;
use base::owner::OrgId;
use storage::db::{Engine, Tx};
use storage::error::Result;
use storage::{row, run};

pub async fn find(tx: &mut Tx, org_id: &OrgId) -> Result<Option<(i64, Json<Map<String, Value>>)>> {
    row!(
        tx,
        (i64, Json<Map<String, Value>>),
        "SELECT version, config FROM organization_configs WHERE org_id = $1",
        org_id
    )
}

/// Changes of one organization's configuration come one after the other, also the first two.
pub async fn lock(tx: &mut Tx, org_id: &OrgId) -> Result<()> {
    if tx.engine() == Engine::Postgres {
        let _ = row!(
            tx,
            (bool,),
            "SELECT pg_advisory_xact_lock(7229302, hashtext($1)) IS NULL",
            org_id
        )?;
    }
    Ok(())
}

pub async fn put(
    tx: &mut Tx,
    org_id: &OrgId,
    version: i64,
    config: &Json<&OrganizationConfig>,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO organization_configs (org_id, version, config, updated_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (org_id) DO UPDATE SET
            version = excluded.version, config = excluded.config, updated_at = excluded.updated_at",
        org_id,
        version,
        config,
        now
    )?;
    Ok(())
}
