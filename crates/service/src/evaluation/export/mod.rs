//! Exports: every verdict of success in a window, as CSV, NDJSON or Parquet, streamed page by page.
//!
//! One list of columns ([`ExportedVerdict::cells`]) serves all three forms. A page is a snapshot; pages follow each other by
//! `(created_at, result_id)`, so no verdict comes twice.

pub mod http;
mod parquet;
mod sql;
mod text;

use base::owner::{OrgId, UserId};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures_util::stream;

use crate::app::App;
use crate::evaluation::ShadowPreference;
use judge::FailureType;
use storage::error::Result;

/// Verdicts of one page: a row group of Parquet.
const PAGE: i64 = 5000;

base::vocabulary! {
    /// The form of an export.
    pub enum ExportFormat {
        Csv = "csv",
        Ndjson = "ndjson",
        Parquet = "parquet",
    }
}

/// Format, time range and sources of an export.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    pub format: ExportFormat,
    pub from_ts: i64,
    pub to_ts: i64,
    /// All of them when absent.
    pub sources: Option<Vec<String>>,
}

/// One verdict, flat.
#[derive(Debug, sqlx_macros::FromRow)]
pub struct ExportedVerdict {
    pub result_id: i64,
    pub user_id: UserId,
    pub session_id: String,
    pub agent_version: String,
    pub source: String,
    pub created_at: i64,
    pub evaluated_at: i64,
    pub is_success: bool,
    pub failure_type: FailureType,
    pub failure_reason: String,
    pub number_of_corrections: i64,
    pub user_turns_to_resolution: Option<i64>,
    pub is_escalated: bool,
    pub regular_vs_shadow: Option<ShadowPreference>,
    pub judge: String,
    pub prompt_version: String,
    pub rubric_hash: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_usd: Option<f64>,
    pub latency_ms: i64,
    pub attempts: i64,
}

/// A value of a column; `None` is null.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Text(Option<&'a str>),
    Integer(Option<i64>),
    Number(Option<f64>),
    Flag(bool),
}

impl ExportedVerdict {
    /// The columns of an export, by the names of the API.
    fn cells(&self) -> [(&'static str, Cell<'_>); 22] {
        use Cell::{Flag, Integer, Number, Text};
        [
            ("result_id", Integer(Some(self.result_id))),
            ("user_id", Text(Some(&self.user_id))),
            ("session_id", Text(Some(&self.session_id))),
            ("agent_version", Text(Some(&self.agent_version))),
            ("source", Text(Some(&self.source))),
            ("created_at", Integer(Some(self.created_at))),
            ("evaluated_at", Integer(Some(self.evaluated_at))),
            ("is_success", Flag(self.is_success)),
            ("failure_type", Text(Some(self.failure_type.as_str()))),
            ("failure_reason", Text(Some(&self.failure_reason))),
            ("number_of_correction_per_session", Integer(Some(self.number_of_corrections))),
            ("user_turns_to_resolution", Integer(self.user_turns_to_resolution)),
            ("is_escalated", Flag(self.is_escalated)),
            ("regular_vs_shadow", Text(self.regular_vs_shadow.map(ShadowPreference::as_str))),
            ("judge", Text(Some(&self.judge))),
            ("prompt_version", Text(Some(&self.prompt_version))),
            ("rubric_hash", Text(Some(&self.rubric_hash))),
            ("input_tokens", Integer(Some(self.input_tokens))),
            ("output_tokens", Integer(Some(self.output_tokens))),
            ("cost_usd", Number(self.cost_usd)),
            ("latency_ms", Integer(Some(self.latency_ms))),
            ("attempts", Integer(Some(self.attempts))),
        ]
    }

    /// A row of nothing, for the columns alone.
    fn blank() -> Self {
        ExportedVerdict {
            result_id: 0,
            user_id: UserId::default(),
            session_id: String::new(),
            agent_version: String::new(),
            source: String::new(),
            created_at: 0,
            evaluated_at: 0,
            is_success: false,
            failure_type: FailureType::None,
            failure_reason: String::new(),
            number_of_corrections: 0,
            user_turns_to_resolution: None,
            is_escalated: false,
            regular_vs_shadow: None,
            judge: String::new(),
            prompt_version: String::new(),
            rubric_hash: String::new(),
            input_tokens: 0,
            output_tokens: 0,
            cost_usd: None,
            latency_ms: 0,
            attempts: 0,
        }
    }
}

/// A form that verdicts are written in, page by page.
trait Form: Send {
    fn head(&mut self) -> Result<Vec<u8>>;
    fn page(&mut self, verdicts: &[ExportedVerdict]) -> Result<Vec<u8>>;
    fn foot(&mut self) -> Result<Vec<u8>>;
}

/// The export as it is sent. The first page is read before the answer begins, so that a refusal still is one.
pub async fn export(app: &Arc<App>, org_id: &OrgId, request: ExportRequest) -> Result<Body> {
    let mut form: Box<dyn Form> = match request.format {
        ExportFormat::Csv => Box::new(text::Csv),
        ExportFormat::Ndjson => Box::new(text::Ndjson),
        ExportFormat::Parquet => Box::new(parquet::Parquet::new()?),
    };
    let mut bytes = form.head()?;
    let mut sending = ExportStream {
        app: app.clone(),
        org_id: org_id.to_owned(),
        request,
        form,
        after: (i64::MIN, i64::MIN),
        ended: false,
    };
    bytes.extend(sending.page().await?);
    let first = stream::once(async move { Ok(Bytes::from(bytes)) });
    let rest = stream::unfold(Some(sending), |sending| async move {
        let mut sending = sending.filter(|sending| !sending.ended)?;
        match sending.page().await {
            Ok(bytes) => Some((Ok(Bytes::from(bytes)), Some(sending))),
            Err(error) => {
                tracing::error!(%error, "an export broke off");
                Some((Err(error), None))
            }
        }
    });
    Ok(Body::from_stream(futures_util::StreamExt::chain(first, rest)))
}

struct ExportStream {
    app: Arc<App>,
    org_id: OrgId,
    request: ExportRequest,
    form: Box<dyn Form>,
    after: (i64, i64),
    ended: bool,
}

impl ExportStream {
    async fn page(&mut self) -> Result<Vec<u8>> {
        let input = (self.org_id.clone(), self.request.clone(), self.after);
        let verdicts = self
            .app
            .db
            .read("evaluation.export", input, |tx, (org_id, request, after)| {
                Box::pin(sql::page(tx, org_id, request, *after, PAGE))
            })
            .await?;
        let mut bytes = if verdicts.is_empty() { Vec::new() } else { self.form.page(&verdicts)? };
        match verdicts.last() {
            Some(last) if i64::try_from(verdicts.len()).is_ok_and(|n| n == PAGE) => {
                self.after = (last.created_at, last.result_id);
            }
            _ => {
                self.ended = true;
                bytes.extend(self.form.foot()?);
            }
        }
        Ok(bytes)
    }
}
