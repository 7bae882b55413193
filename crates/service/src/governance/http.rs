//! Export, erasure and what belongs to them, for governance credentials only.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::audit::events::{self, ShownEvent};
use super::certificate::{self, SignedCertificate};
use super::export_format::{ExportBundle, ExportFormat};
use super::purge::{self, EraseRequest, Purge, PurgeErrorCode, PurgeStatus};
use super::{export, people};
use crate::app::App;
use crate::credentials::Governor;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, PathId, QueryInput, Result};
use base::owner::UserId;
use storage::error::Error;
use storage::subjects::KeyPurpose;

/// Erasures in a list.
const LISTED: i64 = 100;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(export_user))
        .routes(routes!(erase_user))
        .routes(routes!(purge_operations))
        .routes(routes!(purge_operation))
        .routes(routes!(purge_certificate))
        .routes(routes!(preview_user))
        .routes(routes!(readmit_user))
        .routes(routes!(audit_events))
        .routes(routes!(public_key))
}

/// A person, and the caller's own id for what is asked: the same pair is the same operation.
struct GovernanceRequest {
    user_id: UserId,
    request_id: String,
}

crate::request_body!(GovernanceRequest, "GovernanceRequest");

impl Read for GovernanceRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        let about = "The caller's own: the same pair of user and request is the same operation.";
        GovernanceRequest { user_id: f.id("user_id"), request_id: f.about(about).id("request_id") }
    }
}

impl GovernanceRequest {
    fn by(self, governor: Governor) -> EraseRequest {
        EraseRequest {
            org_id: governor.org_id,
            user_id: self.user_id,
            request_id: self.request_id,
            actor: governor.credential_id,
        }
    }
}

struct PreviewRequest {
    user_id: UserId,
}

crate::request_body!(PreviewRequest, "PreviewRequest");

impl Read for PreviewRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        PreviewRequest { user_id: f.id("user_id") }
    }
}

struct ExportQuery {
    format: ExportFormat,
}

crate::request_query!(ExportQuery);

impl Read for ExportQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        ExportQuery { format: f.word_or("format", ExportFormat::Json) }
    }
}

/// Everything that is stored of a person.
///
/// One consistent snapshot, sent as it is read. The same user and request id has the same `export_id`.
#[utoipa::path(post, path = "/api/governance/export-user", tag = "governance", request_body = GovernanceRequest,
    params(ExportQuery), responses((status = 200, content(
        (ExportBundle = "application/json"), (Vec<u8> = "application/zip")))))]
async fn export_user(
    State(app): State<Arc<App>>,
    governor: Governor,
    QueryInput(ExportQuery { format }): QueryInput<ExportQuery>,
    Input { value, .. }: Input<GovernanceRequest>,
) -> Result<Response> {
    let (export, chunks) = export::export(&app, value.by(governor), format).await?;
    let chunks = stream::unfold(chunks, async |mut chunks| {
        let chunk = chunks.recv().await?;
        Some((chunk.map_err(|_| std::io::Error::other("the export ended early")), chunks))
    });
    let kind = match format {
        ExportFormat::Json => "application/json",
        ExportFormat::Zip => "application/zip",
    };
    let name = format!("attachment; filename=\"export-{}.zip\"", export.export_id);
    let mut response = ([(header::CONTENT_TYPE, kind)], Body::from_stream(chunks)).into_response();
    if format == ExportFormat::Zip
        && let Ok(name) = name.parse()
    {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

#[derive(Serialize, ToSchema)]
struct Erased {
    purge_id: String,
    /// Stands for the person; cannot be turned back.
    subject_ref: String,
    request_ref: String,
    /// `complete` with 200; anything else with 202.
    status: PurgeStatus,
    /// Rows deleted so far, by target.
    deleted_counts: BTreeMap<String, u64>,
    /// Agent playbooks in which something that only this person said was masked.
    shared_texts_masked: u64,
    error_code: Option<PurgeErrorCode>,
    completed_at: Option<i64>,
}

impl From<Purge> for Erased {
    fn from(purge: Purge) -> Self {
        Erased {
            deleted_counts: purge.deleted(),
            shared_texts_masked: purge.shared_texts_masked(),
            purge_id: purge.purge_id,
            subject_ref: purge.subject_ref,
            request_ref: purge.request_ref,
            status: purge.status,
            error_code: purge.error_code,
            completed_at: purge.completed_at,
        }
    }
}

/// Erase a person: everything stored for them, everywhere.
///
/// Answers 200 when the barrier stands, every row is deleted, the final check found nothing and the audit event is
/// written. Answers 202 when that takes longer; the erasure goes on and its status can be asked for. The same user and
/// request id is the same erasure.
#[utoipa::path(post, path = "/api/governance/erase-user", tag = "governance", request_body = GovernanceRequest,
    responses((status = 200, body = Erased), (status = 202, body = Erased)))]
