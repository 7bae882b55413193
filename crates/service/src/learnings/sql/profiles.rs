//! SQL of the table `profiles`.

use sqlx::types::Json;

use super::{Filter, filtered, has_tag, is_one_of};
use crate::learnings::rank::Candidate;
use crate::learnings::{LearningStatus, Profile, TimeToLive};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

macro_rules! columns {
    () => {
        columns!("{user_of:b} AS user_id", "b.", "")
    };
    // The user's id, and what columns that hold JSON stand between.
    ($user_id:literal, $json:literal, $end:literal) => {
        concat!(
            "b.profile_no, b.profile_id, ",
            $user_id,
            ", b.content, b.last_modified_timestamp,
             b.generated_from_request_id, b.profile_time_to_live, b.expiration_timestamp, ",
            $json,
            "custom_features",
            $end,
            ", b.source, b.status, ",
            $json,
            "tags",
            $end,
            ", ",
            $json,
            "source_interaction_ids",
            $end
        )
    };
}

/// SQL condition of a [`Filter`], with the parameters of `filtered!`.
macro_rules! passing {
    // Of a filter that is a status alone.
    (only_status) => {
        "b.org_id = $1 AND b.subject = $2 AND b.expiration_timestamp > $3 AND b.status = $4"
    };
    () => {
        concat!(
            "b.org_id = $1 AND b.subject = $2 AND b.expiration_timestamp > $3 AND ",
            is_one_of!("b.status", "$4"),
            "
             AND ($6 IS NULL OR b.source = $6)
             AND ($10 IS NULL OR b.last_modified_timestamp >= $10)
             AND ($11 IS NULL OR b.last_modified_timestamp < $11)",
            has_tag!()
        )
    };
}
pub(super) use {columns, passing};

/// Stores a new profile; false when the person has one of this id.
pub async fn insert(
    tx: &mut Tx,
    subject: &SubjectWrite,
    profile: &Profile,
    terms: &str,
) -> Result<bool> {
    let stored = run!(
        tx,
        "INSERT INTO profiles
           (profile_no, org_id, subject, profile_id, epoch, content, last_modified_timestamp,
            generated_from_request_id, profile_time_to_live, expiration_timestamp, custom_features, source,
            status, tags, source_interaction_ids, revision, terms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 1, $16)
         ON CONFLICT (org_id, profile_id, subject) DO NOTHING",
        profile.profile_no,
        subject.org_id(),
        subject.user_id(),
        &profile.profile_id,
        subject.epoch(),
        &profile.content,
        profile.last_modified_timestamp,
        &profile.generated_from_request_id,
        profile.profile_time_to_live,
        profile.expiration_timestamp,
        profile.custom_features.as_ref(),
        &profile.source,
        profile.status,
        &profile.tags,
        &profile.source_interaction_ids,
        terms
    )?;
    Ok(stored == 1)
}

/// Stores what may change of a profile. With new terms its vector is behind.
pub async fn update(
    tx: &mut Tx,
    subject: &SubjectWrite,
    profile: &Profile,
    new_terms: Option<&str>,
) -> Result<()> {
    run!(
        tx,
        "UPDATE profiles SET content = $4, last_modified_timestamp = $5, profile_time_to_live = $6,
            expiration_timestamp = $7, custom_features = $8, source = $9, status = $10, tags = $11,
            epoch = $12, terms = COALESCE($13, terms),
            revision = revision + CASE WHEN $13 IS NULL THEN 0 ELSE 1 END
         WHERE org_id = $1 AND subject = $2 AND profile_no = $3",
        subject.org_id(),
        subject.user_id(),
        profile.profile_no,
        &profile.content,
        profile.last_modified_timestamp,
        profile.profile_time_to_live,
        profile.expiration_timestamp,
        profile.custom_features.as_ref(),
        &profile.source,
        profile.status,
        &profile.tags,
        subject.epoch(),
        new_terms
    )?;
    Ok(())
}

