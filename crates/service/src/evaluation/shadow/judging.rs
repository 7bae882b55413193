//! Asking the judge about one pair, in one order or in both.

use super::combine::{Combined, combine};
use super::{NewComparison, SHADOW_COMPARISON};
use crate::app::App;
use crate::evaluation::results::grading::LoadedSession;
use crate::sessions::Interaction;
use judge::prompts::{self, Kind, Rubric};
use judge::{Graded, JudgeError, Provenance, verdicts::ShadowVerdict};
use storage::error::{Error, Result};

/// The rubric that the organization pinned. It was checked when it was set; a server that no longer has it must not
/// judge by another under its name.
pub fn rubric(material: &LoadedSession) -> Result<&'static Rubric> {
    let version = &material.config.shadow_comparison_judge_prompt_version;
    prompts::load(Kind::ShadowComparison, version).ok_or_else(|| {
        Error::Internal(format!("this server has no version {version} of {SHADOW_COMPARISON}"))
    })
}

/// True if a turn is a response with a shadow response.
pub fn is_pair(turn: &Interaction) -> bool {
    !turn.is_user() && !turn.shadow_content.trim().is_empty()
}

/// The places of the session's pairs among its turns.
pub fn pairs(material: &LoadedSession) -> Vec<usize> {
    let turns = material.transcript.interactions.iter().enumerate();
    turns.filter(|(_, turn)| is_pair(turn)).map(|(place, _)| place).collect()
}

/// Compares the two responses at one place of the session, seeing everything before it.
pub async fn compare(
    app: &App,
    material: &LoadedSession,
    rubric: &Rubric,
    place: usize,
) -> std::result::Result<NewComparison, JudgeError> {
    let turn = &material.transcript.interactions[place];
    let before = &material.turns()[..place];
    let context = material.context();
    let service_is_request_1 = app.ids.fraction() < 0.5;
    let (one, two) = if service_is_request_1 {
        (&turn.content, &turn.shadow_content)
    } else {
        (&turn.shadow_content, &turn.content)
    };
    let first = app.judge.shadow(rubric, &context, before, one, two).await?;
    let swapped = if material.config.shadow_both_orders {
        Some(app.judge.shadow(rubric, &context, before, two, one).await?)
    } else {
        None
    };
    let requests = &material.transcript.requests;
    let request = requests.iter().find(|request| request.request_id == turn.request_id);
    let verdict = |combined: Combined, order_consistent, provenance: Provenance| NewComparison {
        interaction_id: turn.interaction_id,
        agent_version: request.map(|r| r.agent_version.clone()).unwrap_or_default(),
        created_at: turn.created_at,
        service_is_request_1,
        better_request: combined.better_request,
        is_significantly_better: combined.is_significantly_better,
        comparison_reason: combined.comparison_reason,
        order_consistent,
        origin: provenance.into(),
    };
    Ok(match swapped {
        Some(swapped) => {
            let combined = combine(&first.verdict, &swapped.verdict);
            let consistent = Some(combined.order_consistent);
            verdict(combined, consistent, sum(first, &swapped))
        }
        None => verdict(alone(first.verdict), None, first.provenance),
    })
}

fn alone(verdict: ShadowVerdict) -> Combined {
    Combined {
        better_request: verdict.better_request,
        is_significantly_better: verdict.is_significantly_better,
        comparison_reason: verdict.comparison_reason,
        order_consistent: true,
    }
}

/// Tokens, cost, latency and attempts of both calls together.
fn sum(first: Graded<ShadowVerdict>, second: &Graded<ShadowVerdict>) -> Provenance {
    let (mut whole, other) = (first.provenance, &second.provenance);
    whole.input_tokens += other.input_tokens;
    whole.output_tokens += other.output_tokens;
    whole.cost_usd = whole.cost_usd.zip(other.cost_usd).map(|(one, two)| one + two);
    whole.latency_ms += other.latency_ms;
    whole.attempts += other.attempts;
    whole
}
