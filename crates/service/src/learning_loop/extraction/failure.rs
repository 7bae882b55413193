//! A window that could not be read. Nothing is lost: the stream waits, and says why.
//!
//! A provider that is away or paused costs nothing but time. A window that is at fault itself (the answer is
//! malformed, refused, cut off) is tried five times, then once a day; after the third day it is left behind, on
//! record, and the stream goes on. `override_learning_stall` in a publish has it tried at once.

use std::sync::Arc;

use serde_json::json;

use super::StreamJob;
use super::saving::{self, Extracted};
use super::window::Window;
use crate::app::App;
use crate::judging::{self, Origin};
use judge::JudgeError;
use storage::error::Result;
use storage::jobs::{self, Claim, GoOn, Outcome};

/// Failures of its own before a stream stalls.
const TRIES: i64 = 5;
/// Times that it stalls before the window is left behind.
const STALLS: i64 = 3;
const STALL_SECONDS: i64 = 86_400;
const PAUSED_SECONDS: i64 = 60;
/// Prefix of a stalled stream's reason.
pub const STALLED: &str = "stalled: ";

pub async fn after(
    app: &Arc<App>,
    job: &Claim,
    window: Window,
    error: &JudgeError,
) -> Result<Outcome> {
    metrics::counter!("evenhand_extraction_failures_total", "code" => error.code()).increment(1);
    let StreamJob { mut failures, mut stalls, .. } = StreamJob::of(&job.payload)?;
    let is_paused = matches!(error, JudgeError::Blocked { .. });
    if !is_paused {
        failures += 1;
    }
    let asked = error.after().map_or(0, |after| i64::try_from(after.as_secs()).unwrap_or(3600));
    let pause = judging::pause(failures, app.ids.fraction()).max(asked + 1);
    let (wait, reason) = if is_paused {
        (PAUSED_SECONDS, error.to_string())
    } else if error.is_temporary() || failures < TRIES {
        (pause, error.to_string())
    } else {
        (failures, stalls) = (0, stalls + 1);
        if stalls >= STALLS {
            let passed_over = Some(error.to_string());
            let extracted =
                Extracted { window, placed: Vec::new(), origin: Origin::default(), passed_over };
            return saving::save(app, job, extracted).await;
        }
        (STALL_SECONDS, format!("{STALLED}{error}"))
    };
    let again_at = app.clock.now() + wait;
    let input = (job.clone(), again_at, reason, failures, stalls);
    app.db
        .write(
            "learnings.put_off_window",
            input,
            |tx, (job, again_at, reason, failures, stalls)| {
                Box::pin(async move {
                    let held = jobs::lock_held(tx, job).await?;
                    let StreamJob { flush, .. } = StreamJob::of(&held.payload)?;
                    let (failures, stalls) = (*failures, *stalls);
                    let payload = json!(StreamJob { flush, failures, stalls });
                    let (run_at, weight) = (*again_at, held.weight);
                    jobs::go_on(tx, job, &GoOn { run_at, weight, payload, error: Some(reason) })
                        .await
                })
            },
        )
        .await?;
    Ok(Outcome::Closed)
}
