//! A turn as it arrives, and the rule of each of its fields.

use serde::Serialize;

use super::{Citation, RetrievedLearning, ToolUsed, Usage, UserAction};
use crate::http::fields::{Fields, Read};

/// Elements of the lists of one request.
pub const ITEMS: usize = 1000;
const CONTENT_LENGTH: usize = 1_000_000;
pub const LEARNINGS_PER_REQUEST: usize = 1000;
const MOST_TOKENS: i64 = 1_000_000_000;
/// Eleven days.
const LONGEST_CALL_MS: i64 = 1_000_000_000;

/// One turn, as it arrives.
#[derive(Clone, Debug, Serialize)]
pub struct InteractionData {
    pub created_at: Option<i64>,
    pub role: String,
    pub content: String,
    pub shadow_content: String,
    pub expert_content: String,
    pub user_action: UserAction,
    pub user_action_description: String,
    pub interacted_image_url: String,
    pub image_encoding: String,
    pub tools_used: Vec<ToolUsed>,
    pub citations: Vec<Citation>,
    pub retrieved_learnings: Vec<RetrievedLearning>,
    /// No part of what a repeated request is recognised by: some tools know costs only later.
    #[serde(skip)]
    pub usage: Option<Usage>,
}

crate::request_body!(InteractionData, "InteractionData");

impl Read for InteractionData {
    fn read(f: &mut Fields<'_>) -> Self {
        let item = InteractionData {
            created_at: f
                .about("When absent, the time of the turn before it, or the request's.")
                .moment("created_at"),
            role: f
                .about("`User` when absent.")
                .optional_text("role", 1000)
                .unwrap_or_else(|| "User".to_owned()),
            content: f.text("content", CONTENT_LENGTH),
            shadow_content: f
                .about("The response of another agent, to be compared with `content`.")
                .text("shadow_content", CONTENT_LENGTH),
            expert_content: f
                .about("The response an expert would have given.")
                .text("expert_content", CONTENT_LENGTH),
            user_action: f.word_or("user_action", UserAction::None),
            user_action_description: f.text("user_action_description", CONTENT_LENGTH),
            interacted_image_url: f
                .about("http, https or data; never fetched.")
                .text("interacted_image_url", usize::MAX),
            image_encoding: f.text("image_encoding", usize::MAX),
            tools_used: f.list("tools_used", ITEMS),
            citations: f.list("citations", ITEMS),
            retrieved_learnings: f.list("retrieved_learnings", LEARNINGS_PER_REQUEST),
            usage: Some(f.about("The model's call behind this turn.").nested("usage"))
                .filter(|usage| *usage != Usage::default()),
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
    /// True if it is a response with a shadow response.
    pub fn has_shadow(&self) -> bool {
        !super::is_user(&self.role) && !self.shadow_content.trim().is_empty()
    }

    /// True if it has neither text nor an image, action, tool, citation or learning.
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
            && self.user_action == UserAction::None
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

impl Read for Usage {
    fn read(f: &mut Fields<'_>) -> Self {
        Usage {
            model: f.optional_text("model", 255),
            input_tokens: f.integer("input_tokens", 0..=MOST_TOKENS),
            output_tokens: f.integer("output_tokens", 0..=MOST_TOKENS),
            cost_usd: f.number_within("cost_usd", 0.0..=1e6),
            latency_ms: f
                .about("From the request to the end of the response.")
                .integer("latency_ms", 0..=LONGEST_CALL_MS),
        }
    }
}

impl Read for Citation {
    fn read(f: &mut Fields<'_>) -> Self {
        Citation {
            kind: f.required_word("kind"),
            real_id: f.id("real_id"),
            tag: f.text("tag", 255),
            title: f.text("title", 1000),
        }
    }
}

impl Read for RetrievedLearning {
    fn read(f: &mut Fields<'_>) -> Self {
        RetrievedLearning {
            kind: f.required_word("kind"),
            learning_id: f.id("learning_id"),
            exposure_receipt: f.optional_text("exposure_receipt", 4000),
        }
    }
}
