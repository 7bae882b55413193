//! The models in memory, one for each organization that has one: decoded once, and again when another takes its place.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::sql;
use crate::app::App;
use crate::organization::{JudgeKind, OrganizationConfig};
use base::owner::OrgId;
use judge::learned::{LearnedJudge, Model};
use judge::{Grader, Limits, PriceTable};
use storage::error::Result;

/// Judgements of a model are made here and cost nothing: only the limit of memory applies.
const AT_A_TIME: usize = 1000;

#[derive(Default)]
pub struct Models(Mutex<HashMap<OrgId, (i64, Arc<Grader>)>>);

impl Models {
    fn cached(&self, org_id: &OrgId, number: i64) -> Option<Arc<Grader>> {
        let models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        models.get(org_id).filter(|(there, _)| *there == number).map(|(_, judge)| judge.clone())
    }

    fn keep(&self, org_id: &OrgId, number: i64, judge: &Arc<Grader>) {
        let mut models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        models.insert(org_id.clone(), (number, judge.clone()));
    }

    /// Drops the organization's model: it is not the one in use any more.
    pub fn forget(&self, org_id: &OrgId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(org_id);
    }

    /// The judge of the model with this number; nothing if it is gone, or of a form this program does not read.
    pub async fn judge(app: &App, org_id: &OrgId, number: i64) -> Result<Option<Arc<Grader>>> {
        let models = app.state::<Models>();
        if let Some(judge) = models.cached(org_id, number) {
            return Ok(Some(judge));
        }
        let input = (org_id.clone(), number);
        let text = app
            .db
            .lookup("evaluation.load_model", input, |tx, (org_id, number)| {
                Box::pin(sql::model_text(tx, org_id, *number))
            })
            .await?;
        let Some(model) = text.as_deref().and_then(Model::decode) else { return Ok(None) };
        // Its vectors would be missing: until another is trained, the next judge of the order judges.
        if model.embedder().is_some() && model.embedder() != app.embedder.model() {
            return Ok(None);
        }
        let judge = LearnedJudge::new(model, number.unsigned_abs(), app.embedder.clone());
        let limits = Limits { concurrency: AT_A_TIME, ..Limits::default() };
        let prices = PriceTable::default();
        let (clock, ids) = (app.clock.clone(), app.ids.clone());
        let judge = Grader::new(Arc::new(judge), limits, prices, usize::MAX, clock, ids);
        let judge = Arc::new(judge);
        models.keep(org_id, number, &judge);
        Ok(Some(judge))
    }

    /// The first judge of the organization's order that is available. `model` is the number of its model in use.
    pub async fn choose(
        app: &App,
        org_id: &OrgId,
        config: &OrganizationConfig,
        model: Option<i64>,
    ) -> Result<Arc<Grader>> {
        for kind in &config.judge.order {
            match kind {
                JudgeKind::Llm if !app.judge.is_offline() => return Ok(app.judge.clone()),
                JudgeKind::Learned => {
                    if let Some(number) = model
                        && let Some(judge) = Self::judge(app, org_id, number).await?
                    {
                        return Ok(judge);
                    }
                }
                JudgeKind::Rules if app.judge.is_offline() => return Ok(app.judge.clone()),
                JudgeKind::Rules => return Ok(app.rules.clone()),
                JudgeKind::Llm => {}
            }
        }
        // An order that names nothing available: rules are always there.
        Ok(if app.judge.is_offline() { app.judge.clone() } else { app.rules.clone() })
    }
}
