//! Connections kept at hand for single statements.
//!
//! The driver's pool asks each connection that comes back whether it still lives, which costs as much as a small
//! statement. A connection that has just answered is kept here instead, up to half of them, so that transactions find
//! the others. One that failed, or whose caller went away, goes back to the pool and is asked.

use std::sync::{Arc, Mutex, PoisonError};

use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};

#[derive(Clone)]
pub(super) struct AtHand {
    /// None after the end.
    kept: Arc<Mutex<Option<Vec<PoolConnection<Postgres>>>>>,
    most: usize,
}

impl AtHand {
    /// For a pool of this many connections.
    pub(super) fn of(connections: u32) -> Self {
        let most = usize::try_from(connections / 2).unwrap_or(0);
        AtHand { kept: Arc::new(Mutex::new(Some(Vec::new()))), most }
    }

    pub(super) async fn take(&self, pool: &PgPool) -> sqlx::Result<PoolConnection<Postgres>> {
        let kept = self.lock().as_mut().and_then(Vec::pop);
        match kept {
            Some(conn) => Ok(conn),
            None => pool.acquire().await,
        }
    }

    /// Keeps a connection that has just answered.
    pub(super) fn keep(&self, conn: PoolConnection<Postgres>) {
        if let Some(kept) = self.lock().as_mut().filter(|kept| kept.len() < self.most) {
            kept.push(conn);
        }
    }

    /// Gives all back to the pool. When one turns out to be broken, others may be.
    pub(super) fn give_back(&self) {
        let kept = self.lock().as_mut().map(std::mem::take);
        drop(kept);
    }

    /// Gives all back, and keeps none from now on.
    pub(super) fn end(&self) {
        let kept = self.lock().take();
        drop(kept);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Vec<PoolConnection<Postgres>>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
