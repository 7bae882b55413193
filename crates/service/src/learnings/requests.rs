//! Requests that add and change learnings, and the rule of each field.

use serde_json::{Map, Value};

use super::{LearningStatus, PlaybookStatus, SourceWindow, TimeToLive};
use crate::http::fields::describe::Shape;
use crate::http::fields::{Fields, Read, check_id};
use base::owner::UserId;
use storage::error::{Error, InputProblem, Result};

pub const BATCH: usize = 1000;
pub const CONTENT_LENGTH: usize = 100_000;
pub const SIDE_TEXT_LENGTH: usize = 20_000;
const NAME_LENGTH: usize = 255;
const TAGS: usize = 50;
const TAG_LENGTH: usize = 100;
const INTERACTIONS: usize = 10_000;
const FEATURES_BYTES: usize = 64 * 1024;

/// A profile to be added.
#[derive(Clone, Debug)]
pub struct NewProfile {
    pub profile_id: Option<String>,
    pub user_id: UserId,
    pub content: String,
    pub last_modified_timestamp: Option<i64>,
    pub generated_from_request_id: String,
    pub profile_time_to_live: TimeToLive,
    pub expiration_timestamp: Option<i64>,
    pub custom_features: Option<Map<String, Value>>,
    pub source: String,
    pub status: LearningStatus,
    pub tags: Vec<String>,
    pub source_interaction_ids: Vec<i64>,
}

/// A user playbook to be added; its number is given by the server.
#[derive(Clone, Debug)]
pub struct NewUserPlaybook {
    pub user_id: UserId,
    pub agent_version: String,
    pub request_id: String,
    pub playbook_name: String,
    pub created_at: Option<i64>,
    pub content: String,
    pub trigger: String,
    pub rationale: String,
    pub source: String,
    pub status: LearningStatus,
    pub tags: Vec<String>,
    pub source_interaction_ids: Vec<i64>,
}

/// An agent playbook to be added; its number is given by the server.
#[derive(Clone, Debug)]
pub struct NewAgentPlaybook {
    pub playbook_name: String,
    pub agent_version: String,
    pub created_at: Option<i64>,
    pub content: String,
    pub trigger: String,
    pub rationale: String,
    pub playbook_status: PlaybookStatus,
    pub playbook_metadata: Value,
    pub status: LearningStatus,
    pub tags: Vec<String>,
    pub source_windows: Vec<SourceWindow>,
    /// A person has looked at what is flagged.
    pub confirmed: bool,
}

/// Changes to a profile: what is absent stays.
#[derive(Clone, Debug)]
pub struct ProfileChange {
    pub user_id: UserId,
    pub profile_id: String,
    pub content: Option<String>,
    pub custom_features: Option<Map<String, Value>>,
    pub profile_time_to_live: Option<TimeToLive>,
    pub source: Option<String>,
    pub status: Option<LearningStatus>,
    pub tags: Option<Vec<String>>,
}

/// Changes to a user or agent playbook: what is absent stays.
#[derive(Clone, Debug, Default)]
pub struct PlaybookChange {
    pub id: i64,
    pub playbook_name: Option<String>,
    pub agent_version: Option<String>,
    pub content: Option<String>,
    pub trigger: Option<String>,
    pub rationale: Option<String>,
    pub status: Option<LearningStatus>,
    pub tags: Option<Vec<String>>,
    /// Approval, of agent playbooks only.
    pub playbook_status: Option<PlaybookStatus>,
    pub playbook_metadata: Option<Value>,
    /// A person has looked at what is flagged.
    pub confirmed: bool,
}

crate::request_body!(NewProfile, "NewProfile");

