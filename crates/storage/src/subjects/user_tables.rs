//! Tables that hold what belongs to a person: how their rows are told apart, exported and deleted. Which tables these
//! are is the program's to say.

use crate::db::{Engine, Tx};
use crate::error::Result;
use base::owner::{OrgId, UserId};

/// One user-owned table. Every one of them has the columns `org_id`, `subject` and `epoch`.
///
/// For rows that are summed up elsewhere, `AFTER DELETE` triggers in the table's migration correct the sums: they run
/// in the same transaction as every deletion, whatever code path deletes.
pub struct UserTable {
    pub table: &'static str,
    /// The name people see in exports, counts and certificates.
    pub target: &'static str,
    /// True if rows of the organization may be in it too: they have no epoch, and its own subject.
    pub user_optional: bool,
    /// True if SQLite numbers its rows; `WITHOUT ROWID` tables have no such number.
    pub has_rowid: bool,
    /// The columns that tell a person's rows apart, in the order in which an export lists them.
    pub key: &'static str,
    /// Columns that hold JSON, and columns that hold true or false: SQLite does not know.
    pub json: &'static [&'static str],
    pub flags: &'static [&'static str],
}

/// Columns that an export leaves out: the same for everyone, or made from other columns.
const NOT_EXPORTED: &[&str] = &["org_id", "epoch", "terms", "document"];

/// The user id, which the tables do not hold.
const USER_ID: &str = "(SELECT user_id FROM subjects WHERE org_id = $1 AND subject = $2)";

impl UserTable {
    /// Deletes a person's rows and gives how many there were.
    pub async fn delete_rows(&self, tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<u64> {
        let statement = format!("DELETE FROM {} WHERE org_id = $1 AND subject = $2", self.table);
        tx.change(statement, tx.arguments_of(org_id, user_id)).await
    }

    /// Deletes up to `limit` of the rows a person had before `epoch`; gives how many.
    pub async fn delete_batch(
        &self,
        tx: &mut Tx,
        org_id: &OrgId,
        user_id: &UserId,
        epoch: i64,
        limit: u64,
    ) -> Result<u64> {
        let UserTable { table, key, .. } = self;
        let found = |row: &str| {
            format!(
                "SELECT {row} FROM {table} WHERE org_id = $1 AND subject = $2 AND epoch < {epoch} LIMIT {limit}"
            )
        };
        let statement = match tx.engine() {
            // By their numbers alone: where the person is named again, SQLite looks each row up in an index of theirs
            // before it goes to the row.
            Engine::Sqlite if self.has_rowid => {
                format!("DELETE FROM {table} WHERE rowid IN ({})", found("rowid"))
            }
            Engine::Sqlite => format!(
                "DELETE FROM {table} WHERE org_id = $1 AND subject = $2 AND ({key}) IN ({})",
                found(key)
            ),
            Engine::Postgres => format!(
                "DELETE FROM {table} WHERE org_id = $1 AND subject = $2 AND ctid = ANY(ARRAY({}))",
                found("ctid")
            ),
        };
        tx.change(statement, tx.arguments_of(org_id, user_id)).await
    }

    /// Number of a person's rows from before `epoch`.
    pub async fn count(
        &self,
        tx: &mut Tx,
        org_id: &OrgId,
        user_id: &UserId,
        epoch: i64,
    ) -> Result<u64> {
        let query = format!(
            "SELECT COUNT(*) FROM {} WHERE org_id = $1 AND subject = $2 AND epoch < {epoch}",
            self.table
        );
        tx.number(query, tx.arguments_of(org_id, user_id)).await
    }

    /// True if a person has no rows from before `epoch`.
    pub async fn is_empty(
        &self,
        tx: &mut Tx,
        org_id: &OrgId,
        user_id: &UserId,
        epoch: i64,
    ) -> Result<bool> {
        let query = format!(
            "SELECT COUNT(*) FROM (SELECT 1 FROM {} WHERE org_id = $1 AND subject = $2
             AND epoch < {epoch} LIMIT 1) AS one",
            self.table
        );
        Ok(tx.number(query, tx.arguments_of(org_id, user_id)).await? == 0)
    }

    /// The query that gives a person's rows (organization `$1`, subject `$2`) as JSON, one text per row.
    pub async fn export_query(&self, tx: &mut Tx) -> Result<String> {
        let columns = tx.columns_of(self.table).await?;
        let mut fields = String::new();
        for (name, kind) in columns.iter().filter(|(n, _)| !NOT_EXPORTED.contains(&n.as_str())) {
            let (name, value) = match name.as_str() {
                "subject" => ("user_id", USER_ID.to_owned()),
                name => (name, self.exported_value(tx.engine(), name, kind)),
            };
            if !fields.is_empty() {
                fields.push_str(", ");
            }
            fields.push_str(&format!("'{name}', {value}"));
        }
        let object = match tx.engine() {
            Engine::Sqlite => format!("json_object({fields})"),
            Engine::Postgres => format!("json_build_object({fields})::text"),
        };
        let UserTable { table, key, .. } = self;
        Ok(format!(
            "SELECT {object} FROM {table} WHERE org_id = $1 AND subject = $2
             ORDER BY org_id, subject, {key}"
        ))
    }

    fn exported_value(&self, engine: Engine, name: &str, kind: &str) -> String {
        let column = format!("\"{name}\"");
        match engine {
            Engine::Sqlite if self.json.contains(&name) => format!("json({column})"),
            Engine::Sqlite if self.flags.contains(&name) => {
                format!(
                    "json(CASE {column} WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE 'null' END)"
                )
            }
            Engine::Sqlite if kind == "blob" => format!("lower(hex({column}))"),
            Engine::Postgres if kind == "bytea" => format!("encode({column}, 'hex')"),
            _ => column,
        }
    }

    pub const fn by(mut self, key: &'static str) -> Self {
        self.key = key;
        self
    }

    pub const fn json(mut self, columns: &'static [&'static str]) -> Self {
        self.json = columns;
        self
    }

    pub const fn flags(mut self, columns: &'static [&'static str]) -> Self {
        self.flags = columns;
        self
    }

    pub const fn without_rowid(mut self) -> Self {
        self.has_rowid = false;
        self
    }

    pub const fn user_optional(mut self) -> Self {
        self.user_optional = true;
        self
    }
}

/// A table with its name in exports, counts and certificates.
pub const fn owned(table: &'static str, target: &'static str) -> UserTable {
    UserTable {
        table,
        target,
        user_optional: false,
        has_rowid: true,
        key: "",
        json: &[],
        flags: &[],
    }
}
