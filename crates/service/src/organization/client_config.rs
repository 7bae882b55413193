//! Settings of the public Python client's own configuration that have no effect here.
//!
//! The client reads and writes its configuration as one document and refuses one that breaks its rules, so these
//! are kept and given back. Credentials among them are not: nothing here uses them, and they stay out of the storage.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::http::fields::{Fields, Read};

type Object = Map<String, Value>;

/// The most bytes of one object.
const OBJECT_BYTES: usize = 64 * 1024;
/// Names of fields whose text is a credential, or an address that carries one.
const SECRETS: &[&str] =
    &["api_key", "db_url", "hmac_secrets", "key", "read_db_url", "read_key", "webhook_auth_header"];
/// Stands for a credential that was sent.
const HIDDEN: &str = "***";

base::vocabulary! {
    /// Window preset of the public Python client's own extractor.
    pub enum ExtractionPreset {
        QuickChat = "quick_chat",
        Standard = "standard",
        LongForm = "long_form",
        HighVolume = "high_volume",
    }
}

/// Kept for the public Python client, without effect here.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct ClientConfig {
    pub storage_config: Option<Object>,
    pub storage_config_test: Option<i64>,
    pub profile_extractor_config: Option<Object>,
    pub user_playbook_extractor_config: Option<Object>,
    pub extraction_preset: Option<ExtractionPreset>,
    pub window_size: i64,
    pub stride_size: i64,
    pub api_key_config: Option<Object>,
    pub llm_config: Option<Object>,
    pub retrieval_floor: Option<Object>,
    pub playbook_optimizer_config: Option<Object>,
    pub lineage_gc: Option<Object>,
    pub expiry_reclamation: Option<Object>,
    pub governance_retention: Option<Object>,
    pub pending_tool_call_config: Option<Object>,
    pub skip_should_run_check: bool,
    pub enable_document_expansion: bool,
    pub shadow_mode_enabled: bool,
}

impl Default for ClientConfig {
    fn default() -> Self {
        ClientConfig {
            storage_config: None,
            storage_config_test: None,
            profile_extractor_config: None,
            user_playbook_extractor_config: None,
            extraction_preset: None,
            window_size: 10,
            stride_size: 8,
            api_key_config: None,
            llm_config: None,
            retrieval_floor: None,
            playbook_optimizer_config: None,
            lineage_gc: None,
            expiry_reclamation: None,
            governance_retention: None,
            pending_tool_call_config: None,
            skip_should_run_check: false,
            enable_document_expansion: false,
            shadow_mode_enabled: false,
        }
    }
}

impl Read for ClientConfig {
    fn read(f: &mut Fields<'_>) -> Self {
        let default = ClientConfig::default();
        let window_size = f.about("`learning.window` is the one that counts.").integer_or(
            "window_size",
            1..=i64::MAX,
            default.window_size,
        );
        let stride_size = f.about("At most `window_size`.").integer("stride_size", 1..=i64::MAX);
        if stride_size.is_some_and(|stride| stride > window_size) {
            f.problem("stride_size", "out_of_range", "must not be longer than window_size");
        }
        ClientConfig {
            storage_config: object(
                f.about("The server's storage is set where it is started."),
                "storage_config",
            ),
            storage_config_test: f.integer("storage_config_test", 0..=3),
            profile_extractor_config: extractor(f, "profile_extractor_config"),
            user_playbook_extractor_config: extractor(f, "user_playbook_extractor_config"),
            extraction_preset: f.word("extraction_preset"),
            window_size,
            stride_size: stride_size.unwrap_or(default.stride_size.min(window_size)),
            api_key_config: object(
                f.about("Keys are hidden before they are stored."),
                "api_key_config",
            ),
            llm_config: object(f, "llm_config"),
            retrieval_floor: object(f, "retrieval_floor"),
            playbook_optimizer_config: object(f, "playbook_optimizer_config"),
            lineage_gc: object(f, "lineage_gc"),
            expiry_reclamation: object(f, "expiry_reclamation"),
            governance_retention: object(f, "governance_retention"),
            pending_tool_call_config: object(f, "pending_tool_call_config"),
            skip_should_run_check: f.flag("skip_should_run_check"),
            enable_document_expansion: f.flag("enable_document_expansion"),
            shadow_mode_enabled: f.flag("shadow_mode_enabled"),
        }
    }
}

fn object(f: &mut Fields<'_>, name: &'static str) -> Option<Object> {
    let mut object = f.object(name)?;
    hide_secrets(&mut object);
    if serde_json::to_vec(&object).is_ok_and(|bytes| bytes.len() > OBJECT_BYTES) {
        f.problem(name, "too_long", format!("larger than {OBJECT_BYTES} bytes"));
    }
    Some(object)
}

/// The client cannot read an extractor that does not say what it extracts.
fn extractor(f: &mut Fields<'_>, name: &'static str) -> Option<Object> {
    const PROMPT: &str = "extraction_definition_prompt";
    let extractor = object(f, name)?;
    if extractor.get(PROMPT).and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
        f.problem(&format!("{name}/{PROMPT}"), "required", "is required");
    }
    Some(extractor)
}

fn hide_secrets(object: &mut Object) {
    for (name, value) in object {
        match value {
            Value::String(text) if SECRETS.contains(&name.as_str()) => HIDDEN.clone_into(text),
            Value::Array(items) if SECRETS.contains(&name.as_str()) => items.fill(HIDDEN.into()),
            Value::Object(inner) => hide_secrets(inner),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn credentials_are_hidden_wherever_they_stand() {
        let mut config = json!({
            "openai": {"api_key": "sk-1", "azure_config": {"api_key": "az", "endpoint": "https://a.example"}},
            "hmac_secrets": ["one", "two"], "key": "k", "db_url": "postgres://u:p@h/d", "schema": "s", "read_key": null,
        });
        hide_secrets(config.as_object_mut().unwrap());
        let expected = json!({
            "openai": {"api_key": "***", "azure_config": {"api_key": "***", "endpoint": "https://a.example"}},
            "hmac_secrets": ["***", "***"], "key": "***", "db_url": "***", "schema": "s", "read_key": null,
        });
        assert_eq!(config, expected);
    }
}
