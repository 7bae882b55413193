//! Recording of what was found: beside the search, in batches. A crash loses the records of a moment, as likely of users
//! who got a playbook as of those who did not.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Exposure, sql};
use crate::app::App;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::{Code, Error, Result};
use storage::subjects::barrier;

/// Records of one transaction.
const BATCH: usize = 500;
/// Records that are remembered as written; more than that are forgotten together, and written once more for nothing.
const REMEMBERED: usize = 200_000;
/// Records that wait; what comes beyond that is dropped.
const WAITING: usize = 100_000;

/// Records that wait to be written, and those that this process wrote lately.
#[derive(Default)]
pub struct RecentExposures(Mutex<State>);

#[derive(Default)]
struct State {
    known: HashSet<(OrgId, UserId, String, i64, i64)>,
    waiting: Vec<(OrgId, Exposure)>,
    /// Number of records that were written.
    written: u64,
    /// A task writes what waits.
    is_writing: bool,
}

impl RecentExposures {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has exposures written that this process has not written lately.
pub fn record(app: &Arc<App>, org_id: &OrgId, exposures: Vec<Exposure>) {
    let mut state = app.state::<RecentExposures>().lock();
    for exposure in exposures {
        let key = (
            org_id.clone(),
            exposure.user_id.clone(),
            exposure.session_id.clone(),
            exposure.agent_playbook_id,
            exposure.epoch_no,
        );
        if state.known.len() >= REMEMBERED {
            state.known.clear();
        }
        if !state.known.insert(key) {
            continue;
        }
        if state.waiting.len() < WAITING {
            state.waiting.push((org_id.clone(), exposure));
        } else {
            metrics::counter!("evenhand_trial_exposures_dropped_total").increment(1);
        }
    }
    if !state.waiting.is_empty() && !state.is_writing {
        state.is_writing = true;
        app.spawn(write_waiting(app.clone()));
    }
}

/// Number of records that this process wrote.
pub fn recorded(app: &App) -> u64 {
    app.state::<RecentExposures>().lock().written
}

/// Writes until nothing waits.
async fn write_waiting(app: Arc<App>) {
    loop {
        let batch: Vec<(OrgId, Exposure)> = {
            let mut state = app.state::<RecentExposures>().lock();
            if state.waiting.is_empty() {
                state.is_writing = false;
                return;
            }
            let rest = state.waiting.len().saturating_sub(BATCH);
            state.waiting.split_off(rest)
        };
        let count = batch.len() as u64;
        let written = app
            .db
            .write("trials.record", (app.clone(), batch), |tx, (app, batch)| {
                Box::pin(write(tx, app, batch))
            })
            .await;
        match written {
            Ok(()) => app.state::<RecentExposures>().lock().written += count,
            Err(error) => {
                metrics::counter!("evenhand_trial_exposures_dropped_total").increment(count);
                tracing::warn!(%error, count, "found playbooks were not recorded");
            }
        }
    }
}

/// Writes exposures of people who are not erased.
async fn write(tx: &mut Tx, app: &App, batch: &[(OrgId, Exposure)]) -> Result<()> {
    // In the order of their ids: two batches that name the same people do not wait for each other in a circle.
    let mut by_person: BTreeMap<(&OrgId, &UserId), Vec<&Exposure>> = BTreeMap::new();
    for (org_id, exposure) in batch {
        by_person.entry((org_id, &exposure.user_id)).or_default().push(exposure);
    }
    let now = app.clock.now();
    for ((org_id, user_id), exposures) in by_person {
        match barrier::open(tx, &app.subject_keys, org_id, user_id, now).await {
            Ok(subject) => sql::insert_exposures(tx, &subject, &exposures).await?,
            Err(Error::Refused { code: Code::SubjectErasing | Code::SubjectErased, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
