//! The runtime: storage, clock, ids, keys and tasks, built once and passed everywhere.

use std::time::Duration;

use base::clock::Clock;
use base::ids::Ids;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::db::Db;
use crate::faults::Faults;
use crate::jobs::JobSettings;
use crate::subjects::audit_head::AuditHead;
use crate::subjects::{InFlight, SubjectKeys};

/// The storage of an installation with the clock, the ids and the tasks of this process.
pub struct Runtime {
    pub db: Db,
    pub clock: Clock,
    pub ids: Ids,
    pub subject_keys: SubjectKeys,
    /// The places outside the database where the end of the audit chain is kept.
    pub audit_head: AuditHead,
    /// Work of this process on people's data.
    pub in_flight: InFlight,
    pub faults: Faults,
    pub jobs: JobSettings,
    /// Cancelled when a graceful stop begins.
    pub stopping: CancellationToken,
    /// Longest wait of a graceful stop for tasks.
    pub stop_patience: Duration,
    tasks: TaskTracker,
}

impl Runtime {
    pub fn new(
        db: Db,
        clock: Clock,
        ids: Ids,
        subject_keys: SubjectKeys,
        audit_head: AuditHead,
        jobs: JobSettings,
        stop_patience: Duration,
    ) -> Self {
        Runtime {
            db,
            clock,
            ids,
            subject_keys,
            audit_head,
            in_flight: InFlight::default(),
            faults: Faults::from_environment(),
            jobs,
            stopping: CancellationToken::new(),
            stop_patience,
            tasks: TaskTracker::new(),
        }
    }

    /// Starts a task that a graceful stop waits for.
    pub fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        let task: BoxFuture<'static, T> = Box::pin(task);
        self.tasks.spawn(task)
    }

    /// Signs the end of the audit chain, after a transaction that appended to it. What it tells about has happened:
    /// a failure is reported, and the next event signs again.
    pub async fn sign_audit_head(&self) {
        let signed = self.audit_head.sign(&self.db, &self.subject_keys, self.clock.now()).await;
        match signed {
            Ok(head) => {
                if let Some(hand_over) = head.and_then(|head| self.audit_head.hand_over(head)) {
                    self.spawn(tokio::task::spawn_blocking(hand_over));
                }
            }
            Err(error) => {
                metrics::counter!("evenhand_audit_head_failures_total").increment(1);
                tracing::error!(%error, "the end of the audit chain is not signed");
            }
        }
    }

    /// Lets tasks finish (up to the configured time), then closes the storage.
    pub async fn stop(&self) {
        self.stopping.cancel();
        self.tasks.close();
        if tokio::time::timeout(self.stop_patience, self.tasks.wait()).await.is_err() {
            tracing::warn!("some tasks did not end in time; their leases run out by themselves");
        }
        let _ = tokio::time::timeout(Duration::from_secs(2), self.db.close()).await;
    }
}
