//! SQL of the learnings' tables, one file per noun.

pub mod agent_playbooks;
pub mod decisions;
pub mod profiles;
pub mod rejections;
pub mod resolve;
pub mod search;
pub mod upgrade;
pub mod user_playbooks;
pub mod vectors;

use crate::learnings::{LearningStatus, PlaybookStatus};
use base::owner::{OrgId, UserId};
use storage::db::{Engine, Sequence, Tx};
use storage::error::{Error, Result};
use storage::subjects::SubjectWrite;
use storage::{row, run};

/// Filter of lists and searches. `None` means any.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub org_id: OrgId,
    pub user_id: Option<UserId>,
    pub statuses: Vec<LearningStatus>,
    pub source: Option<String>,
    /// Any of these.
    pub tags: Option<Vec<String>>,
    pub agent_version: Option<String>,
    pub playbook_name: Option<String>,
    pub playbook_statuses: Vec<PlaybookStatus>,
    /// At or after, before: when a profile was last modified, when a playbook was made.
    pub from: Option<i64>,
    pub to: Option<i64>,
    /// Rows that have expired by this time are left out.
    pub now: i64,
}

impl Filter {
    /// The status, if one is asked for and else nothing but whose the rows are and how far playbooks are approved: what
    /// agents ask for. Then a search needs none of the conditions that it has for the rest.
    pub fn only_status(&self) -> Option<LearningStatus> {
        let Filter { source, tags, agent_version, playbook_name, from, to, .. } = self;
        let has_more = source.is_some()
            || tags.is_some()
            || agent_version.is_some()
            || playbook_name.is_some()
            || from.is_some()
            || to.is_some();
        match *self.statuses {
            [status] if !has_more => Some(status),
            _ => None,
        }
    }
}

/// [`rows!`](storage::rows) with a filter's parts as its first parameters: `$1` organization, `$2` user, `$3` now, `$4` statuses,
/// `$5` approval, `$6` source, `$7` tags, `$8` agent version, `$9` playbook name, `$10` and `$11` times. What the
/// statement adds begins with `$12`.
macro_rules! filtered {
    (@ $fetch:ident, $tx:expr, $row:ty, $filter:expr, $sql:ident $(, $bind:expr)*) => {
        ::storage::$fetch!(
            $tx,
            $row,
            $sql,
            &$filter.org_id,
            $filter.user_id.as_ref(),
            $filter.now,
            ::sqlx::types::Json(&$filter.statuses),
            ::sqlx::types::Json(&$filter.playbook_statuses),
            $filter.source.as_deref(),
            $filter.tags.as_ref().map(::sqlx::types::Json),
            $filter.agent_version.as_deref(),
            $filter.playbook_name.as_deref(),
            $filter.from,
            $filter.to
            $(, $bind)*
        )
    };
    ($tx:expr, $row:ty, $filter:expr, $sql:ident $(, $bind:expr)* $(,)?) => {
        filtered!(@ rows, $tx, $row, $filter, $sql $(, $bind)*)
    };
    ($tx:expr, $row:ty, $filter:expr, $sql:expr $(, $bind:expr)* $(,)?) => {{
        let sql = ::storage::statement!($sql);
        filtered!(@ rows, $tx, $row, $filter, sql $(, $bind)*)
    }};
}
use filtered;

/// SQL condition that a column holds one of a list of words. Mostly the list is one word long; to compare that first spares
/// SQLite the table that it makes of a list.
macro_rules! is_one_of {
    ($column:literal, $list:literal) => {
        concat!("(", $column, " = ", $list, " ->> 0 OR ", $column, " IN {texts:", $list, "})")
    };
}
use is_one_of;

macro_rules! has_tag {
    () => {
        " AND ($7 IS NULL OR {tagged:$7})"
    };
}
use has_tag;

