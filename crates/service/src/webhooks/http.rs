//! `/api/webhooks`: receivers of events, made and changed by operators.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use base::vocabulary::Vocabulary;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{
    Delivery, DeliveryState, EventType, NewWebhook, Webhook, WebhookChange, WebhookFormat, target,
};
use crate::app::App;
use crate::credentials::{Inspector, Operator};
use crate::http::fields::describe::Shape;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, PathId, QueryInput, Result};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_webhooks, create_webhook))
        .routes(routes!(update_webhook, delete_webhook))
        .routes(routes!(test_webhook))
        .routes(routes!(list_webhook_deliveries))
}

const URL_LENGTH: usize = 2000;
const DESCRIPTION_LENGTH: usize = 255;

/// A webhook, without its secret.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
struct ShownWebhook {
    webhook_id: String,
    /// Of `slack`, without its end: whoever knows it may write there.
    url: String,
    format: WebhookFormat,
    description: String,
    events: Vec<EventType>,
    enabled: bool,
    created_at: i64,
    /// Attempts that failed since the last one that did not.
    failures: i64,
    /// While it fails: when it is tried again.
    next_attempt_at: Option<i64>,
}

impl From<Webhook> for ShownWebhook {
    fn from(webhook: Webhook) -> Self {
        ShownWebhook {
            url: target::shown(&webhook),
            webhook_id: webhook.webhook_id,
            format: webhook.format,
            description: webhook.description,
            events: webhook.events.0,
            enabled: webhook.enabled,
            created_at: webhook.created_at,
            failures: webhook.failures,
            next_attempt_at: webhook.failing_until,
        }
    }
}

#[derive(Serialize, ToSchema)]
struct WebhookList {
    /// The oldest first.
    webhooks: Vec<ShownWebhook>,
}

/// The organization's webhooks.
#[utoipa::path(get, path = "/api/webhooks", tag = "webhooks", responses((status = 200, body = WebhookList)))]
async fn list_webhooks(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
) -> Result<Json<WebhookList>> {
    let webhooks = super::list(&app, &caller.org_id).await?;
    Ok(Json(WebhookList { webhooks: webhooks.into_iter().map(ShownWebhook::from).collect() }))
}

/// Events that can be asked for: all but the test, which is sent on request.
fn subscribable() -> Vec<&'static str> {
    let asked = EventType::ALL.iter().filter(|event| **event != EventType::Test);
    asked.map(|event| event.as_str()).collect()
}

fn url(f: &mut Fields<'_>) -> Option<String> {
    f.optional_text("url", URL_LENGTH).map(|url| url.trim().to_owned())
}

fn events(f: &mut Fields<'_>) -> Option<Vec<EventType>> {
    let known = subscribable();
    let read = |item: &Value| {
        let word = item.as_str().filter(|word| known.contains(word)).and_then(EventType::parse);
        word.ok_or_else(|| ("not_allowed", format!("must be one of: {}", known.join(", "))))
    };
    let mut events = f.about("The events that are sent.").values(
        "events",
        known.len(),
        Shape::Words(known.clone()),
        read,
    )?;
    if events.is_empty() && !f.is_refused("events") {
        f.problem("events", "too_short", "must have at least one item");
    }
    events.sort_unstable();
    events.dedup();
    Some(events)
}

crate::request_body!(NewWebhook, "CreateWebhookRequest");

impl Read for NewWebhook {
    fn read(f: &mut Fields<'_>) -> Self {
        NewWebhook {
            url: f
                .about("`https://…`, or `mailto:` and an address for the format `email`.")
                .required("url", url),
            format: f.word_or("format", WebhookFormat::Standard),
            description: f.text("description", DESCRIPTION_LENGTH),
            events: f.required("events", events),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct CreatedWebhook {
    webhook: ShownWebhook,
    /// `whsec_…`, which the signature is checked with. Shown this once; null unless the format is `standard`.
    secret: Option<String>,
}

/// Make a webhook.
#[utoipa::path(post, path = "/api/webhooks", tag = "webhooks", request_body = NewWebhook,
    responses((status = 200, body = CreatedWebhook)))]
async fn create_webhook(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<NewWebhook>,
) -> Result<Json<CreatedWebhook>> {
    let (webhook, secret) = super::create(&app, &caller.org_id, value).await?;
    Ok(Json(CreatedWebhook { webhook: webhook.into(), secret }))
}

crate::request_body!(WebhookChange, "UpdateWebhookRequest");

impl Read for WebhookChange {
    fn read(f: &mut Fields<'_>) -> Self {
        WebhookChange {
            url: url(f),
            description: f.optional_text("description", DESCRIPTION_LENGTH),
            events: events(f),
            enabled: f
                .about("While false nothing is sent, and what waits is given up.")
                .optional_flag("enabled"),
        }
    }
}

/// Change a webhook; what is absent stays. Its secret stays too.
#[utoipa::path(patch, path = "/api/webhooks/{webhook_id}", tag = "webhooks",
    params(("webhook_id" = String, Path)),
    request_body = WebhookChange, responses((status = 200, body = ShownWebhook)))]
async fn update_webhook(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(webhook_id): PathId,
    Input { value, .. }: Input<WebhookChange>,
) -> Result<Json<ShownWebhook>> {
    Ok(Json(super::change(&app, &caller.org_id, webhook_id, value).await?.into()))
}

#[derive(Serialize, ToSchema)]
struct DeletedWebhook {
    success: bool,
}

/// Delete a webhook with its log. Nothing that waits is sent.
#[utoipa::path(delete, path = "/api/webhooks/{webhook_id}", tag = "webhooks",
    params(("webhook_id" = String, Path)), responses((status = 200, body = DeletedWebhook)))]
async fn delete_webhook(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(webhook_id): PathId,
) -> Result<Json<DeletedWebhook>> {
    super::remove(&app, &caller.org_id, webhook_id).await?;
    Ok(Json(DeletedWebhook { success: true }))
}

/// Send a test message, once. Its outcome is in the log.
#[utoipa::path(post, path = "/api/webhooks/{webhook_id}/test", tag = "webhooks",
    params(("webhook_id" = String, Path)), responses((status = 200, body = Delivery)))]
async fn test_webhook(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(webhook_id): PathId,
) -> Result<Json<Delivery>> {
    Ok(Json(super::send_test(&app, &caller.org_id, webhook_id).await?))
}

struct ListDeliveries {
    state: Option<DeliveryState>,
    limit: i64,
}

crate::request_query!(ListDeliveries);

impl Read for ListDeliveries {
    fn read(f: &mut Fields<'_>) -> Self {
        ListDeliveries {
            state: f.about("All when absent.").word("state"),
            limit: f.integer_or("limit", 1..=1000, 50),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct WebhookDeliveries {
    /// The newest first.
    deliveries: Vec<Delivery>,
}

/// The log of a webhook: a month, and a thousand deliveries at most.
#[utoipa::path(get, path = "/api/webhooks/{webhook_id}/deliveries", tag = "webhooks",
    params(("webhook_id" = String, Path), ListDeliveries),
    responses((status = 200, body = WebhookDeliveries)))]
async fn list_webhook_deliveries(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    PathId(webhook_id): PathId,
    QueryInput(query): QueryInput<ListDeliveries>,
) -> Result<Json<WebhookDeliveries>> {
    let ListDeliveries { state, limit } = query;
    let deliveries = super::deliveries(&app, &caller.org_id, webhook_id, state, limit).await?;
    Ok(Json(WebhookDeliveries { deliveries }))
}
