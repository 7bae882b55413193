//! SQL of the tables `people` and `person_sessions`.

use sqlx::types::Json;

use super::identity::{Identity, PersonRole};
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::{row, rows, run};

/// A session of a person, with the person.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct PersonSession {
    pub person_id: String,
    pub subject: String,
    pub name: String,
    pub email: Option<String>,
    pub org_id: OrgId,
    pub organizations: Json<Vec<OrgId>>,
    pub role: PersonRole,
    pub sealed_refresh_token: Option<String>,
    /// From then on the provider is asked again.
    pub check_at: i64,
    pub ends_at: i64,
    /// It is never moved beyond this.
    pub latest_end: i64,
}

/// Somebody who signed in once.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct KnownPerson {
    pub person_id: String,
    pub subject: String,
    pub name: String,
    pub email: Option<String>,
}

/// Notes who signed in, by the provider's name for them, and gives their id.
pub async fn upsert_person(
    tx: &mut Tx,
    new_id: &str,
    issuer: &str,
    identity: &Identity,
    now: i64,
) -> Result<String> {
    let found = row!(
        tx,
        (String,),
        "INSERT INTO people (person_id, issuer, subject, name, email, created_at, last_signed_in_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6)
         ON CONFLICT (issuer, subject) DO UPDATE SET
             name = excluded.name, email = excluded.email, last_signed_in_at = excluded.last_signed_in_at
         RETURNING person_id",
        new_id,
        issuer,
        &identity.subject,
        &identity.person.name,
        identity.person.email.as_deref(),
        now
    )?;
    found.map(|(id,)| id).ok_or_else(|| Error::Internal("a person was not stored".to_owned()))
}

/// Takes over how the provider names a person now.
pub async fn rename(tx: &mut Tx, person_id: &str, identity: &Identity) -> Result<()> {
    run!(
        tx,
        "UPDATE people SET name = $2, email = $3 WHERE person_id = $1",
        person_id,
        &identity.person.name,
        identity.person.email.as_deref()
    )?;
    Ok(())
}

/// Signs a person in. Sessions whose time is over go.
pub async fn insert_session(
    tx: &mut Tx,
    session: &str,
    new: &PersonSession,
    now: i64,
) -> Result<()> {
    run!(tx, "DELETE FROM person_sessions WHERE ends_at <= $1", now)?;
    run!(
        tx,
        "INSERT INTO person_sessions
           (session_sha256, person_id, org_id, organizations, role, sealed_refresh_token, check_at, ends_at,
            latest_end, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        session,
        &new.person_id,
        &new.org_id,
        Json(&new.organizations.0),
        new.role,
        new.sealed_refresh_token.as_deref(),
        new.check_at,
        new.ends_at,
        new.latest_end,
        now
    )?;
    Ok(())
}

pub async fn session(tx: &mut Tx, session: &str) -> Result<Option<PersonSession>> {
    row!(
        tx,
        PersonSession,
        "SELECT s.person_id, p.subject, p.name, p.email, s.org_id, s.organizations, s.role, s.sealed_refresh_token,
                s.check_at, s.ends_at, s.latest_end
         FROM person_sessions s JOIN people p ON p.person_id = s.person_id WHERE s.session_sha256 = $1",
        session
    )
}

/// True for the one request that is to ask the provider; others find the check moved to `until`.
pub async fn claim_check(tx: &mut Tx, session: &str, now: i64, until: i64) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE person_sessions SET check_at = $3 WHERE session_sha256 = $1 AND check_at <= $2",
        session,
        now,
        until
    )?;
    Ok(touched == 1)
}

/// Takes over what the provider said; false when the session ended meanwhile.
pub async fn go_on(tx: &mut Tx, session: &str, with: &PersonSession) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE person_sessions SET organizations = $2, role = $3, sealed_refresh_token = $4, check_at = $5,
                ends_at = $6
         WHERE session_sha256 = $1",
        session,
        Json(&with.organizations.0),
        with.role,
        with.sealed_refresh_token.as_deref(),
        with.check_at,
        with.ends_at
    )?;
    Ok(touched == 1)
}

/// Goes on in another organization, under another cookie; false when the session ended meanwhile.
pub async fn switch(tx: &mut Tx, session: &str, anew: &str, org_id: &OrgId) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE person_sessions SET session_sha256 = $2, org_id = $3 WHERE session_sha256 = $1",
        session,
        anew,
        org_id
    )?;
    Ok(touched == 1)
}

pub async fn delete_session(tx: &mut Tx, session: &str) -> Result<()> {
    run!(tx, "DELETE FROM person_sessions WHERE session_sha256 = $1", session)?;
    Ok(())
}

/// Everybody who ever signed in.
pub async fn all(tx: &mut Tx) -> Result<Vec<KnownPerson>> {
    rows!(tx, KnownPerson, "SELECT person_id, subject, name, email FROM people ORDER BY person_id")
}
