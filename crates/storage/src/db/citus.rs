//! Citus: PostgreSQL whose tables are spread over several servers.
//!
//! People's rows are spread by their subject, so that all rows of one person are on one server, side by side. What the
//! organization owns stays on the coordinator, or, if people's rows are joined with it, has a copy on every server.
//! Triggers are those of plain PostgreSQL, but run on the shards: there a trigger knows other tables by the names of
//! their shards, which `BESIDE` gives. See docs/decisions/0033-citus.md.

use std::fmt::Write as _;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection, Row};

use super::{Held, Tx, Work, migrations};
use crate::error::Result;
use crate::{row, rows};

/// The column that people's rows are spread by.
const SUBJECT: &str = "subject";

/// How the tables of a schema are placed.
pub struct Placement {
    /// `(table, column)` of what is spread, beside the people's rows.
    pub spread: Vec<(&'static str, &'static str)>,
    /// Tables of which every server has a copy.
    pub copied: &'static [&'static str],
    /// `(trigger, table)` of what triggers cannot do on one server: the program does it instead.
    pub without: &'static [(&'static str, &'static str)],
}

/// Whether rows are held with others, or alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Shared,
    Alone,
}

/// A table with how it is placed: `distributed`, `reference` or `local`, and the number of its shards.
#[derive(Debug, sqlx_macros::FromRow)]
pub struct Placed {
    pub table_name: String,
    pub placement: String,
    pub shards: i64,
}

/// True if the extension is there and has servers to spread rows over.
pub(super) async fn is_there(options: &PgConnectOptions) -> sqlx::Result<bool> {
    let mut conn = options.connect().await?;
    let found = has_workers(&mut conn).await;
    conn.close().await?;
    found
}

/// By the simple protocol, which prepares nothing.
async fn has_workers(conn: &mut PgConnection) -> sqlx::Result<bool> {
    let installed = "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')";
    if !sqlx::raw_sql(installed).fetch_one(&mut *conn).await?.try_get::<bool, _>(0)? {
        return Ok(false);
    }
    let workers = "SELECT EXISTS (SELECT 1 FROM citus_get_active_worker_nodes())";
    sqlx::raw_sql(workers).fetch_one(conn).await?.try_get(0)
}

/// What a session is set to. One connection to each server, and statements that change rows on several servers go from
/// one to the next: with more connections than one, a transaction cannot change what it read over another of them.
pub(super) const SESSION: &str = "SET citus.multi_shard_modify_mode = 'sequential'; \
     SET citus.max_adaptive_executor_pool_size = 1";

/// Version of [`BESIDE`]. Raise it with every change: a replica with an older one leaves what a newer one made.
const VERSION: i64 = 1;
const PART: &str = "beside_on_shards";

/// Functions for triggers on shards; `@` stands for the schema, because servers do not pass the search path on.
/// `beside` gives the shard of a table that lies beside a shard, which is looked up once in a session: shards move, but
/// keep their names and their neighbours. `place_beside` gives a value of the column that rows are spread by which belongs
/// there and names nobody.
///
/// `hold_place` is for those who write to shards without Citus: it keeps the place of a shard from being moved until the
/// transaction ends, as Citus does for its own writes, and refuses if the shard is not on this server (any more).
const BESIDE: &str = "
    CREATE OR REPLACE FUNCTION @.beside(shard TEXT, wanted TEXT) RETURNS TEXT LANGUAGE plpgsql STABLE AS $$
        DECLARE
            key TEXT := 'evenhand.' || shard || '_' || wanted;
            found TEXT := current_setting(key, TRUE);
        BEGIN
            IF found <> '' THEN RETURN found; END IF;
            SELECT format('%I.%I', '@', wanted || '_' || there.shardid) INTO found
              FROM pg_dist_shard here JOIN pg_dist_shard there
                ON there.shardminvalue = here.shardminvalue OR there.shardminvalue IS NULL
             WHERE here.shardid = CAST(substring(shard FROM '[0-9]+$') AS BIGINT)
               AND there.logicalrelid = CAST(format('%I.%I', '@', wanted) AS regclass);
            PERFORM set_config(key, found, FALSE);
            RETURN found;
        END
    $$;
    CREATE OR REPLACE FUNCTION @.place_beside(shard TEXT) RETURNS UUID LANGUAGE plpgsql STABLE AS $$
        DECLARE first INTEGER; last INTEGER; place UUID;
        BEGIN
            SELECT CAST(shardminvalue AS INTEGER), CAST(shardmaxvalue AS INTEGER) INTO first, last
              FROM pg_dist_shard WHERE shardid = CAST(substring(shard FROM '[0-9]+$') AS BIGINT);
            FOR number IN 1 .. 1000000 LOOP
                place := CAST(md5(CAST(number AS TEXT)) AS UUID);
                IF worker_hash(place) BETWEEN first AND last THEN RETURN place; END IF;
            END LOOP;
            RETURN NULL;
        END
    $$;
    CREATE OR REPLACE FUNCTION @.hold_place(shard BIGINT) RETURNS BOOLEAN LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog AS $$
        BEGIN
            PERFORM lock_shard_metadata(5, ARRAY[shard]);
            PERFORM 1 FROM pg_dist_placement JOIN pg_dist_local_group USING (groupid) WHERE shardid = shard;
            IF NOT FOUND THEN RAISE EXCEPTION 'the shard has moved' USING ERRCODE = 'EH001'; END IF;
            RETURN TRUE;
        END
    $$;\n";

