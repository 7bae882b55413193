//! The servers that a URL names, and the one of them that takes writes.
//!
//! `postgres://user@one:5432,two:5432/data?target_session_attrs=read-write` names a primary and its standbys in any
//! order. When connections break or turn out to be read-only, all older ones are dropped and the servers are asked in
//! turn which one is the primary now.

use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::Notify;

use crate::error::{Error, Result};

/// How long getting a connection takes at most, unless the URL says otherwise.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// A server that does not answer in this time is passed over.
const CONNECT_SECONDS: u64 = 3;
const WRITABLE: &str = "SELECT NOT pg_is_in_recovery() \
     AND current_setting('default_transaction_read_only') = 'off'";

/// PostgreSQL compiles plans that it thinks are expensive. The long statements here (an overview, the sums of an
/// experiment) look so to it, and take a tenth of the time without.
pub(super) const NO_JIT: &str = "SET jit = off";

/// A URL taken apart.
pub(in crate::db) struct Target {
    /// One for each server, in the order of the URL.
    pub candidates: Vec<PgConnectOptions>,
    /// True if a server that takes no writes is not wanted.
    pub read_write: bool,
    /// The URL's own limit on how long getting a connection takes.
    pub connect_timeout: Option<Duration>,
    /// True if connections are to compile no plans: see [`NO_JIT`].
    pub without_jit: bool,
}

impl Target {
    pub(super) fn patience(&self) -> Duration {
        self.connect_timeout.unwrap_or(PATIENCE)
    }

    /// Reads a URL. Its own parameters win over what this program would set.
    pub(super) fn parse(url: &str, keeps_statements: bool) -> Result<Self> {
        let bad = |what: &str| Error::Internal(format!("the database URL {what}"));
        let (scheme, rest) = url.split_once("://").ok_or_else(|| bad("has no ://"))?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (format!("{user}@"), hosts),
            None => (String::new(), authority),
        };
        let (mut kept, mut read_write, mut connect_timeout) = (Vec::new(), false, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("target_session_attrs", "any") => {}
                ("target_session_attrs", "read-write" | "primary") => read_write = true,
                ("target_session_attrs", other) => {
                    return Err(bad(&format!(
                        "asks for target_session_attrs={other}; use any or read-write"
                    )));
                }
                ("connect_timeout", seconds) => {
                    let seconds = seconds.parse().map_err(|_| bad("has an odd connect_timeout"))?;
                    connect_timeout = Some(Duration::from_secs(seconds));
                }
                _ => kept.push(pair),
            }
        }
        let query = kept.join("&");
        let has = |name: &str| kept.iter().any(|pair| pair.split('=').next() == Some(name));
        let candidates = hosts.split(',').map(|host| {
            let one = format!("{scheme}://{user}{host}/{database}?{query}");
            // Values come in binary form, so that this parameter is of no use, and poolers refuse it.
            let mut options = PgConnectOptions::from_str(&one)?
                .disable_statement_logging()
                .extra_float_digits(None);
            if !has("application_name") {
                options = options.application_name("evenhand");
            }
            if !keeps_statements {
                options = options.statement_cache_capacity(0);
            } else if !has("statement-cache-capacity") {
                options = options.statement_cache_capacity(256);
            }
            Ok(options)
        });
        let candidates = candidates.collect::<sqlx::Result<Vec<_>>>()?;
        // Behind a pooler a setting of a session is anybody's.
        let without_jit = keeps_statements && !query.contains("jit");
        Ok(Target { candidates, read_write, connect_timeout, without_jit })
    }
}

/// The servers of a pool, and which of its connections are still to be trusted.
pub(in crate::db) struct Hosts {
    pub target: Target,
    distrusted_before: Mutex<Option<Instant>>,
    pub trouble: Notify,
}

impl Hosts {
    pub(super) fn new(target: Target) -> Self {
        Hosts { target, distrusted_before: Mutex::default(), trouble: Notify::new() }
    }

    /// A server that is known already.
    pub(in crate::db) fn one(options: PgConnectOptions) -> Self {
        let target = Target {
            candidates: vec![options],
            read_write: false,
            connect_timeout: Some(Duration::from_secs(CONNECT_SECONDS)),
            without_jit: true,
        };
        Hosts { target, distrusted_before: Mutex::default(), trouble: Notify::new() }
    }

