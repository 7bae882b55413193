//! Settling: a playbook that is called `helps` reaches nearly everybody from then on, and goes on being watched.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::sql;
use crate::app::App;
use crate::learnings::trials;
use crate::organization;
use base::owner::OrgId;
use stats::learning_trials::TrialState;
use storage::error::Result;
use storage::jobs::Recurring;

pub struct SettleTrials;

impl Recurring<App> for SettleTrials {
    const KIND: &'static str = "settle_trials";
    const EVERY_SECONDS: i64 = 3600;

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let organizations = app
                .db
                .read("trials.organizations", (), |tx, ()| Box::pin(sql::organizations(tx)))
                .await?;
            for org_id in organizations {
                settle(app, &org_id).await?;
            }
            Ok(())
        })
    }
}

async fn settle(app: &Arc<App>, org_id: &OrgId) -> Result<()> {
    let config = organization::recent(app, org_id).await?;
    if !config.learning_trials.enabled {
        return Ok(());
    }
    let listed = super::list(app, org_id, super::EffectsFilter::default()).await?;
    let helps = listed.into_iter().map(|listed| listed.effect);
    let helps = helps.filter(|effect| effect.state == TrialState::Helps && !effect.is_settled);
    let helps: Vec<i64> = helps.map(|effect| effect.agent_playbook_id).collect();
    if helps.is_empty() {
        return Ok(());
    }
    trials::settle(app, org_id, &config.learning_trials, helps).await
}