impl Read for NewProfile {
    fn read(f: &mut Fields<'_>) -> Self {
        NewProfile {
            profile_id: f.about("Minted when absent or empty.").blank_or_id("profile_id"),
            user_id: f.id("user_id"),
            content: f.required("content", |f| said(f, "content", CONTENT_LENGTH)),
            last_modified_timestamp: f.about("Now when absent.").moment("last_modified_timestamp"),
            generated_from_request_id: f.text("generated_from_request_id", NAME_LENGTH),
            profile_time_to_live: f.word_or("profile_time_to_live", TimeToLive::Infinity),
            expiration_timestamp: f
                .about("From the time to live when absent.")
                .moment("expiration_timestamp"),
            custom_features: features(f, "custom_features"),
            source: f.text("source", 128),
            status: f.word_or("status", LearningStatus::Current),
            tags: tags(f, "tags").unwrap_or_default(),
            source_interaction_ids: f.numbers("source_interaction_ids", INTERACTIONS),
        }
    }
}

crate::request_body!(NewUserPlaybook, "NewUserPlaybook");

impl Read for NewUserPlaybook {
    fn read(f: &mut Fields<'_>) -> Self {
        let playbook = NewUserPlaybook {
            user_id: f.id("user_id"),
            agent_version: f.text("agent_version", NAME_LENGTH).trim().to_owned(),
            request_id: f.text("request_id", NAME_LENGTH).trim().to_owned(),
            playbook_name: f.text("playbook_name", NAME_LENGTH).trim().to_owned(),
            created_at: f.about("Now when absent.").moment("created_at"),
            content: f
                .about("This or `trigger` must say something.")
                .text("content", CONTENT_LENGTH),
            trigger: f.text("trigger", SIDE_TEXT_LENGTH),
            rationale: f.text("rationale", SIDE_TEXT_LENGTH),
            source: f.text("source", 128),
            status: f.word_or("status", LearningStatus::Current),
            tags: tags(f, "tags").unwrap_or_default(),
            source_interaction_ids: f.numbers("source_interaction_ids", INTERACTIONS),
        };
        must_say_something(f, &playbook.content, &playbook.trigger);
        playbook
    }
}

crate::request_body!(NewAgentPlaybook, "NewAgentPlaybook");

impl Read for NewAgentPlaybook {
    fn read(f: &mut Fields<'_>) -> Self {
        let playbook = NewAgentPlaybook {
            playbook_name: f.text("playbook_name", NAME_LENGTH).trim().to_owned(),
            agent_version: f.text("agent_version", NAME_LENGTH).trim().to_owned(),
            created_at: f.about("Now when absent.").moment("created_at"),
            content: f
                .about("This or `trigger` must say something.")
                .text("content", CONTENT_LENGTH),
            trigger: f.text("trigger", SIDE_TEXT_LENGTH),
            rationale: f.text("rationale", SIDE_TEXT_LENGTH),
            playbook_status: f.word_or("playbook_status", PlaybookStatus::Pending),
            playbook_metadata: metadata(f).unwrap_or_else(|| Value::String(String::new())),
            status: f.word_or("status", LearningStatus::Current),
            tags: tags(f, "tags").unwrap_or_default(),
            source_windows: f
                .about("The user playbooks it came from.")
                .list("source_windows", BATCH),
            confirmed: confirmed(f),
        };
        must_say_something(f, &playbook.content, &playbook.trigger);
        playbook
    }
}

/// Whether a person has looked at what is flagged.
pub fn confirmed(f: &mut Fields<'_>) -> bool {
    f.about("Approve it although `flags` names reasons to look at it twice.").flag("confirmed")
}

impl Read for SourceWindow {
    fn read(f: &mut Fields<'_>) -> Self {
        SourceWindow {
            user_playbook_id: f.required_integer("user_playbook_id", 1..=i64::MAX),
            source_interaction_ids: f.numbers("source_interaction_ids", INTERACTIONS),
        }
    }
}

crate::request_body!(ProfileChange, "ProfileChange");

