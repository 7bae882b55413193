//! Recording of what was found: beside the search, in batches. A crash loses the records of a moment, as likely of users
//! who got a playbook as of those who did not.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Exposure, sql};
use crate::app::App;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::{Code, Error, Result};
use storage::subjects::{SubjectWrite, barrier};

/// Records of one transaction.
const BATCH: usize = 2_000;
/// Records wait this long for others, to share a commit.
const LINGER: Duration = Duration::from_millis(200);
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
        tokio::time::sleep(LINGER).await;
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
    let mut by_organization: BTreeMap<&OrgId, Vec<&Exposure>> = BTreeMap::new();
    for (org_id, exposure) in batch {
        by_organization.entry(org_id).or_default().push(exposure);
    }
    for (org_id, exposures) in by_organization {
        // In the order of their ids: two batches that name the same people do not wait for each other in a circle.
        let users: BTreeSet<&UserId> = exposures.iter().map(|found| &found.user_id).collect();
        let users: Vec<UserId> = users.into_iter().cloned().collect();
        let mut subjects = barrier::open_known(tx, org_id, &users).await?;
        let unknown = users.iter().filter(|user_id| !subjects.contains_key(*user_id));
        let (unknown, now): (Vec<&UserId>, i64) = (unknown.collect(), app.clock.now());
        let new = barrier::open_new(tx, org_id, &unknown, now).await?;
        subjects.extend(new);
        for user_id in users {
            if !subjects.contains_key(&user_id)
                && let Some(subject) = admitted(tx, app, org_id, &user_id).await?
            {
                subjects.insert(user_id, subject);
            }
        }
        let owned = exposures.into_iter();
        let owned: Vec<(&SubjectWrite, &Exposure)> =
            owned.filter_map(|found| Some((subjects.get(&found.user_id)?, found))).collect();
        sql::insert_exposures(tx, &owned).await?;
    }
    Ok(())
}

/// The right to write for somebody who may come back; none for those who are or were erased.
async fn admitted(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    user_id: &UserId,
) -> Result<Option<SubjectWrite>> {
    match barrier::open(tx, org_id, user_id, app.clock.now()).await {
        Ok(subject) => Ok(Some(subject)),
        Err(Error::Refused { code: Code::SubjectErasing | Code::SubjectErased, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
