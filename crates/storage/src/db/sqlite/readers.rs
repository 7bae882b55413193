//! Connections that read.

use std::sync::{Arc, Mutex, PoisonError};

use sqlite::{SqliteConnection, SqliteOptions};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::{Error, Result};

/// A bounded number of connections, opened when they are needed.
#[derive(Clone)]
pub(super) struct Readers(Arc<Shared>);

struct Shared {
    options: SqliteOptions,
    most: u32,
    /// One for each connection that may be in use.
    turns: Semaphore,
    /// Those that nobody uses, the one used last at the end: what it needs is still in the processor's cache.
    idle: Mutex<Vec<SqliteConnection>>,
}

/// A connection in use. Unless it is given back it is closed.
pub(super) struct Reader<'a> {
    pub(super) connection: SqliteConnection,
    pub(super) turn: Turn<'a>,
}

/// The right to use a connection, and the place to leave it.
pub(super) struct Turn<'a> {
    shared: &'a Shared,
    _permit: SemaphorePermit<'a>,
}

impl Readers {
    /// Opens the first connection, so that a file that cannot be read is found out at once.
    pub(super) fn open(options: SqliteOptions, most: u32) -> Result<Self> {
        let first = options.open()?;
        let most = most.max(1);
        let turns = Semaphore::new(usize::try_from(most).unwrap_or(Semaphore::MAX_PERMITS));
        Ok(Readers(Arc::new(Shared { options, most, turns, idle: Mutex::new(vec![first]) })))
    }

    /// Waits until fewer connections than the most are in use.
    pub(super) async fn take(&self) -> Result<Reader<'_>> {
        let permit = self.0.turns.acquire().await.map_err(|_| closed())?;
        let idle = self.0.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.0.options.open()?,
        };
        Ok(Reader { connection, turn: Turn { shared: &self.0, _permit: permit } })
    }

    /// Closes the connections when nobody uses them any more.
    pub(super) async fn close(&self) {
        let all = self.0.turns.acquire_many(self.0.most).await;
        self.0.turns.close();
        self.0.idle().clear();
        drop(all);
    }
}

impl Turn<'_> {
    /// Leaves a connection that works, outside of any transaction, for the next one.
    pub(super) fn give_back(self, connection: SqliteConnection) {
        self.shared.idle().push(connection);
    }
}

impl Shared {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed() -> Error {
    Error::unavailable("The server is stopping.", 1)
}
