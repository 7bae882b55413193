//! Resources: approved agent playbooks, each as a page of Markdown.

use rmcp::ErrorData;
use rmcp::model::{
    ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::{Value, json};

use crate::api::{Api, Client, Failure};
use crate::text::{cut, interval, scaled, signed, string};

const PREFIX: &str = "evenhand://playbooks/";
const MARKDOWN: &str = "text/markdown";
const PAGE: usize = 100;
/// The most that the interface lists: the newest.
const MOST: usize = 1000;
const TITLE_LENGTH: usize = 80;

pub fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{PREFIX}{{agent_playbook_id}}"), "playbook")
        .with_title("Agent playbook")
        .with_description("How to handle a situation: when it applies, what to do, and why.")
        .with_mime_type(MARKDOWN)
}

/// One page, the newest playbooks first. The cursor is the id of the last one that was given: ids grow, and those that
/// were added or deleted meanwhile move nothing.
pub async fn page<A: Api>(
    client: &Client<'_, A>,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let after: Option<i64> = match cursor {
        None => None,
        Some(cursor) => Some(cursor.parse().map_err(|_| {
            let text = "This cursor is not one of this server's; list again without one.";
            ErrorData::invalid_params(text, None)
        })?),
    };
    let most = if after.is_some() { MOST } else { PAGE + 1 };
    let found = approved(client, most).await?;
    let mut rest = found.iter().filter(|found| after.is_none_or(|after| id(found) < after));
    let shown: Vec<&Value> = rest.by_ref().take(PAGE).collect();
    let mut page =
        ListResourcesResult::with_all_items(shown.iter().map(|found| resource(found)).collect());
    if rest.next().is_some() {
        page.next_cursor = shown.last().map(|last| id(last).to_string());
    }
    Ok(page)
}

/// One playbook, with its effect if it was on trial and the credential may see that.
pub async fn read<A: Api>(
    client: &Client<'_, A>,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let missing = || {
        let text = format!(
            "No approved agent playbook is at {uri}; resources/list has the newest {MOST}."
        );
        ErrorData::resource_not_found(text, Some(json!({"uri": uri})))
    };
    let wanted: i64 =
        uri.strip_prefix(PREFIX).and_then(|id| id.parse().ok()).ok_or_else(missing)?;
    let found = approved(client, MOST).await?;
    let playbook = found.iter().find(|found| id(found) == wanted).ok_or_else(missing)?;
    let effect = match client.get(format!("/api/learnings/effects/{wanted}")).await {
        Ok(effect) => Some(effect),
        // Never on trial, or not for this credential to see.
        Err(Failure::Refused(refusal)) if [403, 404].contains(&refusal.status) => None,
        Err(failure) => return Err(failure.into()),
    };
    let contents = ResourceContents::text(markdown(playbook, effect.as_ref()), uri);
    Ok(ReadResourceResult::new(vec![contents.with_mime_type(MARKDOWN)]))
}

async fn approved<A: Api>(client: &Client<'_, A>, most: usize) -> Result<Vec<Value>, Failure> {
    let body = json!({"playbook_status_filter": "approved", "top_k": most});
    let mut answer = client.post("/api/get_agent_playbooks", body).await?;
    Ok(match answer["agent_playbooks"].take() {
        Value::Array(found) => found,
        _ => Vec::new(),
    })
}

fn id(playbook: &Value) -> i64 {
    playbook["agent_playbook_id"].as_i64().unwrap_or_default()
}

fn title(playbook: &Value) -> String {
    let named = ["playbook_name", "trigger", "content"].map(|field| string(&playbook[field]));
    let words = named.into_iter().find(|text| !text.trim().is_empty()).unwrap_or("Playbook");
    cut(words.lines().next().unwrap_or_default(), TITLE_LENGTH)
}

fn resource(playbook: &Value) -> Resource {
    let resource =
        Resource::new(format!("{PREFIX}{}", id(playbook)), format!("playbook-{}", id(playbook)));
    let resource = resource.with_title(title(playbook)).with_mime_type(MARKDOWN);
    match string(&playbook["trigger"]) {
        "" => resource,
        trigger => resource.with_description(format!("When: {trigger}")),
    }
}

fn markdown(playbook: &Value, effect: Option<&Value>) -> String {
    let mut parts = vec![format!("# {}", title(playbook))];
    for (heading, field) in [("When", "trigger"), ("What to do", "content"), ("Why", "rationale")] {
        let words = string(&playbook[field]).trim();
        if !words.is_empty() {
            parts.push(format!("## {heading}\n\n{words}"));
        }
    }
    if let Some(effect) = effect {
        parts.push(format!("## Effect\n\n{}", effect_text(effect)));
    }
    let version = match string(&playbook["agent_version"]) {
        "" => String::new(),
        version => format!(", of agent version {version}"),
    };
    parts.push(format!("Agent playbook {}{version}.", id(playbook)));
    parts.join("\n\n") + "\n"
}

fn effect_text(effect: &Value) -> String {
    let state = match effect["state"].as_str() {
        Some("helps") => "By trial it helps",
        Some("hurts") => "By trial it hurts",
        _ => "By trial there is no sign yet",
    };
    if effect["effect"].is_null() {
        return format!("{state}.");
    }
    let ends = json!([
        scaled(&effect["always_valid_lower"], 1.0),
        scaled(&effect["always_valid_upper"], 1.0)
    ]);
    let ends =
        if ends[0].is_number() && ends[1].is_number() { interval(&ends) } else { String::new() };
    format!(
        "{state}: {} points of success{ends}, {} users with it and {} without.",
        signed(&scaled(&effect["effect"], 1.0)),
        effect["served"]["users"],
        effect["withheld"]["users"]
    )
}
