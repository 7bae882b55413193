//! A turn as it arrives, and the rule of each of its fields.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Citation, RetrievedLearning, ToolUsed};
use crate::http::fields::{Fields, Read};

/// Elements of the lists of one request.
pub const ITEMS: usize = 1000;
const CONTENT_LENGTH: usize = 1_000_000;
pub const LEARNINGS_PER_REQUEST: usize = 1000;
/// The year 2286: times beyond it are milliseconds sent by mistake.
pub const LATEST_TIME: i64 = 9_999_999_999;

/// One turn.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct InteractionData {
    /// Unix seconds; when absent, the time of the turn before it, or the request's.
    pub created_at: Option<i64>,
    /// `User` when absent.
    #[schema(required = false, max_length = 1000, example = "User")]
    pub role: String,
    #[schema(required = false, max_length = 1_000_000)]
    pub content: String,
    /// What another agent would have answered, to be compared with `content`.
    #[schema(required = false, max_length = 1_000_000)]
    pub shadow_content: String,
    /// What an expert would have answered.
    #[schema(required = false, max_length = 1_000_000)]
    pub expert_content: String,
    /// `click`, `scroll`, `type` or `none`.
    #[schema(required = false, value_type = String)]
    pub user_action: &'static str,
    #[schema(required = false)]
    pub user_action_description: String,
    /// http, https or data; never fetched.
    #[schema(required = false)]
    pub interacted_image_url: String,
    #[schema(required = false)]
    pub image_encoding: String,
    #[schema(required = false)]
    pub tools_used: Vec<ToolUsed>,
    #[schema(required = false)]
    pub citations: Vec<Citation>,
    #[schema(required = false)]
    pub retrieved_learnings: Vec<RetrievedLearning>,
}

impl Read for InteractionData {
    fn read(f: &mut Fields<'_>) -> Self {
        let item = InteractionData {
            created_at: f.integer("created_at", 0..=LATEST_TIME),
            role: f.optional_text("role", 1000).unwrap_or_else(|| "User".to_owned()),
            content: f.text("content", CONTENT_LENGTH),
            shadow_content: f.text("shadow_content", CONTENT_LENGTH),
            expert_content: f.text("expert_content", CONTENT_LENGTH),
            user_action: f
                .choice("user_action", &["click", "scroll", "type", "none"])
                .unwrap_or("none"),
            user_action_description: f.text("user_action_description", CONTENT_LENGTH),
            interacted_image_url: f.text("interacted_image_url", usize::MAX),
            image_encoding: f.text("image_encoding", usize::MAX),
            tools_used: f.list("tools_used", ITEMS),
            citations: f.list("citations", ITEMS),
            retrieved_learnings: f.list("retrieved_learnings", LEARNINGS_PER_REQUEST),
        };
        let url = &item.interacted_image_url;
        let allowed = ["http://", "https://", "data:"];
        if !url.is_empty() && !allowed.iter().any(|scheme| starts_with_ignoring_case(url, scheme)) {
            f.problem("interacted_image_url", "bad_form", "must be an http, https or data URL");
        }
        item
    }
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

impl InteractionData {
    /// Whether it is a response with another one beside it.
    pub fn has_shadow(&self) -> bool {
        !super::is_user(&self.role) && !self.shadow_content.trim().is_empty()
    }

    /// Whether it says nothing and records nothing.
    pub fn is_empty(&self) -> bool {
        let texts = [
            &self.content,
            &self.shadow_content,
            &self.expert_content,
            &self.user_action_description,
            &self.interacted_image_url,
            &self.image_encoding,
        ];
        texts.iter().all(|text| text.trim().is_empty())
            && self.user_action == "none"
            && self.tools_used.is_empty()
            && self.citations.is_empty()
            && self.retrieved_learnings.is_empty()
    }
}

impl Read for ToolUsed {
    fn read(f: &mut Fields<'_>) -> Self {
        ToolUsed {
            tool_name: f.id("tool_name"),
            tool_data: f.object("tool_data").unwrap_or_default(),
            status: f.optional_text("status", 255).unwrap_or_else(|| "success".to_owned()),
        }
    }
}

impl Read for Citation {
    fn read(f: &mut Fields<'_>) -> Self {
        let kinds = ["profile", "user_playbook", "agent_playbook", "playbook"];
        Citation {
            kind: f.required_choice("kind", &kinds).to_owned(),
            real_id: f.id("real_id"),
            tag: f.text("tag", 255),
            title: f.text("title", 1000),
        }
    }
}

impl Read for RetrievedLearning {
    fn read(f: &mut Fields<'_>) -> Self {
        let kinds = ["profile", "user_playbook", "agent_playbook"];
        RetrievedLearning {
            kind: f.required_choice("kind", &kinds).to_owned(),
            learning_id: f.id("learning_id"),
            exposure_receipt: f.optional_text("exposure_receipt", 4000),
        }
    }
}
