//! A connection in a transaction, or for a single statement.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, Transaction};

use super::super::{SubjectHash, shards};
use super::Postgres;
use crate::error::Result;

/// A connection of PostgreSQL that is held for a while.
pub struct Held {
    pub(super) connection: Connection,
    /// False behind a pooler that may pass the next transaction to a connection which does not know them.
    pub(in crate::db) keeps_statements: bool,
    /// True if tables are spread over several servers (Citus).
    pub(in crate::db) is_spread: bool,
    /// Where it is, if at a place of its own.
    pub(in crate::db) at: Option<Box<AtPlace>>,
    pub(in crate::db) subjects: SubjectHash,
}

/// A transaction on the server that has the rows of some people, and what only the coordinator has.
pub(in crate::db) struct AtPlace {
    pub(in crate::db) shard: Arc<shards::Shard>,
    pub(in crate::db) coordinator: Postgres,
}

/// Held in a transaction, or for the one statement of a lookup.
pub(super) enum Connection {
    Transaction(Transaction<'static, sqlx::Postgres>),
    Statement(PoolConnection<sqlx::Postgres>),
}

impl Held {
    pub(super) fn transaction(
        tx: Transaction<'static, sqlx::Postgres>,
        subjects: &SubjectHash,
    ) -> Self {
        let connection = Connection::Transaction(tx);
        Held::of(connection, subjects)
    }

    pub(super) fn statement(conn: PoolConnection<sqlx::Postgres>, subjects: &SubjectHash) -> Self {
        let connection = Connection::Statement(conn);
        Held::of(connection, subjects)
    }

    fn of(connection: Connection, subjects: &SubjectHash) -> Self {
        let subjects = subjects.clone();
        Held { connection, keeps_statements: true, is_spread: false, at: None, subjects }
    }

    pub(super) async fn commit(self) -> Result<()> {
        match self.connection {
            Connection::Transaction(tx) => Ok(tx.commit().await?),
            Connection::Statement(_) => Ok(()),
        }
    }
}

impl Deref for Held {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        match &self.connection {
            Connection::Transaction(tx) => tx,
            Connection::Statement(conn) => conn,
        }
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match &mut self.connection {
            Connection::Transaction(tx) => tx,
            Connection::Statement(conn) => conn,
        }
    }
}
