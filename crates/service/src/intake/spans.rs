//! OpenTelemetry spans become publishes: each call of a model once, by the id of its span.

use std::sync::Arc;

use super::publish::{self, Publish};
use super::queue;
use crate::app::App;
use crate::http::fields;
use crate::sessions::rows::has_request_beginning;
use base::owner::OrgId;
use storage::error::{Code, Error, Result};
use traces::Publication;
use traces::otlp::{ExportRequest, Mapped, Settings, publications};

/// Stores what the spans of a request say, and says what was not stored. An error means that all of it is to be sent again,
/// which is safe.
pub async fn store(app: &Arc<App>, org_id: &OrgId, request: ExportRequest) -> Result<Mapped> {
    let settings = Settings { anonymous: app.settings.otlp.anonymous_users };
    let mut mapped = publications(&request, &settings);
    drop(request);
    let (mut publishes, mut refused) = (Vec::new(), Vec::new());
    for publication in std::mem::take(&mut mapped.publications) {
        if is_stored_otherwise(app, org_id, &publication).await? {
            continue;
        }
        match prepare(app, org_id, &publication).await {
            Ok(publish) => publishes.push(publish),
            Err(error) => refused.push(error),
        }
    }
    let stored = queue::store(app, publishes).await;
    refused.extend(stored.into_iter().filter_map(Result::err));
    for error in refused {
        if !is_final(&error) {
            return Err(error);
        }
        mapped.rejected_spans += 1;
        mapped.rejected_reason.get_or_insert(error.to_string());
    }
    Ok(mapped)
}

async fn prepare(app: &Arc<App>, org_id: &OrgId, publication: &Publication) -> Result<Publish> {
    let body = serde_json::to_value(publication).map_err(|e| Error::Internal(e.to_string()))?;
    let read = fields::read_body(&body).map_err(Error::invalid)?;
    publish::prepare(app, org_id, read.value, Vec::new()).await
}

/// True if sending it again would change nothing.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Refused { code, .. } => !matches!(code, Code::Unavailable | Code::RateLimited),
        _ => false,
    }
}

/// True if publications that say the same in detail are there already.
async fn is_stored_otherwise(app: &App, org_id: &OrgId, publication: &Publication) -> Result<bool> {
    let Some(beginning) = publication.unless_stored.clone() else { return Ok(false) };
    let (user_id, session_id) = (publication.user_id.as_str().into(), &publication.session_id);
    let input = (org_id.clone(), user_id, session_id.clone(), beginning);
    app.db
        .lookup("spans.stored_otherwise", input, |tx, (org_id, user_id, session_id, beginning)| {
            Box::pin(has_request_beginning(tx, org_id, user_id, session_id, beginning))
        })
        .await
}
