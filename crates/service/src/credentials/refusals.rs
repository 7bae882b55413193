//! Calls of governance endpoints without the right to, as events of the audit chain: the first of a caller at once, the
//! further ones of the same minute with their number in the next. Nobody can fill the chain with them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::app::App;
use base::owner::OrgId;
use storage::error::Result;
use storage::subjects::audit::{self, NewEvent, Operation};

const MINUTE: i64 = 60;
/// Stands for everybody who has no credential.
pub const NOBODY: &str = "nobody";

/// Refused governance calls of this process that are not in the audit yet, by organization and caller.
#[derive(Default)]
pub struct Refusals(Mutex<HashMap<(OrgId, String), Refused>>);

struct Refused {
    noted_at: i64,
    since: u64,
}

/// Notes a refused call of a credential, or of [`NOBODY`].
pub async fn note(app: &Arc<App>, org_id: &OrgId, actor: &str) {
    if app.db.engine().is_none() {
        return;
    }
    let now = app.clock.now();
    let count = {
        let refusals = &app.state::<Refusals>().0;
        let mut refusals = refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (org_id.clone(), actor.to_owned());
        let refused = refusals.entry(key).or_insert(Refused { noted_at: i64::MIN, since: 0 });
        refused.since += 1;
        if refused.noted_at.saturating_add(MINUTE) > now {
            return;
        }
        refused.noted_at = now;
        std::mem::take(&mut refused.since)
    };
    match write(app, org_id, actor, count).await {
        Ok(()) => app.sign_audit_head().await,
        Err(error) => tracing::warn!(%error, "a refused governance call is not in the audit"),
    }
}

async fn write(app: &Arc<App>, org_id: &OrgId, actor: &str, count: u64) -> Result<()> {
    let actor_ref = app.subject_keys.actor_ref(org_id, actor);
    let input = (app.clone(), org_id.clone(), actor_ref, count);
    app.db
        .write("credentials.refused", input, |tx, (app, org_id, actor_ref, count)| {
            Box::pin(async move {
                let event = NewEvent {
                    org_id,
                    operation: Operation::Refused,
                    ok: false,
                    actor_ref,
                    subject_ref: None,
                    request_ref: None,
                    counts: BTreeMap::from([("calls".to_owned(), *count)]),
                    now: app.clock.now(),
                };
                audit::append(tx, &app.subject_keys, event).await.map(drop)
            })
        })
        .await
}
