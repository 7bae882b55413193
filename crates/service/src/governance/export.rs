//! A person's export: everything the list of user-owned tables holds, in one consistent snapshot, as it is read.
//!
//! The same (person, request id) is the same export: one id, one audit event, written before the first byte leaves.
//! An erasure of the person ends it. Memory stays flat: what a client does not take waits in the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use futures_util::future::BoxFuture;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::export_format::{ExportFormat, SectionManifest, Sections, Shape};
use super::purge::{self, Counts, EraseRequest};
use super::sql;
use crate::app::App;
use crate::schema::MIGRATIONS;
use crate::user_tables::USER_TABLES;
use storage::db::{TextSink, Tx};
use storage::error::{Error, Result};
use storage::subjects::audit::{self, NewEvent, Operation};
use storage::subjects::barrier;

/// Sections that every export has, also where no table fills them.
pub const SECTIONS: &[&str] = &[
    "sessions",
    "requests",
    "interactions",
    "outcomes",
    "profiles",
    "user_playbooks",
    "evaluation_results",
    "learning_verdicts",
    "shadow_verdicts",
    "labels",
    "experiment_exposures",
    "imported_scores",
];

/// Bytes gathered before they are handed over.
const CHUNK: usize = 64 * 1024;
/// A client that takes nothing for this long is left alone: it keeps the write-ahead log from being emptied.
const STALLED: Duration = Duration::from_secs(30);
/// Pictures read at a time.
const PICTURES: i64 = 4;

/// Header of an export.
#[derive(Clone, Debug, Serialize)]
pub struct ExportHeader {
    pub subject_ref: String,
    pub export_id: String,
    pub generated_at: i64,
    pub schema_version: i64,
}

/// Begins an export; what comes out of the channel is the whole of it, or ends with an error.
pub async fn export(
    app: &Arc<App>,
    request: EraseRequest,
    format: ExportFormat,
) -> Result<(ExportHeader, mpsc::Receiver<Result<Bytes>>)> {
    let work = app.in_flight.enter(&request.org_id, &request.user_id)?;
    let export = register(app, request.clone()).await?;
    let (sender, chunks) = mpsc::channel(2);
    let failed = sender.clone();
    let input = Reading { request, export: export.clone(), format, sender, begun: false.into() };
    let reader = app.clone();
    app.spawn(async move {
        let reading =
            reader.db.read("governance.export", input, |tx, input| Box::pin(input.read(tx)));
        let ended = tokio::select! {
            ended = reading => ended,
            () = work.cancelled() => Err(Error::Internal("the export was ended".to_owned())),
        };
        if let Err(error) = ended {
            tracing::warn!(%error, "an export ended early");
            let _ = tokio::time::timeout(Duration::from_secs(1), failed.send(Err(error))).await;
        }
    });
    Ok((export, chunks))
}

