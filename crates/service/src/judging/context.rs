//! The material of a judge: the organization's own words, the turns of a session, and the rubric.

use std::sync::Arc;

use crate::organization::{self, OrganizationConfig};
use crate::sessions::{self, Interaction, UserAction};
use judge::prompts::{self, Kind, Rubric};
use judge::{Consent, Context, Tool, ToolCall, Turn};
use storage::error::{Error, Result};

/// The organization's words about its agent, and the consent of the person in the transcript.
pub fn context(config: &OrganizationConfig, consent: Option<Arc<dyn Consent>>) -> Context {
    let tool = |tool: &organization::ToolCanUse| Tool {
        name: tool.tool_name.clone(),
        description: tool.tool_description.clone(),
    };
    Context {
        agent_context: config.agent_context_prompt.clone(),
        tools: config.tool_can_use.iter().map(tool).collect(),
        success_definition: config.agent_success_config.success_definition_prompt.clone(),
        escalation_means_failure: config.judge.escalation_means_failure,
        consent,
    }
}

/// A turn as judges see it. What was done without words is said in words; the shadow, the expert's answer, the
/// arm and what was retrieved stay out.
pub fn as_turn(turn: &Interaction) -> Turn {
    let mut content = turn.content.clone();
    if turn.user_action != UserAction::None {
        let separator = if content.is_empty() { "" } else { "\n" };
        let done = &turn.user_action_description;
        content.push_str(&format!("{separator}[{}] {done}", turn.user_action));
    }
    let tool = |tool: &sessions::ToolUsed| ToolCall {
        name: tool.tool_name.clone(),
        data: serde_json::Value::Object(tool.tool_data.clone()),
        status: tool.status.clone(),
    };
    Turn {
        id: turn.interaction_id,
        role: turn.role.clone(),
        content,
        tools: turn.tools_used.iter().map(tool).collect(),
        said_at: turn.created_at,
    }
}

/// The rubric that is pinned, or the newest.
pub fn rubric(kind: Kind, pinned: Option<&str>) -> Result<&'static Rubric> {
    pinned
        .and_then(|version| prompts::load(kind, version))
        .or_else(|| prompts::newest(kind))
        .ok_or_else(|| Error::Internal(format!("there is no rubric for {}", kind.as_str())))
}
