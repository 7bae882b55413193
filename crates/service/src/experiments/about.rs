//! Hypothesis, owner and notes of an experiment: given at its start, and changed at any time.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::{part, sql};
use crate::app::App;
use base::owner::OrgId;
use storage::error::{Error, Result};

/// The purpose of an experiment. Empty where nothing was said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct ExperimentAbout {
    /// The expectation that it tests.
    pub hypothesis: String,
    /// The people who answer for it.
    pub owner: String,
    pub notes: String,
}

part::shown_by_name!(ExperimentAbout);

/// The parts to change; what is absent stays.
pub struct AboutChange {
    pub hypothesis: Option<String>,
    pub owner: Option<String>,
    pub notes: Option<String>,
}

pub async fn change(
    app: &Arc<App>,
    org_id: &OrgId,
    experiment_id: &str,
    change: AboutChange,
) -> Result<ExperimentAbout> {
    let input = (org_id.to_owned(), experiment_id.to_owned(), change);
    app.db
        .write("experiments.about", input, |tx, (org_id, experiment_id, change)| {
            Box::pin(async move {
                let changed = sql::change_about(tx, org_id, experiment_id, change).await?;
                changed.ok_or_else(|| Error::not_found("experiment"))
            })
        })
        .await
}
