//! The job of a delivery: look, send, write down, all under its lease.
//!
//! A receiver that fails is left alone for a growing time, with all its deliveries, so that it holds up nobody else's. A
//! delivery that fails a day after its event is given up. A worker that dies after sending leaves the outcome unwritten,
//! and the message is sent again under the same id, by which receivers tell it.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::post::{NotSent, post};
use super::{
    Delivery, DeliveryJob, DeliveryState, EventType, Webhook, WebhookFormat, WebhookKey, email,
    signature, sql, target,
};
use crate::app::App;
use storage::db::Tx;
use storage::error::Result;
use storage::jobs::{self, Claim, GoOn, Handler, Outcome};
use storage::subjects::{SubjectWrite, barrier};

/// Kind of the job of a delivery.
pub const DELIVER: &str = "deliver_webhook";

/// Seconds until the next attempt after so many failures in a row; the last one for all further ones.
const PAUSES: [i64; 8] = [5, 30, 120, 600, 1800, 3600, 7200, 14_400];
/// Seconds after the event from which on a failure is the last.
const GIVE_UP_AFTER: i64 = 86_400;

pub struct Deliver;

impl Handler<App> for Deliver {
    fn kind(&self) -> &'static str {
        DELIVER
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(deliver(app, job))
    }
}

/// The pause after so many failures in a row, longer by up to a tenth.
fn pause(failures: i64, random: f64) -> i64 {
    let place = usize::try_from(failures - 1).unwrap_or(0).min(PAUSES.len() - 1);
    let seconds = PAUSES[place];
    #[allow(clippy::cast_possible_truncation)] // at most 24 minutes
    let jitter = (seconds as f64 * random / 10.0) as i64;
    seconds + jitter
}

/// The next state of a delivery and its receiver.
struct Recorded {
    delivery: Delivery,
    webhook: WebhookKey,
    /// Failures of the receiver before and after, and until when it is left alone.
    failures: Option<(i64, i64, Option<i64>)>,
}

async fn deliver(app: &Arc<App>, job: &Claim) -> Result<Outcome> {
    let DeliveryJob { delivery_id } = job.payload()?;
    let Some((delivery, webhook)) = load(app, job, delivery_id).await? else {
        // Deleted meanwhile, or of somebody who is being erased.
        return Ok(Outcome::Done);
    };
    let key = WebhookKey { org_id: job.org_id.clone(), webhook_id: webhook.webhook_id.clone() };
    let now = app.clock.now();
    let is_test = delivery.event == EventType::Test;
    if !webhook.enabled && !is_test {
        let delivery = given_up(delivery, "the webhook is turned off");
        return record(app, job, Recorded { delivery, webhook: key, failures: None }).await;
    }
    if let Some(until) = webhook.failing_until.filter(|until| *until > now && !is_test) {
        let delivery = Delivery { next_attempt_at: Some(until), ..delivery };
        return record(app, job, Recorded { delivery, webhook: key, failures: None }).await;
    }
    let sent = send(app, &webhook, &delivery, now).await?;
    let outcome = if sent.is_ok() { "delivered" } else { "failed" };
    metrics::counter!("evenhand_webhook_attempts_total", "outcome" => outcome).increment(1);
    let tried = Delivery {
        attempts: delivery.attempts + 1,
        last_attempt_at: Some(app.clock.now()),
        ..delivery
    };
    record(app, job, after(app, tried, &webhook, key, sent)).await
}

/// The delivery and its receiver, if there is still something to send: the last look before it is sent.
async fn load(
    app: &Arc<App>,
    job: &Claim,
    delivery_id: String,
) -> Result<Option<(Delivery, Webhook)>> {
    app.db
        .read("webhooks.load", (job.clone(), delivery_id), |tx, (job, delivery_id)| {
            Box::pin(async move {
                let org_id = &job.org_id;
                let Some(delivery) = sql::find_delivery(tx, org_id, delivery_id).await? else {
                    return Ok(None);
                };
                if let Some(user_id) = &delivery.user_id {
                    let epoch = barrier::open_epoch(tx, org_id, user_id).await?;
                    if epoch.is_none() || epoch != job.epoch {
                        return Ok(None);
                    }
                }
                let webhook_id = delivery.webhook_id.clone();
                let key = WebhookKey { org_id: org_id.clone(), webhook_id };
                let webhook = sql::find(tx, &key).await?;
                let waits = delivery.state == DeliveryState::Waiting;
                Ok(webhook.filter(|_| waits).map(|webhook| (delivery, webhook)))
            })
        })
        .await
}

