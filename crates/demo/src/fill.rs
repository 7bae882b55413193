//! Living the story: the clock is moved forward a day at a time; who comes is served, what is due is judged.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::desk::Desk;
use super::experiments;
use super::lessons::{self, Lesson, Profile};
use super::story::{DAY, DAYS, Dice, FORGOTTEN, Story, Visit, user_id};
use super::talk::{self, Given, Topic};
use base::owner::UserId;
use service::app::App;
use service::credentials::DEFAULT_ORG;
use service::evaluation::learned::training::KIND as TRAINING;
use service::governance::purge::{self, EraseRequest};
use service::learning_loop::SETTLE_TRIALS;
use service::learnings;
use service::wiring::job_handlers;
use storage::jobs;
use storage::subjects::COMMAND_LINE;

/// Share of visits whose outcome the desk's own system knows.
const KNOWN: f64 = 0.9;
/// Visits served, and jobs worked on, at the same time: they share commits.
pub const AT_A_TIME: usize = 256;
/// The longest a conversation takes.
const LONGEST: i64 = 4000;
/// From this day on, some answers are published with a shadow beside them.
const SHADOW_FROM: i64 = 40;
/// From this day on the desk lets its agent learn from its sessions; before, people wrote its playbooks.
const LEARNS_FROM: i64 = 83;

/// The end of a visit, for people who look at sessions afterwards.
struct Went {
    user: UserId,
    session_id: String,
    ended_at: i64,
    well: bool,
}

/// A visit under way, with the learnings given.
struct Guest {
    visit: Visit,
    topic: &'static Topic,
    given: Given,
    with_shadow: bool,
}

struct Life<'a> {
    app: &'a Arc<App>,
    desk: Desk,
    story: &'a Story,
    lessons: Vec<Lesson>,
    profiles: BTreeMap<UserId, Profile>,
}

/// Lives the story; gives how many sessions it came to.
pub async fn fill(app: &Arc<App>, story: &Story) -> Result<usize> {
    let desk = Desk::new(app);
    let bar = ProgressBar::new(story.sessions()).with_style(ProgressStyle::with_template(
        "living through 90 days {bar:36} {pos}/{len} sessions ({eta} left)",
    )?);
    configure(&desk, false).await?;
    // The installation's other recurring work waits until the demo is served.
    let handlers = job_handlers();
    for settling in handlers.iter().filter(|handler| handler.kind() == SETTLE_TRIALS) {
        settling.schedule(app).await?;
    }
    let profiles = lessons::get_to_know(&desk, story.seed(), app.clock.now()).await?;
    let mut life = Life { app, desk, story, lessons: Vec::new(), profiles };
    let went = life.live(&bar).await?;
    life.look_back(&went).await?;
    life.catch_up(DAYS).await?;
    bar.finish_and_clear();
    Ok(went.len())
}

async fn configure(desk: &Desk, learns: bool) -> Result<()> {
    let config = json!({
        "agent_context_prompt": "A support agent of an online shop. It looks up orders, makes returns and issues invoices again.",
        "tool_can_use": talk::TOPICS.iter().filter(|t| !t.tool.is_empty()).map(|t| json!({"tool_name": t.tool})).collect::<Vec<_>>(),
        // As one does when judging costs money; and there is something to ask why about.
        "agent_success_config": {"sampling_rate": 0.8},
        "learning": {"enabled": learns},
        "learning_trials": {"enabled": true},
    });
    desk.post("/api/update_config", &config).await.map(drop)
}