impl Read for ProfileChange {
    fn read(f: &mut Fields<'_>) -> Self {
        ProfileChange {
            user_id: f.id("user_id"),
            profile_id: f.id("profile_id"),
            content: said(f, "content", CONTENT_LENGTH),
            custom_features: features(f, "custom_features"),
            profile_time_to_live: f.about("Starts anew from now.").word("profile_time_to_live"),
            source: f.optional_text("source", 128),
            status: f.word("status"),
            tags: tags(f, "tags"),
        }
    }
}

impl PlaybookChange {
    /// Reads what user and agent playbooks have in common.
    pub fn read(f: &mut Fields<'_>, id: &'static str) -> Self {
        PlaybookChange {
            id: f.required_integer(id, 1..=i64::MAX),
            playbook_name: f.optional_text("playbook_name", NAME_LENGTH),
            agent_version: f.optional_text("agent_version", NAME_LENGTH),
            content: f.optional_text("content", CONTENT_LENGTH),
            trigger: f.optional_text("trigger", SIDE_TEXT_LENGTH),
            rationale: f.optional_text("rationale", SIDE_TEXT_LENGTH),
            status: f.word("status"),
            tags: tags(f, "tags"),
            playbook_status: None,
            playbook_metadata: None,
            confirmed: false,
        }
    }

    /// Reads what only agent playbooks have.
    pub fn read_of_agent(f: &mut Fields<'_>) -> Self {
        PlaybookChange {
            playbook_status: f.word("playbook_status"),
            playbook_metadata: metadata(f),
            confirmed: confirmed(f),
            ..Self::read(f, "agent_playbook_id")
        }
    }
}

impl PlaybookChange {
    /// True if the words that search finds it by change.
    pub fn touches_text(&self) -> bool {
        let texts = [&self.playbook_name, &self.content, &self.trigger, &self.rationale];
        texts.iter().any(|text| text.is_some()) || self.tags.is_some()
    }

    /// A change must not leave a playbook that says nothing.
    pub fn check_still_says_something(&self, content: &str, trigger: &str) -> Result<()> {
        if !content.trim().is_empty() || !trigger.trim().is_empty() {
            return Ok(());
        }
        Err(Error::invalid(vec![InputProblem {
            pointer: "/content".to_owned(),
            code: "required".to_owned(),
            detail: "content or trigger must say something".to_owned(),
        }]))
    }
}

/// A list of tags: trimmed, without repetitions.
pub fn tags(f: &mut Fields<'_>, name: &'static str) -> Option<Vec<String>> {
    let read = |item: &Value| match item {
        Value::String(text) => check_id(text, TAG_LENGTH),
        _ => Err(("wrong_type", "expected text".to_owned())),
    };
    let item = Shape::Text { shortest: 1, longest: TAG_LENGTH };
    let mut tags = f.values(name, TAGS, item, read)?;
    tags.sort();
    tags.dedup();
    Some(tags)
}

/// Text that says something, if it is there.
fn said(f: &mut Fields<'_>, name: &'static str, longest: usize) -> Option<String> {
    let text = f.optional_text(name, longest)?;
    if text.trim().is_empty() {
        f.problem(name, "empty", "must not be empty");
    }
    Some(text)
}

fn must_say_something(f: &mut Fields<'_>, content: &str, trigger: &str) {
    if content.trim().is_empty() && trigger.trim().is_empty() {
        f.problem("content", "empty", "content or trigger must say something");
    }
}

fn features(f: &mut Fields<'_>, name: &'static str) -> Option<Map<String, Value>> {
    let object = f.object(name)?;
    check_size(f, name, &Value::Object(object.clone()));
    Some(object)
}

fn metadata(f: &mut Fields<'_>) -> Option<Value> {
    f.optional_text("playbook_metadata", FEATURES_BYTES).map(Value::String)
}

fn check_size(f: &mut Fields<'_>, name: &'static str, value: &Value) {
    if serde_json::to_vec(value).is_ok_and(|bytes| bytes.len() > FEATURES_BYTES) {
        f.problem(name, "too_long", format!("larger than {FEATURES_BYTES} bytes"));
    }
}
