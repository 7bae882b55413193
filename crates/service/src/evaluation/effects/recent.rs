//! The newest effects of organizations, kept: over many users they take seconds to compute.
//!
//! Those of few users are computed anew whenever something changed; those of many may be a minute old, but never hold
//! somebody who was erased through this process since.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{AllEffects, effects, sql};
use crate::app::App;
use crate::learnings::trials;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;

/// Users, counted once per playbook, whose effects are computed anew whenever something changed.
const FEW_USERS: u64 = 20_000;
const FRESH: Duration = Duration::from_secs(60);
/// Effects are kept of so many organizations and sources.
const REMEMBERED: usize = 64;

/// Organization and source of sessions.
type Key = (OrgId, Option<String>);

#[derive(Default)]
pub struct RecentEffects(Mutex<HashMap<Key, Kept>>);

struct Kept {
    stamp: Stamp,
    computed_at: Instant,
    is_of_few_users: bool,
    effects: Arc<AllEffects>,
}

/// Changes when a verdict or an epoch does, and when this process records what was found.
#[derive(Clone, PartialEq)]
struct Stamp {
    stored: sql::EffectsVersion,
    recorded: u64,
}

impl Kept {
    fn serves(&self, stamp: &Stamp) -> bool {
        self.stamp == *stamp || !self.is_of_few_users && self.computed_at.elapsed() < FRESH
    }
}

/// Effects of all playbooks that are or were on trial; only sessions of a source count when one is given.
pub async fn in_transaction(
    app: &App,
    tx: &mut Tx,
    org_id: &OrgId,
    source: Option<String>,
) -> Result<Arc<AllEffects>> {
    let recorded = trials::recorded(app);
    let stamp = Stamp { stored: sql::stored(tx, org_id).await?, recorded };
    let recent = app.state::<RecentEffects>();
    let key = (org_id.to_owned(), source);
    {
        let recent = recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = recent.get(&key).filter(|kept| kept.serves(&stamp)) {
            return Ok(kept.effects.clone());
        }
    }
    let computed_at = Instant::now();
    let trials = sql::trials(tx, org_id, key.1.as_deref()).await?;
    let as_of = app.clock.now();
    let effects = Arc::new(AllEffects { effects: effects(&trials, as_of), as_of });
    let users: u64 = trials.iter().map(|trial| trial.users()).sum();
    let kept =
        Kept { stamp, computed_at, is_of_few_users: users < FEW_USERS, effects: effects.clone() };
    let mut recent = recent.0.lock().unwrap_or_else(PoisonError::into_inner);
    if recent.len() >= REMEMBERED && !recent.contains_key(&key) {
        recent.clear();
    }
    recent.insert(key, kept);
    Ok(effects)
}

/// Drops what is kept of an organization: somebody was erased.
pub fn forget(app: &App, org_id: &OrgId) {
    let recent = app.state::<RecentEffects>();
    let mut recent = recent.0.lock().unwrap_or_else(PoisonError::into_inner);
    recent.retain(|(of, _), _| of != org_id);
}

/// Organizations that have or had playbooks on trial.
pub async fn organizations(app: &App) -> Result<Vec<OrgId>> {
    app.db.read("trials.organizations", (), |tx, ()| Box::pin(sql::organizations(tx))).await
}
