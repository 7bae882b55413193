//! SQL of `experiment_user_sums`, `experiment_stale_users` and `experiment_strata`, and of the rows that sums are
//! made of.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use sqlx::types::Json;

use crate::experiments::Experiment;
use crate::experiments::classify::{Exposure, HISTORY, Published, StoredUser, Verdict};
use crate::experiments::sums::{Stratum, UserSums};
use base::owner::{OrgId, UserId};
use stats::UserSum;
use storage::db::{Changes, Tx, Value};
use storage::error::Result;
use storage::subjects::{Subject, SubjectWrite};
use storage::{row, rows, run};

/// Rows per INSERT: engines limit the number of parameters.
const ROWS_AT_ONCE: usize = 200;

/// Some users whose sums are behind, and who are there to be summed up.
pub async fn stale_users(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    limit: i64,
) -> Result<Vec<UserId>> {
    let found = rows!(
        tx,
        (UserId,),
        "SELECT s.user_id FROM experiment_stale_users m
           JOIN subjects s ON s.org_id = m.org_id AND s.subject = m.subject AND s.state = 'active'
         WHERE m.org_id = $1 AND m.experiment_id = $2
         ORDER BY m.subject LIMIT $3 + 0",
        org_id,
        experiment_id,
        limit
    )?;
    Ok(found.into_iter().map(|(user_id,)| user_id).collect())
}

/// The experiments, with their organizations, that have users whose sums are behind.
pub async fn stale_experiments(tx: &mut Tx) -> Result<Vec<(OrgId, String)>> {
    rows!(
        tx,
        (OrgId, String),
        "SELECT DISTINCT org_id, experiment_id FROM experiment_stale_users ORDER BY org_id, experiment_id"
    )
}

/// Those of `users` whose stale marks no other transaction has locked; locks them until the
/// transaction ends.
pub async fn hold_marks<'u>(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    users: impl Iterator<Item = &'u UserId>,
) -> Result<Vec<UserId>> {
    if tx.is_spread() {
        // One statement cannot lock rows on several servers.
        let mut held = Vec::new();
        for user_id in users {
            let found = row!(
                tx,
                (i64,),
                "SELECT marks FROM experiment_stale_users
                 WHERE org_id = $1 AND subject = $2 AND experiment_id = $3 {lock:UPDATE SKIP LOCKED}",
                org_id,
                user_id,
                experiment_id
            )?;
            held.extend(found.map(|_| user_id.clone()));
        }
        return Ok(held);
    }
    let found = rows!(
        tx,
        (UserId,),
        "SELECT {user_of:m} FROM experiment_stale_users m
         WHERE m.org_id = $1 AND m.experiment_id = $2 AND m.subject IN {subjects:$3}
         ORDER BY m.subject {lock:UPDATE SKIP LOCKED}",
        org_id,
        experiment_id,
        tx.subjects_json(org_id, users)?
    )?;
    Ok(found.into_iter().map(|(user_id,)| user_id).collect())
}

/// Everything stored of these users that the experiment may count. `users` is a JSON list of subjects.
pub async fn stored(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment: &Experiment,
    users: &str,
) -> Result<BTreeMap<Subject, StoredUser>> {
    let mut all: BTreeMap<Subject, StoredUser> = BTreeMap::new();
    for verdict in verdicts(tx, org_id, experiment, users).await? {
        let of_user = &mut all.entry(verdict.subject).or_default().verdicts;
        // The verdict of the session comes first.
        if of_user.last().is_none_or(|last| last.session_id != verdict.session_id) {
            of_user.push(verdict);
        }
    }
    for published in published(tx, org_id, &experiment.experiment_id, users).await? {
        all.entry(published.subject).or_default().published.push(published);
    }
    for exposure in exposures(tx, org_id, &experiment.experiment_id, users).await? {
        all.entry(exposure.subject).or_default().exposures.push(exposure);
    }
    Ok(all)
}

