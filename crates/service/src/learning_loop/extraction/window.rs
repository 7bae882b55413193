//! The next window of a stream, and how it is shown.

use std::collections::BTreeMap;

use crate::app::App;
use crate::judging;
use crate::learning_loop::sql::streams::{self, Stream};
use crate::organization::{self, OrganizationConfig};
use crate::sessions::{self, Arrival};
use judge::{self, Turn};
use storage::error::Result;
use storage::jobs::Claim;

/// Turns that a job reads, with the configuration, in one snapshot.
pub struct Window {
    pub config: OrganizationConfig,
    /// Read position of the stream before this window.
    pub stream: Stream,
    /// In the order of arrival.
    pub arrivals: Vec<Arrival>,
}

/// Reads the next window of the job's person; empty when there is nothing new.
pub async fn load(app: &App, job: &Claim) -> Result<Window> {
    let user_id = job.user_id.clone().unwrap_or_default();
    let input = (job.org_id.clone(), user_id);
    app.db
        .read("learnings.window", input, |tx, (org_id, user_id)| {
            Box::pin(async move {
                let config = organization::config_in(tx, org_id).await?.config;
                let stream = streams::find(tx, org_id, user_id).await?.unwrap_or_default();
                let (after, most) = (stream.cursor, config.learning.window);
                let mut arrivals = sessions::arrivals(tx, org_id, user_id, after, most).await?;
                let is_new = |a: &Arrival| a.interaction.interaction_id > stream.seen;
                if !config.learning.enabled || !arrivals.iter().any(is_new) {
                    arrivals.clear();
                }
                Ok(Window { config, stream, arrivals })
            })
        })
        .await
}

impl Window {
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = i64> {
        self.arrivals.iter().map(|arrival| arrival.interaction.interaction_id)
    }

    pub fn is_full(&self) -> bool {
        i64::try_from(self.arrivals.len()).is_ok_and(|n| n >= self.config.learning.window)
    }

    /// Read position of the stream after this window. A full one leaves its last turns to the next as
    /// context.
    pub fn after(&self) -> Stream {
        let seen = self.ids().next_back().unwrap_or(self.stream.seen);
        let stride = usize::try_from(self.config.learning.stride).unwrap_or(1).max(1);
        let cursor = match self.is_full() {
            true => self.ids().nth(stride - 1).unwrap_or(seen),
            false => seen,
        };
        Stream { cursor, seen, windows: self.stream.windows + 1 }
    }

    /// Turns of this window that the next one begins with.
    pub fn overlap(&self) -> i64 {
        let cursor = self.after().cursor;
        i64::try_from(self.ids().filter(|id| *id > cursor).count()).unwrap_or(0)
    }

    pub fn arrival(&self, interaction_id: i64) -> Option<&Arrival> {
        self.arrivals.iter().find(|a| a.interaction.interaction_id == interaction_id)
    }

    /// The turns as a judge sees them, session by session, those of a session in the order of arrival.
    pub fn shown(&self) -> judge::Window {
        let mut order: Vec<&str> = Vec::new();
        let mut by_session: BTreeMap<&str, Vec<Turn>> = BTreeMap::new();
        for arrival in &self.arrivals {
            let session = arrival.interaction.session_id.as_str();
            if !by_session.contains_key(session) {
                order.push(session);
            }
            by_session.entry(session).or_default().push(judging::as_turn(&arrival.interaction));
        }
        let experts = self.arrivals.iter().map(|arrival| &arrival.interaction);
        let experts = experts.filter(|turn| !turn.expert_content.trim().is_empty());
        judge::Window {
            sessions: order.iter().map(|session| by_session[session].len()).collect(),
            experts: experts.map(|t| (t.interaction_id, t.expert_content.clone())).collect(),
            turns: order.iter().flat_map(|session| by_session[session].clone()).collect(),
        }
    }
}