/// Finds or writes the export's id and its audit event.
async fn register(app: &Arc<App>, request: EraseRequest) -> Result<ExportHeader> {
    let input = (app.clone(), request, app.ids.uuid());
    let export = app
        .db
        .write("governance.register_export", input, |tx, (app, request, new_id)| {
            Box::pin(async move {
                let EraseRequest { org_id, user_id, request_id, actor } = request;
                let keys = &app.subject_keys;
                barrier::not_erasing(tx, org_id, user_id).await?;
                let subjects = purge::list(&keys.all_subject_refs(org_id, user_id))?;
                let requests = purge::list(&keys.all_request_refs(org_id, request_id))?;
                let now = app.clock.now();
                let subject_ref = keys.subject_ref(org_id, user_id);
                let mut export = ExportHeader {
                    export_id: new_id.clone(),
                    subject_ref,
                    generated_at: now,
                    schema_version: MIGRATIONS.newest(),
                };
                let found = sql::exports::find(tx, org_id, &subjects, &requests).await?;
                if let Some(export_id) = found {
                    return Ok(ExportHeader { export_id, ..export });
                }
                let mut counts = Counts::new();
                for table in USER_TABLES {
                    let rows = table.count(tx, org_id, user_id, i64::MAX).await?;
                    counts.insert(table.target.to_owned(), rows);
                }
                let request_ref = keys.all_request_refs(org_id, request_id).swap_remove(0);
                let ExportHeader { export_id, subject_ref, .. } = &mut export;
                sql::exports::insert(tx, org_id, export_id, subject_ref, &request_ref, now).await?;
                let event = NewEvent {
                    org_id,
                    operation: Operation::Export,
                    ok: true,
                    actor_ref: &keys.actor_ref(org_id, actor),
                    subject_ref: Some(subject_ref),
                    request_ref: Some(&request_ref),
                    counts,
                    now,
                };
                audit::append(tx, keys, event).await?;
                Ok(export)
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(export)
}

/// An export while it is read.
struct Reading {
    request: EraseRequest,
    export: ExportHeader,
    format: ExportFormat,
    sender: mpsc::Sender<Result<Bytes>>,
    begun: AtomicBool,
}

impl Reading {
    async fn read(&self, tx: &mut Tx) -> Result<()> {
        // A read may be repeated when its connection breaks, but what was sent cannot be taken back.
        if self.begun.swap(true, Ordering::SeqCst) {
            return Err(Error::Internal("the connection broke".to_owned()));
        }
        let mut writer = Writer::new(self.format, self.sender.clone());
        writer.shape.begin(&self.export, &mut writer.buffer)?;
        let empty = SECTIONS.iter().filter(|s| !USER_TABLES.iter().any(|t| t.target == **s));
        for target in empty {
            writer.begin_section(target);
            writer.end_section(target);
        }
        for table in USER_TABLES.iter().rev() {
            writer.begin_section(table.target);
            let query = table.export_query(tx).await?;
            let EraseRequest { org_id, user_id, .. } = &self.request;
            tx.stream_texts(query, org_id, user_id, &mut writer).await?;
            writer.end_section(table.target);
        }
        if self.format == ExportFormat::Zip {
            self.pictures(tx, &mut writer).await?;
        }
        let Writer { shape, sections, buffer, .. } = &mut writer;
        shape.end(&self.export, sections, buffer)?;
        writer.flush(1).await
    }

    async fn pictures(&self, tx: &mut Tx, writer: &mut Writer) -> Result<()> {
        let EraseRequest { org_id, user_id, .. } = &self.request;
        let mut after = i64::MIN;
        loop {
            let found = sql::exports::pictures(tx, org_id, user_id, after, PICTURES).await?;
            if found.is_empty() {
                return Ok(());
            }
            for (turn, url, encoding) in found {
                after = turn;
                writer.shape.picture(turn, &url, &encoding, &mut writer.buffer);
                writer.flush(CHUNK).await?;
            }
        }
    }
}

/// Gathers what is written and hands it over in pieces.
struct Writer {
    shape: Shape,
    sender: mpsc::Sender<Result<Bytes>>,
    buffer: Vec<u8>,
    sections: Sections,
    count: u64,
    digest: Sha256,
}

impl Writer {
    fn new(format: ExportFormat, sender: mpsc::Sender<Result<Bytes>>) -> Self {
        Writer {
            shape: Shape::new(format),
            sender,
            buffer: Vec::with_capacity(2 * CHUNK),
            sections: Sections::new(),
            count: 0,
            digest: Sha256::new(),
        }
    }

    fn begin_section(&mut self, target: &str) {
        (self.count, self.digest) = (0, Sha256::new());
        self.shape.begin_section(target, &mut self.buffer);
    }

    fn end_section(&mut self, target: &str) {
        self.shape.end_section(&mut self.buffer);
        let sha256 = hex::encode(std::mem::take(&mut self.digest).finalize());
        let manifest = SectionManifest { count: self.count, sha256 };
        self.sections.insert(target.to_owned(), manifest);
    }

    /// Hands over what was gathered, if it is at least so much.
    async fn flush(&mut self, least: usize) -> Result<()> {
        if self.buffer.len() < least {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(2 * CHUNK));
        let sent = tokio::time::timeout(STALLED, self.sender.send(Ok(chunk.into()))).await;
        match sent {
            Ok(Ok(())) => Ok(()),
            _ => Err(Error::Internal("nobody reads the export any more".to_owned())),
        }
    }
}

impl TextSink for Writer {
    fn take(&mut self, row: String) -> BoxFuture<'_, Result<()>> {
        self.count += 1;
        self.digest.update(row.as_bytes());
        self.digest.update(b"\n");
        self.shape.row(&row, &mut self.buffer);
        Box::pin(self.flush(CHUNK))
    }
}
