//! Aggregation: what several people taught independently is proposed for all.
//!
//! - Per agent version, current user playbooks that say the same are put together. From a single person nothing is
//!   proposed, however often they say it.
//! - What is proposed is a *pending* agent playbook: people approve, edit or reject it. Its text is one of the members'
//!   own, in words that enough of them used, and carries nothing of one of them ([`personal`]); else nothing is proposed.
//! - Pending playbooks that say the same are one: the oldest takes over the sources of the others, which are archived
//!   ([`duplicates`]).
//! - Links to the sources, and with them the count of people, belong to those people and go with them. The playbook
//!   stays.
//! - What was rejected does not come back unchanged ([`crate::learnings::rejections`]).
//! - All proposals of a run and the end of its job are one transaction: a crash repeats the run and duplicates nothing.

mod clusters;
mod duplicates;
mod job;
mod personal;

pub use clusters::Member;
pub use job::AggregatePlaybooks;
pub use personal::{People, PersonTexts};

use std::sync::Arc;

use crate::app::App;
use crate::learnings::user_playbooks;
use base::owner::OrgId;
use storage::error::Result;

/// Has the user playbooks of an agent version looked at now.
pub async fn start(app: &Arc<App>, org_id: &OrgId, agent_version: String) -> Result<()> {
    let input = (app.clone(), org_id.clone(), agent_version);
    app.db
        .write("learnings.start_aggregation", input, |tx, (app, org_id, agent_version)| {
            Box::pin(user_playbooks::announce_change(tx, app, org_id, agent_version))
        })
        .await?;
    app.db.announce_work().await;
    Ok(())
}
