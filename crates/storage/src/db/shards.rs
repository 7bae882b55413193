//! The way to people's rows past Citus' coordinator.
//!
//! What a person's publish writes, or a verdict on their session, lies side by side on one server. A transaction that
//! touches nothing else is led to that server, and its statements to the shards there: they cost what they cost on one
//! PostgreSQL, and the coordinator has nothing to do with them. Where that is not possible (the server cannot be reached
//! from here, a shard has moved), the coordinator is asked, as for everything else.
#![allow(clippy::disallowed_types)] // the texts are compiled in; names of shards are put into them

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use super::postgres::{Connections, Hosts, is_lost, options_of};
use super::{Subject, Tx};
use crate::error::Result;
use crate::rows;

/// For how long everything goes over the coordinator after it was not possible to do without.
const PAUSE: Duration = Duration::from_secs(5);
/// Statements that a connection to such a server keeps: each shard has its own of every text.
const STATEMENTS: usize = 1024;
/// A wait for a lock that Citus would not find to be one in a circle: it knows only its own transactions.
pub(super) const LOCK_TIMEOUT: &str = "SET lock_timeout = '5s'";

/// A place where rows of people lie side by side: a shard of every table, on one server.
#[derive(Clone)]
pub struct Place(Arc<Shard>);

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }
}

/// By the number of the shard of `subjects`, under which the place is held.
pub(super) struct Shard {
    pub number: i64,
    /// Of each table, the name of its shard.
    names: BTreeMap<String, String>,
    pub server: Connections,
}

impl Place {
    pub(super) fn shard(&self) -> &Arc<Shard> {
        &self.0
    }
}

impl Shard {
    /// The statement with the tables' shards in their places, under the names of the tables.
    pub(super) fn statement(&self, sql: &SqlStr) -> SqlStr {
        AssertSqlSafe(on_shards(sql.as_str(), &self.names)).into_sql_str()
    }
}

/// True if something is wrong with the way: the server cannot be reached from here, a shard is no longer there, what is
/// needed there is not or may not be used, or a lock is not to be had. Over the coordinator it may be possible.
pub(super) fn is_astray(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|e| e.code());
    let code = code.as_deref().unwrap_or_default();
    is_lost(error)
        || matches!(code, "EH001" | "55P03" | "25P02")
        || code.starts_with("42")
        || code.starts_with("28")
        || code.starts_with("XX")
}

/// A place with the hashes of the subjects that belong there.
struct Range {
    first: i32,
    last: i32,
    place: Place,
}

enum Known {
    /// Nobody has looked yet, or what was known is wrong.
    Nothing,
    /// In the order of their hashes.
    Places(Arc<Vec<Range>>),
    /// The coordinator is to be used until then.
    Wait(Instant),
}

/// Connections to servers by host and port.
type Servers = BTreeMap<(String, u16), Connections>;

/// Where people's rows are.
#[derive(Clone)]
pub(super) struct Places {
    known: Arc<Mutex<Known>>,
    /// By server, which outlive what is known about shards.
    servers: Arc<Mutex<Servers>>,
    options: PgConnectOptions,
    connections: u32,
}

/// A shard with its table, the hashes it holds (none if it is a copy), and its server.
#[derive(sqlx_macros::FromRow)]
struct Placed {
    table_name: String,
    shard: i64,
    first: Option<i32>,
    last: Option<i32>,
    host: String,
    port: i32,
}

impl Places {
    /// `options` lead to the coordinator; the other servers are reached as it is.
    pub(super) fn new(options: PgConnectOptions, connections: u32) -> Self {
        Places {
            known: Arc::new(Mutex::new(Known::Nothing)),
            servers: Arc::default(),
            options,
            connections,
        }
    }

