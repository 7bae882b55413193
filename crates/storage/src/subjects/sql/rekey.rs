//! SQL of giving rows subjects under another governance key.

use crate::db::{Engine, Subject, Tx};
use crate::error::Result;
use crate::subjects::user_tables::UserTable;
use crate::{row, rows, run};
use base::owner::{OrgId, UserId};

pub async fn fact(tx: &mut Tx, key: &str) -> Result<Option<String>> {
    let found = row!(tx, (String,), "SELECT value FROM installation WHERE key = $1", key)?;
    Ok(found.map(|(value,)| value))
}

pub async fn set_fact(tx: &mut Tx, key: &str, value: &str) -> Result<()> {
    run!(
        tx,
        "INSERT INTO installation (key, value) VALUES ($1, $2)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        key,
        value
    )?;
    Ok(())
}

pub async fn forget_fact(tx: &mut Tx, key: &str) -> Result<()> {
    run!(tx, "DELETE FROM installation WHERE key = $1", key)?;
    Ok(())
}

/// Subjects under earlier keys, each with its key id.
pub async fn behind(tx: &mut Tx) -> Result<Vec<(String, Subject)>> {
    rows!(tx, (String, Subject), "SELECT key_id, subject FROM subjects WHERE key_id IS NOT NULL")
}

/// Leaves those whose user id is gone under the key they stand under.
pub async fn leave_behind(tx: &mut Tx, key_id: &str) -> Result<()> {
    run!(tx, "UPDATE subjects SET key_id = $1 WHERE user_id IS NULL AND key_id IS NULL", key_id)?;
    Ok(())
}

/// Subjects under a key that makes subjects again need no key of their own.
pub async fn take_along(tx: &mut Tx, key_id: &str) -> Result<()> {
    run!(tx, "UPDATE subjects SET key_id = NULL WHERE key_id = $1", key_id)?;
    Ok(())
}

/// The organizations of people who can be moved.
pub async fn organizations(tx: &mut Tx) -> Result<Vec<OrgId>> {
    let found = rows!(
        tx,
        (OrgId,),
        "SELECT DISTINCT org_id FROM subjects WHERE user_id IS NOT NULL ORDER BY org_id"
    )?;
    Ok(found.into_iter().map(|(org_id,)| org_id).collect())
}

/// How many people can be moved.
pub async fn count_people(tx: &mut Tx) -> Result<u64> {
    let sql = "SELECT COUNT(*) FROM subjects WHERE user_id IS NOT NULL";
    let found = row!(tx, (i64,), sql)?;
    Ok(found.map_or(0, |(people,)| people.unsigned_abs()))
}

/// Some of an organization's people whose user id is there, by subject.
pub async fn people(
    tx: &mut Tx,
    org_id: &OrgId,
    after: Subject,
    limit: i64,
) -> Result<Vec<(Subject, UserId)>> {
    rows!(
        tx,
        (Subject, UserId),
        "SELECT subject, user_id FROM subjects
         WHERE org_id = $1 AND subject > $2 AND user_id IS NOT NULL ORDER BY subject LIMIT $3",
        org_id,
        after,
        limit
    )
}

/// The organizations that have rows of their own in a table of people.
pub async fn owners(tx: &mut Tx, table: &UserTable) -> Result<Vec<OrgId>> {
    let query = format!("SELECT DISTINCT org_id FROM {} WHERE epoch IS NULL", table.table);
    let found: Vec<(OrgId,)> = tx.list(query, tx.arguments()).await?;
    Ok(found.into_iter().map(|(org_id,)| org_id).collect())
}

/// The subjects of an organization's own rows in a table.
pub async fn own_subjects(
    tx: &mut Tx,
    table: &UserTable,
    org_id: &OrgId,
) -> Result<Vec<(Subject,)>> {
    let table = table.table;
    let query = format!("SELECT DISTINCT subject FROM {table} WHERE org_id = $1 AND epoch IS NULL");
    tx.list(query, tx.arguments().bind_organization(org_id)).await
}

pub async fn count(tx: &mut Tx, table: &str) -> Result<u64> {
    tx.number(format!("SELECT COUNT(*) FROM {table}"), tx.arguments()).await
}

/// Rows that are a person's, and of nobody whom `subjects` knows.
pub async fn count_ownerless(tx: &mut Tx, table: &UserTable) -> Result<u64> {
    let query = format!(
        "SELECT COUNT(*) FROM {} t WHERE epoch IS NOT NULL AND NOT EXISTS (
             SELECT 1 FROM subjects s WHERE s.org_id = t.org_id AND s.subject = t.subject)",
        table.table
    );
    tx.number(query, tx.arguments()).await
}

