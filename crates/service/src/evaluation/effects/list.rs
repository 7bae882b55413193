//! Effects with the playbooks that they are of.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::sql::{self, NamedPlaybook};
use super::{AllEffects, Effect};
use crate::app::App;
use crate::learnings::PlaybookStatus;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;

/// An effect with the playbook that it is of.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListedEffect {
    #[serde(flatten)]
    pub effect: Effect,
    pub playbook_name: String,
    pub agent_version: String,
    /// Null if the playbook was deleted.
    pub playbook_status: Option<PlaybookStatus>,
    pub content: String,
}

/// Effects, and the playbooks that they are of.
pub struct NamedEffects {
    pub all: Arc<AllEffects>,
    named: HashMap<i64, NamedPlaybook>,
}

impl NamedEffects {
    pub async fn read(
        app: &App,
        tx: &mut Tx,
        org_id: &OrgId,
        source: Option<String>,
    ) -> Result<Self> {
        let all = super::in_transaction(app, tx, org_id, source).await?;
        Ok(NamedEffects { all, named: sql::playbooks(tx, org_id).await? })
    }

    /// In the order of the effects.
    pub fn listed(&self) -> impl Iterator<Item = ListedEffect> {
        self.all.effects.iter().map(|effect| self.name(effect))
    }

    pub fn of(&self, agent_playbook_id: i64) -> Option<ListedEffect> {
        self.all.of(agent_playbook_id).map(|effect| self.name(effect))
    }

    fn name(&self, effect: &Effect) -> ListedEffect {
        let playbook = self.named.get(&effect.agent_playbook_id).cloned().unwrap_or_default();
        ListedEffect {
            effect: effect.clone(),
            playbook_name: playbook.playbook_name,
            agent_version: playbook.agent_version,
            playbook_status: playbook.playbook_status,
            content: playbook.content,
        }
    }
}

/// Effects of all playbooks that are or were on trial; only sessions of a source count when one is given.
pub async fn list(app: &Arc<App>, org_id: &OrgId, source: Option<String>) -> Result<NamedEffects> {
    let input = (app.clone(), org_id.to_owned(), source);
    app.db
        .read_standby("trials.effects", input, |tx, (app, org_id, source)| {
            Box::pin(NamedEffects::read(app, tx, org_id, source.clone()))
        })
        .await
}