impl Placement {
    /// Places the tables that are not placed yet, and makes the functions for their shards.
    pub async fn establish(&self, tx: &mut Tx) -> Result<()> {
        self.place(tx).await?;
        if migrations::is_outdated(tx, PART, VERSION).await? {
            tx.run_on_shards(BESIDE.to_owned()).await?;
            migrations::installed(tx, PART, VERSION).await?;
        }
        Ok(())
    }

    async fn place(&self, tx: &mut Tx) -> Result<()> {
        let placed: Vec<String> = placed(tx).await?.into_iter().map(|t| t.table_name).collect();
        let is_placed = |table: &str| placed.iter().any(|name| name == table);
        let spread: Vec<_> = self.spread.iter().filter(|(table, _)| !is_placed(table)).collect();
        let copied: Vec<_> = self.copied.iter().filter(|table| !is_placed(table)).collect();
        if spread.is_empty() && copied.is_empty() {
            return Ok(());
        }
        let mut script = String::new();
        for (trigger, table) in self.without {
            let _ = writeln!(script, "DROP TRIGGER IF EXISTS {trigger} ON {table};");
        }
        // A table cannot be placed while one that is not yet refers to it.
        let links = self.links(tx).await?;
        for (table, name, _) in &links {
            let _ = writeln!(script, "ALTER TABLE {table} DROP CONSTRAINT {name};");
        }
        for table in copied {
            let _ = writeln!(script, "SELECT create_reference_table('{table}');");
        }
        for (table, column) in spread {
            let beside = match self.spread.first() {
                Some((first, _)) if first != table => *first,
                _ => "none",
            };
            let _ = writeln!(
                script,
                "SELECT create_distributed_table('{table}', '{column}', colocate_with => '{beside}');"
            );
        }
        for (table, name, definition) in &links {
            let _ = writeln!(script, "ALTER TABLE {table} ADD CONSTRAINT {name} {definition};");
        }
        tx.run_on_shards(script).await
    }

    /// Foreign keys of the tables that are placed: table, name and definition.
    async fn links(&self, tx: &mut Tx) -> Result<Vec<(String, String, String)>> {
        let links = rows!(
            tx,
            (String, String, String),
            "SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid) FROM pg_constraint
             WHERE contype = 'f' AND connamespace = current_schema()::regnamespace ORDER BY 1, 2"
        )?;
        let spread = self.spread.iter().map(|(table, _)| *table);
        let moved: Vec<&str> = spread.chain(self.copied.iter().copied()).collect();
        Ok(links.into_iter().filter(|(table, ..)| moved.contains(&table.as_str())).collect())
    }
}

/// People's tables in the order given, all beside the first of them.
pub fn by_subject(
    tables: impl IntoIterator<Item = &'static str>,
) -> Vec<(&'static str, &'static str)> {
    tables.into_iter().map(|table| (table, SUBJECT)).collect()
}

/// The tables that are spread, or of which every server has a copy.
pub async fn placed(tx: &mut Tx) -> Result<Vec<Placed>> {
    rows!(
        tx,
        Placed,
        "SELECT c.relname::text AS table_name,
                CASE WHEN p.partmethod = 'h' THEN 'distributed' WHEN p.repmodel = 't' THEN 'reference'
                     ELSE 'local' END AS placement,
                (SELECT COUNT(*) FROM pg_dist_shard s WHERE s.logicalrelid = p.logicalrelid) AS shards
           FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
          WHERE c.relnamespace = current_schema()::regnamespace ORDER BY 1"
    )
}

