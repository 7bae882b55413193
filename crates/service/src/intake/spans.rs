//! OpenTelemetry spans become publishes: each call of a model once, by the id of its span.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};

use super::publish;
use crate::app::App;
use crate::http::fields;
use crate::sessions::rows::has_request_beginning;
use base::owner::OrgId;
use storage::error::{Code, Error, Result};
use traces::Publication;
use traces::otlp::{ExportRequest, Mapped, Settings, publications};

/// Sessions in work at the same time: their publishes share commits.
const AT_A_TIME: usize = 64;

/// Stores what the spans of a request say, and says what was not stored. An error means that all of it is to be sent again,
/// which is safe.
pub async fn store(app: &Arc<App>, org_id: &OrgId, request: ExportRequest) -> Result<Mapped> {
    let settings = Settings { anonymous: app.settings.otlp.anonymous_users };
    let mut mapped = publications(&request, &settings);
    drop(request);
    // One after the other within a session: turns of the same second stay in the order of their spans.
    let mut sessions: HashMap<(String, String), Vec<Publication>> = HashMap::new();
    for publication in std::mem::take(&mut mapped.publications) {
        let key = (publication.user_id.clone(), publication.session_id.clone());
        sessions.entry(key).or_default().push(publication);
    }
    let each = sessions.into_values().map(|of_session| store_all(app, org_id, of_session));
    let mut stored = stream::iter(each).buffer_unordered(AT_A_TIME);
    while let Some(refusals) = stored.next().await {
        for reason in refusals? {
            mapped.rejected_spans += 1;
            mapped.rejected_reason.get_or_insert(reason);
        }
    }
    Ok(mapped)
}

/// Stores the publications of a session; gives the reasons why some were not.
async fn store_all(
    app: &Arc<App>,
    org_id: &OrgId,
    publications: Vec<Publication>,
) -> Result<Vec<String>> {
    let mut refusals = Vec::new();
    for publication in publications {
        match store_one(app, org_id, publication).await {
            Ok(()) => {}
            Err(error) if is_final(&error) => refusals.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(refusals)
}

/// True if sending it again would change nothing.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Refused { code, .. } => !matches!(code, Code::Unavailable | Code::RateLimited),
        _ => false,
    }
}

async fn store_one(app: &Arc<App>, org_id: &OrgId, publication: Publication) -> Result<()> {
    if is_stored_otherwise(app, org_id, &publication).await? {
        return Ok(());
    }
    let body = serde_json::to_value(&publication).map_err(|e| Error::Internal(e.to_string()))?;
    let read = fields::read_body(&body).map_err(Error::invalid)?;
    publish::publish(app, org_id, read.value, Vec::new()).await.map(drop)
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