/// Adds turns to those it came from.
pub async fn add_sources(
    tx: &mut Tx,
    subject: &SubjectWrite,
    profile_id: &str,
    turns: &[i64],
    now: i64,
) -> Result<()> {
    let (org_id, user_id) = (subject.org_id(), subject.user_id());
    let Some(mut row) = hold(tx, org_id, user_id, profile_id).await? else { return Ok(()) };
    let sources = &mut row.source_interaction_ids.0;
    sources.extend(turns);
    sources.sort_unstable();
    sources.dedup();
    run!(
        tx,
        "UPDATE profiles SET source_interaction_ids = $4, epoch = $5, last_modified_timestamp = $6
         WHERE org_id = $1 AND subject = $2 AND profile_id = $3",
        org_id,
        user_id,
        profile_id,
        &row.source_interaction_ids,
        subject.epoch(),
        now
    )?;
    Ok(())
}

/// Changes its status alone.
pub async fn set_status(
    tx: &mut Tx,
    subject: &SubjectWrite,
    profile_id: &str,
    status: LearningStatus,
) -> Result<()> {
    run!(
        tx,
        "UPDATE profiles SET status = $4, epoch = $5
         WHERE org_id = $1 AND subject = $2 AND profile_id = $3",
        subject.org_id(),
        subject.user_id(),
        profile_id,
        status,
        subject.epoch()
    )?;
    Ok(())
}

/// One profile, held until the transaction ends.
pub async fn hold(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    profile_id: &str,
) -> Result<Option<Profile>> {
    row!(
        tx,
        Profile,
        concat!(
            "SELECT ",
            columns!(
                "(SELECT u.user_id FROM subjects u WHERE u.org_id = $1 AND u.subject = $2) AS user_id",
                "b.",
                ""
            ),
            " FROM profiles b WHERE b.org_id = $1 AND b.subject = $2 AND b.profile_id = $3 {lock:UPDATE}"
        ),
        org_id,
        user_id,
        profile_id
    )
}

pub async fn delete(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    profile_id: &str,
) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM profiles WHERE org_id = $1 AND subject = $2 AND profile_id = $3",
        org_id,
        user_id,
        profile_id
    )
}

pub async fn delete_by_ids(tx: &mut Tx, org_id: &OrgId, profile_ids: &str) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM profiles WHERE org_id = $1 AND profile_id IN {texts:$2}",
        org_id,
        profile_ids
    )
}

/// Deletes up to `limit` profiles that have expired.
pub async fn delete_expired(tx: &mut Tx, now: i64, limit: i64) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM profiles WHERE (org_id, profile_id) IN (
             SELECT org_id, profile_id FROM profiles WHERE expiration_timestamp <= $1
             ORDER BY expiration_timestamp LIMIT $2 + 0)",
        now,
        limit
    )
}

/// The newest first. `+`: found by their key, not by walking everybody's in their order.
pub async fn list(tx: &mut Tx, filter: &Filter, limit: i64) -> Result<Vec<Profile>> {
    filtered!(
        tx,
        Profile,
        filter,
        concat!(
            "SELECT ",
            columns!(),
            " FROM profiles b WHERE ",
            passing!(),
            " ORDER BY +b.last_modified_timestamp DESC, b.profile_no DESC LIMIT $12 + 0"
        ),
        limit
    )
}

/// Profiles of anybody with these ids.
pub async fn by_ids(tx: &mut Tx, org_id: &OrgId, ids: &[String]) -> Result<Vec<Profile>> {
    rows!(
        tx,
        Profile,
        concat!(
            "SELECT ",
            columns!(),
            " FROM profiles b WHERE b.org_id = $1 AND b.profile_id IN {texts:$2}"
        ),
        org_id,
        Json(ids)
    )
}

/// Filter of everybody's profiles. `None` means any.
#[derive(Clone, Debug, Default)]
pub struct EveryonesFilter {
    pub status: Option<LearningStatus>,
    pub user_id: Option<UserId>,
    pub profile_id: Option<String>,
    /// Pattern of their content.
    pub text: Option<String>,
    pub source: Option<String>,
    pub time_to_live: Option<TimeToLive>,
    /// Last modified at or after, before.
    pub from: Option<i64>,
    pub to: Option<i64>,
    /// Rows that have expired by this time are left out.
    pub now: i64,
}

