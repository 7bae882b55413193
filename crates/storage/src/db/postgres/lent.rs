//! Connections to one server, and one that is lent for a transaction or a statement.
//!
//! The driver's pool asks each connection that comes back whether it still lives, on a task of its own, which costs as
//! much as a small statement. A connection that has just answered is kept at hand instead. One that failed, or whose
//! borrower went away, goes back to the pool and is asked.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgPool, PgTransactionManager as Transactions};
use sqlx::{Connection as _, PgConnection, Postgres, SqlStr};
use sqlx_core::transaction::TransactionManager as _;

use super::hosts::Hosts;

/// A connection that was taken from the pool longer ago goes back there, where its age counts.
const LONGEST_AT_HAND: Duration = Duration::from_secs(600);
/// So does one that nobody has used for this long: the pool closes those that nobody needs, and something between here and
/// the server may have forgotten it.
const LONGEST_UNUSED: Duration = Duration::from_secs(60);

/// The connections to one server.
#[derive(Clone)]
pub(in crate::db) struct Connections {
    pub(in crate::db) pool: PgPool,
    pub(in crate::db) hosts: Arc<Hosts>,
    at_hand: Arc<Mutex<AtHand>>,
}

#[derive(Default)]
struct AtHand {
    /// The one used last at the end.
    connections: Vec<FromPool>,
    /// Those who wait for the pool: what comes back is theirs.
    waiting: usize,
    has_ended: bool,
}

struct FromPool {
    connection: PoolConnection<Postgres>,
    /// Time at which it was asked for.
    since: Instant,
    used_at: Instant,
}

impl AtHand {
    /// Takes out those that nobody has used for long.
    fn unused(&mut self) -> Vec<FromPool> {
        let unused = |kept: &FromPool| kept.used_at.elapsed() > LONGEST_UNUSED;
        let count = self.connections.partition_point(unused);
        self.connections.drain(..count).collect()
    }
}

impl Connections {
    pub(in crate::db) fn new(pool: PgPool, hosts: Arc<Hosts>) -> Self {
        Connections { pool, hosts, at_hand: Arc::default() }
    }

    /// Lends a connection for one statement.
    pub(in crate::db) async fn lend(&self) -> sqlx::Result<Lent> {
        let (kept, unused) = {
            let mut at_hand = self.at_hand();
            let unused = at_hand.unused();
            let kept = at_hand.connections.pop();
            if kept.is_none() {
                at_hand.waiting += 1;
            }
            (kept, unused)
        };
        drop(unused);
        if let Some(kept) = kept {
            return Ok(self.lent(kept));
        }
        let waiting = Waiting(self);
        let since = Instant::now();
        let connection = self.pool.acquire().await;
        drop(waiting);
        Ok(self.lent(FromPool { connection: connection?, since, used_at: since }))
    }

    /// Lends a connection in a transaction that `statement` begins.
    pub(in crate::db) async fn begin(&self, statement: SqlStr) -> sqlx::Result<Lent> {
        let mut lent = self.lend().await?;
        lent.is_beginning = true;
        Transactions::begin(&mut lent, Some(statement)).await?;
        lent.is_beginning = false;
        Ok(lent)
    }

    fn lent(&self, connection: FromPool) -> Lent {
        let home = self.clone();
        Lent { connection: Some(connection), home, is_beginning: false }
    }

    /// Connections from before lead to a server that is gone, or takes no writes any more.
    pub(in crate::db) fn distrust(&self) {
        self.hosts.distrust();
        let distrusted = std::mem::take(&mut self.at_hand().connections);
        for mut kept in distrusted {
            kept.connection.close_on_drop();
        }
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
    /// True while a transaction begins: nobody knows whether it has.
    is_beginning: bool,
}

impl Lent {
    pub(in crate::db) async fn commit(mut self) -> sqlx::Result<()> {
        if Transactions::get_transaction_depth(&self) > 0 {
            Transactions::commit(&mut self).await?;
        }
        self.give_back();
        Ok(())
    }

    /// Ends a transaction that has changed nothing. The answer is left to whoever uses the connection next.
    pub(in crate::db) fn let_go(mut self) -> sqlx::Result<()> {
        if Transactions::get_transaction_depth(&self) > 0 {
            Transactions::start_rollback(&mut self);
            // Sent at the first poll, which ends where the answer is waited for; the driver can take it up again there.
            if let Some(Err(error)) = self.flush().now_or_never() {
                return Err(error);
            }
        }
        self.give_back();
        Ok(())
    }

    /// Keeps it at hand, unless somebody waits for the pool or it may lead to a server that is no longer the primary.
    fn give_back(mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        connection.used_at = Instant::now();
        let mut at_hand = self.home.at_hand();
        let is_wanted = at_hand.waiting == 0
            && !at_hand.has_ended
            && connection.since.elapsed() < LONGEST_AT_HAND
            && self.home.hosts.trusts(connection.since.elapsed());
        if is_wanted {
            at_hand.connections.push(connection);
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(FromPool { mut connection, .. }) = self.connection.take() else { return };
        if self.is_beginning {
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
