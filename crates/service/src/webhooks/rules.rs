//! Making, changing, testing and removing webhooks.

use std::sync::Arc;

use sqlx::types::Json;

use super::target::{self, Target};
use super::{
    Delivery, DeliveryState, Event, EventType, Webhook, WebhookFormat, WebhookKey, emit, signature,
    sql,
};
use crate::app::App;
use base::owner::OrgId;
use storage::error::{Code, Error, Result};

/// Webhooks of one organization.
const MOST: usize = 20;

/// A webhook to be made.
pub struct NewWebhook {
    pub url: String,
    pub format: WebhookFormat,
    pub description: String,
    pub events: Vec<EventType>,
}

/// A change of a webhook; absent is as it was.
pub struct WebhookChange {
    pub url: Option<String>,
    pub description: Option<String>,
    pub events: Option<Vec<EventType>>,
    pub enabled: Option<bool>,
}

/// All webhooks of an organization, the oldest first.
pub async fn list(app: &App, org_id: &OrgId) -> Result<Vec<Webhook>> {
    app.db.lookup("webhooks.list", org_id.clone(), |tx, org| Box::pin(sql::list(tx, org))).await
}

/// Makes a webhook, and gives the secret that its messages are signed with, which is shown this once. E-mails are not
/// signed.
pub async fn create(
    app: &Arc<App>,
    org_id: &OrgId,
    new: NewWebhook,
) -> Result<(Webhook, Option<String>)> {
    let Target { url, sealed_url } = target::accept(app, &new.url, new.format)?;
    let webhook_id = app.ids.uuid();
    let (key_id, secret) = app.subject_keys.webhook_secret(&webhook_id);
    let webhook = Webhook {
        webhook_id,
        url,
        sealed_url,
        format: new.format,
        description: new.description,
        events: Json(new.events),
        enabled: true,
        key_id,
        failures: 0,
        failing_until: None,
        created_at: app.clock.now(),
    };
    app.db
        .write("webhooks.create", (org_id.clone(), webhook.clone()), |tx, (org_id, webhook)| {
            Box::pin(async move {
                if sql::list(tx, org_id).await?.len() >= MOST {
                    return Err(Error::refused(
                        Code::TooManyWebhooks,
                        format!("An organization has at most {MOST} webhooks; delete one first."),
                    ));
                }
                sql::insert(tx, org_id, webhook).await
            })
        })
        .await?;
    let is_signed = webhook.format == WebhookFormat::Standard;
    Ok((webhook, is_signed.then(|| signature::shown(&secret))))
}

/// Changes a webhook. One that is turned on, or has a new address, is tried at once.
pub async fn change(
    app: &Arc<App>,
    org_id: &OrgId,
    webhook_id: String,
    change: WebhookChange,
) -> Result<Webhook> {
    let key = WebhookKey { org_id: org_id.clone(), webhook_id };
    app.db
        .write("webhooks.change", (app.clone(), key, change), |tx, (app, key, change)| {
            Box::pin(async move {
                let mut webhook =
                    sql::hold(tx, key).await?.ok_or_else(|| Error::not_found("webhook"))?;
                if let Some(url) = &change.url {
                    let Target { url, sealed_url } = target::accept(app, url, webhook.format)?;
                    (webhook.url, webhook.sealed_url) = (url, sealed_url);
                }
                if let Some(description) = &change.description {
                    webhook.description.clone_from(description);
                }
                if let Some(events) = &change.events {
                    webhook.events = Json(events.clone());
                }
                webhook.enabled = change.enabled.unwrap_or(webhook.enabled);
                if change.url.is_some() || change.enabled == Some(true) {
                    (webhook.failures, webhook.failing_until) = (0, None);
                }
                sql::update(tx, &key.org_id, &webhook).await?;
                Ok(webhook)
            })
        })
        .await
}

/// Deletes a webhook with its log. Nothing that waits is sent.
pub async fn remove(app: &App, org_id: &OrgId, webhook_id: String) -> Result<()> {
    let key = WebhookKey { org_id: org_id.clone(), webhook_id };
    app.db
        .write("webhooks.remove", key, |tx, key| {
            Box::pin(async move {
                match sql::delete(tx, key).await? {
                    true => Ok(()),
                    false => Err(Error::not_found("webhook")),
                }
            })
        })
        .await
}

/// Sends a test message: once, whether or not the receiver fails otherwise.
pub async fn send_test(app: &Arc<App>, org_id: &OrgId, webhook_id: String) -> Result<Delivery> {
    let key = WebhookKey { org_id: org_id.clone(), webhook_id };
    let delivery = app
        .db
        .write("webhooks.test", (app.clone(), key), |tx, (app, key)| {
            Box::pin(async move {
                let webhook =
                    sql::find(tx, key).await?.ok_or_else(|| Error::not_found("webhook"))?;
                let event = Event::Test { webhook_id: webhook.webhook_id.clone() };
                emit::enqueue(tx, app, &key.org_id, &webhook, None, &event).await
            })
        })
        .await?;
    app.db.announce_work().await;
    Ok(delivery)
}

/// The log of a webhook, the newest first.
pub async fn deliveries(
    app: &App,
    org_id: &OrgId,
    webhook_id: String,
    state: Option<DeliveryState>,
    limit: i64,
) -> Result<Vec<Delivery>> {
    let key = WebhookKey { org_id: org_id.clone(), webhook_id };
    app.db
        .read("webhooks.deliveries", (key, state, limit), |tx, (key, state, limit)| {
            Box::pin(async move {
                sql::find(tx, key).await?.ok_or_else(|| Error::not_found("webhook"))?;
                sql::list_deliveries(tx, key, *state, *limit).await
            })
        })
        .await
}