    /// The place of a person's rows, if it is known. `Err` says that somebody has to look.
    pub(super) fn find(&self, subject: Subject) -> std::result::Result<Option<Place>, ()> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Known::Places(ranges) => {
                let hash = hash_of(subject.bytes());
                let after = ranges.partition_point(|range| range.first <= hash);
                let range = after.checked_sub(1).and_then(|index| ranges.get(index));
                Ok(range.filter(|range| hash <= range.last).map(|range| range.place.clone()))
            }
            Known::Wait(until) if *until > Instant::now() => Ok(None),
            Known::Wait(_) | Known::Nothing => {
                // Whoever comes while this one looks goes over the coordinator.
                *known = Known::Wait(Instant::now() + PAUSE);
                Err(())
            }
        }
    }

    /// What is known turned out to be wrong.
    pub(super) fn forget(&self) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) =
            Known::Wait(Instant::now() + PAUSE);
    }

    /// Remembers where everything is, as the coordinator told.
    pub(super) fn learn(&self, ranges: Option<Vec<(i32, i32, NewShard)>>) {
        let Some(ranges) = ranges else { return };
        let mut places: Vec<Range> = ranges
            .into_iter()
            .map(|(first, last, shard)| {
                let server = self.server(&shard.host, shard.port);
                let NewShard { number, names, .. } = shard;
                Range { first, last, place: Place(Arc::new(Shard { number, names, server })) }
            })
            .collect();
        places.sort_by_key(|range| range.first);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) =
            Known::Places(Arc::new(places));
    }

    fn server(&self, host: &str, port: u16) -> Connections {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || {
            let options = self.options.clone().host(host).port(port);
            let options = options.statement_cache_capacity(STATEMENTS);
            let hosts = Arc::new(Hosts::one(options.clone()));
            let pool =
                options_of(&hosts, self.connections, Some(LOCK_TIMEOUT)).connect_lazy_with(options);
            Connections::new(pool, hosts)
        };
        servers.entry((host.to_owned(), port)).or_insert_with(open).clone()
    }

    pub(super) async fn close(&self) {
        let servers =
            std::mem::take(&mut *self.servers.lock().unwrap_or_else(PoisonError::into_inner));
        for server in servers.into_values() {
            server.close().await;
        }
    }
}

/// A shard as it is told by the coordinator.
pub(super) struct NewShard {
    number: i64,
    names: BTreeMap<String, String>,
    host: String,
    port: u16,
}

/// Asks the coordinator where everything is. None if hashes are not as they are reckoned here, or nothing is placed.
pub(super) async fn look(tx: &mut Tx) -> Result<Option<Vec<(i32, i32, NewShard)>>> {
    let probes = [[7u8; 16], *b"0123456789abcdef"];
    for probe in probes {
        let subject = Subject::from_bytes(probe);
        let theirs = crate::row!(tx, (i32,), "SELECT worker_hash($1)", subject)?;
        if theirs != Some((hash_of(&probe),)) {
            return Ok(None);
        }
    }
    let found = rows!(
        tx,
        Placed,
        "SELECT c.relname::text AS table_name, s.shardid AS shard, CAST(s.shardminvalue AS INTEGER) AS first,
                CAST(s.shardmaxvalue AS INTEGER) AS last, n.nodename::text AS host, n.nodeport AS port
           FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
           JOIN pg_dist_shard s ON s.logicalrelid = p.logicalrelid
           JOIN pg_dist_placement l ON l.shardid = s.shardid
           JOIN pg_dist_node n ON n.groupid = l.groupid AND n.noderole = 'primary' AND n.isactive
          WHERE c.relnamespace = current_schema()::regnamespace
            AND (p.repmodel = 't' OR p.colocationid = (
                 SELECT o.colocationid FROM pg_dist_partition o WHERE o.logicalrelid = to_regclass('subjects')))"
    )?;
    let name = |placed: &Placed| {
        (placed.table_name.clone(), format!("{}_{}", placed.table_name, placed.shard))
    };
    let mut shards: BTreeMap<(i32, i32), NewShard> = BTreeMap::new();
    for placed in &found {
        let (Some(first), Some(last), Ok(port)) =
            (placed.first, placed.last, u16::try_from(placed.port))
        else {
            continue;
        };
        let shard = shards.entry((first, last)).or_insert_with(|| NewShard {
            number: 0,
            names: found.iter().filter(|other| other.first.is_none()).map(name).collect(),
            host: placed.host.clone(),
            port,
        });
        if placed.table_name == "subjects" {
            shard.number = placed.shard;
        }
        shard.names.extend([name(placed)]);
    }
    Ok(Some(shards.into_iter().map(|((first, last), shard)| (first, last, shard)).collect()))
}