async fn erase_user(
    State(app): State<Arc<App>>,
    governor: Governor,
    Input { value, .. }: Input<GovernanceRequest>,
) -> Result<(StatusCode, Json<Erased>)> {
    let patience = app.settings.server.request_timeout_seconds.saturating_sub(2).clamp(1, 30);
    let purge = purge::erase(&app, value.by(governor), Duration::from_secs(patience)).await?;
    let status = if purge.is_complete() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(purge.into())))
}

#[derive(Serialize, ToSchema)]
struct PurgeOperation {
    purge_id: String,
    subject_ref: String,
    request_ref: String,
    status: PurgeStatus,
    error_code: Option<PurgeErrorCode>,
    error_detail: Option<String>,
    created_at: i64,
    updated_at: i64,
    completed_at: Option<i64>,
}

impl From<Purge> for PurgeOperation {
    fn from(purge: Purge) -> Self {
        PurgeOperation {
            purge_id: purge.purge_id,
            subject_ref: purge.subject_ref,
            request_ref: purge.request_ref,
            status: purge.status,
            error_code: purge.error_code,
            error_detail: purge.error_detail,
            created_at: purge.created_at,
            updated_at: purge.updated_at,
            completed_at: purge.completed_at,
        }
    }
}

#[derive(Serialize, ToSchema)]
struct PurgeOperations {
    purge_operations: Vec<PurgeOperation>,
}

/// The newest 100 erasures: references, status and times. Whom they were about is not known any more.
#[utoipa::path(get, path = "/api/governance/purge-operations", tag = "governance",
    responses((status = 200, body = PurgeOperations)))]
async fn purge_operations(
    State(app): State<Arc<App>>,
    governor: Governor,
) -> Result<Json<PurgeOperations>> {
    let newest = purge::newest(&app, &governor.org_id, LISTED).await?;
    let purge_operations = newest.into_iter().map(PurgeOperation::from).collect();
    Ok(Json(PurgeOperations { purge_operations }))
}

/// Progress of an erasure.
#[utoipa::path(get, path = "/api/governance/purge-operations/{purge_id}", tag = "governance",
    params(("purge_id" = String, Path)), responses((status = 200, body = PurgeOperation)))]
async fn purge_operation(
    State(app): State<Arc<App>>,
    governor: Governor,
    PathId(purge_id): PathId,
) -> Result<Json<PurgeOperation>> {
    Ok(Json(purge::find(&app, &governor.org_id, &purge_id).await?.into()))
}

/// The signed certificate of a complete erasure. `evenhand governance verify-certificate` checks it anywhere.
#[utoipa::path(get, path = "/api/governance/purge-operations/{purge_id}/certificate", tag = "governance",
    params(("purge_id" = String, Path)), responses((status = 200, body = SignedCertificate)))]
async fn purge_certificate(
    State(app): State<Arc<App>>,
    governor: Governor,
    PathId(purge_id): PathId,
) -> Result<Json<SignedCertificate>> {
    let purge = purge::find(&app, &governor.org_id, &purge_id).await?;
    Ok(Json(certificate::of(&app, &purge)?))
}

#[derive(Serialize, ToSchema)]
struct Preview {
    subject_ref: String,
    /// Rows by target.
    counts: BTreeMap<String, u64>,
    total: u64,
}

