//! The second wall: triggers that hold whatever code path writes.
//!
//! For each user-owned table a trigger, generated from the same list as everything else, refuses a row whose
//! subject is not active or whose epoch is not the subject's. Code that forgot the barrier, a worker that slept
//! through an erasure and a hand-typed INSERT all end here.

use super::user_tables::UserTable;
use crate::db::{Engine, Objects, Tx, WALL_MESSAGE, migrations};
use crate::error::Result;

/// Version of the triggers and their function. Raise it with every change of their text: a replica with an older one
/// leaves what a newer one made.
const VERSION: i64 = 1;
const PART: &str = "wall";

/// Makes the triggers that are not there yet, and all anew when those that are there are older than these.
pub async fn install(tx: &mut Tx, user_tables: &'static [UserTable]) -> Result<()> {
    if !migrations::may_install(tx, PART, VERSION).await? {
        return Ok(());
    }
    let is_outdated = migrations::is_outdated(tx, PART, VERSION).await?;
    let missing = gaps(tx, user_tables).await?;
    if missing.is_empty() && !is_outdated {
        return Ok(());
    }
    let engine = tx.engine();
    let tables = user_tables.iter().filter(|t| is_outdated || missing.contains(&t.table));
    let script: String = match engine {
        Engine::Sqlite => tables.map(sqlite_triggers).collect(),
        Engine::Postgres => postgres_function() + &tables.map(postgres_trigger).collect::<String>(),
    };
    tx.run_script(script).await?;
    migrations::installed(tx, PART, VERSION).await
}

/// The user-owned tables whose wall is missing: what `install` makes and `doctor` reports.
pub async fn gaps(tx: &mut Tx, user_tables: &'static [UserTable]) -> Result<Vec<&'static str>> {
    let present = tx.names_of(Objects::Triggers).await?;
    let engine = tx.engine();
    let complete =
        |t: &UserTable| trigger_names(engine, t.table).iter().all(|name| present.contains(name));
    Ok(user_tables.iter().filter(|t| !complete(t)).map(|t| t.table).collect())
}

/// SQLite wants a trigger per event, PostgreSQL takes both in one.
fn trigger_names(engine: Engine, table: &str) -> Vec<String> {
    match engine {
        Engine::Sqlite => vec![format!("wall_{table}_insert"), format!("wall_{table}_update")],
        Engine::Postgres => vec![format!("wall_{table}")],
    }
}

fn sqlite_triggers(table: &UserTable) -> String {
    let name = table.table;
    let owned = if table.user_optional { "NEW.subject IS NOT NULL AND " } else { "" };
    ["insert", "update"]
        .map(|event| {
            format!(
                "DROP TRIGGER IF EXISTS wall_{name}_{event};
                 CREATE TRIGGER wall_{name}_{event} BEFORE {event} ON {name}
                 WHEN {owned}NOT EXISTS (
                     SELECT 1 FROM subjects
                     WHERE org_id = NEW.org_id AND subject = NEW.subject
                       AND state = 'active' AND epoch = NEW.epoch)
                 BEGIN SELECT RAISE(ABORT, '{WALL_MESSAGE}'); END;\n"
            )
        })
        .concat()
}

fn postgres_function() -> String {
    // The lock makes the check hold until the writer commits, also for code that never took the barrier.
    format!(
        "CREATE OR REPLACE FUNCTION subject_wall() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF NEW.subject IS NULL THEN RETURN NEW; END IF;
             PERFORM 1 FROM subjects
              WHERE org_id = NEW.org_id AND subject = NEW.subject
                AND state = 'active' AND epoch = NEW.epoch FOR SHARE;
             IF NOT FOUND THEN RAISE EXCEPTION '{WALL_MESSAGE}'; END IF;
             RETURN NEW;
         END $$;\n"
    )
}

fn postgres_trigger(table: &UserTable) -> String {
    let name = table.table;
    format!(
        "CREATE OR REPLACE TRIGGER wall_{name} BEFORE INSERT OR UPDATE ON {name}
         FOR EACH ROW EXECUTE FUNCTION subject_wall();\n"
    )
}
