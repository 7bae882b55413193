//! Credentials that were looked up before, as long as none was made or ended since.
//!
//! With SQLite, every process that makes or ends a credential writes a byte to the file `credentials.changes` in the data
//! folder before it does and one after it did. An even length that is the same as before the look-up says that what was
//! found still holds; to ask for it costs less than a hundredth of asking the database. A process that dies in between
//! leaves an odd length: then every request asks the database until the next change. With PostgreSQL nothing is kept,
//! because other machines make and end credentials too.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};
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
    /// What was found holds for this state.
    state: Option<State>,
    by_digest: HashMap<String, Credential>,
    any_exist: Option<bool>,
}

/// Length of the file of changes while nobody is making one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(u64);

impl RecentCredentials {
    /// Of the installation with this data folder, which is there.
    pub fn of(data_dir: &Path) -> Self {
        let file = data_dir.join("credentials.changes");
        let changes = private_files::make_file(&file).is_ok().then_some(file);
        RecentCredentials { changes, found: Mutex::default() }
    }

    /// To be asked before a look-up; None if its answer cannot be kept.
    pub(super) fn state(&self) -> Option<State> {
        let length = std::fs::metadata(self.changes.as_ref()?).ok()?.len();
        length.is_multiple_of(2).then_some(State(length))
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

    /// What was found in this state; nothing yet if the last was another.
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
        let cannot_note = |e| Error::Internal(format!("cannot note a change of credentials: {e}"));
        begun.unwrap_or_else(|e| Err(io::Error::other(e))).map(Some).map_err(cannot_note)
    }
}

/// A change of credentials that is under way.
pub(super) struct Change(File);

impl Change {
    fn begin(file: &Path) -> io::Result<Self> {
        let mut file = private_files::options().append(true).open(file)?;
        file.lock()?;
        // Odd already if somebody died while changing.
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
    async fn without_a_file_nothing_is_kept() {
        let recent = RecentCredentials::default();
        recent.keep_any_exist(recent.state(), true);
        assert_eq!((recent.state(), recent.any_exist(recent.state())), (None, None));
        assert!(recent.change().await.unwrap().is_none());
    }
}