/// Row counts that an export or an erasure would touch.
#[utoipa::path(post, path = "/api/governance/preview-user", tag = "governance", request_body = PreviewRequest,
    responses((status = 200, body = Preview)))]
async fn preview_user(
    State(app): State<Arc<App>>,
    governor: Governor,
    Input { value: PreviewRequest { user_id }, .. }: Input<PreviewRequest>,
) -> Result<Json<Preview>> {
    let counts = people::preview(&app, &governor.org_id, &user_id).await?;
    let subject_ref = app.subject_keys.subject_ref(&governor.org_id, &user_id);
    Ok(Json(Preview { subject_ref, total: counts.values().sum(), counts }))
}

#[derive(Serialize, ToSchema)]
struct Readmitted {
    subject_ref: String,
    /// False when the user was not erased: nothing had to be opened.
    readmitted: bool,
}

/// Let an erased person come back. What is dated before their erasure stays refused.
#[utoipa::path(post, path = "/api/governance/readmit-user", tag = "governance", request_body = GovernanceRequest,
    responses((status = 200, body = Readmitted)))]
async fn readmit_user(
    State(app): State<Arc<App>>,
    governor: Governor,
    Input { value, .. }: Input<GovernanceRequest>,
) -> Result<Json<Readmitted>> {
    let subject_ref = app.subject_keys.subject_ref(&governor.org_id, &value.user_id);
    let readmitted = people::readmit(&app, value.by(governor)).await?;
    Ok(Json(Readmitted { subject_ref, readmitted }))
}

struct AuditQuery {
    before: Option<i64>,
    limit: i64,
}

crate::request_query!(AuditQuery);

impl Read for AuditQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        AuditQuery {
            before: f
                .about("Events before this one: `sequence` of the last one of the page before.")
                .integer("before", 1..=i64::MAX),
            limit: f.integer_or("limit", 1..=500, 100),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct AuditEvents {
    /// The newest first.
    events: Vec<ShownEvent>,
}

/// The audit: exports, erasures, readmissions, deletions, keys made and ended, changes of the configuration, decisions
/// about playbooks, and refused calls. Keys and people who did it are named; the user it was about is a reference.
#[utoipa::path(get, path = "/api/governance/audit-events", tag = "governance", params(AuditQuery),
    responses((status = 200, body = AuditEvents)))]
async fn audit_events(
    State(app): State<Arc<App>>,
    governor: Governor,
    QueryInput(AuditQuery { before, limit }): QueryInput<AuditQuery>,
) -> Result<Json<AuditEvents>> {
    let events = events::newest(&app, &governor.org_id, before, limit).await?;
    Ok(Json(AuditEvents { events }))
}

/// A public key of this installation, Ed25519 in hex.
#[derive(Serialize, ToSchema)]
struct PublicKey {
    /// The governance key behind it.
    key_id: String,
    public_key: String,
}

#[derive(Serialize, ToSchema)]
struct PublicKeys {
    /// Signs certificates now.
    certificates: PublicKey,
    /// Signed certificates before.
    earlier: Vec<PublicKey>,
    /// Signs the end of the audit chain.
    audit_head: PublicKey,
}

/// The keys that certificates of this installation are checked with. Open to everybody.
#[utoipa::path(get, path = "/api/governance/public-key", tag = "governance", security(()),
    responses((status = 200, body = PublicKeys)))]
async fn public_key(State(app): State<Arc<App>>) -> Result<Json<PublicKeys>> {
    let keys = |purpose| {
        let keys = app.subject_keys.public_keys(purpose).into_iter();
        keys.map(|(key_id, public_key)| PublicKey { key_id, public_key }).collect::<Vec<_>>()
    };
    let none = || Error::Internal("there is no governance key".to_owned());
    let mut earlier = keys(KeyPurpose::Signing);
    let certificates = earlier.pop().ok_or_else(none)?;
    let audit_head = keys(KeyPurpose::Anchors).pop().ok_or_else(none)?;
    Ok(Json(PublicKeys { certificates, earlier, audit_head }))
}
