//! SQL that promotes, archives and deletes learnings by their status, and deletes all of an organization.

use crate::learnings::upgrade::{Selection, Upgraded};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{rows, run};

/// The statements of a table whose rows one person has: `$selected` narrows them by `$3` and `$4`.
macro_rules! upgrade_of {
    ($module:ident, $table:literal, $key:literal, $selected:literal) => {
        pub mod $module {
            use super::*;

            /// People after `after` with selected rows, in the order of their subjects; with `only_affected`,
            /// those who have pending ones.
            pub async fn owners(
                tx: &mut Tx,
                org_id: &OrgId,
                after: Option<&UserId>,
                selection: &Selection,
                limit: i64,
            ) -> Result<Vec<UserId>> {
                let found = rows!(
                    tx,
                    (UserId,),
                    concat!(
                        "SELECT user_id FROM (SELECT DISTINCT b.subject, u.user_id FROM ",
                        $table,
                        " b JOIN subjects u ON u.org_id = b.org_id AND u.subject = b.subject
                          WHERE b.org_id = $1
                          AND b.subject > COALESCE($2, {subject:'00000000000000000000000000000000'}) AND ",
                        $selected,
                        " AND ($5 IS NULL OR b.subject = $5) AND ($6 = 0 OR status = 'pending')
                         ORDER BY b.subject LIMIT $7 + 0) AS people ORDER BY subject"
                    ),
                    org_id,
                    after,
                    selection.agent_version.as_deref(),
                    selection.playbook_name.as_deref(),
                    selection.user_id.as_ref(),
                    i64::from(selection.only_affected),
                    limit
                )?;
                Ok(found.into_iter().map(|(user_id,)| user_id).collect())
            }

            /// Deletes archived rows, archives current ones, and makes pending ones current.
            pub async fn upgrade(
                tx: &mut Tx,
                subject: &SubjectWrite,
                selection: &Selection,
            ) -> Result<Upgraded> {
                let (version, name) =
                    (selection.agent_version.as_deref(), selection.playbook_name.as_deref());
                let mut upgraded = Upgraded::default();
                if selection.archive_current {
                    upgraded.deleted = run!(
                        tx,
                        concat!(
                            "DELETE FROM ",
                            $table,
                            " WHERE org_id = $1 AND subject = $2 AND status = 'archived' AND ",
                            $selected
                        ),
                        subject.org_id(),
                        subject.user_id(),
                        version,
                        name
                    )?;
                    upgraded.archived = run!(
                        tx,
                        concat!(
                            "UPDATE ",
                            $table,
                            " SET status = 'archived', epoch = $5
                             WHERE org_id = $1 AND subject = $2 AND status = 'current' AND ",
                            $selected
                        ),
                        subject.org_id(),
                        subject.user_id(),
                        version,
                        name,
                        subject.epoch()
                    )?;
                }
                upgraded.promoted = run!(
                    tx,
                    concat!(
                        "UPDATE ",
                        $table,
                        " SET status = 'current', epoch = $5
                         WHERE org_id = $1 AND subject = $2 AND status = 'pending' AND ",
                        $selected
                    ),
                    subject.org_id(),
                    subject.user_id(),
                    version,
                    name,
                    subject.epoch()
                )?;
                Ok(upgraded)
            }

            /// Deletes up to `limit` rows of the organization.
            pub async fn delete_some(tx: &mut Tx, org_id: &OrgId, limit: i64) -> Result<u64> {
                run!(
                    tx,
                    concat!(
                        "DELETE FROM ", $table, " WHERE org_id = $1 AND ", $key, " IN (SELECT ", $key, " FROM ",
                        $table, " WHERE org_id = $1 ORDER BY ", $key, " LIMIT $2 + 0)"
                    ),
                    org_id,
                    limit
                )
            }
        }
    };
}

upgrade_of!(profiles, "profiles", "profile_no", "$3 IS NULL AND $4 IS NULL");
upgrade_of!(
    user_playbooks,
    "user_playbooks",
    "user_playbook_id",
    "($3 IS NULL OR agent_version = $3) AND ($4 IS NULL OR playbook_name = $4)"
);

/// Agent versions of a person's playbooks.
pub async fn agent_versions(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<Vec<String>> {
    let found = rows!(
        tx,
        (String,),
        "SELECT DISTINCT agent_version FROM user_playbooks WHERE org_id = $1 AND subject = $2",
        org_id,
        user_id
    )?;
    Ok(found.into_iter().map(|(version,)| version).collect())
}

/// Deletes up to `limit` agent playbooks of the organization.
pub async fn delete_some_agent_playbooks(tx: &mut Tx, org_id: &OrgId, limit: i64) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM agent_playbooks WHERE org_id = $1 AND agent_playbook_id IN (
             SELECT agent_playbook_id FROM agent_playbooks WHERE org_id = $1
             ORDER BY agent_playbook_id LIMIT $2 + 0)",
        org_id,
        limit
    )
}
