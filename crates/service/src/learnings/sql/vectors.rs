//! SQL of the vector tables.

use std::collections::BTreeSet;

use base::owner::{OrgId, UserId};
use judge::LearningKind;
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{rows, run};

/// A row whose vector is missing or behind.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Unembedded {
    pub no: i64,
    pub revision: i64,
    pub text: String,
}

/// Rows of a person whose vector by `model` is missing or behind.
pub async fn unembedded(
    tx: &mut Tx,
    kind: LearningKind,
    org_id: &OrgId,
    user_id: Option<&UserId>,
    model: &str,
    limit: i64,
) -> Result<Vec<Unembedded>> {
    let sql = match kind {
        LearningKind::Profile => {
            "SELECT b.profile_no AS no, b.revision, b.content AS text
             FROM profiles b LEFT JOIN profile_vectors v
                ON v.org_id = b.org_id AND v.subject = b.subject AND v.profile_no = b.profile_no
                AND v.revision = b.revision AND v.model = $3
             WHERE b.org_id = $1 AND b.subject = $2 AND v.model IS NULL ORDER BY b.profile_no LIMIT $4 + 0"
        }
        LearningKind::UserPlaybook => {
            "SELECT b.user_playbook_id AS no, b.revision, b.\"trigger\" || ' ' || b.content AS text
             FROM user_playbooks b LEFT JOIN user_playbook_vectors v
                ON v.org_id = b.org_id AND v.subject = b.subject AND v.user_playbook_id = b.user_playbook_id
                AND v.revision = b.revision AND v.model = $3
             WHERE b.org_id = $1 AND b.subject = $2 AND v.model IS NULL ORDER BY b.user_playbook_id LIMIT $4 + 0"
        }
        LearningKind::AgentPlaybook => {
            "SELECT b.agent_playbook_id AS no, b.revision, b.\"trigger\" || ' ' || b.content AS text
             FROM agent_playbooks b LEFT JOIN agent_playbook_vectors v
                ON v.org_id = b.org_id AND v.agent_playbook_id = b.agent_playbook_id
                AND v.revision = b.revision AND v.model = $3
             WHERE b.org_id = $1 AND $2 IS NULL AND v.model IS NULL ORDER BY b.agent_playbook_id LIMIT $4 + 0"
        }
    };
    rows!(tx, Unembedded, sql, org_id, user_id, model, limit)
}

/// Stores a person's vector, unless the row has changed or gone since its text was read.
pub async fn store(
    tx: &mut Tx,
    kind: LearningKind,
    subject: &SubjectWrite,
    row: &Unembedded,
    model: &str,
    vector: &[u8],
) -> Result<()> {
    let sql = if kind == LearningKind::Profile {
        "INSERT INTO profile_vectors (org_id, subject, profile_no, epoch, revision, model, vector)
         SELECT b.org_id, b.subject, b.profile_no, $4, b.revision, $6, $7 FROM profiles b
         WHERE b.org_id = $1 AND b.subject = $2 AND b.profile_no = $3 AND b.revision = $5
         ON CONFLICT (org_id, subject, profile_no) DO UPDATE SET
            epoch = excluded.epoch, revision = excluded.revision, model = excluded.model,
            vector = excluded.vector"
    } else {
        "INSERT INTO user_playbook_vectors (org_id, subject, user_playbook_id, epoch, revision, model, vector)
         SELECT b.org_id, b.subject, b.user_playbook_id, $4, b.revision, $6, $7 FROM user_playbooks b
         WHERE b.org_id = $1 AND b.subject = $2 AND b.user_playbook_id = $3 AND b.revision = $5
         ON CONFLICT (org_id, subject, user_playbook_id) DO UPDATE SET
            epoch = excluded.epoch, revision = excluded.revision, model = excluded.model,
            vector = excluded.vector"
    };
    run!(
        tx,
        sql,
        subject.org_id(),
        subject.user_id(),
        row.no,
        subject.epoch(),
        row.revision,
        model,
        vector
    )?;
    Ok(())
}

/// Stores an agent playbook's vector, unless the row has changed or gone since its text was read.
pub async fn store_of_organization(
    tx: &mut Tx,
    org_id: &OrgId,
    row: &Unembedded,
    model: &str,
    vector: &[u8],
    version: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO agent_playbook_vectors (org_id, agent_playbook_id, revision, model, vector, version)
         SELECT b.org_id, b.agent_playbook_id, b.revision, $4, $5, $6 FROM agent_playbooks b
         WHERE b.org_id = $1 AND b.agent_playbook_id = $2 AND b.revision = $3
         ON CONFLICT (org_id, agent_playbook_id) DO UPDATE SET
            revision = excluded.revision, model = excluded.model, vector = excluded.vector,
            version = excluded.version",
        org_id,
        row.no,
        row.revision,
        model,
        vector,
        version
    )?;
    Ok(())
}

/// Vectors of the organization that are newer than `version`: number, revision, vector.
pub async fn newer_than(
    tx: &mut Tx,
    org_id: &OrgId,
    model: &str,
    version: i64,
) -> Result<Vec<(i64, i64, Vec<u8>)>> {
    rows!(
        tx,
        (i64, i64, Vec<u8>),
        "SELECT agent_playbook_id, revision, vector FROM agent_playbook_vectors
         WHERE org_id = $1 AND version > $3 AND model = $2",
        org_id,
        model,
        version
    )
}

/// People, and organizations (without a person), who have rows without a vector by `model`.
pub async fn behind(tx: &mut Tx, model: &str, limit: i64) -> Result<Vec<(OrgId, Option<UserId>)>> {
    let mut behind = BTreeSet::new();
    for sql in [
        "SELECT DISTINCT b.org_id, u.user_id
           FROM profiles b JOIN subjects u ON u.org_id = b.org_id AND u.subject = b.subject
          WHERE NOT EXISTS (
                SELECT 1 FROM profile_vectors v WHERE v.org_id = b.org_id AND v.subject = b.subject
                   AND v.profile_no = b.profile_no AND v.revision = b.revision AND v.model = $1)
          LIMIT $2 + 0",
        "SELECT DISTINCT b.org_id, u.user_id
           FROM user_playbooks b JOIN subjects u ON u.org_id = b.org_id AND u.subject = b.subject
          WHERE NOT EXISTS (
                SELECT 1 FROM user_playbook_vectors v WHERE v.org_id = b.org_id AND v.subject = b.subject
                   AND v.user_playbook_id = b.user_playbook_id AND v.revision = b.revision AND v.model = $1)
          LIMIT $2 + 0",
        "SELECT DISTINCT b.org_id, CAST(NULL AS TEXT) FROM agent_playbooks b
          WHERE NOT EXISTS (
                SELECT 1 FROM agent_playbook_vectors v WHERE v.org_id = b.org_id
                   AND v.agent_playbook_id = b.agent_playbook_id AND v.revision = b.revision AND v.model = $1)
          LIMIT $2 + 0",
    ] {
        behind.extend(rows!(tx, (OrgId, Option<UserId>), sql, model, limit)?);
    }
    Ok(behind.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX)).collect())
}

/// Deletes the vector of an agent playbook's text.
pub async fn delete_of_agent_playbook(tx: &mut Tx, org_id: &OrgId, id: i64) -> Result<()> {
    run!(
        tx,
        "DELETE FROM agent_playbook_vectors WHERE org_id = $1 AND agent_playbook_id = $2",
        org_id,
        id
    )?;
    Ok(())
}
