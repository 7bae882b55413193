//! Announcements of work, which wake the workers of this process and, by NOTIFY, those of others.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};

use super::Postgres;
use super::hosts::PATIENCE;

const CHANNEL: &str = "evenhand_work";

impl Postgres {
    pub(in crate::db) async fn announce(&self) {
        self.work.notify_waiters();
        // By the simple protocol: nothing is prepared.
        if let Err(error) = self.outside_transactions("NOTIFY evenhand_work".to_owned()).await {
            tracing::debug!(%error, "other replicas were not woken; they poll");
        }
    }

    pub(in crate::db) async fn wait(&self) {
        self.work.notified().await;
    }

    /// Passes on what other replicas announce; connects again when the connection is lost.
    pub(super) async fn listen(self) {
        let Some(target) = &self.listener else { return };
        let forward = async {
            loop {
                for candidate in &target.candidates {
                    if let Err(error) = self.forward(candidate.clone()).await {
                        tracing::debug!(%error, "not listening to other replicas");
                    }
                    tokio::time::sleep(Duration::from_secs(2)).await;
                }
            }
        };
        self.until_stopped(forward).await;
    }

    async fn forward(&self, options: PgConnectOptions) -> sqlx::Result<()> {
        let one = PgPoolOptions::new().max_connections(1).acquire_timeout(PATIENCE);
        let mut listener = PgListener::connect_with(&one.connect_with(options).await?).await?;
        listener.listen(CHANNEL).await?;
        loop {
            // None: the connection was lost.
            if listener.try_recv().await?.is_none() {
                self.distrust();
                return Ok(());
            }
            self.work.notify_waiters();
        }
    }
}
