//! Shadow comparisons: each response that was published with another one beside it is judged against that one.
//!
//! - The judge sees the conversation before the turn and the two responses in random order; by default it is asked
//!   again with the order swapped, and a winner that depends on the order is a tie.
//! - One verdict per (turn, rubric version). The organization's pinned version selects the rubric, and only its
//!   verdicts are shown or counted: a change of the pin hides the others at once.
//! - A session's verdicts come to one preference, kept in the transactions that change them.

mod combine;
pub mod http;
pub mod job;
pub mod judging;
pub mod sql;

use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::judging::Origin;
use crate::organization;
use base::owner::{OrgId, UserId};
use judge::BetterRequest;
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;

pub use combine::{ShadowPreference, preference};

/// Evaluation name of a regeneration that compares again instead of judging success again.
pub const SHADOW_COMPARISON: &str = "shadow_comparison";

/// Verdicts older than this are not listed as recent.
const LOOKBACK: i64 = 30 * 86_400;

/// The judge's verdict on a pair.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ShadowComparisonOutput {
    pub better_request: BetterRequest,
    pub is_significantly_better: bool,
    pub comparison_reason: String,
}

/// A stored verdict on one turn.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ShadowComparisonVerdict {
    pub verdict_id: i64,
    pub interaction_id: String,
    pub session_id: String,
    pub agent_version: String,
    /// True if the service's response was response 1 of the first call.
    pub service_is_request_1: bool,
    pub output: ShadowComparisonOutput,
    pub judge_prompt_version: String,
    /// Time of the turn (RFC 3339, UTC): a verdict keeps its place when it is judged again.
    pub created_at: String,
    pub user_id: UserId,
    /// True if both orders gave the same answer; null when one order was judged.
    pub order_consistent: Option<bool>,
    /// Time of the judgement (RFC 3339, UTC).
    pub judged_at: String,
    pub judge: String,
    pub rubric_hash: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_usd: Option<f64>,
    pub latency_ms: i64,
    /// Calls made for this verdict.
    pub attempts: i64,
}

/// A verdict to be written.
#[derive(Clone, Debug)]
pub struct NewComparison {
    pub interaction_id: i64,
    pub agent_version: String,
    /// The turn's time.
    pub created_at: i64,
    pub service_is_request_1: bool,
    pub better_request: BetterRequest,
    pub is_significantly_better: bool,
    pub comparison_reason: String,
    pub order_consistent: Option<bool>,
    pub origin: Origin,
}

/// The newest verdicts of the pinned rubric, of the last 30 days.
pub async fn recent(app: &App, org_id: &OrgId, limit: i64) -> Result<Vec<ShadowComparisonVerdict>> {
    let input = (org_id.to_owned(), app.clock.now() - LOOKBACK, limit);
    app.db
        .read_standby("evaluation.recent_shadow", input, |tx, (org_id, since, limit)| {
            Box::pin(async move {
                let version = pinned(tx, org_id).await?;
                sql::recent(tx, org_id, &version, *since, *limit).await
            })
        })
        .await
}

/// The rubric version whose verdicts count.
pub async fn pinned(tx: &mut Tx, org_id: &OrgId) -> Result<String> {
    let config = organization::config_in(tx, org_id).await?.config;
    Ok(config.shadow_comparison_judge_prompt_version)
}

/// Writes verdicts on turns of a session and sums the session up. The session must be held; turns that were deleted
/// meanwhile are left out.
pub async fn write(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    verdicts: &[NewComparison],
    now: i64,
) -> Result<()> {
    for new in verdicts {
        sql::put(tx, subject, session_id, new, now).await?;
    }
    let versions: std::collections::BTreeSet<&str> =
        verdicts.iter().map(|new| new.origin.prompt_version.as_str()).collect();
    for version in versions {
        settle(tx, subject, session_id, version).await?;
    }
    Ok(())
}

/// After turns were deleted: their verdicts go, and the session is summed up anew.
pub async fn turns_deleted(tx: &mut Tx, subject: &SubjectWrite, session_id: &str) -> Result<()> {
    for version in sql::delete_orphans(tx, subject, session_id).await? {
        settle(tx, subject, session_id, &version).await?;
    }
    Ok(())
}

async fn settle(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    version: &str,
) -> Result<()> {
    let scores = sql::scores(tx, subject, session_id, version).await?;
    match preference(&scores) {
        Some(preference) => sql::put_session(tx, subject, session_id, version, preference).await,
        None => sql::delete_session(tx, subject, session_id, version).await,
    }
}