/// Server and port of every node that has shards of people's tables, with their number.
pub async fn shards_by_server(tx: &mut Tx) -> Result<Vec<(String, i64)>> {
    rows!(
        tx,
        (String, i64),
        "SELECT n.nodename || ':' || n.nodeport, COUNT(*)
           FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
           JOIN pg_dist_shard s ON s.logicalrelid = p.logicalrelid
           JOIN pg_dist_placement l ON l.shardid = s.shardid JOIN pg_dist_node n ON n.groupid = l.groupid
          WHERE c.relnamespace = current_schema()::regnamespace AND p.partmethod = 'h'
          GROUP BY 1 ORDER BY 1"
    )
}

impl Tx {
    /// True if tables are spread over several servers.
    pub fn is_spread(&self) -> bool {
        match self {
            Tx::Sqlite(_) => false,
            Tx::Postgres(tx) => tx.is_spread,
        }
    }

    /// True on the server that has the rows of some people, where only these can be reached.
    pub fn is_at_place(&self) -> bool {
        matches!(self, Tx::Postgres(Held { at: Some(_), .. }))
    }

    /// Numbers for rows that get them from a sequence, if rows are written where the sequence is not; else the engine
    /// numbers them.
    pub async fn numbers_from_afar(
        &mut self,
        sequence: &'static str,
        count: usize,
    ) -> Result<Option<Vec<i64>>> {
        if !self.is_at_place() {
            return Ok(None);
        }
        let wanted = (sequence, i64::try_from(count).unwrap_or(i64::MAX));
        let numbers = self.read_afar(&wanted, &|tx, (name, count)| {
            let sql = "SELECT nextval(CAST($1 AS regclass)) FROM generate_series(1, $2)";
            Box::pin(async move { rows!(tx, (i64,), sql, name, count) })
        });
        Ok(Some(numbers.await?.into_iter().map(|(number,)| number).collect()))
    }

    /// Reads, with a single statement, what the organization owns and only the coordinator has: as it is now, not as it
    /// was when the transaction began. Elsewhere it is a read like any other.
    pub async fn read_afar<I, T, F>(&mut self, input: &I, work: &F) -> Result<T>
    where
        I: Sync,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync,
    {
        match self {
            Tx::Postgres(Held { at: Some(at), .. }) => {
                at.coordinator.read_now(input, |tx, input| work(tx, input)).await
            }
            _ => work(self, input).await,
        }
    }

    /// Holds rows of a table that has a copy on every server until the transaction ends, under a name on the coordinator,
    /// through which every transaction goes: Citus would lock all copies, and two readers in a circle.
    pub async fn hold_copies(&mut self, name: &str, hold: Hold) -> Result<()> {
        match hold {
            Hold::Shared => {
                row!(
                    self,
                    (bool,),
                    "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0)) IS NULL",
                    name
                )
            }
            Hold::Alone => {
                row!(
                    self,
                    (bool,),
                    "SELECT pg_advisory_xact_lock(hashtextextended($1, 0)) IS NULL",
                    name
                )
            }
        }
        .map(drop)
    }

    /// Runs a script that makes functions and triggers for shards; `@.` in it stands for the schema.
    pub async fn run_on_shards(&mut self, script: String) -> Result<()> {
        let schema = row!(self, (String,), "SELECT quote_ident(current_schema())")?;
        let schema = schema.map(|(name,)| name).unwrap_or_default();
        let script =
            script.replace("@.", &format!("{schema}.")).replace("'@'", &format!("'{schema}'"));
        self.run_script("SET LOCAL citus.enable_unsafe_triggers = on".to_owned()).await?;
        // Citus passes the text that a command came in on to the servers, where it must be one command.
        for command in commands(&script) {
            self.run_script(command.to_owned()).await?;
        }
        Ok(())
    }
}

/// The commands of a script; bodies of functions stand between `$$`.
fn commands(script: &str) -> Vec<&str> {
    let (mut commands, mut start, mut in_body) = (Vec::new(), 0, false);
    for (at, byte) in script.bytes().enumerate() {
        match byte {
            b'$' if script[at..].starts_with("$$") => in_body = !in_body,
            b';' if !in_body => {
                commands.push(script[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_taken_apart() {
        let script =
            "DROP TRIGGER a ON b;\nCREATE FUNCTION f() AS $$ BEGIN x; END $$;\nSELECT 1;\n";
        let parts =
            ["DROP TRIGGER a ON b", "CREATE FUNCTION f() AS $$ BEGIN x; END $$", "SELECT 1"];
        assert_eq!(commands(script), parts);
    }
}
