//! Reading and changing the configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::types::Json;

use super::client_config::ClientConfig;
use super::config::UNKNOWN_TO_CLIENT;
use super::{OrganizationConfig, RecentConfigs, sql};
use crate::app::App;
use crate::config::nearest;
use crate::http::fields::{self, Outcome};
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::{Code, Error, InputProblem, Result};
use storage::subjects::audit::{self, NewEvent, Operation};

/// A configuration as JSON.
type Document = Map<String, Value>;

/// A configuration and which one it is; 0 is the defaults.
#[derive(Clone, Debug)]
pub struct Versioned {
    pub version: i64,
    pub config: OrganizationConfig,
}

/// The configuration in force.
pub async fn get(app: &App, org_id: &OrgId) -> Result<Versioned> {
    app.db
        .lookup("organization.get_config", org_id.to_owned(), |tx, org_id| {
            Box::pin(config_in(tx, org_id))
        })
        .await
}

/// The configuration in force, read as part of a transaction.
pub async fn config_in(tx: &mut Tx, org_id: &OrgId) -> Result<Versioned> {
    let stored = sql::find(tx, org_id).await?;
    let Some((version, Json(document))) = stored else {
        return Ok(Versioned { version: 0, config: OrganizationConfig::default() });
    };
    Ok(Versioned { version, config: from_storage(document) })
}

/// Reads a stored configuration, which was valid when it was stored. A field that a newer server no longer
/// accepts falls back to its default instead of stopping every evaluation.
fn from_storage(document: Map<String, Value>) -> OrganizationConfig {
    let whole = Value::Object(document);
    if let Ok(Outcome { value, .. }) = fields::read_body::<OrganizationConfig>(&whole) {
        return value;
    }
    let Value::Object(document) = whole else {
        return OrganizationConfig::default();
    };
    let mut kept = Map::new();
    for (name, value) in document {
        let mut tried = kept.clone();
        tried.insert(name.clone(), value);
        match fields::read_body::<OrganizationConfig>(&Value::Object(tried.clone())) {
            Ok(_) => kept = tried,
            Err(_) => {
                tracing::error!(
                    field = name,
                    "a stored setting is no longer valid; its default is used"
                );
            }
        }
    }
    fields::read_body::<OrganizationConfig>(&Value::Object(kept))
        .map(|outcome| outcome.value)
        .unwrap_or_default()
}

/// Puts a whole configuration in the place of the old one. What is left out takes its default, except what the
/// public client cannot carry: it reads, changes and writes, and must not reset what it does not know.
pub async fn set(
    app: &Arc<App>,
    org_id: &OrgId,
    actor: &str,
    document: Map<String, Value>,
) -> Result<Versioned> {
    change(app, org_id, actor, document, |mut current, mut given| {
        for name in UNKNOWN_TO_CLIENT {
            if !given.contains_key(name)
                && let Some(value) = current.remove(name)
            {
                given.insert(name.to_owned(), value);
            }
        }
        Ok(given)
    })
    .await
}

/// Changes what is given and leaves the rest; `null` goes back to the default. Objects that are only kept for the
/// public client are replaced, as it expects: half of one storage merged into another is neither.
pub async fn update(
    app: &Arc<App>,
    org_id: &OrgId,
    actor: &str,
    document: Map<String, Value>,
) -> Result<Versioned> {
    change(app, org_id, actor, document, |current, given| {
        let kept = as_object(&ClientConfig::default())?;
        let mut merged = current;
        merged.retain(|name, _| !(kept.contains_key(name) && given.contains_key(name)));
        merge(&mut merged, given);
        Ok(merged)
    })
    .await
}

/// Makes one version of the session rubric the one that judges: what promoting a judge diff does.
pub async fn pin_session_success(
    app: &Arc<App>,
    org_id: &OrgId,
    actor: &str,
    version: &str,
) -> Result<Versioned> {
    let change = serde_json::json!({"judge": {"session_success_prompt_version": version}});
    pin(app, org_id, actor, change).await
}

/// Puts the learned judge first.
pub async fn prefer_learned(app: &Arc<App>, org_id: &OrgId, actor: &str) -> Result<Versioned> {
    let change = serde_json::json!({"judge": {"order": ["learned", "llm", "rules"]}});
    pin(app, org_id, actor, change).await
}

async fn pin(app: &Arc<App>, org_id: &OrgId, actor: &str, change: Value) -> Result<Versioned> {
    let Value::Object(change) = change else {
        return Err(Error::Internal("a change is an object".to_owned()));
    };
    update(app, org_id, actor, change).await
}

