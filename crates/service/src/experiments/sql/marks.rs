//! The triggers that mark users as stale, on Citus; and what a trigger cannot do there.

use base::owner::OrgId;
use storage::db::{Tx, migrations};
use storage::error::Result;
use storage::{rows, run};

/// Version of the functions. Raise it with every change: a replica with an older one leaves what a newer one made.
const VERSION: i64 = 2;
const PART: &str = "marks_on_shards";

/// Puts the functions for shards in the place of those that the migration made.
pub async fn install_on_shards(tx: &mut Tx) -> Result<()> {
    if !tx.is_spread() || !migrations::is_outdated(tx, PART, VERSION).await? {
        return Ok(());
    }
    let functions = include_str!("../../../migrations/citus/marks.sql");
    tx.run_on_shards(functions.to_owned()).await?;
    migrations::installed(tx, PART, VERSION).await
}

/// Forgets the sources, agent versions and judges that experiments of an organization met with the erased alone. On one
/// server a trigger does it; on Citus it would have to look at all servers.
pub async fn forget_strata(tx: &mut Tx, org_id: &OrgId) -> Result<()> {
    if !tx.is_spread() {
        return Ok(());
    }
    let strata = rows!(
        tx,
        (String, i64, String, String, String, String),
        "SELECT experiment_id, stratum, source, agent_version, judge, prompt_version FROM experiment_strata
         WHERE org_id = $1",
        org_id
    )?;
    for (experiment_id, stratum, source, agent_version, judge, prompt_version) in strata {
        let still_met = rows!(
            tx,
            (i64,),
            "SELECT r.result_id FROM evaluation_results r
             WHERE r.org_id = $1 AND r.source = $2 AND r.is_newest AND r.agent_version = $3 AND r.judge = $4
               AND r.prompt_version = $5 LIMIT 1",
            org_id,
            source,
            agent_version,
            judge,
            prompt_version
        )?;
        if still_met.is_empty() {
            run!(
                tx,
                "DELETE FROM experiment_strata WHERE org_id = $1 AND experiment_id = $2 AND stratum = $3",
                org_id,
                experiment_id,
                stratum
            )?;
        }
    }
    Ok(())
}