async fn verdicts(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment: &Experiment,
    users: &str,
) -> Result<Vec<Verdict>> {
    rows!(
        tx,
        Verdict,
        "SELECT r.subject, r.session_id, r.created_at, r.is_success, r.number_of_corrections,
                r.user_turns_to_resolution, r.is_escalated, COALESCE(s.source, '') AS source, r.agent_version,
                r.judge, r.prompt_version,
                (SELECT l.is_success FROM session_labels l
                  WHERE l.org_id = r.org_id AND l.subject = r.subject AND l.session_id = r.session_id
                    AND l.evaluation_name = r.evaluation_name
                  ORDER BY l.labelled_at DESC, l.labelled_by DESC LIMIT 1) AS label
           FROM evaluation_results r
           LEFT JOIN sessions s ON s.org_id = r.org_id AND s.subject = r.subject AND s.session_id = r.session_id
          WHERE r.org_id = $1 AND r.subject IN {subjects:$2} AND r.evaluation_name = 'agent_success'
            AND (r.created_at >= $3 OR EXISTS (
                 SELECT 1 FROM requests q
                  WHERE q.org_id = r.org_id AND q.subject = r.subject AND q.session_id = r.session_id
                    AND q.retrieval_experiment_id = $4))
          ORDER BY r.subject, r.session_id, r.is_newest DESC, r.evaluated_at DESC, r.result_id DESC",
        org_id,
        users,
        experiment.started_at - HISTORY,
        &experiment.experiment_id
    )
}

async fn published(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    users: &str,
) -> Result<Vec<Published>> {
    rows!(
        tx,
        Published,
        "SELECT p.subject, p.session_id, p.arm,
                (SELECT COUNT(*) FROM verdict_gaps g
                  WHERE g.org_id = $1 AND g.subject = p.subject AND g.session_id = p.session_id AND g.is_newest) AS gaps,
                (SELECT MAX(q.created_at) FROM requests q
                  WHERE q.org_id = $1 AND q.subject = p.subject AND q.session_id = p.session_id) AS last_request_at,
                CAST(COALESCE(SUM(CASE WHEN LOWER(i.role) <> 'user' THEN i.token_count END), 0) AS BIGINT) AS tokens,
                COUNT(CASE WHEN LOWER(i.role) <> 'user' AND i.token_count IS NULL THEN 1 END) AS unknown,
                COUNT(CASE WHEN i.retrieved_learnings <> '[]' AND EXISTS (
                           SELECT 1 FROM requests q
                            WHERE q.org_id = $1 AND q.subject = p.subject AND q.session_id = p.session_id
                              AND q.request_id = i.request_id AND q.retrieval_experiment_id = $3
                              AND q.retrieval_experiment_arm = p.arm) THEN 1 END) AS carried,
                EXISTS (SELECT 1 FROM evaluation_decisions d
                         WHERE d.org_id = $1 AND d.subject = p.subject AND d.session_id = p.session_id
                           AND d.decision = 'sampled_out') AS sampled_out
           FROM (SELECT DISTINCT subject, session_id, retrieval_experiment_arm AS arm FROM requests
                  WHERE org_id = $1 AND subject IN {subjects:$2} AND retrieval_experiment_id = $3) p
           LEFT JOIN interactions i ON i.org_id = $1 AND i.subject = p.subject AND i.session_id = p.session_id
          GROUP BY p.subject, p.session_id, p.arm
          ORDER BY p.subject, p.session_id, p.arm",
        org_id,
        users,
        experiment_id
    )
}

async fn exposures(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    users: &str,
) -> Result<Vec<Exposure>> {
    rows!(
        tx,
        Exposure,
        "SELECT subject, session_id, arm, first_exposed_at, found, served, served_new, served_from_holdout
           FROM experiment_exposures
          WHERE org_id = $1 AND subject IN {subjects:$2} AND experiment_id = $3
          ORDER BY subject, session_id",
        org_id,
        users,
        experiment_id
    )
}

/// The strata of an experiment with their numbers.
pub async fn strata(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
) -> Result<BTreeMap<u32, Stratum>> {
    let found = rows!(
        tx,
        (i64, String, String, String, String),
        "SELECT stratum, source, agent_version, judge, prompt_version FROM experiment_strata
         WHERE org_id = $1 AND experiment_id = $2",
        org_id,
        experiment_id
    )?;
    let named = found.into_iter().map(|(number, source, agent_version, judge, prompt_version)| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        (number, Stratum { source, agent_version, judge, prompt_version })
    });
    Ok(named.collect())
}

pub async fn insert_stratum(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    number: u32,
    stratum: &Stratum,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO experiment_strata
           (org_id, experiment_id, stratum, source, agent_version, judge, prompt_version)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        org_id,
        experiment_id,
        i64::from(number),
        &stratum.source,
        &stratum.agent_version,
        &stratum.judge,
        &stratum.prompt_version
    )?;
    Ok(())
}

