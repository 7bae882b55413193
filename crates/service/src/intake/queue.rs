//! Publishes that wait for each other: those that arrive while others are written are stored together, in one
//! transaction and with one statement for each table.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::publish::{self, Publish, PublishResponse};
use crate::app::App;
use base::owner::{OrgId, UserId};
use storage::db::Place;
use storage::error::{Error, Result};

/// Transactions at the same time: one is prepared while another waits for the disk.
const WRITERS: usize = 2;
/// The same where rows are spread: each is at one place, and other places do not wait for it.
const SPREAD_WRITERS: usize = 8;
/// Publishes of one transaction.
const MOST_PUBLISHES: usize = 256;
/// Turns of one transaction; a publish with more is alone.
const MOST_TURNS: usize = 1_000;

type Reply = oneshot::Sender<Result<PublishResponse>>;

/// Publishes that wait to be stored.
#[derive(Default)]
pub struct PublishQueue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    publishes: VecDeque<(Publish, Reply)>,
    /// People whose publishes are being stored: their next ones wait, so that their order holds.
    in_work: HashSet<(OrgId, UserId)>,
    /// Number of tasks that store what waits.
    writers: usize,
}

impl Waiting {
    /// Takes out publishes that can be stored together: of one organization, at one place, with different request ids, and
    /// of people of whom nothing is being stored.
    fn next_batch(&mut self) -> Vec<(Publish, Reply)> {
        let (mut batch, mut ids, mut turns) = (Vec::new(), HashSet::new(), 0);
        let mut passed_over = VecDeque::new();
        let mut first: Option<(OrgId, Option<Place>)> = None;
        while batch.len() < MOST_PUBLISHES
            && let Some((publish, reply)) = self.publishes.pop_front()
        {
            turns += publish.items.len();
            let can_go_along = first
                .as_ref()
                .is_none_or(|(org_id, place)| *org_id == publish.org_id && *place == publish.place)
                && !self.in_work.contains(&publish.person())
                && !ids.contains(&publish.request_id);
            if !can_go_along {
                passed_over.push_back((publish, reply));
            } else if turns > MOST_TURNS && !batch.is_empty() {
                self.publishes.push_front((publish, reply));
                break;
            } else {
                first = Some((publish.org_id.clone(), publish.place.clone()));
                ids.insert(publish.request_id.clone());
                batch.push((publish, reply));
            }
        }
        passed_over.append(&mut self.publishes);
        self.publishes = passed_over;
        self.in_work.extend(batch.iter().map(|(publish, _)| publish.person()));
        batch
    }
}

impl PublishQueue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self, people: &[(OrgId, UserId)]) {
        let mut waiting = self.lock();
        for person in people {
            waiting.in_work.remove(person);
        }
    }
}

/// Stores publishes, those of one person in this order, and gives their answers once they are on disk.
pub(super) async fn store(app: &Arc<App>, publishes: Vec<Publish>) -> Vec<Result<PublishResponse>> {
    let mut replies = Vec::with_capacity(publishes.len());
    {
        let mut waiting = app.state::<PublishQueue>().lock();
        for publish in publishes {
            let (reply, answer) = oneshot::channel();
            waiting.publishes.push_back((publish, reply));
            replies.push(answer);
        }
        let most = if app.db.is_spread() { SPREAD_WRITERS } else { WRITERS };
        if waiting.writers < most {
            waiting.writers += 1;
            app.spawn(write_waiting(app.clone()));
        }
    }
    let stopping = |_| Err(Error::unavailable("The server is stopping.", 1));
    join_all(replies).await.into_iter().map(|answer| answer.unwrap_or_else(stopping)).collect()
}

/// Stores what waits until nothing does.
async fn write_waiting(app: Arc<App>) {
    loop {
        let (publishes, replies): (Vec<Publish>, Vec<Reply>) = {
            let mut waiting = app.state::<PublishQueue>().lock();
            let batch = waiting.next_batch();
            if batch.is_empty() {
                waiting.writers -= 1;
                return;
            }
            batch.into_iter().unzip()
        };
        let makes_work = publishes.iter().any(Publish::makes_work);
        let people: Vec<_> = publishes.iter().map(Publish::person).collect();
        let answers = write(&app, publishes).await;
        app.state::<PublishQueue>().done(&people);
        for (answer, reply) in answers.into_iter().zip(replies) {
            // Nobody waits for the answer of a request that was given up.
            let _ = reply.send(answer);
        }
        if makes_work {
            app.db.announce_work().await;
        }
    }
}

/// Stores publishes together; those that are refused, and all of them if that fails, each alone.
async fn write(app: &Arc<App>, publishes: Vec<Publish>) -> Vec<Result<PublishResponse>> {
    let publishes: Vec<Arc<Publish>> = publishes.into_iter().map(Arc::new).collect();
    let mut answers: Vec<Option<PublishResponse>> = Vec::new();
    if publishes.len() > 1 {
        // What went wrong for one of them is not the fault of the others.
        answers = transaction(app, publishes.clone()).await.unwrap_or_default();
    }
    answers.resize_with(publishes.len(), || None);
    let each = publishes.into_iter().zip(answers).map(async |(publish, answer)| match answer {
        Some(answer) => Ok(answer),
        None => {
            let alone = transaction(app, vec![publish]).await?;
            let lost = || Error::Internal("a publish has no answer".to_owned());
            alone.into_iter().next().flatten().ok_or_else(lost)
        }
    });
    join_all(each).await
}

async fn transaction(
    app: &Arc<App>,
    publishes: Vec<Arc<Publish>>,
) -> Result<Vec<Option<PublishResponse>>> {
    let place = publishes.first().and_then(|publish| publish.place.clone());
    let input = (app.clone(), publishes);
    app.db
        .write_at("sessions.publish", place, input, |tx, (app, publishes)| {
            Box::pin(publish::store(tx, app, publishes))
        })
        .await
}
