//! SQL that joins found playbooks with the verdicts on their sessions.

use std::collections::{BTreeMap, HashMap};

use super::compute::{EpochOfTrial, FoundOnDay, SidesOfEpoch, Trial, UsersAlike};
use crate::learnings::PlaybookStatus;
use base::owner::{OrgId, UserId};
use stats::learning_trials::TrialUser;
use storage::db::Tx;
use storage::error::Result;
use storage::{row, rows};

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
struct FirstFoundRow {
    agent_playbook_id: i64,
    epoch_no: i64,
    withheld: bool,
    day: i64,
    users: i64,
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

/// The epochs of all playbooks or of one, without their users: in the order of playbooks, then of numbers.
pub async fn epochs(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_id: Option<i64>,
) -> Result<Vec<(i64, EpochOfTrial)>> {
    let found = rows!(
        tx,
        EpochRow,
        "SELECT agent_playbook_id, epoch_no, digest, CAST(share AS DOUBLE PRECISION) / 10000 AS share, is_settled,
                planned_users, started_at
         FROM trial_epochs WHERE org_id = $1 AND ($2 IS NULL OR agent_playbook_id = $2)
         ORDER BY agent_playbook_id, epoch_no",
        org_id,
        agent_playbook_id
    )?;
    let epoch = |row: EpochRow| {
        let epoch = EpochOfTrial {
            epoch_no: row.epoch_no,
            digest: row.digest,
            share: row.share,
            is_settled: row.is_settled,
            planned_users: count(row.planned_users),
            started_at: row.started_at,
            sides: SidesOfEpoch::default(),
        };
        (row.agent_playbook_id, epoch)
    };
    Ok(found.into_iter().map(epoch).collect())
}

/// The trials of an organization's playbooks, each with the epochs of its present text; only sessions of a source count
/// when one is given.
pub async fn trials(tx: &mut Tx, org_id: &OrgId, source: Option<&str>) -> Result<Vec<Trial>> {
    let mut sides = sides(tx, org_id, source).await?;
    let mut by_playbook: BTreeMap<i64, Vec<EpochOfTrial>> = BTreeMap::new();
    for (id, mut epoch) in epochs(tx, org_id, None).await? {
        epoch.sides = sides.remove(&(id, epoch.epoch_no)).unwrap_or_default();
        by_playbook.entry(id).or_default().push(epoch);
    }
    Ok(by_playbook.into_iter().filter_map(|(id, epochs)| Trial::present(id, epochs)).collect())
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
             JOIN evaluation_results r ON r.org_id = x.org_id AND r.subject = x.subject AND r.session_id = x.session_id
             WHERE x.org_id = $1 AND r.evaluation_name = 'agent_success' AND r.is_newest AND r.chance > 0
               AND ($2 IS NULL OR EXISTS (
                    SELECT 1 FROM sessions s WHERE s.org_id = x.org_id AND s.subject = x.subject
                       AND s.session_id = x.session_id AND s.source = $2))
             GROUP BY x.agent_playbook_id, x.epoch_no, x.withheld, x.subject) per_user
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
        FirstFoundRow,
        "SELECT agent_playbook_id, epoch_no, withheld, day, COUNT(*) AS users FROM (
             SELECT agent_playbook_id, epoch_no, withheld, MIN(found_at) / 86400 AS day FROM trial_exposures
             WHERE org_id = $1 GROUP BY agent_playbook_id, epoch_no, withheld, subject) per_user
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

/// Sessions of a user in which a playbook was found, on one day or altogether.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct FoundRow {
    pub epoch_no: i64,
    pub withheld: bool,
    pub user_id: UserId,
    /// Days since 1970; the first one if it is altogether.
    pub day: i64,
    sessions: i64,
    weight: i64,
    successes: i64,
}

impl FoundRow {
    /// Sums over the judged ones.
    pub fn sums(&self) -> TrialUser {
        TrialUser {
            sessions: count(self.sessions),
            weight: count(self.weight),
            successes: count(self.successes),
        }
    }
}

