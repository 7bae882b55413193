//! Pools of connections: what is set on each connection, and which are trusted.

use std::sync::Arc;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use super::hosts::{self, Hosts};
use crate::db::{citus, classify};
use crate::error::Result;

pub(super) async fn open(
    hosts: &Arc<Hosts>,
    options: PgConnectOptions,
    connections: u32,
    is_spread: bool,
) -> Result<PgPool> {
    let pool = options_of(hosts, connections, session(is_spread)).min_connections(1);
    pool.connect_with(options).await.map_err(|e| classify(e.into()))
}

/// Statements that begin every connection: Citus' settings, if tables are spread.
pub(super) fn session(is_spread: bool) -> Option<&'static str> {
    is_spread.then_some(citus::SESSION)
}

pub(in crate::db) fn options_of(
    hosts: &Arc<Hosts>,
    connections: u32,
    session: Option<&'static str>,
) -> PgPoolOptions {
    let (asked, opened) = (hosts.clone(), hosts.clone());
    PgPoolOptions::new()
        .max_connections(connections.max(2))
        .acquire_timeout(hosts.target.patience())
        .test_before_acquire(false)
        .before_acquire(move |_, meta| {
            let trusted = asked.trusts(meta.age);
            Box::pin(async move { Ok(trusted) })
        })
        .after_connect(move |conn, _| {
            let hosts = opened.clone();
            Box::pin(async move {
                if hosts.target.read_write && !hosts::takes_writes(conn).await? {
                    hosts.trouble.notify_one();
                    return Err(hosts::read_only());
                }
                if let Some(session) = session {
                    sqlx::raw_sql(session).execute(&mut *conn).await?;
                }
                if hosts.target.without_jit {
                    sqlx::raw_sql(hosts::NO_JIT).execute(conn).await?;
                }
                Ok(())
            })
        })
}
