//! Conversations out of other tools' records: OpenTelemetry spans, and files that other tools export.
//!
//! Everything becomes [`Publication`]s, in the form of `POST /api/publish_interaction`. Pure functions: nothing is stored or
//! sent here.

pub mod files;
pub mod otlp;
pub mod turns;
mod usage;

use serde::Serialize;
use serde_json::{Map, Value};

pub use self::usage::Usage;

/// Turns of one request of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Publication {
    /// The same record gives the same id, so that it is stored once however often it comes.
    pub request_id: String,
    pub user_id: String,
    pub session_id: String,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// Seconds since 1970.
    pub created_at: i64,
    pub session_finished: bool,
    pub interaction_data_list: Vec<Turn>,
    /// Set where it only says again what other publications may say: the beginning of their request ids. If the session
    /// has one of these, this one is to be left out.
    #[serde(skip)]
    pub unless_stored: Option<String>,
}

/// A turn of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// `User` or `Assistant`.
    pub role: &'static str,
    pub content: String,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools_used: Vec<ToolUsed>,
    /// Of the call of a model that added this turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Other fields of the interface, as they are.
    #[serde(flatten)]
    pub passed_on: Map<String, Value>,
}

/// A tool that the agent called.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolUsed {
    pub tool_name: String,
    /// `arguments` and `result`, as far as they are known.
    pub tool_data: Value,
    /// `success` or `error`.
    pub status: &'static str,
}
