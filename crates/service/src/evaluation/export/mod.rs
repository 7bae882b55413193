//! Exports: every verdict of success in a window, as CSV, NDJSON or Parquet, streamed page by page.
//!
//! One list of columns ([`EvaluationResult::exported`]) serves all three forms. A page is a snapshot; pages follow each other by
//! `(created_at, result_id)`, so no verdict comes twice.

pub mod http;
mod parquet;
mod sql;
mod text;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures_util::stream;

use crate::app::App;
use crate::evaluation::EvaluationResult;
use base::owner::OrgId;
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

/// A form that verdicts are written in, page by page.
trait Form: Send {
    fn head(&mut self) -> Result<Vec<u8>>;
    fn page(&mut self, verdicts: &[EvaluationResult]) -> Result<Vec<u8>>;
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
            .read_standby("evaluation.export", input, |tx, (org_id, request, after)| {
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