/// The number that stands for a person in the full-text index, if they have any learning.
pub async fn scope(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<Option<i64>> {
    let found = row!(
        tx,
        (i64,),
        "SELECT scope FROM learning_scopes WHERE org_id = $1 AND subject = $2",
        org_id,
        user_id
    )?;
    Ok(found.map(|(scope,)| scope))
}

/// [`scope`], which is made if it is not there.
pub async fn admit_scope(tx: &mut Tx, subject: &SubjectWrite) -> Result<i64> {
    if let Some(scope) = scope(tx, subject.org_id(), subject.user_id()).await? {
        return Ok(scope);
    }
    let new = tx.next_numbers(Sequence::Scopes, 1).await?;
    run!(
        tx,
        "INSERT INTO learning_scopes (org_id, subject, epoch, scope) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING",
        subject.org_id(),
        subject.user_id(),
        subject.epoch(),
        new[0]
    )?;
    scope(tx, subject.org_id(), subject.user_id())
        .await?
        .ok_or_else(|| Error::Internal("a scope was not stored".to_owned()))
}

/// The organization's number in the full-text index, and how often its playbooks have changed.
pub async fn organization_scope(tx: &mut Tx, org_id: &OrgId) -> Result<Option<(i64, i64)>> {
    row!(
        tx,
        (i64, i64),
        "SELECT scope, vectors_version FROM organization_scopes WHERE org_id = $1",
        org_id
    )
}

pub async fn admit_organization_scope(tx: &mut Tx, org_id: &OrgId) -> Result<i64> {
    if let Some((scope, _)) = organization_scope(tx, org_id).await? {
        return Ok(scope);
    }
    let new = tx.next_numbers(Sequence::Scopes, 1).await?;
    run!(
        tx,
        "INSERT INTO organization_scopes (org_id, scope, vectors_version) VALUES ($1, $2, 0)
         ON CONFLICT DO NOTHING",
        org_id,
        new[0]
    )?;
    let found = organization_scope(tx, org_id).await?;
    found
        .map(|(scope, _)| scope)
        .ok_or_else(|| Error::Internal("a scope was not stored".to_owned()))
}

/// Counts a change of what the organization's playbooks are found by, and holds the count until the transaction
/// ends, so that versions become visible in their order. Comes before the change itself: everyone waits in one queue.
pub async fn next_version(tx: &mut Tx, org_id: &OrgId) -> Result<i64> {
    let found = row!(
        tx,
        (i64,),
        "UPDATE organization_scopes SET vectors_version = vectors_version + 1 WHERE org_id = $1
         RETURNING vectors_version",
        org_id
    )?;
    Ok(found.map_or(0, |(version,)| version))
}

const INDEXES: [&str; 3] = ["profiles_index", "user_playbooks_index", "agent_playbooks_index"];

/// Pages of the index merged in one transaction: small enough that publishes do not wait.
const MERGED_PAGES: i64 = 200;

/// Rewrites the full-text indexes, a piece at a time, until nothing of deleted rows is left in them; false when
/// there was nothing left to do (SQLite; PostgreSQL does it in its vacuum). Begin with `first`.
pub async fn compact_index(tx: &mut Tx, first: bool) -> Result<bool> {
    if tx.engine() != Engine::Sqlite {
        return Ok(false);
    }
    // A negative number begins to merge everything into one; positive ones go on with that.
    let pages = if first { -MERGED_PAGES } else { MERGED_PAGES };
    let changes = "SELECT total_changes()".to_owned();
    let mut more = false;
    for index in INDEXES {
        let before = tx.number(changes.clone(), tx.arguments()).await?;
        let merge = format!("INSERT INTO {index} ({index}, rank) VALUES ('merge', {pages})");
        tx.change(merge, tx.arguments()).await?;
        // The command itself counts as one.
        more |= tx.number(changes.clone(), tx.arguments()).await? - before >= 2;
    }
    Ok(more)
}

/// Compares the full-text indexes with their tables and fails when they differ (SQLite). Needs a write
/// transaction, writes nothing.
pub async fn check_index(tx: &mut Tx) -> Result<()> {
    if tx.engine() == Engine::Sqlite {
        for index in INDEXES {
            let statement =
                format!("INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)");
            tx.change(statement, tx.arguments()).await?;
        }
    }
    Ok(())
}