/// One playbook's rows: what was found, with the verdict if there is one.
macro_rules! found_of_playbook {
    ($day:literal, $group:literal) => {
        concat!(
            "SELECT x.epoch_no, x.withheld, u.user_id, ",
            $day,
            " AS day, COUNT(r.result_id) AS sessions,
                    CAST(COALESCE(SUM(100000000 / r.chance), 0) AS BIGINT) AS weight,
                    CAST(COALESCE(SUM(CASE WHEN r.is_success THEN 100000000 / r.chance ELSE 0 END), 0) AS BIGINT)
                        AS successes
             FROM trial_exposures x
             JOIN subjects u ON u.org_id = x.org_id AND u.subject = x.subject
             LEFT JOIN evaluation_results r ON r.org_id = x.org_id AND r.subject = x.subject
                   AND r.session_id = x.session_id AND r.evaluation_name = 'agent_success' AND r.is_newest
                   AND r.chance > 0
             WHERE x.org_id = $1 AND x.agent_playbook_id = $2
             GROUP BY x.epoch_no, x.withheld, u.user_id",
            $group,
            " ORDER BY x.epoch_no, x.withheld, u.user_id",
            $group
        )
    };
}

/// The users of one playbook, by day.
pub async fn found_by_day(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_id: i64,
) -> Result<Vec<FoundRow>> {
    rows!(
        tx,
        FoundRow,
        found_of_playbook!("x.found_at / 86400", ", x.found_at / 86400"),
        org_id,
        agent_playbook_id
    )
}

/// The users of one playbook.
pub async fn found_users(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_id: i64,
) -> Result<Vec<FoundRow>> {
    rows!(
        tx,
        FoundRow,
        found_of_playbook!("MIN(x.found_at) / 86400", ""),
        org_id,
        agent_playbook_id
    )
}

/// The next playbook that is or was on trial.
pub async fn next_playbook(tx: &mut Tx, org_id: &OrgId, after: i64) -> Result<Option<i64>> {
    let found = row!(
        tx,
        (Option<i64>,),
        "SELECT MIN(agent_playbook_id) FROM trial_epochs WHERE org_id = $1 AND agent_playbook_id > $2",
        org_id,
        after
    )?;
    Ok(found.and_then(|(id,)| id))
}

/// Changes with every verdict and epoch.
#[derive(Clone, Debug, PartialEq, sqlx_macros::FromRow)]
pub struct EffectsVersion {
    verdicts: Option<i64>,
    epochs: i64,
}

pub async fn stored(tx: &mut Tx, org_id: &OrgId) -> Result<EffectsVersion> {
    let found = row!(
        tx,
        EffectsVersion,
        "SELECT (SELECT CAST(SUM(n) AS BIGINT) FROM (
                    SELECT COUNT(*) AS n FROM evaluation_deltas
                    UNION ALL SELECT folded AS n FROM folded_deltas
                     WHERE deltas = 'evaluation_deltas') all_deltas) AS verdicts,
                (SELECT COUNT(*) FROM trial_epochs WHERE org_id = $1) AS epochs",
        org_id
    )?;
    Ok(found.unwrap_or(EffectsVersion { verdicts: None, epochs: 0 }))
}

/// A session that got a playbook and failed.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct FailedSession {
    pub user_id: UserId,
    pub session_id: String,
    pub last_interaction_id: i64,
    pub failure_reason: String,
}

/// The newest failed sessions of different users who got the present text of a playbook.
pub async fn failed_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_id: i64,
    limit: i64,
) -> Result<Vec<FailedSession>> {
    rows!(
        tx,
        FailedSession,
        "SELECT u.user_id, session_id, last_interaction_id, failure_reason FROM (
             SELECT r.subject, r.session_id, r.last_interaction_id, r.failure_reason, x.found_at,
                    ROW_NUMBER() OVER (PARTITION BY r.subject ORDER BY x.found_at DESC, r.session_id) AS place
             FROM trial_exposures x
             JOIN evaluation_results r ON r.org_id = x.org_id AND r.subject = x.subject AND r.session_id = x.session_id
             WHERE x.org_id = $1 AND x.agent_playbook_id = $2 AND NOT x.withheld
               AND r.evaluation_name = 'agent_success' AND r.is_newest AND NOT r.is_success
               AND x.epoch_no IN (
                   SELECT e.epoch_no FROM trial_epochs e
                    WHERE e.org_id = $1 AND e.agent_playbook_id = $2 AND e.digest = (
                          SELECT n.digest FROM trial_epochs n WHERE n.org_id = $1 AND n.agent_playbook_id = $2
                           ORDER BY n.epoch_no DESC LIMIT 1))) newest
         JOIN subjects u ON u.org_id = $1 AND u.subject = newest.subject
         WHERE place = 1 ORDER BY found_at DESC, newest.subject LIMIT $3",
        org_id,
        agent_playbook_id,
        limit
    )
}
