//! SQL of the tables `webhooks`, `webhook_deliveries` and `webhook_news`.

use sqlx::types::Json;

use super::{Delivery, DeliveryState, EventType, Webhook, WebhookKey};
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

macro_rules! columns {
    () => {
        "webhook_id, url, sealed_url, format, description, events, enabled, key_id, failures, failing_until, created_at"
    };
}

macro_rules! delivery_columns {
    () => {
        "delivery_id, webhook_id, event, state, attempts, status_code, error, created_at, last_attempt_at, \
         next_attempt_at, {user_of:webhook_deliveries} AS user_id, body"
    };
}

pub async fn insert(tx: &mut Tx, org_id: &OrgId, webhook: &Webhook) -> Result<()> {
    run!(
        tx,
        concat!(
            "INSERT INTO webhooks (org_id, ",
            columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
        ),
        org_id,
        &webhook.webhook_id,
        &webhook.url,
        &webhook.sealed_url,
        webhook.format,
        &webhook.description,
        &webhook.events,
        webhook.enabled,
        &webhook.key_id,
        webhook.failures,
        webhook.failing_until,
        webhook.created_at
    )?;
    Ok(())
}

/// The oldest first.
pub async fn list(tx: &mut Tx, org_id: &OrgId) -> Result<Vec<Webhook>> {
    rows!(
        tx,
        Webhook,
        concat!(
            "SELECT ",
            columns!(),
            " FROM webhooks WHERE org_id = $1 ORDER BY created_at, webhook_id"
        ),
        org_id
    )
}

/// Every organization's webhooks that are turned on, with the events they ask for.
pub async fn all_enabled(tx: &mut Tx) -> Result<Vec<(OrgId, Json<Vec<EventType>>)>> {
    rows!(
        tx,
        (OrgId, Json<Vec<EventType>>),
        "SELECT org_id, events FROM webhooks WHERE enabled ORDER BY org_id"
    )
}

pub async fn find(tx: &mut Tx, key: &WebhookKey) -> Result<Option<Webhook>> {
    row!(
        tx,
        Webhook,
        concat!("SELECT ", columns!(), " FROM webhooks WHERE org_id = $1 AND webhook_id = $2"),
        &key.org_id,
        &key.webhook_id
    )
}

/// [`find`], held until the transaction ends.
pub async fn hold(tx: &mut Tx, key: &WebhookKey) -> Result<Option<Webhook>> {
    row!(
        tx,
        Webhook,
        concat!(
            "SELECT ",
            columns!(),
            " FROM webhooks WHERE org_id = $1 AND webhook_id = $2 {lock:UPDATE}"
        ),
        &key.org_id,
        &key.webhook_id
    )
}

/// Stores what may change of a webhook.
pub async fn update(tx: &mut Tx, org_id: &OrgId, webhook: &Webhook) -> Result<()> {
    run!(
        tx,
        "UPDATE webhooks SET url = $3, sealed_url = $4, description = $5, events = $6, enabled = $7, failures = $8,
             failing_until = $9
         WHERE org_id = $1 AND webhook_id = $2",
        org_id,
        &webhook.webhook_id,
        &webhook.url,
        &webhook.sealed_url,
        &webhook.description,
        &webhook.events,
        webhook.enabled,
        webhook.failures,
        webhook.failing_until
    )?;
    Ok(())
}

/// Notes how a receiver stands after an attempt, unless another attempt has changed that since it was looked up.
pub async fn set_failures(
    tx: &mut Tx,
    key: &WebhookKey,
    before: i64,
    failures: i64,
    failing_until: Option<i64>,
) -> Result<()> {
    run!(
        tx,
        "UPDATE webhooks SET failures = $4, failing_until = $5
         WHERE org_id = $1 AND webhook_id = $2 AND failures = $3",
        &key.org_id,
        &key.webhook_id,
        before,
        failures,
        failing_until
    )?;
    Ok(())
}

/// Deletes a webhook with its log; false if there was none.
pub async fn delete(tx: &mut Tx, key: &WebhookKey) -> Result<bool> {
    run!(
        tx,
        "DELETE FROM webhook_deliveries WHERE org_id = $1 AND webhook_id = $2",
        &key.org_id,
        &key.webhook_id
    )?;
    let deleted = run!(
        tx,
        "DELETE FROM webhooks WHERE org_id = $1 AND webhook_id = $2",
        &key.org_id,
        &key.webhook_id
    )?;
    Ok(deleted > 0)
}