/// Puts the sums of users in the place of those before, and takes their marks away. `users` is the JSON list of
/// the subjects of all of them; those without sums have none from here on.
pub async fn replace_sums(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    users: &str,
    sums: &[(&SubjectWrite, UserSums)],
) -> Result<()> {
    for sql in [
        storage::statement!(
            "DELETE FROM experiment_user_sums
              WHERE org_id = $1 AND experiment_id = $2 AND subject IN {subjects:$3}"
        ),
        storage::statement!(
            "DELETE FROM experiment_stale_users
              WHERE org_id = $1 AND experiment_id = $2 AND subject IN {subjects:$3}"
        ),
    ] {
        run!(tx, sql, org_id, experiment_id, users)?;
    }
    let lines: Vec<String> = sums.iter().map(|(_, sums)| sums.line()).collect();
    for (some, lines) in sums.chunks(ROWS_AT_ONCE).zip(lines.chunks(ROWS_AT_ONCE)) {
        let mut values = Vec::with_capacity(some.len() * 8);
        for ((subject, sums), line) in some.iter().zip(lines) {
            values.extend([
                Value::from(subject.org_id()),
                experiment_id.into(),
                subject.user_id().into(),
                subject.epoch().into(),
                i64::try_from(sums.contaminated).unwrap_or(i64::MAX).into(),
                Value::from(line),
                i64::from(subject.subject().part()).into(),
                hash_of(line).into(),
            ]);
        }
        let mut changes = Changes::default();
        changes.add_rows(
            "INSERT INTO experiment_user_sums
               (org_id, experiment_id, subject, epoch, contaminated, sums, part, sums_hash)
             VALUES {rows}",
            8,
            values,
        );
        tx.apply(changes).await?;
    }
    Ok(())
}

/// Marks the users who have sums.
pub async fn mark_summed(tx: &mut Tx, org_id: &OrgId, experiment_id: &str) -> Result<()> {
    run!(
        tx,
        "INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
         SELECT u.org_id, u.experiment_id, u.subject, s.epoch, 1
           FROM experiment_user_sums u
           JOIN subjects s ON s.org_id = u.org_id AND s.subject = u.subject AND s.state = 'active'
          WHERE u.org_id = $1 AND u.experiment_id = $2
         ON CONFLICT DO NOTHING",
        org_id,
        experiment_id
    )?;
    Ok(())
}

/// A hash of 44 bits: those of a hundred million users add up to less than 2^63.
fn hash_of(line: &str) -> i64 {
    let digest: [u8; 32] = Sha256::digest(line).into();
    let [a, b, c, d, e, f, ..] = digest;
    i64::from_be_bytes([0, 0, a, b, c, d, e, f]) >> 4
}

/// A part of an experiment's users: how many they are, and the sum of the hashes of their lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx_macros::FromRow)]
pub struct PartState {
    pub part: i64,
    pub users: i64,
    pub hashes: i64,
}

/// The parts that have users.
pub async fn part_states(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
) -> Result<Vec<PartState>> {
    rows!(
        tx,
        PartState,
        "SELECT part, COUNT(*) AS users, CAST(SUM(sums_hash) AS BIGINT) AS hashes FROM experiment_user_sums
         WHERE org_id = $1 AND experiment_id = $2 GROUP BY part ORDER BY part",
        org_id,
        experiment_id
    )
}

/// The sums of the users of some parts: a text for each part, with a line for each user.
pub async fn lines(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    parts: &[i64],
) -> Result<BTreeMap<i64, String>> {
    let found = rows!(
        tx,
        (i64, String),
        "SELECT part, string_agg(sums, '\n') FROM experiment_user_sums
         WHERE org_id = $1 AND experiment_id = $2 AND part IN {integers:$3} GROUP BY part",
        org_id,
        experiment_id,
        Json(parts)
    )?;
    Ok(found.into_iter().collect())
}

/// Users after `after`, or from the first on, that an export has rows of, in the order of their subjects.
pub async fn summed_users(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    after: Option<Subject>,
    limit: i64,
) -> Result<Vec<(Subject, UserId)>> {
    macro_rules! page {
        ($after:literal) => {
            storage::statement!(concat!(
                "SELECT subject, u.user_id FROM experiment_user_sums s JOIN subjects u USING (org_id, subject)
                 WHERE org_id = $1 AND s.experiment_id = $2 AND ",
                $after,
                " ORDER BY subject LIMIT $4 + 0"
            ))
        };
    }
    let sql = match after {
        Some(_) => page!("subject > $3"),
        None => page!("$3 IS NULL"),
    };
    rows!(tx, (Subject, UserId), sql, org_id, experiment_id, after, limit)
}

