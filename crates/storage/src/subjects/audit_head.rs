//! The newest event of the audit chain, signed and kept outside the database: a chain that lost its end, or all of it,
//! no longer fits.
//!
//! It is signed after every event, into a file beside the erasure ledger and, if the settings name them, to a file on
//! another disk or to a command. The signed text names the end of the ledger too. Whoever has the whole folder can put
//! an older one in its place; what is kept elsewhere shows that.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{KeyPurpose, SubjectKeys, audit, sql};
use crate::db::Db;
use crate::error::{Error, Result};
use base::private_files;

/// Longest run of a command that keeps or gives an anchor.
const PATIENCE: Duration = Duration::from_secs(10);
/// A line of the ledger is shorter.
const LONGEST_LINE: u64 = 16 << 10;

/// The state of the chain and of the ledger at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedHead {
    /// Number and hash of the newest event.
    pub sequence: i64,
    pub hash: String,
    pub ledger_lines: u64,
    pub ledger_hash: String,
    pub signed_at: i64,
    signature: String,
}

impl SignedHead {
    fn message(&self) -> String {
        let SignedHead { sequence, hash, ledger_lines, ledger_hash, signed_at, .. } = self;
        format!(
            "evenhand-audit-head-v1\n{sequence}\n{hash}\n{ledger_lines}\n{ledger_hash}\n{signed_at}"
        )
    }

    fn sign(mut self, keys: &SubjectKeys) -> Result<Self> {
        self.signature = keys.sign(KeyPurpose::Anchors, self.message().as_bytes())?.signature;
        Ok(self)
    }

    /// The head that a text holds, if this installation signed it.
    fn parse(text: &str, keys: &SubjectKeys) -> Result<Self, String> {
        let head: SignedHead = serde_json::from_str(text.trim()).map_err(|e| e.to_string())?;
        let message = head.message();
        match keys.has_signed(KeyPurpose::Anchors, message.as_bytes(), &head.signature) {
            true => Ok(head),
            false => Err("its signature is not this installation's".to_owned()),
        }
    }
}

/// The places outside the database where heads are kept.
#[derive(Default)]
pub struct AuditHead {
    file: Option<PathBuf>,
    ledger: Option<PathBuf>,
    anchor_file: Option<PathBuf>,
    anchor_command: String,
    /// Calls of [`AuditHead::sign`], and how many of them the newest signature serves.
    asked: AtomicU64,
    served: tokio::sync::Mutex<u64>,
    /// Number of the newest event that the command was given.
    given: Arc<Mutex<i64>>,
}

impl AuditHead {
    /// For an installation with this ledger; the head is beside it.
    pub fn new(ledger: Option<PathBuf>, anchor_file: &Path, anchor_command: &str) -> Self {
        let named = |file: &Path| (!file.as_os_str().is_empty()).then(|| file.to_owned());
        AuditHead {
            file: ledger.as_ref().map(|ledger| ledger.with_file_name("audit.head")),
            ledger,
            anchor_file: named(anchor_file),
            anchor_command: anchor_command.to_owned(),
            ..AuditHead::default()
        }
    }

