//! The second wall: triggers that hold whatever code path writes.
//!
//! For each user-owned table a trigger, generated from the same list as everything else, refuses a row whose
//! subject is not active or whose epoch is not the subject's. Rows without an epoch are the organization's own, and
//! their subject is nobody's. Code that forgot the barrier, a worker that slept through an erasure and a hand-typed
//! INSERT all end here.

use super::user_tables::UserTable;
use crate::db::{Engine, Objects, Tx, WALL_MESSAGE, migrations};
use crate::error::Result;

/// Version of the triggers and their function. Raise it with every change of their text: a replica with an older one
/// leaves what a newer one made.
const VERSION: i64 = 3;
const PART: &str = "wall";
/// PostgreSQL's trigger that makes walls look again.
const CHANGED: &str = "subject_changed";

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
        Engine::Postgres => {
            postgres_function(tx.is_spread()) + &tables.map(postgres_trigger).collect::<String>()
        }
    };
    match tx.is_spread() {
        true => tx.run_on_shards(script).await?,
        false => tx.run_script(script).await?,
    }
    migrations::installed(tx, PART, VERSION).await
}

/// The user-owned tables whose wall is missing: what `install` makes and `doctor` reports.
pub async fn gaps(tx: &mut Tx, user_tables: &'static [UserTable]) -> Result<Vec<&'static str>> {
    let present = tx.names_of(Objects::Triggers).await?;
    let engine = tx.engine();
    let complete =
        |t: &UserTable| trigger_names(engine, t.table).iter().all(|name| present.contains(name));
    let mut gaps: Vec<_> = user_tables.iter().filter(|t| !complete(t)).map(|t| t.table).collect();
    if engine == Engine::Postgres && !present.iter().any(|name| name == CHANGED) {
        gaps.push("subjects");
    }
    Ok(gaps)
}

/// `(table, rows)` of rows that no wall would have let in: their person was erased, or came back since, or they are a
/// person's without saying under which epoch.
pub async fn strays(
    tx: &mut Tx,
    user_tables: &'static [UserTable],
) -> Result<Vec<(&'static str, u64)>> {
    let mut found = Vec::new();
    for UserTable { table, .. } in user_tables {
        let query = format!(
            "SELECT COUNT(*) FROM {table} t JOIN subjects s ON s.org_id = t.org_id AND s.subject = t.subject
             WHERE s.state = 'erased' OR (s.state = 'active' AND s.epoch <> t.epoch) OR t.epoch IS NULL"
        );
        let rows = tx.number(query, tx.arguments()).await?;
        if rows > 0 {
            found.push((*table, rows));
        }
    }
    Ok(found)
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
    let known = "SELECT 1 FROM subjects WHERE org_id = NEW.org_id AND subject = NEW.subject";
    let is_closed = format!("NOT EXISTS ({known} AND state = 'active' AND epoch = NEW.epoch)");
    let is_refused = match table.user_optional {
        true => {
            format!("CASE WHEN NEW.epoch IS NULL THEN EXISTS ({known}) ELSE {is_closed} END")
        }
        false => is_closed,
    };
    ["insert", "update"]
        .map(|event| {
            format!(
                "DROP TRIGGER IF EXISTS wall_{name}_{event};
                 CREATE TRIGGER wall_{name}_{event} BEFORE {event} ON {name}
                 WHEN {is_refused}
                 BEGIN SELECT RAISE(ABORT, '{WALL_MESSAGE}'); END;\n"
            )
        })
        .concat()
}

/// The function of all walls. Its look at the person holds until the transaction ends, by its lock: it is made once for
/// the rows of one person that follow each other in a transaction. A change of the person's state ends that.
fn postgres_function(is_spread: bool) -> String {
    let is_open = "COALESCE(state = 'active' AND epoch = $3, FALSE)";
    let condition = "org_id = $1 AND subject = $2 FOR SHARE";
    let look = match is_spread {
        false => format!("SELECT {is_open} INTO is_open FROM subjects WHERE {condition};")
            .replace("$1", "NEW.org_id")
            .replace("$2", "NEW.subject")
            .replace("$3", "NEW.epoch"),
        true => format!(
            "EXECUTE $q$SELECT {is_open} FROM $q$ || @.beside(TG_TABLE_NAME, 'subjects')
                     || $q$ WHERE {condition}$q$
             INTO is_open USING NEW.org_id, NEW.subject, NEW.epoch;"
        ),
    };
    format!(
        "CREATE OR REPLACE FUNCTION subject_wall() RETURNS trigger LANGUAGE plpgsql AS $$
         DECLARE
             is_open BOOLEAN; -- NULL if nobody is known by the subject
             person TEXT := NEW.org_id || ' ' || NEW.subject || ' ' || NEW.epoch; -- NULL without an epoch
         BEGIN
             IF person = current_setting('evenhand.let_in', TRUE) THEN RETURN NEW; END IF;
             {look}
             IF is_open THEN
                 PERFORM set_config('evenhand.let_in', person, TRUE);
                 RETURN NEW;
             END IF;
             IF is_open IS NULL AND NEW.epoch IS NULL THEN RETURN NEW; END IF;
             RAISE EXCEPTION '{WALL_MESSAGE}';
         END $$;
         CREATE OR REPLACE FUNCTION subject_changed() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             PERFORM set_config('evenhand.let_in', '', TRUE);
             RETURN NEW;
         END $$;
         CREATE OR REPLACE TRIGGER {CHANGED} BEFORE UPDATE ON subjects
         FOR EACH ROW EXECUTE FUNCTION subject_changed();\n"
    )
}

fn postgres_trigger(table: &UserTable) -> String {
    let name = table.table;
    format!(
        "CREATE OR REPLACE TRIGGER wall_{name} BEFORE INSERT OR UPDATE ON {name}
         FOR EACH ROW EXECUTE FUNCTION subject_wall();\n"
    )
}
