//! SQL of the table `review_draws`, and of sessions beside what a judge and people say of them.

use crate::evaluation::review::queue::{LastLabels, ReviewHalf, Reviewable};
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::{Subject, SubjectWrite};
use storage::{row, rows, run};

/// Sessions with a verdict or without one that are due for review: nobody has labelled them. Newest first.
pub async fn reviewable(
    tx: &mut Tx,
    org_id: &OrgId,
    since: i64,
    limit: i64,
) -> Result<Vec<Reviewable>> {
    rows!(
        tx,
        Reviewable,
        "SELECT u.user_id, v.session_id, v.source, v.created_at / 604800 AS week, v.is_success, v.probability,
                v.half, v.chance,
                COALESCE((SELECT q.retrieval_experiment_arm FROM requests q
                           WHERE q.org_id = $1 AND q.subject = v.subject AND q.session_id = v.session_id
                             AND q.retrieval_experiment_id IS NOT NULL
                           ORDER BY q.created_at DESC, q.request_id LIMIT 1), '') AS arm
         FROM (SELECT r.subject, r.session_id, r.source, r.created_at, r.is_success, r.probability, d.half, d.chance
                 FROM evaluation_results r
                 LEFT JOIN review_draws d ON d.org_id = $1 AND d.subject = r.subject AND d.session_id = r.session_id
                WHERE r.org_id = $1 AND r.created_at >= $2 AND r.is_newest
               UNION ALL
               SELECT g.subject, g.session_id, g.source, g.created_at, NULL, g.probability, d.half, d.chance
                 FROM verdict_gaps g
                 LEFT JOIN review_draws d ON d.org_id = $1 AND d.subject = g.subject AND d.session_id = g.session_id
                WHERE g.org_id = $1 AND g.created_at >= $2 AND g.is_newest) v
         JOIN subjects u ON u.org_id = $1 AND u.subject = v.subject
         WHERE NOT EXISTS (SELECT 1 FROM session_labels l
                WHERE l.org_id = $1 AND l.subject = v.subject AND l.session_id = v.session_id
                  AND l.evaluation_name = 'agent_success')
         ORDER BY v.created_at DESC, v.subject, v.session_id LIMIT $3 + 0",
        org_id,
        since,
        limit
    )
}

/// Writes that a session was drawn. One of the informative half that is drawn at random later counts as that.
pub async fn put_draw(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    half: ReviewHalf,
    stratum: &str,
    chance: Option<f64>,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO review_draws (org_id, subject, session_id, epoch, half, stratum, chance, drawn_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (org_id, subject, session_id) DO UPDATE SET
            epoch = excluded.epoch, half = excluded.half, stratum = excluded.stratum, chance = excluded.chance",
        subject.org_id(),
        subject.user_id(),
        session_id,
        subject.epoch(),
        half,
        stratum,
        chance,
        now
    )?;
    Ok(())
}

/// The strata that were drawn from, with their chances.
pub async fn thresholds(tx: &mut Tx, org_id: &OrgId) -> Result<Vec<(String, f64)>> {
    rows!(
        tx,
        (String, f64),
        "SELECT stratum, MAX(chance) FROM review_draws
         WHERE org_id = $1 AND half = 'random' AND chance IS NOT NULL GROUP BY stratum",
        org_id
    )
}

/// The chance of a stratum rose: so did that of every session drawn from it, labelled since or not.
pub async fn set_chance(tx: &mut Tx, org_id: &OrgId, stratum: &str, chance: f64) -> Result<()> {
    run!(
        tx,
        "UPDATE review_draws SET chance = $3
         WHERE org_id = $1 AND stratum = $2 AND half = 'random' AND chance < $3
           AND EXISTS (SELECT 1 FROM subjects s WHERE s.org_id = review_draws.org_id
                AND s.subject = review_draws.subject AND s.state = 'active' AND s.epoch = review_draws.epoch)",
        org_id,
        stratum,
        chance
    )?;
    Ok(())
}

/// The newest labels against the judge's verdicts.
pub async fn last_labels(tx: &mut Tx, org_id: &OrgId, limit: i64) -> Result<LastLabels> {
    let found = row!(
        tx,
        LastLabels,
        "SELECT COUNT(*) AS labels, COUNT(CASE WHEN said = judged THEN 1 END) AS agreed,
                COUNT(CASE WHEN said <> judged THEN 1 END) AS disagreed,
                COUNT(CASE WHEN judged IS NULL THEN 1 END) AS undecided
         FROM (SELECT l.is_success AS said,
                      (SELECT r.is_success FROM evaluation_results r
                        WHERE r.org_id = l.org_id AND r.subject = l.subject AND r.session_id = l.session_id
                          AND r.evaluation_name = 'agent_success' AND r.is_newest) AS judged
                 FROM session_labels l WHERE l.org_id = $1 AND l.evaluation_name = 'agent_success'
                ORDER BY l.labelled_at DESC, l.subject, l.session_id LIMIT $2 + 0) AS newest",
        org_id,
        limit
    )?;
    Ok(found.unwrap_or_default())
}

/// A session that was due, with what the judge and people say of it.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct PredictedSession {
    pub source: String,
    pub subject: Subject,
    pub is_success: Option<bool>,
    pub probability: Option<f64>,
    /// If its judge learned from the session: the prediction without having seen the user.
    pub out_of_fold: Option<f64>,
    /// Chance of the draw, where it was drawn at random.
    pub chance: Option<f64>,
    /// The newest label.
    pub label: Option<bool>,
}

pub async fn predicted_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    from: Option<i64>,
    to: Option<i64>,
) -> Result<Vec<PredictedSession>> {
    rows!(
        tx,
        PredictedSession,
        "SELECT v.source, v.subject, v.is_success, v.probability, v.out_of_fold, v.chance,
                (SELECT l.is_success FROM session_labels l
                  WHERE l.org_id = $1 AND l.subject = v.subject AND l.session_id = v.session_id
                    AND l.evaluation_name = 'agent_success'
                  ORDER BY l.labelled_at DESC, l.labelled_by DESC LIMIT 1) AS label
         FROM (SELECT r.subject, r.session_id, r.source, r.is_success, r.probability, t.out_of_fold, d.chance
                 FROM evaluation_results r
                 LEFT JOIN review_draws d
                   ON d.org_id = $1 AND d.subject = r.subject AND d.session_id = r.session_id AND d.half = 'random'
                 LEFT JOIN model_training t
                   ON t.org_id = $1 AND t.subject = r.subject AND t.session_id = r.session_id
                  AND r.judge = 'learned/' || t.model_number
                WHERE r.org_id = $1 AND r.is_newest
                  AND ($2 IS NULL OR r.created_at >= $2) AND ($3 IS NULL OR r.created_at <= $3)
               UNION ALL
               SELECT g.subject, g.session_id, g.source, NULL, g.probability, t.out_of_fold, d.chance
                 FROM verdict_gaps g
                 LEFT JOIN review_draws d
                   ON d.org_id = $1 AND d.subject = g.subject AND d.session_id = g.session_id AND d.half = 'random'
                 LEFT JOIN model_training t
                   ON t.org_id = $1 AND t.subject = g.subject AND t.session_id = g.session_id
                  AND g.judge = 'learned/' || t.model_number
                WHERE g.org_id = $1 AND g.is_newest
                  AND ($2 IS NULL OR g.created_at >= $2) AND ($3 IS NULL OR g.created_at <= $3)) v
         ORDER BY v.source, v.subject",
        org_id,
        from,
        to
    )
}
