//! What a publish may contain, and the rule of each field.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Citation, RetrievedLearning, ToolUsed};
use crate::http::fields::{Fields, Read};

const ITEMS: usize = 1000;
const CONTENT_LENGTH: usize = 1_000_000;
const LEARNINGS_PER_REQUEST: usize = 1000;
const EXPERIMENT_ID_LENGTH: usize = 128;
/// The year 2286: times beyond it are milliseconds sent by mistake.
const LATEST_TIME: i64 = 9_999_999_999;

/// One request of a session: what was said and done since the last one.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PublishRequest {
    /// Makes the publish idempotent; minted when absent.
    #[serde(skip)]
    pub request_id: Option<String>,
    pub user_id: String,
    pub session_id: String,
    #[schema(min_items = 1, max_items = 1000)]
    pub interaction_data_list: Vec<InteractionData>,
    /// Where the session comes from: empty, or lower-case letters, digits and `._:-` (at most 128).
    #[schema(required = false, example = "web")]
    pub source: String,
    /// Empty means the configured default.
    pub agent_version: Option<String>,
    /// When the request happened (unix seconds); now when absent. Lets history be imported.
    pub created_at: Option<i64>,
    /// Nothing more is coming: the session is due for evaluation at once.
    #[schema(required = false)]
    pub session_finished: bool,
    #[schema(required = false)]
    pub force_extraction: bool,
    #[schema(required = false)]
    pub skip_aggregation: bool,
    /// Keeps the session out of learning.
    #[schema(required = false)]
    pub evaluation_only: bool,
    #[schema(required = false)]
    pub override_learning_stall: bool,
    /// Both or neither of these two: the attribution a search answered with.
    pub retrieval_experiment_id: Option<String>,
    #[schema(value_type = Option<String>, example = "treatment")]
    pub retrieval_experiment_arm: Option<&'static str>,
}

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

impl Read for PublishRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        let request = PublishRequest {
            request_id: f.optional_id("request_id"),
            user_id: f.id("user_id"),
            session_id: f.id("session_id"),
            interaction_data_list: f.required_list("interaction_data_list", ITEMS),
            source: read_source(f),
            agent_version: f.blank_or_id("agent_version"),
            created_at: f.integer("created_at", 0..=LATEST_TIME),
            session_finished: f.flag("session_finished"),
            force_extraction: f.flag("force_extraction"),
            skip_aggregation: f.flag("skip_aggregation"),
            evaluation_only: f.flag("evaluation_only"),
            override_learning_stall: f.flag("override_learning_stall"),
            retrieval_experiment_id: f.id_up_to("retrieval_experiment_id", EXPERIMENT_ID_LENGTH),
            retrieval_experiment_arm: f
                .choice("retrieval_experiment_arm", &["treatment", "holdout"]),
        };
        let (id, arm) = ("retrieval_experiment_id", "retrieval_experiment_arm");
        match (f.is_absent(id), f.is_absent(arm)) {
            (true, false) => f.problem(id, "required", "goes with retrieval_experiment_arm"),
            (false, true) => f.problem(arm, "required", "goes with retrieval_experiment_id"),
            _ => {}
        }
        if request.evaluation_only && request.force_extraction {
            f.problem("force_extraction", "contradiction", "cannot go with evaluation_only");
        }
        let items = &request.interaction_data_list;
        let learnings: usize = items.iter().map(|item| item.retrieved_learnings.len()).sum();
        if learnings > LEARNINGS_PER_REQUEST {
            let detail =
                format!("{learnings} retrieved_learnings; at most {LEARNINGS_PER_REQUEST}");
            f.problem("interaction_data_list", "too_long", detail);
        }
        let list = "interaction_data_list";
        if !items.is_empty() && items.iter().all(InteractionData::is_empty) && !f.is_refused(list) {
            f.problem(list, "empty", "no item carries anything");
        }
        request
    }
}

fn read_source(f: &mut Fields<'_>) -> String {
    let source = f.text("source", 128);
    let mut bytes = source.bytes();
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let valid = bytes.next().is_none_or(plain) && bytes.all(|b| plain(b) || b"._:-".contains(&b));
    if !valid {
        f.problem(
            "source",
            "bad_form",
            "must be empty, or lower-case letters, digits and ._:- starting with a letter or digit",
        );
    }
    source
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
    /// Whether it says nothing and records nothing.
    /// Whether it is a response with another one beside it.
    pub fn has_shadow(&self) -> bool {
        !super::is_user(&self.role) && !self.shadow_content.trim().is_empty()
    }

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