async fn send(
    app: &App,
    webhook: &Webhook,
    delivery: &Delivery,
    now: i64,
) -> Result<std::result::Result<u16, NotSent>> {
    let Delivery { delivery_id: id, body, .. } = delivery;
    if webhook.format == WebhookFormat::Email {
        let Some(to) = email::address(&webhook.url) else {
            return Ok(Err(NotSent::because("not an e-mail address")));
        };
        let subject = format!("Evenhand: {}", delivery.event);
        return Ok(email::send(&app.settings.smtp, to, id, subject, body.clone()).await);
    }
    let secret = app.subject_keys.webhook_secret_by(&webhook.key_id, &webhook.webhook_id)?;
    let headers = vec![
        ("webhook-id", id.clone()),
        ("webhook-timestamp", now.to_string()),
        ("webhook-signature", signature::sign(&secret, id, now, body)),
    ];
    let allow_private = app.settings.webhooks.allow_private_addresses;
    let url = target::address(app, webhook)?;
    Ok(post(&url, headers, body.clone(), allow_private).await)
}

/// The state of a delivery and of its receiver after an attempt.
fn after(
    app: &App,
    delivery: Delivery,
    webhook: &Webhook,
    key: WebhookKey,
    sent: std::result::Result<u16, NotSent>,
) -> Recorded {
    let now = app.clock.now();
    let failed = match sent {
        Ok(status) => {
            let delivery = Delivery {
                state: DeliveryState::Delivered,
                status_code: Some(status.into()),
                error: None,
                next_attempt_at: None,
                ..delivery
            };
            let failures = (webhook.failures > 0).then_some((webhook.failures, 0, None));
            return Recorded { delivery, webhook: key, failures };
        }
        Err(failed) => failed,
    };
    let NotSent { status, error } = failed;
    let delivery = Delivery { status_code: status.map(i64::from), ..delivery };
    if delivery.event == EventType::Test {
        return Recorded { delivery: given_up(delivery, &error), webhook: key, failures: None };
    }
    let failures = webhook.failures + 1;
    let until = now + pause(failures, app.ids.fraction());
    let delivery = if now >= delivery.created_at + GIVE_UP_AFTER {
        given_up(delivery, &error)
    } else {
        Delivery { next_attempt_at: Some(until), error: Some(error), ..delivery }
    };
    let failures = Some((webhook.failures, failures, Some(until)));
    Recorded { delivery, webhook: key, failures }
}

fn given_up(delivery: Delivery, error: &str) -> Delivery {
    let error = Some(error.to_owned());
    Delivery { state: DeliveryState::Failed, error, next_attempt_at: None, ..delivery }
}

/// Writes what became of the delivery together with the next state of its job.
async fn record(app: &Arc<App>, job: &Claim, recorded: Recorded) -> Result<Outcome> {
    let input = (app.clone(), job.clone(), recorded);
    app.db
        .write("webhooks.record", input, |tx, (app, job, recorded)| {
            Box::pin(write(tx, app, job, recorded))
        })
        .await?;
    Ok(Outcome::Closed)
}

async fn write(tx: &mut Tx, app: &App, job: &Claim, recorded: &Recorded) -> Result<()> {
    let Recorded { delivery, webhook, failures } = recorded;
    let now = app.clock.now();
    let subject: Option<SubjectWrite> = match &delivery.user_id {
        Some(user_id) => Some(barrier::open_again(tx, &job.org_id, user_id, job.epoch, now).await?),
        None => None,
    };
    sql::update_delivery(tx, &job.org_id, subject.as_ref(), delivery).await?;
    if let Some((before, failures, until)) = failures {
        sql::set_failures(tx, webhook, *before, *failures, *until).await?;
    }
    match delivery.next_attempt_at {
        Some(run_at) => {
            let error = delivery.error.as_ref().map(|_| "the receiver did not take it");
            let payload = job.payload.0.clone();
            jobs::go_on(tx, job, &GoOn { run_at, weight: 0, payload, error }).await
        }
        None => jobs::finish(tx, job, now).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_four_hours_and_make_up_a_day() {
        assert_eq!(pause(1, 0.0), 5);
        assert_eq!(pause(3, 0.0), 120);
        assert_eq!(pause(1000, 0.0), 14_400);
        assert!(pause(1000, 0.999) < 14_400 + 1440);
        let mut at = 0;
        let attempts = (1..).take_while(|n| {
            let again = at < GIVE_UP_AFTER;
            at += pause(*n, 0.0);
            again
        });
        assert_eq!(attempts.count(), 13);
    }
}
