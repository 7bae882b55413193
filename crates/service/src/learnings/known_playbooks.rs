//! The indexes of agent playbooks that this process has in memory, one for each organization that is searched.
//!
//! The database counts an organization's changes in the transactions that make them. A search reads that count with
//! what it ranks; when it is ahead of the index, the index is brought up to it first. So a write is found by the next
//! search on every replica, and a search without one in between reads nothing of the organization but the count.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::playbook_index::PlaybookIndex;
use super::sql;
use crate::app::App;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;

#[derive(Default)]
pub struct KnownPlaybooks {
    organizations: Mutex<HashMap<OrgId, Arc<OrganizationIndex>>>,
}

#[derive(Default)]
struct OrganizationIndex {
    index: Mutex<Arc<PlaybookIndex>>,
    /// Searches that find the index behind wait for the first of them.
    updating: tokio::sync::Mutex<()>,
}

/// The organization's index at `version` or a newer one.
pub async fn at(app: &App, org_id: &OrgId, version: i64) -> Result<Arc<PlaybookIndex>> {
    let known = app.state::<KnownPlaybooks>().of(org_id);
    let index = known.index();
    if index.version >= version {
        return Ok(index);
    }
    let _alone = known.updating.lock().await;
    let index = known.index();
    if index.version >= version {
        return Ok(index);
    }
    let model = app.embedder.model().map(str::to_owned);
    let input = (org_id.to_owned(), model, index);
    let index = app
        .db
        .read("learnings.index_playbooks", input, |tx, (org_id, model, index)| {
            Box::pin(newer(tx, org_id, model.as_deref(), index))
        })
        .await?;
    let index = Arc::new(index);
    *known.index.lock().unwrap_or_else(PoisonError::into_inner) = index.clone();
    Ok(index)
}

/// The next index after `index`.
async fn newer(
    tx: &mut Tx,
    org_id: &OrgId,
    model: Option<&str>,
    index: &PlaybookIndex,
) -> Result<PlaybookIndex> {
    let mut next = if index.is_worn() { PlaybookIndex::default() } else { index.clone() };
    let missing = next.keep(sql::agent_playbooks::traits(tx, org_id).await?);
    if !missing.is_empty() {
        for (number, terms) in sql::agent_playbooks::terms(tx, org_id, &missing).await? {
            next.add_terms(number, &terms);
        }
    }
    if let Some(model) = model {
        let vectors = sql::vectors::newer_than(tx, org_id, model, next.version).await?;
        for (number, revision, vector) in vectors {
            next.set_vector(number, revision, vector);
        }
    }
    let counted = sql::organization_scope(tx, org_id).await?;
    next.version = counted.map_or(0, |(_, version)| version);
    Ok(next)
}

impl KnownPlaybooks {
    fn of(&self, org_id: &OrgId) -> Arc<OrganizationIndex> {
        let mut organizations = self.organizations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = organizations.get(org_id) {
            return known.clone();
        }
        organizations.entry(org_id.to_owned()).or_default().clone()
    }
}

impl OrganizationIndex {
    fn index(&self) -> Arc<PlaybookIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