/// Some holdout sessions whose turns carried learnings. From the few users who have any: CROSS JOIN keeps SQLite from
/// beginning with all turns of the organization.
pub async fn contaminated_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    limit: i64,
) -> Result<Vec<(UserId, String)>> {
    rows!(
        tx,
        (UserId, String),
        "SELECT user_id, session_id FROM (
             SELECT DISTINCT q.subject, q.session_id, n.user_id
               FROM experiment_user_sums u CROSS JOIN requests q CROSS JOIN interactions i CROSS JOIN subjects n
              WHERE u.org_id = $1 AND u.experiment_id = $2 AND u.contaminated > 0
                AND q.org_id = u.org_id AND q.subject = u.subject
                AND q.retrieval_experiment_id = u.experiment_id AND q.retrieval_experiment_arm = 'holdout'
                AND i.org_id = q.org_id AND i.subject = q.subject AND i.session_id = q.session_id
                AND i.request_id = q.request_id AND i.retrieved_learnings <> '[]'
                AND n.org_id = u.org_id AND n.subject = u.subject
              ORDER BY q.subject, q.session_id LIMIT $3 + 0) c
          ORDER BY 1, 2",
        org_id,
        experiment_id,
        limit
    )
}

/// `(agent playbook, sessions and successes of one user)` of judged sessions of the treatment that were served it.
pub async fn served_sums(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
) -> Result<Vec<(String, UserSum)>> {
    let found = rows!(
        tx,
        (String, i64, i64),
        "SELECT learning_id, COUNT(*), COUNT(CASE WHEN is_success THEN 1 END) FROM (
             SELECT DISTINCT v.learning_id, v.subject, v.session_id, r.is_success
               FROM learning_verdicts v
               JOIN evaluation_results r ON r.org_id = v.org_id AND r.subject = v.subject
                    AND r.session_id = v.session_id AND r.evaluation_name = 'agent_success' AND r.is_newest
              WHERE v.org_id = $1 AND v.kind = 'agent_playbook' AND EXISTS (
                    SELECT 1 FROM requests q
                     WHERE q.org_id = v.org_id AND q.subject = v.subject AND q.session_id = v.session_id
                       AND q.retrieval_experiment_id = $2 AND q.retrieval_experiment_arm = 'treatment')
             ) AS served
          GROUP BY learning_id, subject",
        org_id,
        experiment_id
    )?;
    let sum = |(playbook, sessions, total): (String, i64, i64)| {
        (playbook, UserSum { sessions: sessions.unsigned_abs(), total })
    };
    Ok(found.into_iter().map(sum).collect())
}

/// Number of users by judged sessions and successes among them: `(sessions, successes, users)`.
pub async fn past_sums(
    tx: &mut Tx,
    org_id: &OrgId,
    from: i64,
    to: i64,
) -> Result<Vec<(i64, i64, i64)>> {
    rows!(
        tx,
        (i64, i64, i64),
        "SELECT sessions, successes, COUNT(*) FROM (
             SELECT subject, COUNT(*) AS sessions, COUNT(CASE WHEN is_success THEN 1 END) AS successes
               FROM evaluation_results
              WHERE org_id = $1 AND evaluation_name = 'agent_success' AND created_at >= $2 AND created_at <= $3
              GROUP BY subject) u
          GROUP BY sessions, successes ORDER BY sessions, successes",
        org_id,
        from,
        to
    )
}

/// Users with their judged sessions of a time, and the successes among them.
pub async fn past_users(
    tx: &mut Tx,
    org_id: &OrgId,
    from: i64,
    to: i64,
) -> Result<Vec<(UserId, i64, i64)>> {
    rows!(
        tx,
        (UserId, i64, i64),
        "SELECT u.user_id, r.sessions, r.successes FROM (
             SELECT subject, COUNT(*) AS sessions, COUNT(CASE WHEN is_success THEN 1 END) AS successes
               FROM evaluation_results
              WHERE org_id = $1 AND evaluation_name = 'agent_success' AND created_at >= $2 AND created_at <= $3
              GROUP BY subject) r
           JOIN subjects u ON u.org_id = $1 AND u.subject = r.subject
          ORDER BY u.user_id",
        org_id,
        from,
        to
    )
}
