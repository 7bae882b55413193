//! Work of this process that reads a person's data: known by person, so that an erasure can end it first.
//!
//! An erasure closes the door here, cancels what runs, waits until it is gone, and only then writes the barrier:
//! when the barrier stands, nothing of this process still holds the person's words. Other replicas look at the
//! barrier itself before each call (`judging/consent.rs` of the service).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::barrier;
use crate::error::Result;
use base::owner::{OrgId, UserId};

/// Work that does not end when it is cancelled is not waited for longer than this.
const PATIENCE: Duration = Duration::from_secs(5);

type OrgUser = (OrgId, UserId);

/// The work under way, by person. Cheap to clone.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Shared>);

#[derive(Default)]
struct Shared {
    people: Mutex<BTreeMap<OrgUser, Running>>,
    left: Notify,
}

#[derive(Default)]
struct Running {
    /// Erasures that are about to write the barrier.
    closing: usize,
    works: usize,
    cancel: CancellationToken,
}

/// One piece of work under way; it counts as ended when this is dropped.
pub struct InFlightGuard {
    person: OrgUser,
    cancelled: CancellationToken,
    shared: Arc<Shared>,
}

/// The door is closed while this is held.
pub struct Closing {
    person: OrgUser,
    shared: Arc<Shared>,
}

impl InFlight {
    /// Registers work on a person's data; refused while an erasure is closing the door.
    pub fn enter(&self, org_id: &OrgId, user_id: &UserId) -> Result<InFlightGuard> {
        let person = (org_id.to_owned(), user_id.to_owned());
        let mut people = self.0.people();
        let running = people.entry(person.clone()).or_default();
        if running.closing > 0 {
            return Err(barrier::is_erasing());
        }
        running.works += 1;
        let cancelled = running.cancel.clone();
        Ok(InFlightGuard { person, cancelled, shared: self.0.clone() })
    }

    /// Closes the door, cancels what runs for the person and waits until it has ended.
    pub async fn close(&self, org_id: &OrgId, user_id: &UserId) -> Closing {
        let person = (org_id.to_owned(), user_id.to_owned());
        {
            let mut people = self.0.people();
            let running = people.entry(person.clone()).or_default();
            running.closing += 1;
            running.cancel.cancel();
        }
        let closing = Closing { person, shared: self.0.clone() };
        let ended = async {
            loop {
                let left = self.0.left.notified();
                tokio::pin!(left);
                left.as_mut().enable();
                if self.0.people().get(&closing.person).is_none_or(|running| running.works == 0) {
                    return;
                }
                left.await;
            }
        };
        if tokio::time::timeout(PATIENCE, ended).await.is_err() {
            tracing::warn!("work for a person being erased did not end in time");
        }
        closing
    }
}

impl Shared {
    fn people(&self) -> MutexGuard<'_, BTreeMap<OrgUser, Running>> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, person: &OrgUser, change: impl FnOnce(&mut Running)) {
        let mut people = self.people();
        if let Some(running) = people.get_mut(person) {
            change(running);
            if running.works == 0 && running.closing == 0 {
                people.remove(person);
            }
        }
        drop(people);
        self.left.notify_waiters();
    }
}

impl InFlightGuard {
    /// Returns when the work must end.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.shared.leave(&self.person, |running| running.works -= 1);
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.shared.leave(&self.person, |running| {
            running.closing -= 1;
            if running.closing == 0 {
                running.cancel = CancellationToken::new();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn closing_waits_for_what_runs_and_refuses_what_comes() {
        let in_flight = InFlight::default();
        let (org, ada) = (OrgId::from("org"), UserId::from("ada"));
        let work = in_flight.enter(&org, &ada).unwrap();
        let other = in_flight.enter(&org, &UserId::from("bob")).unwrap();
        let closed = in_flight.close(&org, &ada);
        tokio::pin!(closed);
        assert!(futures_util::poll!(closed.as_mut()).is_pending());
        work.cancelled().await;
        assert!(in_flight.enter(&org, &ada).is_err());
        assert!(!other.cancelled.is_cancelled());
        drop(work);
        let closing = closed.await;
        assert!(in_flight.enter(&org, &ada).is_err(), "until the barrier stands");
        drop(closing);
        let again = in_flight.enter(&org, &ada).unwrap();
        assert!(!again.cancelled.is_cancelled());
        drop((again, other));
        assert!(in_flight.0.people().is_empty());
    }
}