/// The hash by which Citus spreads a UUID: that of PostgreSQL, Bob Jenkins' lookup3.
fn hash_of(bytes: &[u8; 16]) -> i32 {
    let word =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let start = 0x9e37_79b9_u32.wrapping_add(16).wrapping_add(3_923_095);
    let (mut a, mut b, mut c) =
        (start.wrapping_add(word(0)), start.wrapping_add(word(4)), start.wrapping_add(word(8)));
    for turns in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(turns[0]);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(turns[1]);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(turns[2]);
        b = b.wrapping_add(a);
    }
    a = a.wrapping_add(word(12));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    c.cast_signed()
}

/// A statement with tables replaced where they are named after INTO, FROM, JOIN or UPDATE. One without a name of its
/// own keeps that of the table. Words of SQL are in capitals here, names are not.
fn on_shards(sql: &str, names: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(sql.len() + 128);
    let (mut rest, mut before) = (sql, "");
    while let Some(start) = rest.find(is_of_word) {
        out.push_str(&rest[..start]);
        // Anything but space in between: the word before is not the one that leads here.
        if !rest[..start].trim().is_empty() {
            before = "";
        }
        let word = &rest[start..];
        let (word, after) = word.split_at(word.find(|c| !is_of_word(c)).unwrap_or(word.len()));
        match names.get(word) {
            Some(shard) if matches!(before, "INTO" | "FROM" | "JOIN" | "UPDATE") => {
                out.push_str(shard);
                let next = after.trim_start();
                let has_name =
                    next.starts_with(|c: char| c.is_ascii_lowercase()) || next.starts_with("AS ");
                if !has_name {
                    out.push_str(" AS ");
                    out.push_str(word);
                }
            }
            _ => out.push_str(word),
        }
        (rest, before) = (after, word);
    }
    out.push_str(rest);
    out
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_postgresql() {
        // As worker_hash gives them.
        assert_eq!(hash_of(&[0; 16]), 1_353_656_403);
        assert_eq!(hash_of(b"0123456789abcdef"), 1_934_520_157);
    }

    #[test]
    fn tables_are_named_by_their_shards() {
        let names = ["jobs", "subjects"].map(|t| (t.to_owned(), format!("{t}_7")));
        let names = BTreeMap::from(names);
        for (sql, expected) in [
            ("INSERT INTO jobs (jobs) SELECT 1", "INSERT INTO jobs_7 AS jobs (jobs) SELECT 1"),
            (
                "UPDATE jobs SET a = jobs.b WHERE EXISTS (SELECT 1 FROM subjects s WHERE s.x = jobs.x)",
                "UPDATE jobs_7 AS jobs SET a = jobs.b WHERE EXISTS (SELECT 1 FROM subjects_7 s WHERE s.x = jobs.x)",
            ),
            (
                "SELECT epoch FROM subjects\n WHERE subjects.a = 'FROM' FOR SHARE",
                "SELECT epoch FROM subjects_7 AS subjects\n WHERE subjects.a = 'FROM' FOR SHARE",
            ),
            ("SELECT a FROM jobs_due JOIN jobs AS j", "SELECT a FROM jobs_due JOIN jobs_7 AS j"),
            ("DELETE FROM jobs", "DELETE FROM jobs_7 AS jobs"),
            ("SELECT FROM ) jobs", "SELECT FROM ) jobs"),
        ] {
            assert_eq!(on_shards(sql, &names), expected);
        }
    }
}