impl Life<'_> {
    async fn live(&mut self, bar: &ProgressBar) -> Result<Vec<Went>> {
        let mut went = Vec::new();
        let mut talking: VecDeque<Guest> = VecDeque::new();
        for day in 0..DAYS {
            self.begin_day(day, &mut went).await?;
            let until = (self.story.begins_at() + (day + 1) * DAY).min(self.story.ends_at());
            self.app.clock.advance(until - self.app.clock.now());
            let came = self.story.visits(day).into_iter().filter(|visit| visit.starts_at < until);
            talking.extend(self.welcome(day, came).await?);
            let over = |guest: &Guest| guest.visit.starts_at + LONGEST <= until;
            let done = talking.iter().take_while(|guest| over(guest)).count();
            bar.inc(done as u64);
            // A bar is drawn on terminals only.
            if bar.is_hidden() && day % 10 == 9 {
                tracing::info!("lived through {} of {DAYS} days", day + 1);
            }
            went.extend(self.publish(talking.drain(..done)).await?);
            self.catch_up(day).await?;
        }
        Ok(went)
    }

    /// Midnight: experiments end and start, playbooks are made, somebody is forgotten.
    async fn begin_day(&mut self, day: i64, went: &mut Vec<Went>) -> Result<()> {
        if day == LEARNS_FROM {
            configure(&self.desk, true).await?;
        }
        experiments::turn_to(&self.desk, day).await?;
        let now = self.app.clock.now();
        lessons::retire(&self.desk, day, &mut self.lessons).await?;
        self.lessons.extend(lessons::teach(&self.desk, self.story.seed(), day, now).await?);
        let (customer, on_day) = FORGOTTEN;
        if day == on_day {
            let request = EraseRequest {
                org_id: DEFAULT_ORG.into(),
                user_id: user_id(customer),
                request_id: "letter-2041".to_owned(),
                actor: COMMAND_LINE.to_owned(),
            };
            went.retain(|one| one.user != request.user_id);
            let purge = purge::erase(self.app, request, Duration::from_secs(60)).await?;
            ensure!(purge.is_complete(), "the erasure did not end: {:?}", purge.error_code);
        }
        Ok(())
    }

    /// The agent looks up what is known for those who came, as far as an experiment lets it.
    async fn welcome(&self, day: i64, visits: impl Iterator<Item = Visit>) -> Result<Vec<Guest>> {
        let each = visits.map(|visit| {
            let topic = talk::topic_of(&visit.dice);
            let found = Given {
                lesson: lessons::fitting(&self.lessons, topic.name, &visit.dice).cloned(),
                profile: self.profiles.get(&visit.user).cloned(),
            };
            let with_shadow = day >= SHADOW_FROM && visit.dice.chance(0.1);
            let (app, seed) = (self.app.clone(), self.story.seed());
            self.on_any_core(async move {
                let given = experiments::expose(&app, seed, day, &visit, found).await?;
                let Some(given) = given else { return Ok(None) };
                let given = lessons::hand_over(&app, &visit, given).await?;
                Ok(Some(Guest { visit, topic, given, with_shadow }))
            })
        });
        let guests: Vec<Option<Guest>> =
            stream::iter(each).buffered(AT_A_TIME).try_collect().await?;
        Ok(guests.into_iter().flatten().collect())
    }

    /// Runs `work` as a task of its own.
    async fn on_any_core<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.app.spawn(work).await?
    }

    /// Publishes what was said.
    async fn publish(&self, guests: impl Iterator<Item = Guest>) -> Result<Vec<Went>> {
        stream::iter(guests.map(|guest| self.on_any_core(part(self.desk.clone(), guest))))
            .buffer_unordered(AT_A_TIME)
            .try_collect()
            .await
    }

    /// People look at some sessions, another program scores some.
    async fn look_back(&self, went: &[Went]) -> Result<()> {
        let (mut labels, mut reports) = (Vec::new(), Vec::new());
        for (index, one) in (0..).zip(went) {
            let dice = Dice::new(self.story.seed() ^ 0x1ABE1, index);
            let of = json!({"user_id": one.user, "session_id": one.session_id});
            if dice.chance(0.012) {
                let says = one.well != dice.chance(0.09);
                let by = dice.one_of(&["kim", "lee", "sam"]);
                labels.push(with(&of, json!({"is_success": says, "labelled_by": by})));
            } else if dice.chance(0.06) {
                let stars = if one.well { 4.0 } else { 2.0 } + dice.fraction();
                let score = json!({
                    "scorer_name": "customer stars", "value": (stars * 10.0).round() / 10.0,
                    "ts": one.ended_at, "source_run_id": format!("stars-{}", one.session_id),
                });
                reports.push(("/api/imported_scores", with(&of, score)));
            }
        }
        let desk = &self.desk;
        let each = reports.iter().map(|(path, body)| desk.post(path, body));
        stream::iter(each).buffer_unordered(AT_A_TIME).try_collect::<Vec<Value>>().await?;
        for part in labels.chunks(500) {
            self.desk.post("/api/evaluations/labels", &json!({"labels": part})).await?;
        }
        Ok(())
    }

    /// Works through everything that is due, of what the desk does by this day.
    async fn catch_up(&self, day: i64) -> Result<()> {
        let mut handlers = job_handlers();
        // The learned judge is trained once, when the story is over.
        handlers.retain(|one| one.kind() != TRAINING);
        if day < LEARNS_FROM {
            let learning: Vec<_> = learnings::handlers().iter().map(|one| one.kind()).collect();
            handlers.retain(|one| !learning.contains(&one.kind()));
        }
        jobs::run_until_idle_by(self.app, &handlers, AT_A_TIME).await?;
        Ok(())
    }
}

/// Talks with somebody until they go.
async fn part(desk: Desk, Guest { visit, topic, given, with_shadow }: Guest) -> Result<Went> {
    let conversation = talk::converse(&visit, topic, &given, with_shadow);
    let body = request(&visit, &conversation.turns, 0, true);
    desk.post("/api/publish_interaction", &body).await?;
    let last = conversation.turns.last().and_then(|turn| turn["created_at"].as_i64());
    let ended_at = last.unwrap_or(visit.starts_at);
    if let Some(report) = outcome(&visit, conversation.went_well, ended_at) {
        desk.post("/api/session_outcome", &report).await?;
    }
    Ok(Went {
        session_id: visit.session_id(),
        ended_at,
        well: conversation.went_well,
        user: visit.user,
    })
}

/// Outcome that the desk's own system reports of a visit: it knows those of most.
pub fn outcome(visit: &Visit, went_well: bool, ended_at: i64) -> Option<Value> {
    let dice = Dice::new(0x0C0E ^ visit.number, visit.customer);
    if !dice.chance(KNOWN) {
        return None;
    }
    Some(json!({
        "user_id": visit.user,
        "session_id": visit.session_id(),
        "outcome": if went_well { "success" } else { "failure" },
        "occurred_at": ended_at,
    }))
}

/// A publish of some turns of a visit.
pub fn request(visit: &Visit, turns: &[Value], index: usize, finished: bool) -> Value {
    json!({
        "request_id": format!("{}-{index}", visit.session_id()),
        "user_id": visit.user,
        "session_id": visit.session_id(),
        "source": visit.source,
        "agent_version": visit.version,
        "created_at": turns.first().map(|turn| &turn["created_at"]),
        "session_finished": finished,
        "interaction_data_list": turns,
    })
}

/// An object with another's fields added.
fn with(of: &Value, more: Value) -> Value {
    let mut all = of.clone();
    if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
        all.extend(more);
    }
    all
}