/// The pairs of an old and a new subject that a statement is given as `$2`.
fn moves(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => {
            "(SELECT unhex(value ->> 0) AS old_subject, unhex(value ->> 1) AS new_subject,
                     value ->> 0 AS old_digits, value ->> 1 AS new_digits FROM json_each($2))"
        }
        Engine::Postgres => {
            "(SELECT CAST(value ->> 0 AS UUID) AS old_subject, CAST(value ->> 1 AS UUID) AS new_subject,
                     value ->> 0 AS old_digits, value ->> 1 AS new_digits
                FROM jsonb_array_elements($2::jsonb))"
        }
    }
}

/// The columns of a row `t` that change with its subject.
fn changed(table: &str) -> &'static [(&'static str, &'static str)] {
    match table {
        "subjects" => &[("subject", "m.new_subject"), ("key_id", "NULL")],
        // Keys that keep a person's work together are made of the subject.
        "jobs" => &[
            ("subject", "m.new_subject"),
            ("dedupe_key", "replace(t.dedupe_key, m.old_digits, m.new_digits)"),
        ],
        _ => &[("subject", "m.new_subject")],
    }
}

/// Changes the subjects of an organization's rows in place; `moved` are pairs of an old and a new one, as JSON.
pub async fn change(tx: &mut Tx, table: &str, org_id: &OrgId, moved: &str) -> Result<u64> {
    let set = changed(table).iter().map(|(column, value)| format!("{column} = {value}"));
    let (set, moves) = (set.collect::<Vec<_>>().join(", "), moves(tx.engine()));
    let statement = format!(
        "UPDATE {table} AS t SET {set} FROM {moves} AS m WHERE t.org_id = $1 AND t.subject = m.old_subject"
    );
    tx.change(statement, tx.arguments().bind_organization(org_id).bind(moved)).await
}

/// [`change`] in two steps, where a row that others refer to, or that is on another server afterwards, cannot be changed
/// in place (PostgreSQL): the rows once more under their new subjects.
pub async fn copy(tx: &mut Tx, table: &'static str, org_id: &OrgId, moved: &str) -> Result<u64> {
    let columns = rows!(
        tx,
        (String,),
        "SELECT column_name::text FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name = $1 AND is_generated = 'NEVER'
         ORDER BY ordinal_position",
        table
    )?;
    let changed = changed(table);
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (column,) in columns {
        let value = changed.iter().find(|(name, _)| *name == column);
        values.push(
            value.map_or_else(|| format!("t.\"{column}\""), |(_, value)| (*value).to_owned()),
        );
        names.push(format!("\"{column}\""));
    }
    let (names, values, moves) = (names.join(", "), values.join(", "), moves(tx.engine()));
    let statement = format!(
        "INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE
         SELECT {values} FROM {table} t JOIN {moves} AS m ON t.subject = m.old_subject WHERE t.org_id = $1"
    );
    tx.change(statement, tx.arguments().bind_organization(org_id).bind(moved)).await
}

/// The second step: the rows under their old subjects go.
pub async fn delete(tx: &mut Tx, table: &str, org_id: &OrgId, moved: &str) -> Result<u64> {
    let statement = format!(
        "DELETE FROM {table} WHERE org_id = $1 AND subject = ANY (ARRAY(
             SELECT CAST(value ->> 0 AS UUID) FROM jsonb_array_elements($2::jsonb)))"
    );
    tx.change(statement, tx.arguments().bind_organization(org_id).bind(moved)).await
}

/// Takes off the triggers that a change of a row sets off (SQLite) and gives the script that makes them again.
pub async fn take_triggers(tx: &mut Tx, tables: &[&UserTable]) -> Result<String> {
    let found = rows!(
        tx,
        (String, String, String),
        "SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'trigger'
            AND (sql LIKE '%before update o%' OR sql LIKE '%after update o%')"
    )?;
    let (mut take_off, mut make_again) = (String::new(), String::new());
    for (table, name, sql) in found {
        if tables.iter().any(|known| known.table == table) {
            take_off.push_str(&format!("DROP TRIGGER {name};\n"));
            make_again.push_str(&format!("{sql};\n"));
        }
    }
    // Rows that refer to each other change one after the other.
    take_off.push_str("PRAGMA defer_foreign_keys = ON;\n");
    tx.run_script(take_off).await?;
    Ok(make_again)
}

/// Switches the triggers of people's tables, those of foreign keys left out (PostgreSQL).
pub async fn switch_triggers(tx: &mut Tx, tables: &[UserTable], word: &str) -> Result<()> {
    let script: String = tables
        .iter()
        .map(|UserTable { table, .. }| format!("ALTER TABLE {table} {word} TRIGGER USER;\n"))
        .collect();
    match tx.is_spread() {
        true => tx.run_on_shards(script).await,
        false => tx.run_script(script).await,
    }
}
