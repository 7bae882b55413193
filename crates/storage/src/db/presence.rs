//! Processes that have a SQLite database open.
//!
//! Every process holds a shared lock on the file `….lock` beside the database for as long as it has the database open;
//! the system ends it with the process, however that ends. A process that gets the lock for itself alone at its start
//! knows that nobody else is there, so that whatever looks as if somebody worked on it is left over. It cleans up before
//! it shares the lock, so that nobody takes up work in between.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use base::private_files;

pub(super) struct Presence {
    lock: File,
}

impl Presence {
    /// Opens the lock; the second value is true if nobody else has it. [`Presence::share`] must follow.
    pub(super) fn of(database: &Path) -> io::Result<(Self, bool)> {
        let file = database.with_extension("lock");
        private_files::make_file(&file)?;
        let lock = private_files::options().open(&file)?;
        let is_alone = match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => return Err(error),
        };
        Ok((Presence { lock }, is_alone))
    }

    /// Lets others in, and waits for one who is cleaning up.
    pub(super) fn share(&self) -> io::Result<()> {
        self.lock.lock_shared()
    }

    /// True if another process has the database open at this moment.
    pub(super) fn has_others(&self) -> io::Result<bool> {
        // The shared lock becomes one of its own, or is lost in trying.
        let has_others = match self.lock.try_lock() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(error)) => return Err(error),
        };
        self.share()?;
        Ok(has_others)
    }

    /// For a process that goes on after it closed the database.
    pub(super) fn leave(&self) -> io::Result<()> {
        self.lock.unlock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(database: &Path) -> (Presence, bool) {
        let (presence, is_alone) = Presence::of(database).unwrap();
        presence.share().unwrap();
        (presence, is_alone)
    }

    #[test]
    fn only_the_first_is_alone_and_after_the_last_one_the_next_is_again() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("evenhand.db");
        let (first, second) = (open(&database), open(&database));
        assert_eq!((first.1, second.1), (true, false));
        assert!(first.0.has_others().unwrap());
        first.0.leave().unwrap();
        assert!(!second.0.has_others().unwrap());
        assert!(!open(&database).1);
        drop(first);
        assert!(!open(&database).1);
        drop(second);
        assert!(open(&database).1);
    }
}
