//! When credentials were last used, to the hour: enough to see which ones nobody needs, and no write per request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Credential, sql};
use crate::app::App;

const HOUR: i64 = 3600;

/// The hours that this process has noted already, by credential.
#[derive(Default)]
pub struct RecentUse(Mutex<HashMap<String, i64>>);

/// Notes a use, once an hour, beside the request.
pub fn note(app: &Arc<App>, credential: &Credential) {
    let hour = app.clock.now() / HOUR * HOUR;
    let is_known = credential.last_used_at.is_some_and(|at| at >= hour);
    if is_known || credential.created_at == 0 {
        return;
    }
    let id = credential.credential_id.clone();
    {
        let noted = &app.state::<RecentUse>().0;
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.insert(id.clone(), hour) == Some(hour) {
            return;
        }
    }
    let of = app.clone();
    app.spawn(async move {
        let written = of
            .db
            .write("credentials.touch", (id, hour), |tx, (id, hour)| {
                Box::pin(sql::touch(tx, id, *hour))
            })
            .await;
        if let Err(error) = written {
            tracing::debug!(%error, "the use of a credential is not noted");
        }
    });
}