/// Everybody's profiles, the newest first.
pub async fn list_everyones(
    tx: &mut Tx,
    org_id: &OrgId,
    filter: &EveryonesFilter,
    limit: i64,
) -> Result<Vec<Profile>> {
    macro_rules! list {
        ($of:literal, $plus:literal) => {
            storage::statement!(concat!(
                "SELECT ",
                columns!(),
                " FROM profiles b WHERE b.org_id = $1 AND ",
                $of,
                " AND b.expiration_timestamp > $2 AND ($3 IS NULL OR b.status = $3)
                  AND ($5 IS NULL OR b.profile_id = $5)
                  AND ($6 IS NULL OR LOWER(b.content) LIKE LOWER($6) ESCAPE '\\')
                  AND ($7 IS NULL OR b.source = $7) AND ($8 IS NULL OR b.profile_time_to_live = $8)
                  AND ($9 IS NULL OR b.last_modified_timestamp >= $9)
                  AND ($10 IS NULL OR b.last_modified_timestamp < $10) ORDER BY ",
                $plus,
                "b.last_modified_timestamp DESC, b.profile_no DESC LIMIT $11 + 0"
            ))
        };
    }
    // `+`: what is asked for by user or id is found by its key, not by walking everybody's in their order.
    let sql = match (&filter.user_id, &filter.profile_id) {
        (Some(_), _) => list!("b.subject = $4", "+"),
        (None, Some(_)) => list!("$4 IS NULL AND b.profile_id = $5", "+"),
        (None, None) => list!("$4 IS NULL", ""),
    };
    rows!(
        tx,
        Profile,
        sql,
        org_id,
        filter.now,
        filter.status,
        filter.user_id.as_ref(),
        filter.profile_id.as_deref(),
        filter.text.as_deref(),
        filter.source.as_deref(),
        filter.time_to_live,
        filter.from,
        filter.to,
        limit
    )
}

/// A user's profiles, counted, with the times at which the first and the last of them were modified.
#[derive(Clone, Copy, Debug, Default, sqlx_macros::FromRow)]
pub struct StoredProfiles {
    pub count: i64,
    pub oldest: Option<i64>,
    pub newest: Option<i64>,
}

/// The user's profiles of any status that have not expired.
pub async fn stored(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    now: i64,
) -> Result<StoredProfiles> {
    let found = row!(
        tx,
        StoredProfiles,
        "SELECT COUNT(*) AS count, MIN(last_modified_timestamp) AS oldest, MAX(last_modified_timestamp) AS newest
         FROM profiles WHERE org_id = $1 AND subject = $2 AND expiration_timestamp > $3",
        org_id,
        user_id,
        now
    )?;
    Ok(found.unwrap_or_default())
}

/// The newest rows that match a full-text query.
pub async fn candidates(
    tx: &mut Tx,
    query: &str,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<Candidate>> {
    filtered!(
        tx,
        Candidate,
        filter,
        concat!(
            "SELECT b.profile_no AS no, b.terms FROM {found_in:profiles} WHERE {matches:$12} AND ",
            passing!(),
            " ORDER BY {found:profile_no} DESC LIMIT $13 + 0"
        ),
        query,
        limit
    )
}

/// Up to `limit` of the person's vectors by `model` that pass the filter, the newest first. A row without one is
/// there without one.
pub async fn vectors(
    tx: &mut Tx,
    model: &str,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<(i64, Option<Vec<u8>>)>> {
    filtered!(
        tx,
        (i64, Option<Vec<u8>>),
        filter,
        concat!(
            "SELECT b.profile_no, v.vector FROM profiles b LEFT JOIN profile_vectors v
                ON v.org_id = b.org_id AND v.subject = b.subject AND v.profile_no = b.profile_no
                AND v.revision = b.revision AND v.model = $12
             WHERE ",
            passing!(),
            " ORDER BY b.profile_no DESC LIMIT $13 + 0"
        ),
        model,
        limit
    )
}
