//! Telling webhooks of events, in the transactions that make them happen.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::{DELIVER, Delivery, DeliveryJob, DeliveryState, Event, EventType, Webhook, sql};
use crate::app::App;
use base::owner::OrgId;
use judge::BlockReason;
use storage::db::Tx;
use storage::error::Result;
use storage::jobs::{self, NewJob, OnDuplicate};
use storage::subjects::SubjectWrite;

/// Claims that end without a word (a worker that was killed) before a delivery's job is given up.
const MOST_CLAIMS: i64 = 100;

/// Tells every webhook that asks for it of an event, as part of the transaction that makes it happen. `subject` is the
/// person whom the event is about, if it is about one.
pub async fn emit(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    subject: Option<&SubjectWrite>,
    event: &Event,
) -> Result<()> {
    let webhooks = tx.read_afar(org_id, &|tx, org_id| Box::pin(sql::list(tx, org_id)));
    for webhook in webhooks.await? {
        if webhook.enabled && webhook.events.contains(&event.kind()) {
            enqueue(tx, app, org_id, &webhook, subject, event).await?;
        }
    }
    Ok(())
}

/// [`emit`] for news that several may notice: told once under its key, and never again.
pub async fn emit_once(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    key: &str,
    event: &Event,
) -> Result<()> {
    if sql::insert_news(tx, org_id, event.kind(), key, app.clock.now()).await? {
        emit(tx, app, org_id, None, event).await?;
    }
    Ok(())
}

/// Stores a delivery with its job.
pub(super) async fn enqueue(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    webhook: &Webhook,
    subject: Option<&SubjectWrite>,
    event: &Event,
) -> Result<Delivery> {
    let now = app.clock.now();
    let delivery = Delivery {
        delivery_id: app.ids.uuid(),
        webhook_id: webhook.webhook_id.clone(),
        event: event.kind(),
        state: DeliveryState::Waiting,
        attempts: 0,
        status_code: None,
        error: None,
        created_at: now,
        last_attempt_at: None,
        next_attempt_at: Some(now),
        user_id: subject.map(|subject| subject.user_id().to_owned()),
        body: event.body(webhook.format, org_id, now),
    };
    sql::insert_delivery(tx, org_id, subject, &delivery).await?;
    let job = NewJob {
        kind: DELIVER,
        org_id,
        subject,
        parent_id: None,
        payload: jobs::stored(&DeliveryJob { delivery_id: delivery.delivery_id.clone() }),
        dedupe_key: Some(delivery.delivery_id.clone()),
        on_duplicate: OnDuplicate::Keep,
        run_at: now,
        max_attempts: MOST_CLAIMS,
    };
    jobs::enqueue(tx, app, job).await?;
    Ok(delivery)
}

/// Organizations with a webhook that asks for one of these events.
pub async fn organizations_asking(app: &App, events: &[EventType]) -> Result<Vec<OrgId>> {
    let asked = events.to_vec();
    app.db
        .read("webhooks.organizations", asked, |tx, asked| {
            Box::pin(async move {
                let all = sql::all_enabled(tx).await?;
                let mut asking: Vec<OrgId> = all
                    .into_iter()
                    .filter(|(_, events)| events.iter().any(|event| asked.contains(event)))
                    .map(|(org_id, _)| org_id)
                    .collect();
                asking.dedup();
                Ok(asking)
            })
        })
        .await
}

/// Pauses of the judge that this process has told, so that the hundreds of sessions that wait for it do not ask again.
#[derive(Default)]
pub struct ToldPauses(Mutex<HashSet<(OrgId, String)>>);

/// Told pauses that are remembered; beyond, the database is asked again.
const REMEMBERED: usize = 1000;

impl ToldPauses {
    fn is_new(&self, org_id: &OrgId, key: &str) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= REMEMBERED {
            told.clear();
        }
        told.insert((org_id.clone(), key.to_owned()))
    }

    fn forget(&self, org_id: &OrgId, key: &str) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.remove(&(org_id.clone(), key.to_owned()));
    }
}

/// Tells an organization whose session waits for the judge why it does: once a day and reason, whichever replica
/// notices.
pub async fn judge_paused(app: &Arc<App>, org_id: &OrgId, reason: BlockReason) -> Result<()> {
    let event = match reason {
        BlockReason::BudgetSpent => {
            Event::BudgetReached { daily_budget_usd: app.judge.daily_budget_usd() }
        }
        reason => Event::JudgePaused { reason: reason.code() },
    };
    let day = app.clock.now().div_euclid(86_400);
    let key = format!("{}/{day}", reason.code());
    if !app.state::<ToldPauses>().is_new(org_id, &key) {
        return Ok(());
    }
    let told = tell_pause(app, org_id, &key, event).await;
    if told.is_err() {
        app.state::<ToldPauses>().forget(org_id, &key);
    }
    told
}

async fn tell_pause(app: &Arc<App>, org_id: &OrgId, key: &str, event: Event) -> Result<()> {
    let input = (app.clone(), org_id.clone(), key.to_owned(), event);
    app.db
        .write("webhooks.judge_paused", input, |tx, (app, org_id, key, event)| {
            Box::pin(emit_once(tx, app, org_id, key, event))
        })
        .await
}
