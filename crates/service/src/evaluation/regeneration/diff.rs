//! Judge diff: what another version of the rubric would say, beside what the live one says. Live numbers stay
//! untouched until the candidate is promoted.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::replay as regeneration;
use super::replay::{Progress, RegenerationStatus};
use crate::app::App;
use crate::evaluation::review::agreement::Number;
use crate::evaluation::{learned, sql};
use crate::organization;
use base::owner::{OrgId, UserId};
use stats::agreement::mcnemar;
use storage::error::{Code, Error, Result};

/// Flips that are listed.
const LISTED: usize = 200;

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JudgeDiff {
    pub progress: Progress,
    /// Sessions with both verdicts.
    pub compared: u64,
    /// Sessions without a live verdict: nothing to compare with.
    pub without_live_verdict: u64,
    pub both_success: u64,
    pub both_failure: u64,
    pub flips_to_success: u64,
    pub flips_to_failure: u64,
    pub live_success_rate: Option<f64>,
    pub candidate_success_rate: Option<f64>,
    /// McNemar's test: do flips go one way more than the other? The value is the exact p.
    pub mcnemar_p: Number,
    pub mcnemar_chi_square: Option<f64>,
    /// At most 200.
    pub flips: Vec<FlipView>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FlipView {
    pub user_id: UserId,
    pub session_id: String,
    pub live_is_success: bool,
    pub candidate_is_success: bool,
    /// The candidate's, when it says failure.
    pub failure_reason: String,
}

/// Progress of a judge diff, and its flips so far.
pub async fn diff(app: &App, org_id: &OrgId, job_id: &str) -> Result<JudgeDiff> {
    let input = (org_id.to_owned(), job_id.to_owned());
    let (progress, pairs) = app
        .db
        .read("evaluation.judge_diff", input, |tx, (org_id, job_id)| {
            Box::pin(async move {
                let found = sql::find_regeneration(tx, org_id, job_id).await?;
                let found = found.filter(|r| r.candidate_version.is_some());
                let found = found.ok_or_else(|| Error::not_found("judge diff"))?;
                let progress = regeneration::progress_in(tx, found).await?;
                Ok((progress, sql::candidate_flips(tx, org_id, job_id).await?))
            })
        })
        .await?;
    let (mut both_success, mut both_failure, mut to_success, mut to_failure) = (0, 0, 0, 0);
    let (mut without, mut flips) = (0, Vec::new());
    for pair in pairs {
        let Some(live) = pair.live_success else {
            without += 1;
            continue;
        };
        match (live, pair.is_success) {
            (true, true) => both_success += 1,
            (false, false) => both_failure += 1,
            (false, true) => to_success += 1,
            (true, false) => to_failure += 1,
        }
        if live != pair.is_success && flips.len() < LISTED {
            flips.push(FlipView {
                user_id: pair.user_id,
                session_id: pair.session_id,
                live_is_success: live,
                candidate_is_success: pair.is_success,
                failure_reason: pair.failure_reason,
            });
        }
    }
    let compared: u64 = both_success + both_failure + to_success + to_failure;
    #[allow(clippy::cast_precision_loss)] // a number of sessions
    let share = |count: u64| (compared > 0).then(|| count as f64 / compared as f64);
    let test = mcnemar(to_success, to_failure);
    Ok(JudgeDiff {
        progress,
        compared,
        without_live_verdict: without,
        both_success,
        both_failure,
        flips_to_success: to_success,
        flips_to_failure: to_failure,
        live_success_rate: share(both_success + to_failure),
        candidate_success_rate: share(both_success + to_success),
        mcnemar_p: match test {
            Ok(test) => Number { value: Some(test.exact_p), ..Number::default() },
            Err(reason) => Number { null_reason: Some(reason.as_str()), ..Number::default() },
        },
        mcnemar_chi_square: test.ok().map(|test| test.chi_square),
        flips,
    })
}

/// Makes the candidate the rubric, or the model, that judges from now on; gives the new version of the configuration. Verdicts
/// that are there stay until they are regenerated.
pub async fn promote(
    app: &Arc<App>,
    org_id: &OrgId,
    actor: &str,
    job_id: &str,
) -> Result<(String, i64)> {
    let found = diff(app, org_id, job_id).await?;
    if found.progress.status != RegenerationStatus::Completed {
        return Err(Error::refused(
            Code::DiffNotComplete,
            "Only a completed judge diff can be promoted.",
        ));
    }
    let version = found.progress.candidate_version.unwrap_or_default();
    let changed = if learned::number_of(&version).is_some() {
        organization::prefer_learned(app, org_id, actor).await?
    } else {
        organization::pin_session_success(app, org_id, actor, &version).await?
    };
    Ok((version, changed.version))
}
