//! Connections to one server, and one that is lent for a transaction or a statement.
//!
//! The driver's pool asks each connection that comes back whether it still lives, on a task of its own, which costs as
//! much as a small statement. A connection that has just answered is kept at hand instead. One that failed, or whose
//! borrower went away, goes back to the pool and is asked.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgPool, PgTransactionManager as Transactions};
use sqlx::{Connection as _, PgConnection, Postgres, SqlStr};
use sqlx_core::transaction::TransactionManager as _;

use super::hosts::Hosts;

/// A connection that was taken from the pool longer ago goes back there, where its age counts.
const LONGEST_AT_HAND: Duration = Duration::from_secs(600);

/// The connections to one server.
#[derive(Clone)]
pub(in crate::db) struct Connections {
    pub(in crate::db) pool: PgPool,
    pub(in crate::db) hosts: Arc<Hosts>,
    at_hand: Arc<Mutex<AtHand>>,
}

#[derive(Default)]
struct AtHand {
    connections: Vec<FromPool>,
    /// Those who wait for the pool: what comes back is theirs.
    waiting: usize,
    has_ended: bool,
}

struct FromPool {
    connection: PoolConnection<Postgres>,
    since: Instant,
}

impl Connections {
    pub(in crate::db) fn new(pool: PgPool, hosts: Arc<Hosts>) -> Self {
        Connections { pool, hosts, at_hand: Arc::default() }
    }

    /// Lends a connection for one statement.
    pub(in crate::db) async fn lend(&self) -> sqlx::Result<Lent> {
        let waiting = {
            let mut at_hand = self.at_hand();
            match at_hand.connections.pop() {
                Some(connection) => return Ok(self.lent(connection)),
                None => at_hand.waiting += 1,
            }
            Waiting(self)
        };
        let connection = self.pool.acquire().await;
        drop(waiting);
        Ok(self.lent(FromPool { connection: connection?, since: Instant::now() }))
    }

    /// Lends a connection in a transaction that `statement` begins.
    pub(in crate::db) async fn begin(&self, statement: SqlStr) -> sqlx::Result<Lent> {
        let mut lent = self.lend().await?;
        lent.is_sound = false;
        Transactions::begin(&mut lent, Some(statement)).await?;
        lent.is_sound = true;
        Ok(lent)
    }

    fn lent(&self, connection: FromPool) -> Lent {
        let home = self.clone();
        Lent { connection: Some(connection), home, lent_at: Instant::now(), is_sound: true }
    }

    /// Connections from before lead to a server that is gone, or takes no writes any more.
    pub(in crate::db) fn distrust(&self) {
        self.hosts.distrust();
        let distrusted = std::mem::take(&mut self.at_hand().connections);
        drop(distrusted);
    }

    pub(in crate::db) async fn close(&self) {
        let kept = {
            let mut at_hand = self.at_hand();
            at_hand.has_ended = true;
            std::mem::take(&mut at_hand.connections)
        };
        drop(kept);
        self.pool.close().await;
    }

    fn at_hand(&self) -> MutexGuard<'_, AtHand> {
        self.at_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who waits for the pool.
struct Waiting<'c>(&'c Connections);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.at_hand().waiting -= 1;
    }
}

/// A connection that is lent. Dropped, it goes back to the pool, which rolls back what was not committed.
pub(in crate::db) struct Lent {
    /// None once it has been given back.
    connection: Option<FromPool>,
    home: Connections,
    lent_at: Instant,
    /// False while a transaction begins: nobody knows whether it has.
    is_sound: bool,
}

impl Lent {
    pub(in crate::db) async fn commit(mut self) -> sqlx::Result<()> {
        if Transactions::get_transaction_depth(&self) > 0 {
            Transactions::commit(&mut self).await?;
        }
        self.give_back();
        Ok(())
    }

    /// Ends a transaction that has changed nothing, without waiting for the answer.
    pub(in crate::db) async fn let_go(mut self) -> sqlx::Result<()> {
        if Transactions::get_transaction_depth(&self) > 0 {
            Transactions::start_rollback(&mut self);
            self.flush().await?;
        }
        self.give_back();
        Ok(())
    }

    /// Keeps it at hand, unless somebody waits for the pool or it may lead to a server that is no longer the primary.
    fn give_back(mut self) {
        let Some(connection) = self.connection.take() else { return };
        let is_wanted = connection.since.elapsed() < LONGEST_AT_HAND
            && self.home.hosts.trusts(self.lent_at.elapsed());
        let mut at_hand = self.home.at_hand();
        if is_wanted && at_hand.waiting == 0 && !at_hand.has_ended {
            at_hand.connections.push(connection);
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(FromPool { mut connection, .. }) = self.connection.take() else { return };
        if !self.is_sound {
            connection.close_on_drop();
        } else if Transactions::get_transaction_depth(&connection) > 0 {
            Transactions::start_rollback(&mut connection);
        }
    }
}

/// It is there until it is given back, which takes it.
const LENT: &str = "a connection that is lent";

impl Deref for Lent {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        #[allow(clippy::expect_used)]
        &self.connection.as_ref().expect(LENT).connection
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut PgConnection {
        #[allow(clippy::expect_used)]
        &mut self.connection.as_mut().expect(LENT).connection
    }
}
