//! The erasure ledger: a file beside the database and outside its backups that remembers every erasure.
//!
//! A restored backup brings erased people back. The ledger is read at every start, before anybody is served: an
//! erasure that the database does not know is done again. Lines are only ever added, each with the hash of the line
//! before it, and on disk before the erasure they tell of is complete.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::purge::{self, NewPurge, Purge};
use super::sql;
use crate::app::App;
use crate::config::Settings;
use base::owner::OrgId;
use base::private_files;
use storage::error::{Error, Result};
use storage::subjects::Subject;

const FILE: &str = "erasures.ledger";
/// Longest wait at the start for one erasure to be done again.
const PATIENCE: Duration = Duration::from_secs(3600);

/// One line. The hash is over the line as it reads with an empty hash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub sequence: u64,
    pub org_id: OrgId,
    pub subject: Subject,
    pub subject_ref: String,
    pub request_ref: String,
    pub actor_ref: String,
    pub purge_id: String,
    pub fence_at: i64,
    pub previous_hash: String,
    pub hash: String,
}

impl Entry {
    fn digest(&self) -> Result<String> {
        let line = self.line(String::new())?;
        Ok(hex::encode(Sha256::digest(line.as_bytes())))
    }

    fn line(&self, hash: String) -> Result<String> {
        let entry = Entry { hash, ..self.clone() };
        serde_json::to_string(&entry).map_err(|e| Error::Internal(e.to_string()))
    }
}

/// Path of an installation's ledger; on PostgreSQL there is one if the settings name it.
pub fn path(settings: &Settings) -> Option<PathBuf> {
    let governance = &settings.governance;
    if !governance.ledger_file.as_os_str().is_empty() {
        return Some(governance.ledger_file.clone());
    }
    let server = &settings.server;
    server.database_url.is_empty().then(|| server.data_dir.join(FILE))
}

/// Notes an erasure, once.
pub fn append(app: &App, purge: &Purge) -> Result<()> {
    let Some(path) = path(&app.settings) else { return Ok(()) };
    note(&path, purge).map_err(|e| match e {
        Trouble::Io(e) => Error::unavailable(format!("The erasure ledger: {e}"), 5),
        Trouble::Content(problem) => Error::Internal(problem),
    })
}

enum Trouble {
    Io(std::io::Error),
    Content(String),
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Trouble::Io(error)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Content(error.to_string())
    }
}

fn note(path: &Path, purge: &Purge) -> Result<(), Trouble> {
    let new = !path.exists();
    let mut file = open(path)?;
    // Another process of this installation may be writing too.
    file.lock()?;
    let (entries, length) = read(&mut file)?;
    if entries.iter().any(|entry| entry.purge_id == purge.purge_id) {
        return Ok(());
    }
    let last = entries.last();
    let mut entry = Entry {
        sequence: last.map_or(1, |last| last.sequence + 1),
        org_id: purge.org_id.clone(),
        subject: purge.subject,
        subject_ref: purge.subject_ref.clone(),
        request_ref: purge.request_ref.clone(),
        actor_ref: purge.actor_ref.clone(),
        purge_id: purge.purge_id.clone(),
        fence_at: purge.fence_at,
        previous_hash: last.map_or(String::new(), |last| last.hash.clone()),
        hash: String::new(),
    };
    entry.hash = entry.digest()?;
    let line = entry.line(entry.hash.clone())?;
    // A line that a crash cut off was never complete, and neither was its erasure.
    file.set_len(length)?;
    file.seek(SeekFrom::Start(length))?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()?;
    if new && let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn open(path: &Path) -> std::io::Result<File> {
    private_files::options().read(true).create(true).truncate(false).open(path)
}

/// All entries, and the length of the file up to the end of the last whole line.
fn read(file: &mut File) -> Result<(Vec<Entry>, u64), Trouble> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_string(&mut text)?;
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut entries: Vec<Entry> = Vec::new();
    for line in text[..whole].lines() {
        let place = entries.len() + 1;
        let damaged = || Trouble::Content(format!("the erasure ledger is damaged at line {place}"));
        let entry: Entry = serde_json::from_str(line).map_err(|_| damaged())?;
        let follows = entries.last().map_or("", |last| last.hash.as_str()) == entry.previous_hash;
        if !follows || entry.sequence != place as u64 || entry.digest()? != entry.hash {
            return Err(damaged());
        }
        entries.push(entry);
    }
    Ok((entries, whole as u64))
}

/// The entries of an installation's ledger.
pub fn entries(app: &App) -> Result<Vec<Entry>> {
    let Some(path) = path(&app.settings).filter(|path| path.exists()) else {
        return Ok(Vec::new());
    };
    let entries = File::open(path).map_err(Trouble::Io).and_then(|mut file| read(&mut file));
    match entries {
        Ok((entries, _)) => Ok(entries),
        Err(Trouble::Io(e)) => Err(Error::Internal(format!("the erasure ledger: {e}"))),
        Err(Trouble::Content(problem)) => Err(Error::Internal(problem)),
    }
}

/// Does the erasures again that the database does not know, and gives how many there were.
pub async fn replay(app: &Arc<App>) -> Result<usize> {
    let mut replayed = 0;
    for entry in entries(app)? {
        let Some(begun) = begin(app, entry).await? else { continue };
        replayed += 1;
        let purge_id = begun.purge_id.clone();
        let ended = purge::wait(app, begun, PATIENCE).await?;
        if !ended.is_complete() {
            tracing::error!(
                purge_id,
                "an erasure from the ledger is not complete yet; its barrier is closed"
            );
        }
    }
    if replayed > 0 {
        tracing::warn!(
            replayed,
            "the database was restored from before these erasures; they were done again"
        );
    }
    Ok(replayed)
}

/// Writes the operation and closes the barrier, unless the database knows it.
async fn begin(app: &Arc<App>, entry: Entry) -> Result<Option<Purge>> {
    let known = app
        .db
        .lookup("governance.known_purge", entry.purge_id.clone(), |tx, purge_id| {
            Box::pin(sql::purges::find(tx, purge_id))
        })
        .await?;
    if known.is_some() {
        return Ok(None);
    }
    app.db
        .write("governance.replay_purge", (app.clone(), entry), |tx, (app, entry)| {
            Box::pin(async move {
                let Entry { org_id, subject, .. } = entry;
                let subject = purge::hold_noted_subject(tx, app, org_id, *subject).await?;
                if sql::purges::find(tx, &entry.purge_id).await?.is_some() {
                    return Ok(None);
                }
                let new = NewPurge {
                    purge_id: &entry.purge_id,
                    subject_ref: entry.subject_ref.clone(),
                    request_ref: entry.request_ref.clone(),
                    actor_ref: entry.actor_ref.clone(),
                    user_id: None,
                    fence_at: entry.fence_at,
                };
                purge::write(tx, app, org_id, &subject, new).await.map(Some)
            })
        })
        .await
}