/// False if it was told before.
pub async fn insert_news(
    tx: &mut Tx,
    org_id: &OrgId,
    event: EventType,
    key: &str,
    now: i64,
) -> Result<bool> {
    let inserted = run!(
        tx,
        "INSERT INTO webhook_news (org_id, event, news_key, told_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (org_id, event, news_key) DO NOTHING",
        org_id,
        event,
        key,
        now
    )?;
    Ok(inserted > 0)
}

pub async fn insert_delivery(
    tx: &mut Tx,
    org_id: &OrgId,
    subject: Option<&SubjectWrite>,
    delivery: &Delivery,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO webhook_deliveries (org_id, subject, epoch, delivery_id, webhook_id, event, body, state, attempts,
            created_at, next_attempt_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        org_id,
        tx.owner(org_id, subject),
        subject.map(SubjectWrite::epoch),
        &delivery.delivery_id,
        &delivery.webhook_id,
        delivery.event,
        &delivery.body,
        delivery.state,
        delivery.attempts,
        delivery.created_at,
        delivery.next_attempt_at
    )?;
    Ok(())
}

pub async fn find_delivery(
    tx: &mut Tx,
    org_id: &OrgId,
    delivery_id: &str,
) -> Result<Option<Delivery>> {
    row!(
        tx,
        Delivery,
        concat!(
            "SELECT ",
            delivery_columns!(),
            " FROM webhook_deliveries WHERE org_id = $1 AND delivery_id = $2"
        ),
        org_id,
        delivery_id
    )
}

/// Stores what became of a delivery. One that is about a person takes their barrier.
pub async fn update_delivery(
    tx: &mut Tx,
    org_id: &OrgId,
    subject: Option<&SubjectWrite>,
    delivery: &Delivery,
) -> Result<()> {
    run!(
        tx,
        "UPDATE webhook_deliveries SET state = $4, attempts = $5, status_code = $6, error = $7, last_attempt_at = $8,
            next_attempt_at = $9
         WHERE org_id = $1 AND subject = $2 AND delivery_id = $3",
        org_id,
        tx.owner(org_id, subject),
        &delivery.delivery_id,
        delivery.state,
        delivery.attempts,
        delivery.status_code,
        delivery.error.as_deref(),
        delivery.last_attempt_at,
        delivery.next_attempt_at
    )?;
    Ok(())
}

/// The newest first.
pub async fn list_deliveries(
    tx: &mut Tx,
    key: &WebhookKey,
    state: Option<DeliveryState>,
    limit: i64,
) -> Result<Vec<Delivery>> {
    rows!(
        tx,
        Delivery,
        concat!(
            "SELECT ",
            delivery_columns!(),
            " FROM webhook_deliveries WHERE org_id = $1 AND webhook_id = $2 AND ($3 IS NULL OR state = $3)
              ORDER BY created_at DESC, delivery_id DESC LIMIT $4 + 0"
        ),
        &key.org_id,
        &key.webhook_id,
        state,
        limit
    )
}

/// Deletes deliveries that are over and were made before a time.
pub async fn delete_ended_before(tx: &mut Tx, before: i64, limit: i64) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM webhook_deliveries WHERE (org_id, delivery_id) IN (
             SELECT org_id, delivery_id FROM webhook_deliveries
             WHERE state <> 'waiting' AND created_at < $1 LIMIT $2 + 0)",
        before,
        limit
    )
}

/// Deletes deliveries of a webhook that are over, but for the newest.
pub async fn delete_all_but(tx: &mut Tx, key: &WebhookKey, kept: i64, limit: i64) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM webhook_deliveries WHERE org_id = $1 AND delivery_id IN (
             SELECT delivery_id FROM webhook_deliveries
             WHERE org_id = $1 AND webhook_id = $2 AND state <> 'waiting'
             ORDER BY created_at DESC, delivery_id DESC LIMIT $4 + 0 OFFSET $3 + 0)",
        &key.org_id,
        &key.webhook_id,
        kept,
        limit
    )
}

/// Every webhook's organization and id.
pub async fn keys(tx: &mut Tx) -> Result<Vec<(OrgId, String)>> {
    rows!(
        tx,
        (OrgId, String),
        "SELECT org_id, webhook_id FROM webhooks ORDER BY org_id, webhook_id"
    )
}

/// Forgets news of one day, told before a time.
pub async fn delete_daily_news(tx: &mut Tx, before: i64) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM webhook_news WHERE told_at < $1 AND event IN ('judge.paused', 'judge.budget_reached')",
        before
    )
}