    /// True if heads are kept anywhere beside the database.
    pub fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Signs the present end of the chain. Gives the head for [`AuditHead::hand_over`]; nothing if one that was signed
    /// since this call began serves it too: under load one signature serves all who waited for their turn.
    pub async fn sign(&self, db: &Db, keys: &SubjectKeys, now: i64) -> Result<Option<SignedHead>> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let mut served = self.served.lock().await;
        if *served >= asked {
            return Ok(None);
        }
        let serves = self.asked.load(Ordering::Relaxed);
        // Other processes of this installation sign too: the newest is to be written last.
        let _lock = match self.file.clone() {
            Some(file) => Some(beside(move || lock(&file)).await?),
            None => None,
        };
        let (sequence, hash) = audit::end(db).await?;
        let (ledger_lines, ledger_hash) = match &self.ledger {
            Some(ledger) => last_line(ledger).map_err(failed)?,
            None => (0, String::new()),
        };
        let signature = String::new();
        let head =
            SignedHead { sequence, hash, ledger_lines, ledger_hash, signed_at: now, signature };
        let head = head.sign(keys)?;
        let text = line(&head)?;
        let files: Vec<PathBuf> =
            [&self.file, &self.anchor_file].into_iter().flatten().cloned().collect();
        beside(move || files.iter().try_for_each(|file| write_whole(file, &text))).await?;
        *served = serves;
        Ok(Some(head))
    }

    /// Gives a head to the command, if there is one. Takes as long as the command does.
    pub fn hand_over(&self, head: SignedHead) -> Option<impl FnOnce() + Send + 'static> {
        if self.anchor_command.is_empty() {
            return None;
        }
        let (command, given) = (self.anchor_command.clone(), self.given.clone());
        Some(move || {
            let mut given = given.lock().unwrap_or_else(PoisonError::into_inner);
            // A newer one was quicker.
            if *given > head.sequence {
                return;
            }
            *given = head.sequence;
            let put = line(&head).map_err(|e| e.to_string());
            if let Err(problem) = put.and_then(|text| run(&command, "put", &text)) {
                metrics::counter!("evenhand_audit_anchor_failures_total").increment(1);
                tracing::error!(problem, "audit.anchor_command did not take the head of the audit");
            }
        })
    }

    /// The head beside the ledger.
    pub fn kept(&self, keys: &SubjectKeys) -> Result<Option<SignedHead>, String> {
        self.file.as_deref().map_or(Ok(None), |file| read(file, keys))
    }

    /// The heads that are kept elsewhere, each with the place.
    pub fn outside(&self, keys: &SubjectKeys) -> Result<Vec<(&'static str, SignedHead)>, String> {
        let mut found = Vec::new();
        if let Some(file) = &self.anchor_file {
            found.extend(read(file, keys)?.map(|head| ("audit.anchor_file", head)));
        }
        if !self.anchor_command.is_empty() {
            let problem = |e: String| format!("audit.anchor_command: {e}");
            let text = run(&self.anchor_command, "get", "").map_err(problem)?;
            if !text.trim().is_empty() {
                let head = SignedHead::parse(&text, keys).map_err(problem)?;
                found.push(("audit.anchor_command", head));
            }
        }
        Ok(found)
    }
}

impl audit::Verified {
    /// Reason that a head does not belong to the chain with these hashes, if it does not.
    pub fn lacks(&self, head: &SignedHead, hash_there: Option<&str>) -> Option<String> {
        let SignedHead { sequence, .. } = head;
        if *sequence > self.events {
            let missing = sequence - self.events;
            return Some(format!("the last {missing} of {sequence} events are missing"));
        }
        let fits = *sequence == 0 || hash_there == Some(head.hash.as_str());
        (!fits).then(|| format!("event {sequence} is not the one that was signed"))
    }
}

/// The hash of one event of the chain.
pub async fn hash_at(db: &Db, sequence: i64) -> Result<Option<String>> {
    db.lookup("governance.audit_hash", sequence, |tx, sequence| {
        Box::pin(sql::audit::hash_of(tx, *sequence))
    })
    .await
}

/// Does work that waits for disks or other processes, beside the threads that serve requests.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(io::Error::other).and_then(|done| done).map_err(failed)
}

fn failed(error: io::Error) -> Error {
    Error::unavailable(format!("The head of the audit cannot be kept: {error}"), 5)
}

fn line(head: &SignedHead) -> Result<String> {
    let text = serde_json::to_string(head).map_err(|e| Error::Internal(e.to_string()))?;
    Ok(format!("{text}\n"))
}

fn read(file: &Path, keys: &SubjectKeys) -> Result<Option<SignedHead>, String> {
    match fs::read_to_string(file) {
        Ok(text) => {
            let head = SignedHead::parse(&text, keys);
            head.map(Some).map_err(|e| format!("{}: {e}", file.display()))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!("{}: {e}", file.display())),
    }
}

