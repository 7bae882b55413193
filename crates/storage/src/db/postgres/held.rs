//! A connection in a transaction, or for a single statement.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sqlx::PgConnection;

use super::super::{SubjectHash, shards};
use super::Postgres;
use super::lent::Lent;

/// A connection of PostgreSQL that is held for a while.
pub struct Held {
    pub(super) connection: Lent,
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

impl Held {
    pub(super) fn new(connection: Lent, subjects: &SubjectHash) -> Self {
        let subjects = subjects.clone();
        Held { connection, keeps_statements: true, is_spread: false, at: None, subjects }
    }
}

impl Deref for Held {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}
