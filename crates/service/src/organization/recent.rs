//! Configurations as they were a moment ago, for what happens on every request.
//!
//! A change made by this process is seen at once, one made elsewhere within `FRESH_SECONDS`. Use it for what may
//! lag so little; what must not reads [`super::config_in`] in its own transaction.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{OrganizationConfig, rules};
use crate::app::App;
use base::owner::OrgId;
use storage::error::Result;

const FRESH_SECONDS: i64 = 5;
/// Organizations remembered; more than that are forgotten together.
const REMEMBERED: usize = 10_000;

#[derive(Default)]
pub struct RecentConfigs {
    known: Mutex<HashMap<OrgId, (i64, Arc<OrganizationConfig>)>>,
}

impl RecentConfigs {
    pub fn forget(&self, org_id: &OrgId) {
        self.lock().remove(org_id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OrgId, (i64, Arc<OrganizationConfig>)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The configuration in force, or the one of at most `FRESH_SECONDS` ago.
pub async fn recent(app: &App, org_id: &OrgId) -> Result<Arc<OrganizationConfig>> {
    let now = app.clock.now();
    if let Some((read_at, config)) = app.state::<RecentConfigs>().lock().get(org_id)
        && (*read_at..*read_at + FRESH_SECONDS).contains(&now)
    {
        return Ok(config.clone());
    }
    let config = Arc::new(rules::get(app, org_id).await?.config);
    let mut known = app.state::<RecentConfigs>().lock();
    if known.len() >= REMEMBERED {
        known.clear();
    }
    known.insert(org_id.to_owned(), (now, config.clone()));
    Ok(config)
}