fn lock(file: &Path) -> io::Result<File> {
    let lock = private_files::options()
        .create(true)
        .truncate(false)
        .open(file.with_extension("head.lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Replaces a file, whole or not at all.
fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension("head.new");
    let mut handle = private_files::options().create(true).truncate(true).open(&new)?;
    handle.write_all(text.as_bytes())?;
    handle.sync_all()?;
    fs::rename(&new, file)?;
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Number and hash of the last whole line of a ledger.
fn last_line(ledger: &Path) -> io::Result<(u64, String)> {
    #[derive(Deserialize)]
    struct Line {
        sequence: u64,
        hash: String,
    }
    let mut file = match File::open(ledger) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((0, String::new())),
        Err(e) => return Err(e),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(2 * LONGEST_LINE)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    let whole = end.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let last = end[..whole].split(|byte| *byte == b'\n').next_back().unwrap_or_default();
    match serde_json::from_slice::<Line>(last) {
        Ok(Line { sequence, hash }) => Ok((sequence, hash)),
        Err(_) if whole == 0 => Ok((0, String::new())),
        Err(e) => Err(io::Error::other(format!("the last line of the erasure ledger: {e}"))),
    }
}

/// Runs a command with `EVENHAND_ANCHOR` set to what it is to do, and gives its output.
fn run(command: &str, what: &str, input: &str) -> Result<String, String> {
    let text = |e: io::Error| e.to_string();
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env("EVENHAND_ANCHOR", what)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(text)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not want it may have closed it.
        let _ = stdin.write_all(input.as_bytes());
    }
    let begun = Instant::now();
    while child.try_wait().map_err(text)?.is_none() {
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("not done within {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().map_err(text)?;
    match output.status.success() {
        true => String::from_utf8(output.stdout).map_err(|e| e.to_string()),
        false => Err(output.status.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_if_this_installation_signed_it_as_it_stands() {
        let keys =
            |byte: u8| SubjectKeys::parse(&format!("k:{}", hex::encode([byte; 32]))).unwrap();
        let head = SignedHead {
            sequence: 7,
            hash: "v2_00".to_owned(),
            ledger_lines: 1,
            ledger_hash: "aa".to_owned(),
            signed_at: 5,
            signature: String::new(),
        };
        let head = head.sign(&keys(1)).unwrap();
        let text = line(&head).unwrap();
        assert_eq!(SignedHead::parse(&text, &keys(1)), Ok(head));
        assert!(SignedHead::parse(&text, &keys(2)).is_err(), "another installation");
        assert!(SignedHead::parse(&text.replace(":7", ":6"), &keys(1)).is_err(), "changed");
        assert!(SignedHead::parse("", &keys(1)).is_err());
    }

    #[test]
    fn the_end_of_a_ledger_is_its_last_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("erasures.ledger");
        assert_eq!(last_line(&ledger).unwrap(), (0, String::new()));
        fs::write(&ledger, "").unwrap();
        assert_eq!(last_line(&ledger).unwrap(), (0, String::new()));
        let lines: String =
            (1..900).map(|n| format!("{{\"sequence\":{n},\"hash\":\"h{n}\"}}\n")).collect();
        fs::write(&ledger, format!("{lines}{{\"sequence\":900,")).unwrap();
        assert_eq!(last_line(&ledger).unwrap(), (899, "h899".to_owned()));
    }

    #[test]
    fn a_command_keeps_and_gives_what_it_was_handed() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        let command = format!(
            "if [ $EVENHAND_ANCHOR = put ]; then cat > {0}; else cat {0}; fi",
            kept.display()
        );
        run(&command, "put", "one\n").unwrap();
        assert_eq!(run(&command, "get", "").unwrap(), "one\n");
        assert!(run("exit 3", "put", "").is_err());
    }
}
