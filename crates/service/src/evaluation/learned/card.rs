//! The published account of the learned judge: how far it is from being trained, and what the model in use is worth.

use serde::Serialize;
use utoipa::ToSchema;

use super::training::Comparison;
use super::{sql, truth, version};
use crate::app::App;
use crate::organization::{self, JudgeKind};
use base::owner::OrgId;
use judge::learned::{FEWEST_LABELS, FEWEST_OF_A_KIND, Model, ReportCard};
use storage::error::Result;

/// The learned judge of an organization.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LearnedJudge {
    /// `learned/<number>`; null until one is trained.
    pub version: Option<String>,
    pub trained_at: Option<i64>,
    /// It judges the sessions that become due: it is trained, and first in `judge.order` of those available.
    pub is_judging: bool,
    pub ground_truth: GroundTruthProgress,
    /// null until one is trained.
    pub report_card: Option<Report>,
    /// The last comparison of a newer model with the one in use; null before there was one.
    pub comparison: Option<Comparison>,
}

/// Sessions with a label or an outcome, and how many a model takes.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct GroundTruthProgress {
    pub sessions: usize,
    pub labels: usize,
    pub successes: usize,
    pub failures: usize,
    pub needed: usize,
    pub needed_of_each: usize,
}

/// Report card of a model. Every number is from predictions of sessions whose users it was not trained on.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Report {
    pub sessions: usize,
    pub users: usize,
    pub success_share: f64,
    /// The chance that a success gets a higher probability than a failure.
    pub auc: f64,
    /// Cohen's κ of what it decides.
    pub kappa: Option<f64>,
    #[schema(value_type = Option<Vec<f64>>)]
    pub kappa_ci95: Option<(f64, f64)>,
    pub kappa_without_abstaining: Option<f64>,
    /// The share of sessions it decides.
    pub coverage: f64,
    pub success_precision: Option<f64>,
    pub failure_precision: Option<f64>,
    /// Mean squared error of the probabilities.
    pub brier: f64,
    pub calibration: Vec<Calibrated>,
    /// κ at each coverage, surest sessions first.
    pub curve: Vec<Covered>,
    /// Words and tools that speak most for success, and against it.
    pub for_success: Vec<Telling>,
    pub against_success: Vec<Telling>,
}

/// Sessions with probabilities from `at_least` to the next line's.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Calibrated {
    pub at_least: f64,
    pub sessions: usize,
    pub mean_probability: f64,
    pub success_share: f64,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Covered {
    pub coverage: f64,
    pub kappa: f64,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Telling {
    pub name: String,
    pub weight: f64,
}

impl From<&ReportCard> for Report {
    fn from(card: &ReportCard) -> Self {
        let telling = |list: &[(String, f64)]| {
            let one =
                |(name, weight): &(String, f64)| Telling { name: name.clone(), weight: *weight };
            list.iter().map(one).collect()
        };
        let calibration = card.calibration.iter().map(|bin| Calibrated {
            at_least: bin.from,
            sessions: bin.sessions,
            mean_probability: bin.mean_probability,
            success_share: bin.success_share,
        });
        let curve = card.curve.iter();
        let curve = curve.map(|point| Covered { coverage: point.coverage, kappa: point.kappa });
        Report {
            sessions: card.labels,
            users: card.users,
            success_share: card.success_share,
            auc: card.auc,
            kappa: card.kappa,
            kappa_ci95: card.kappa_interval,
            kappa_without_abstaining: card.kappa_without_abstaining,
            coverage: card.coverage,
            success_precision: card.success_precision,
            failure_precision: card.failure_precision,
            brier: card.brier,
            calibration: calibration.collect(),
            curve: curve.collect(),
            for_success: telling(&card.for_success),
            against_success: telling(&card.against_success),
        }
    }
}

/// State of the organization's learned judge.
pub async fn card(app: &App, org_id: &OrgId) -> Result<LearnedJudge> {
    let (stored, text, known, config) = app
        .db
        .read("evaluation.learned_judge", org_id.clone(), |tx, org_id| {
            Box::pin(async move {
                let stored = sql::current(tx, org_id).await?;
                let text = match &stored {
                    Some(stored) => sql::model_text(tx, org_id, stored.number).await?,
                    None => None,
                };
                let known = truth::known(tx, org_id).await?;
                Ok((stored, text, known, organization::config_in(tx, org_id).await?.config))
            })
        })
        .await?;
    let successes = known.iter().filter(|(truth, _)| truth.is_success).count();
    let labels = known.iter().filter(|(_, source)| *source == truth::TruthSource::Label).count();
    let model = text.as_deref().and_then(Model::decode);
    let available = |kind: &&JudgeKind| match kind {
        JudgeKind::Llm => !app.judge.is_offline(),
        JudgeKind::Learned => model.is_some(),
        JudgeKind::Rules => true,
    };
    let first = config.judge.order.iter().find(available);
    let comparison = stored.as_ref().and_then(|stored| stored.comparison.as_deref());
    Ok(LearnedJudge {
        version: stored.as_ref().map(|stored| version(stored.number)),
        trained_at: stored.as_ref().map(|stored| stored.trained_at),
        is_judging: first == Some(&JudgeKind::Learned),
        ground_truth: GroundTruthProgress {
            sessions: known.len(),
            labels,
            successes,
            failures: known.len() - successes,
            needed: FEWEST_LABELS,
            needed_of_each: FEWEST_OF_A_KIND,
        },
        report_card: model.as_ref().map(|model| Report::from(&model.report)),
        comparison: comparison.and_then(|text| serde_json::from_str(text).ok()),
    })
}
