//! Credentials that were looked up before, as long as none was made or ended since.
//!
//! With SQLite, every process that makes or ends a credential writes a byte to the file `credentials.changes` in the data
//! folder before it does and one after it did. As long as that file has an even length and did not change since a
//! look-up, the answer of the look-up still holds; to ask for the file costs less than a hundredth of asking the database.
//! A process that dies in between leaves an odd length: then every request asks the database until the next change. With
//! PostgreSQL nothing is kept, because other machines make and end credentials too.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Credential;
use base::private_files;
use storage::error::{Error, Result};

/// Credentials beyond this number are forgotten together.
const MOST: usize = 1024;

#[derive(Default)]
pub struct RecentCredentials {
    /// None where nothing is kept.
    changes: Option<PathBuf>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// The file of changes at the look-ups whose answers are kept here.
    state: Option<State>,
    by_digest: HashMap<String, Credential>,
    any_exist: Option<bool>,
}

/// The file of changes while no change is under way. The length alone would not tell a file that was deleted and made
/// anew from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    length: u64,
    inode: u64,
    /// Seconds and nanoseconds of its last change.
    changed_at: (i64, i64),
}

impl RecentCredentials {
    /// Opens the file of changes in an installation's data folder, or makes it.
    pub fn of(data_dir: &Path) -> Self {
        let file = data_dir.join("credentials.changes");
        let changes = private_files::make_file(&file).is_ok().then_some(file);
        RecentCredentials { changes, found: Mutex::default() }
    }

    /// To be asked before a look-up; None if its answer cannot be kept.
    pub(super) fn state(&self) -> Option<State> {
        let file = std::fs::metadata(self.changes.as_ref()?).ok()?;
        let changed_at = (file.ctime(), file.ctime_nsec());
        let state = State { length: file.len(), inode: file.ino(), changed_at };
        state.length.is_multiple_of(2).then_some(state)
    }

    pub(super) fn find(&self, state: Option<State>, digest: &str) -> Option<Credential> {
        self.found_in(state?).by_digest.get(digest).cloned()
    }

    pub(super) fn keep(&self, state: Option<State>, digest: String, credential: &Credential) {
        let Some(state) = state else { return };
        let mut found = self.found_in(state);
        if found.by_digest.len() >= MOST {
            found.by_digest.clear();
        }
        found.by_digest.insert(digest, credential.clone());
    }

    pub(super) fn any_exist(&self, state: Option<State>) -> Option<bool> {
        self.found_in(state?).any_exist
    }

    pub(super) fn keep_any_exist(&self, state: Option<State>, any_exist: bool) {
        if let Some(state) = state {
            self.found_in(state).any_exist = Some(any_exist);
        }
    }

    /// The answers kept for this state of the file; those of another state are forgotten.
    fn found_in(&self, state: State) -> MutexGuard<'_, Found> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.state != Some(state) {
            *found = Found { state: Some(state), ..Found::default() };
        }
        found
    }

    /// Begins a change of credentials: until it is dropped, no process keeps what it finds. Waits for other changes. It
    /// goes along with the write, which runs to its end even if the caller goes away.
    pub(super) async fn change(&self) -> Result<Option<Change>> {
        let Some(file) = self.changes.clone() else { return Ok(None) };
        let begun = tokio::task::spawn_blocking(move || Change::begin(&file)).await;
        begun.unwrap_or_else(|e| Err(io::Error::other(e))).map(Some).map_err(|error| {
            tracing::error!(%error, "cannot write credentials.changes");
            Error::unavailable(
                "The data folder cannot be written; see whether its disk is full.",
                5,
            )
        })
    }
}

/// A change of credentials that is under way.
pub(super) struct Change(File);

impl Change {
    fn begin(file: &Path) -> io::Result<Self> {
        let mut file = private_files::options().append(true).open(file)?;
        file.lock()?;
        // The length is odd already if a process died during its change.
        let is_even = file.metadata()?.len().is_multiple_of(2);
        file.write_all(if is_even { b"." } else { b".." })?;
        Ok(Change(file))
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        // Left odd, nothing is kept until the next change: slower, and right.
        let _ = self.0.write_all(b".");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::Role;

    fn credential() -> Credential {
        Credential {
            credential_id: "c1".to_owned(),
            org_id: "default".into(),
            role: Role::Agent,
            governance: false,
            reads: true,
            name: String::new(),
            created_at: 0,
            expires_at: None,
            last_used_at: None,
            revoked_at: None,
        }
    }

    #[tokio::test]
    async fn a_change_by_another_process_ends_what_was_found_before_and_during_it() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) =
            (RecentCredentials::of(folder.path()), RecentCredentials::of(folder.path()));
        let before = here.state();
        here.keep(before, "digest".to_owned(), &credential());
        here.keep_any_exist(before, false);
        assert!(here.find(here.state(), "digest").is_some());
        assert_eq!(here.any_exist(here.state()), Some(false));

        let change = there.change().await.unwrap();
        assert_eq!(here.state(), None);
        drop(change);
        assert!(here.state().is_some_and(|state| Some(state) != before));
        assert!(here.find(here.state(), "digest").is_none());
        assert_eq!(here.any_exist(here.state()), None);
        // Looked up before the change, and answered after it.
        here.keep(before, "digest".to_owned(), &credential());
        assert!(here.find(here.state(), "digest").is_none());
    }

    #[tokio::test]
    async fn after_a_change_that_was_cut_short_nothing_is_kept_until_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let recent = RecentCredentials::of(folder.path());
        std::fs::write(folder.path().join("credentials.changes"), "...").unwrap();
        assert_eq!(recent.state(), None);
        drop(recent.change().await.unwrap());
        assert!(recent.state().is_some());
    }

    #[tokio::test]
    async fn a_file_that_was_deleted_and_has_its_length_again_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let (here, file) =
            (RecentCredentials::of(folder.path()), folder.path().join("credentials.changes"));
        drop(here.change().await.unwrap());
        let before = here.state();
        here.keep(before, "digest".to_owned(), &credential());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(here.state(), None);
        drop(RecentCredentials::of(folder.path()).change().await.unwrap());
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 2);
        assert!(here.find(here.state(), "digest").is_none());
    }

    #[tokio::test]
    async fn without_a_file_nothing_is_kept() {
        let recent = RecentCredentials::default();
        recent.keep_any_exist(recent.state(), true);
        assert_eq!((recent.state(), recent.any_exist(recent.state())), (None, None));
        assert!(recent.change().await.unwrap().is_none());
    }
}
