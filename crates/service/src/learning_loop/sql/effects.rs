//! SQL that joins found playbooks with the verdicts on their sessions.

use std::collections::HashMap;

use crate::learning_loop::effects::{EpochOfTrial, FoundOnDay, SidesOfEpoch, Trial, UsersAlike};
use crate::learnings::PlaybookStatus;
use base::owner::OrgId;
use stats::learning_trials::TrialUser;
use storage::db::Tx;
use storage::error::Result;
use storage::rows;

/// Organizations that have or had playbooks on trial.
pub async fn organizations(tx: &mut Tx) -> Result<Vec<OrgId>> {
    let found = rows!(tx, (OrgId,), "SELECT DISTINCT org_id FROM trial_epochs ORDER BY org_id")?;
    Ok(found.into_iter().map(|(org_id,)| org_id).collect())
}

/// A playbook as effects name it.
#[derive(Clone, Debug, Default, sqlx_macros::FromRow)]
pub struct NamedPlaybook {
    pub agent_playbook_id: i64,
    pub playbook_name: String,
    pub agent_version: String,
    pub playbook_status: Option<PlaybookStatus>,
    pub content: String,
}

/// Playbooks that are or were on trial.
pub async fn playbooks(tx: &mut Tx, org_id: &OrgId) -> Result<HashMap<i64, NamedPlaybook>> {
    let found = rows!(
        tx,
        NamedPlaybook,
        "SELECT agent_playbook_id, playbook_name, agent_version, playbook_status, content FROM agent_playbooks
         WHERE org_id = $1 AND agent_playbook_id IN (SELECT agent_playbook_id FROM trial_epochs WHERE org_id = $1)",
        org_id
    )?;
    Ok(found.into_iter().map(|playbook| (playbook.agent_playbook_id, playbook)).collect())
}

#[derive(sqlx_macros::FromRow)]
struct EpochRow {
    agent_playbook_id: i64,
    epoch_no: i64,
    digest: String,
    share: f64,
    is_settled: bool,
    planned_users: i64,
    started_at: i64,
}

#[derive(sqlx_macros::FromRow)]
struct JudgedRow {
    agent_playbook_id: i64,
    epoch_no: i64,
    withheld: bool,
    sessions: i64,
    weight: i64,
    successes: i64,
    users: i64,
}

#[derive(sqlx_macros::FromRow)]
struct FoundRow {
    agent_playbook_id: i64,
    epoch_no: i64,
    withheld: bool,
    day: i64,
    users: i64,
}

/// The trials of an organization's playbooks, each with the epochs of its present text; only sessions of a source count
/// when one is given.
pub async fn trials(tx: &mut Tx, org_id: &OrgId, source: Option<&str>) -> Result<Vec<Trial>> {
    let epochs = rows!(
        tx,
        EpochRow,
        "SELECT agent_playbook_id, epoch_no, digest, CAST(share AS DOUBLE PRECISION) / 10000 AS share, is_settled, planned_users, started_at
         FROM trial_epochs WHERE org_id = $1 ORDER BY agent_playbook_id, epoch_no",
        org_id
    )?;
    let mut sides = sides(tx, org_id, source).await?;
    let of_playbook = epochs.chunk_by(|a, b| a.agent_playbook_id == b.agent_playbook_id);
    let trial = |all: &[EpochRow]| {
        let newest = all.last()?;
        let present = all.iter().filter(|epoch| epoch.digest == newest.digest);
        let epochs = present.map(|epoch| EpochOfTrial {
            epoch_no: epoch.epoch_no,
            share: epoch.share,
            is_settled: epoch.is_settled,
            planned_users: count(epoch.planned_users),
            started_at: epoch.started_at,
            sides: sides.remove(&(epoch.agent_playbook_id, epoch.epoch_no)).unwrap_or_default(),
        });
        Some(Trial { agent_playbook_id: newest.agent_playbook_id, epochs: epochs.collect() })
    };
    Ok(of_playbook.filter_map(trial).collect())
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Judged and found users by playbook and epoch. A session counts with its newest verdict, by the inverse of the chance
/// that it had to be judged.
async fn sides(
    tx: &mut Tx,
    org_id: &OrgId,
    source: Option<&str>,
) -> Result<HashMap<(i64, i64), SidesOfEpoch>> {
    let mut sides: HashMap<(i64, i64), SidesOfEpoch> = HashMap::new();
    let judged = rows!(
        tx,
        JudgedRow,
        "SELECT agent_playbook_id, epoch_no, withheld, sessions, weight, successes, COUNT(*) AS users FROM (
             SELECT x.agent_playbook_id, x.epoch_no, x.withheld, COUNT(*) AS sessions,
                    CAST(SUM(100000000 / r.chance) AS BIGINT) AS weight,
                    CAST(SUM(CASE WHEN r.is_success THEN 100000000 / r.chance ELSE 0 END) AS BIGINT) AS successes
             FROM trial_exposures x
             JOIN evaluation_results r ON r.org_id = x.org_id AND r.user_id = x.user_id AND r.session_id = x.session_id
             WHERE x.org_id = $1 AND r.evaluation_name = 'agent_success' AND r.is_newest AND r.chance > 0
               AND ($2 IS NULL OR EXISTS (
                    SELECT 1 FROM sessions s WHERE s.org_id = x.org_id AND s.user_id = x.user_id
                       AND s.session_id = x.session_id AND s.source = $2))
             GROUP BY x.agent_playbook_id, x.epoch_no, x.withheld, x.user_id) per_user
         GROUP BY agent_playbook_id, epoch_no, withheld, sessions, weight, successes
         ORDER BY agent_playbook_id, epoch_no, withheld, sessions, weight, successes",
        org_id,
        source
    )?;
    for row in judged {
        let side = sides.entry((row.agent_playbook_id, row.epoch_no)).or_default();
        side.judged[usize::from(row.withheld)].push(UsersAlike {
            users: count(row.users),
            sums: TrialUser {
                sessions: count(row.sessions),
                weight: count(row.weight),
                successes: count(row.successes),
            },
        });
    }
    let found = rows!(
        tx,
        FoundRow,
        "SELECT agent_playbook_id, epoch_no, withheld, day, COUNT(*) AS users FROM (
             SELECT agent_playbook_id, epoch_no, withheld, MIN(found_at) / 86400 AS day FROM trial_exposures
             WHERE org_id = $1 GROUP BY agent_playbook_id, epoch_no, withheld, user_id) per_user
         GROUP BY agent_playbook_id, epoch_no, withheld, day
         ORDER BY agent_playbook_id, epoch_no, withheld, day",
        org_id
    )?;
    for row in found {
        let side = sides.entry((row.agent_playbook_id, row.epoch_no)).or_default();
        side.found[usize::from(row.withheld)]
            .push(FoundOnDay { day: row.day, users: count(row.users) });
    }
    Ok(sides)
}