async fn change(
    app: &Arc<App>,
    org_id: &OrgId,
    actor: &str,
    mut given: Map<String, Value>,
    combine: fn(Document, Document) -> Result<Document>,
) -> Result<Versioned> {
    let expected = match given.remove("version") {
        None | Some(Value::Null) => None,
        Some(version) => Some(version.as_i64().ok_or_else(|| {
            problem("/version", "wrong_type", "expected a 64-bit integer".to_owned())
        })?),
    };
    // The public client sends them along, empty.
    for name in ["retrieval_experiment_config", "retrieval_experiment_history"] {
        let sent = given.remove(name).unwrap_or_default();
        if !sent.is_null() && sent != Value::Array(Vec::new()) {
            let detail = "experiments are changed at /api/retrieval_experiments, not here";
            return Err(problem(&format!("/{name}"), "not_allowed", detail.to_owned()));
        }
    }
    let actor_ref = app.subject_keys.actor_ref(org_id, actor);
    let input = (app.clone(), org_id.to_owned(), given, (expected, actor_ref));
    let changed = app
        .db
        .write("organization.change_config", input, move |tx, (app, org_id, given, (expected, actor_ref))| {
            Box::pin(async move {
                sql::lock(tx, org_id).await?;
                let current = config_in(tx, org_id).await?;
                if expected.is_some_and(|expected| expected != current.version) {
                    return Err(Error::refused(
                        Code::ConfigVersionStale,
                        format!(
                            "The configuration is at version {}; read it again and repeat the change.",
                            current.version
                        ),
                    ));
                }
                let document = combine(as_object(&current.config)?, given.clone())?;
                let config = check(app, document)?;
                if config == current.config {
                    return Ok(current);
                }
                let version = current.version + 1;
                let now = app.clock.now();
                sql::put(tx, org_id, version, &Json(&config), now).await?;
                let event = NewEvent {
                    org_id,
                    operation: Operation::Config,
                    ok: true,
                    actor_ref,
                    subject_ref: None,
                    request_ref: None,
                    counts: BTreeMap::from([("version".to_owned(), version.unsigned_abs())]),
                    now,
                };
                audit::append(tx, &app.subject_keys, event).await?;
                Ok(Versioned { version, config })
            })
        })
        .await;
    app.state::<RecentConfigs>().forget(org_id);
    if changed.is_ok() {
        app.sign_audit_head().await;
    }
    changed
}

fn check(app: &App, document: Map<String, Value>) -> Result<OrganizationConfig> {
    let read = fields::read_body::<OrganizationConfig>(&Value::Object(document));
    let Outcome { value: config, unknown } = read.map_err(Error::invalid)?;
    let mut problems = unknown_fields(&unknown)?;
    if let Some(model) = &config.judge.model
        && model != app.judge.label()
    {
        problems.push(InputProblem {
            pointer: "/judge/model".to_owned(),
            code: "not_allowed".to_owned(),
            detail: format!(
                "this server judges with {}; its operator chooses (judge.model)",
                app.judge.label()
            ),
        });
    }
    if problems.is_empty() { Ok(config) } else { Err(Error::invalid(problems)) }
}

/// Each unknown field with the nearest known name.
fn unknown_fields(unknown: &[String]) -> Result<Vec<InputProblem>> {
    let mut known = vec!["/version".to_owned()];
    paths(&Value::Object(as_object(&OrganizationConfig::default())?), "", &mut known);
    for list in ["tool_can_use/0/tool_name", "tool_can_use/0/tool_description"] {
        known.push(format!("/{list}"));
    }
    for name in
        ["evaluation_name", "kind", "role", "pattern", "must_match", "tool_name", "max_turns"]
    {
        known.push(format!("/evaluators/0/{name}"));
    }
    let problem = |pointer: &String| {
        let near = nearest(pointer, &known);
        InputProblem {
            pointer: pointer.clone(),
            code: "unknown_field".to_owned(),
            detail: format!("no such field; did you mean {near}?"),
        }
    };
    Ok(unknown.iter().map(problem).collect())
}

fn paths(value: &Value, prefix: &str, found: &mut Vec<String>) {
    if let Value::Object(object) = value {
        for (name, inner) in object {
            let path = format!("{prefix}/{name}");
            paths(inner, &path, found);
            found.push(path);
        }
    }
}

fn as_object(config: &impl Serialize) -> Result<Document> {
    match serde_json::to_value(config) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(Error::Internal("a configuration is an object".to_owned())),
    }
}

/// Objects field by field; everything else is replaced.
fn merge(current: &mut Map<String, Value>, given: Map<String, Value>) {
    for (name, value) in given {
        match (current.get_mut(&name), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            (_, value) => {
                current.insert(name, value);
            }
        }
    }
}

fn problem(pointer: &str, code: &str, detail: String) -> Error {
    let problem = InputProblem { pointer: pointer.to_owned(), code: code.to_owned(), detail };
    Error::invalid(vec![problem])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn objects_merge_and_lists_are_replaced() {
        let mut current = object(json!({"a": {"b": 1, "c": [1, 2]}, "d": 5}));
        merge(&mut current, object(json!({"a": {"c": [3]}, "d": null, "e": 1})));
        assert_eq!(Value::Object(current), json!({"a": {"b": 1, "c": [3]}, "d": null, "e": 1}));
    }

    #[test]
    fn a_typo_is_told_the_nearest_name() {
        let unknown = ["/agent_success_config/sampling_rat".to_owned(), "/evaluatr".to_owned()];
        let found = unknown_fields(&unknown).unwrap();
        assert!(found[0].detail.contains("/agent_success_config/sampling_rate?"), "{found:?}");
        assert!(found[1].detail.contains("/evaluators?"), "{found:?}");
    }

    #[test]
    fn one_setting_that_went_out_of_bounds_does_not_take_the_others_along() {
        let document =
            object(json!({"agent_context_prompt": "a shop", "eval_concurrency_limit": 0}));
        let config = from_storage(document);
        assert_eq!(config.agent_context_prompt, "a shop");
        assert_eq!(config.eval_concurrency_limit, 10);
    }
}