    /// Connections that were opened before now are to be dropped when they are asked for.
    pub(super) fn distrust(&self) {
        let mut before = self.distrusted_before.lock().unwrap_or_else(PoisonError::into_inner);
        *before = Some(Instant::now());
        self.trouble.notify_one();
    }

    pub(super) fn trusts(&self, age: Duration) -> bool {
        let before = self.distrusted_before.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = Instant::now().checked_sub(age);
        before.is_none_or(|before| opened.is_some_and(|opened| opened > before))
    }

    /// [`Hosts::find`] for a server that may be starting just now, as this program is.
    pub(super) async fn find_patiently(&self) -> sqlx::Result<PgConnectOptions> {
        let begun = Instant::now();
        loop {
            match self.find().await {
                Err(error) if is_lost(&error) && begun.elapsed() < self.target.patience() => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                found => return found,
            }
        }
    }

    /// The first server that can be used, of those that answer.
    pub(super) async fn find(&self) -> sqlx::Result<PgConnectOptions> {
        let mut last = sqlx::Error::PoolTimedOut;
        for candidate in &self.target.candidates {
            let limit = Duration::from_secs(CONNECT_SECONDS);
            let asked = tokio::time::timeout(limit, self.is_usable(candidate));
            match asked.await.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
                Ok(true) => return Ok(candidate.clone()),
                Ok(false) => last = read_only(),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn is_usable(&self, candidate: &PgConnectOptions) -> sqlx::Result<bool> {
        let mut conn = candidate.connect().await?;
        let usable = !self.target.read_write || takes_writes(&mut conn).await?;
        conn.close().await?;
        Ok(usable)
    }
}

pub(super) async fn takes_writes(conn: &mut PgConnection) -> sqlx::Result<bool> {
    let (writable,): (bool,) = sqlx::query_as(WRITABLE).persistent(false).fetch_one(conn).await?;
    Ok(writable)
}

/// The error for a server that takes no writes where one that does is asked for.
pub(super) fn read_only() -> sqlx::Error {
    let text = "the server takes no writes, and target_session_attrs asks for one that does";
    sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::ConnectionRefused, text))
}

/// True if the connection is of no further use: it broke, or its server is going away or takes no writes any more.
pub(in crate::db) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut => true,
        sqlx::Error::Database(e) => matches!(
            e.code().as_deref(),
            Some(
                "25006"
                    | "57P01"
                    | "57P02"
                    | "57P03"
                    | "57P05"
                    | "08000"
                    | "08003"
                    | "08006"
                    | "08P01"
            )
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_name_several_servers_and_keeps_its_parameters() {
        let url = "postgres://eve:secret@one:5433,two/data?target_session_attrs=read-write\
                   &application_name=mine&connect_timeout=4&sslmode=disable";
        let target = Target::parse(url, true).unwrap();
        let hosts: Vec<_> =
            target.candidates.iter().map(|o| (o.get_host(), o.get_port())).collect();
        assert_eq!(hosts, [("one", 5433), ("two", 5432)]);
        assert_eq!(target.candidates[1].get_application_name(), Some("mine"));
        assert_eq!(target.candidates[1].get_database(), Some("data"));
        assert_eq!(
            (target.read_write, target.connect_timeout),
            (true, Some(Duration::from_secs(4)))
        );
        let plain = Target::parse("postgres://localhost/data", true).unwrap();
        assert_eq!((plain.candidates.len(), plain.read_write), (1, false));
        assert_eq!(plain.candidates[0].get_application_name(), Some("evenhand"));
        assert!(Target::parse("postgres://a/b?target_session_attrs=standby", true).is_err());
    }

    #[test]
    fn connections_from_before_the_trouble_are_not_trusted() {
        let hosts = Hosts::new(Target::parse("postgres://localhost/data", true).unwrap());
        assert!(hosts.trusts(Duration::from_secs(60)));
        hosts.distrust();
        assert!(!hosts.trusts(Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(2));
        assert!(hosts.trusts(Duration::ZERO));
    }
}
