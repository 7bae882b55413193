//! The lease queue: work happens, once, whoever dies in the middle.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use service::app::App;
use service::credentials::Role;
use storage::db::Changes;
use storage::error::{Code, Error, Result};
use storage::jobs::{self, Children, Claim, Handler, NewJob, OnDuplicate, Outcome, Runner};
use storage::subjects::barrier;

use crate::support::{Backend, NOW, Server, TestApp, apply, both_backends, until};

const KIND: &str = "test";

/// A job to enqueue; change what the test is about.
#[derive(Clone)]
struct Job {
    kind: &'static str,
    run_at: i64,
    dedupe: Option<&'static str>,
    on_duplicate: OnDuplicate,
    max_attempts: i64,
    parent: Option<String>,
    user: Option<&'static str>,
    payload: Value,
}

impl Default for Job {
    fn default() -> Self {
        Job {
            kind: KIND,
            run_at: NOW,
            dedupe: None,
            on_duplicate: OnDuplicate::Move,
            max_attempts: 3,
            parent: None,
            user: None,
            payload: json!({}),
        }
    }
}

async fn enqueue(app: &Arc<App>, job: Job) -> String {
    app.db
        .write("test.enqueue", (app.clone(), job), |tx, (app, job)| {
            Box::pin(async move {
                let subject = match job.user {
                    Some(user) => Some(barrier::open(tx, &"org".into(), &user.into(), NOW).await?),
                    None => None,
                };
                let new = NewJob {
                    kind: job.kind,
                    org_id: &"org".into(),
                    subject: subject.as_ref(),
                    parent_id: job.parent.as_deref(),
                    payload: job.payload.clone(),
                    dedupe_key: job.dedupe.map(str::to_owned),
                    on_duplicate: job.on_duplicate,
                    run_at: job.run_at,
                    max_attempts: job.max_attempts,
                };
                jobs::enqueue(tx, app, new).await
            })
        })
        .await
        .unwrap()
}

async fn claim(app: &App, limit: usize) -> Vec<Claim> {
    jobs::claim(app, &[KIND], limit).await.unwrap()
}

async fn finish(app: &App, job: &Claim) -> Result<()> {
    let input = (job.clone(), app.clock.now());
    app.db.write("test.finish", input, |tx, (job, now)| Box::pin(jobs::finish(tx, job, *now))).await
}

/// Writes something and finishes the job, in two statements or handed over at once.
async fn write_and_finish(app: &App, job: &Claim, at_once: bool) -> Result<()> {
    const WRITE: &str = "INSERT INTO installation (key, value) VALUES ('fenced', 'written')";
    app.db
        .write("test.fenced", job.clone(), move |tx, job| {
            Box::pin(async move {
                if at_once {
                    let mut changes = Changes::default();
                    changes.all_together();
                    changes.add(WRITE, Vec::new());
                    jobs::add_finish(&mut changes, job, NOW);
                    return tx.apply(changes).await.map(|numbers| assert_eq!(numbers, [0; 0]));
                }
                storage::run!(tx, WRITE)?;
                jobs::finish(tx, job, NOW).await
            })
        })
        .await
}

/// The queue as operators see it: `kind state count` lines.
async fn states(app: &App) -> Vec<String> {
    let (counts, _) = jobs::summary(app, Some(&"org".into())).await.unwrap();
    counts.iter().map(|c| format!("{} {} {}", c.kind, c.state, c.count)).collect()
}

/// Notes what it was given and does what it is told.
struct Noting {
    seen: Mutex<Vec<String>>,
    act: fn() -> Result<Outcome>,
    pause: Duration,
}

impl Noting {
    fn new(act: fn() -> Result<Outcome>) -> Arc<Self> {
        Arc::new(Noting { seen: Mutex::new(Vec::new()), act, pause: Duration::ZERO })
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn only(handler: &Arc<Noting>) -> Vec<Arc<dyn Handler<App>>> {
    vec![handler.clone()]
}

impl Handler<App> for Noting {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn run<'a>(&'a self, _: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            self.seen.lock().unwrap().push(job.job_id.clone());
            tokio::time::sleep(self.pause).await;
            (self.act)()
        })
    }
}

#[apply(both_backends)]
async fn due_jobs_are_claimed_oldest_first_and_only_once(t: TestApp) {
    let app = &t.app;
    let late = enqueue(app, Job { run_at: NOW - 1, ..Job::default() }).await;
    let early = enqueue(
        app,
        Job { run_at: NOW - 100, payload: json!({"n": [1, "two"]}), ..Job::default() },
    )
    .await;
    let middle = enqueue(app, Job { run_at: NOW - 50, ..Job::default() }).await;
    enqueue(app, Job { run_at: NOW + 1, ..Job::default() }).await;
    enqueue(app, Job { kind: "other", run_at: NOW - 500, ..Job::default() }).await;
    let first = claim(app, 1).await;
    assert_eq!((first[0].job_id.as_str(), first[0].attempts), (early.as_str(), 1));
    assert_eq!(first[0].payload.0, json!({"n": [1, "two"]}));
    let rest: Vec<_> = claim(app, 10).await.into_iter().map(|c| c.job_id).collect();
    assert_eq!(rest, [middle, late]);
    assert!(claim(app, 10).await.is_empty());
    assert_eq!(states(app).await, ["other due 1", "test running 3", "test waiting 1"]);
    let (_, oldest) = jobs::summary(app, Some(&"org".into())).await.unwrap();
    assert_eq!(oldest, 500);
    assert_eq!(jobs::summary(app, Some(&"elsewhere".into())).await.unwrap().1, 0);
    t.clock().advance(1);
    assert_eq!(claim(app, 10).await.len(), 1);
}

#[apply(both_backends)]
async fn a_lease_that_ran_out_is_taken_over_and_the_first_worker_cannot_finish(t: TestApp) {
    let app = &t.app;
    enqueue(app, Job::default()).await;
    let slow = claim(app, 1).await.remove(0);
    t.clock().advance(app.settings.jobs.lease_seconds);
    assert!(claim(app, 1).await.is_empty(), "the lease holds to its last second");
    t.clock().advance(1);
    let fresh = claim(app, 1).await.remove(0);
    assert_eq!((fresh.job_id.as_str(), fresh.attempts), (slow.job_id.as_str(), 2));
    assert!(!jobs::extend(app, &slow).await.unwrap());
    // Nothing the slow worker does counts, and what it wrote with it is gone too.
    for at_once in [false, true] {
        let lost = write_and_finish(app, &slow, at_once).await;
        assert!(matches!(lost, Err(Error::LeaseLost)), "{lost:?}");
        assert_eq!(t.number("SELECT COUNT(*) FROM installation WHERE key = 'fenced'").await, 0);
    }
    jobs::fail(app, &slow, &Error::LeaseLost).await.unwrap();
    jobs::release(app, &slow).await.unwrap();
    assert_eq!(states(app).await, ["test running 1"]);
    write_and_finish(app, &fresh, true).await.unwrap();
    assert_eq!(t.number("SELECT COUNT(*) FROM installation WHERE key = 'fenced'").await, 1);
    assert_eq!(states(app).await, ["test done 1"]);
    assert!(matches!(finish(app, &fresh).await, Err(Error::LeaseLost)), "once is enough");
}

#[apply(both_backends)]
async fn an_extended_lease_is_not_taken_over(t: TestApp) {
    let app = &t.app;
    enqueue(app, Job::default()).await;
    let job = claim(app, 1).await.remove(0);
    for _ in 0..5 {
        t.clock().advance(app.settings.jobs.lease_seconds - 1);
        assert!(jobs::extend(app, &job).await.unwrap());
    }
    assert!(claim(app, 1).await.is_empty());
    finish(app, &job).await.unwrap();
}

#[apply(both_backends)]
async fn a_job_that_kills_its_workers_dies_with_its_reason(t: TestApp) {
    let app = &t.app;
    enqueue(app, Job { max_attempts: 3, ..Job::default() }).await;
    for attempt in 1..=3 {
        let claimed = claim(app, 1).await;
        assert_eq!(claimed[0].attempts, attempt);
        t.clock().advance(app.settings.jobs.lease_seconds + 1);
    }
    assert!(claim(app, 1).await.is_empty());
    assert_eq!(states(app).await, ["test dead 1"]);
    assert_eq!(
        t.number(
            "SELECT COUNT(*) FROM jobs WHERE last_error LIKE 'gave up%' AND finished_at IS NOT NULL"
        )
        .await,
        1
    );
}

#[apply(both_backends)]
async fn failures_are_repeated_after_growing_pauses_and_then_given_up(t: TestApp) {
    let app = &t.app;
    enqueue(app, Job { max_attempts: 4, ..Job::default() }).await;
    let mut pauses = Vec::new();
    for attempt in 1..=4 {
        let job = claim(app, 1).await.remove(0);
        assert_eq!(job.attempts, attempt);
        let reason =
            Error::refused(Code::Unavailable, format!("failure {attempt} {}", "x".repeat(2000)));
        jobs::fail(app, &job, &reason).await.unwrap();
        if attempt < 4 {
            assert!(claim(app, 1).await.is_empty(), "not at once");
            let now = app.clock.now();
            let again = t.number("SELECT run_at FROM jobs").await;
            pauses.push(again - now);
            t.clock().advance(again - now);
        }
    }
    assert!(pauses[0] >= 1 && pauses.windows(2).all(|p| p[0] < p[1]), "{pauses:?}");
    assert_eq!(states(app).await, ["test dead 1"]);
    assert_eq!(t.number("SELECT COUNT(*) FROM jobs WHERE last_error LIKE 'failure 4 %' AND LENGTH(last_error) = 500").await, 1);
}

#[apply(both_backends)]
async fn a_duplicate_moves_the_open_job_or_keeps_it(t: TestApp) {
    let app = &t.app;
    let with = |run_at, on_duplicate, n: i64| Job {
        dedupe: Some("s1"),
        run_at,
        on_duplicate,
        payload: json!(n),
        ..Job::default()
    };
    let first = enqueue(app, with(NOW + 10, OnDuplicate::Move, 1)).await;
    assert_eq!(enqueue(app, with(NOW + 20, OnDuplicate::Move, 2)).await, first);
    assert_eq!(enqueue(app, with(NOW + 99, OnDuplicate::Keep, 3)).await, first);
    t.clock().advance(10);
    assert!(claim(app, 1).await.is_empty(), "moved to later");
    t.clock().advance(10);
    let job = claim(app, 1).await.remove(0);
    assert_eq!(job.payload.0, json!(2));
    finish(app, &job).await.unwrap();
    // A finished job is no duplicate; neither is another kind or no key.
    let second = enqueue(app, with(NOW, OnDuplicate::Keep, 4)).await;
    assert_ne!(second, first);
    assert_ne!(
        enqueue(app, Job { kind: "other", dedupe: Some("s1"), ..Job::default() }).await,
        second
    );
    assert_ne!(enqueue(app, Job::default()).await, enqueue(app, Job::default()).await);
}

#[apply(both_backends)]
async fn a_move_while_the_job_runs_opens_it_again(t: TestApp) {
    let app = &t.app;
    let job = Job { dedupe: Some("s1"), ..Job::default() };
    let id = enqueue(app, job.clone()).await;
    let running = claim(app, 1).await.remove(0);
    assert_eq!(
        enqueue(app, Job { run_at: NOW + 30, payload: json!("new"), ..job.clone() }).await,
        id
    );
    finish(app, &running).await.unwrap();
    assert_eq!(states(app).await, ["test waiting 1"]);
    t.clock().advance(30);
    let again = claim(app, 1).await.remove(0);
    assert_eq!(
        (again.job_id.as_str(), again.payload.0.clone(), again.attempts),
        (id.as_str(), json!("new"), 1)
    );
    finish(app, &again).await.unwrap();
    assert_eq!(states(app).await, ["test done 1"]);
    // A failure after a move: the move's time holds, not the pause's.
    enqueue(app, Job { run_at: NOW + 30, ..job.clone() }).await;
    let running = claim(app, 1).await.remove(0);
    enqueue(app, Job { run_at: NOW + 1000, ..job.clone() }).await;
    jobs::fail(app, &running, &Error::LeaseLost).await.unwrap();
    assert_eq!(t.number("SELECT run_at FROM jobs WHERE state = 'open'").await, NOW + 1000);
    // Keeping while it runs opens nothing.
    t.clock().advance(1000);
    let running = claim(app, 1).await.remove(0);
    enqueue(app, Job { on_duplicate: OnDuplicate::Keep, ..job }).await;
    finish(app, &running).await.unwrap();
    assert_eq!(states(app).await, ["test done 2"]);
}

#[apply(both_backends)]
async fn releasing_does_not_count_as_an_attempt(t: TestApp) {
    let app = &t.app;
    enqueue(app, Job { max_attempts: 1, ..Job::default() }).await;
    for _ in 0..5 {
        let job = claim(app, 1).await.remove(0);
        assert_eq!(job.attempts, 1);
        jobs::release(app, &job).await.unwrap();
    }
    let job = claim(app, 1).await.remove(0);
    finish(app, &job).await.unwrap();
}

#[apply(both_backends)]
async fn a_parent_counts_its_children_and_can_cancel_them(t: TestApp) {
    let app = &t.app;
    let parent = enqueue(app, Job { kind: "parent", ..Job::default() }).await;
    for n in 0..6 {
        let user = (n == 5).then_some("ada");
        enqueue(
            app,
            Job {
                parent: Some(parent.clone()),
                max_attempts: 1,
                user,
                run_at: NOW - 10 + n,
                ..Job::default()
            },
        )
        .await;
    }
    let count = async || {
        app.db
            .read("test.children", parent.clone(), |tx, id| Box::pin(jobs::children(tx, id)))
            .await
            .unwrap()
    };
    let claimed = claim(app, 3).await;
    assert!(claimed.iter().all(|job| job.parent_id.as_ref() == Some(&parent)));
    finish(app, &claimed[0]).await.unwrap();
    jobs::fail(app, &claimed[1], &Error::Internal("no".to_owned())).await.unwrap();
    assert_eq!(count().await, Children { open: 4, done: 1, dead: 1, cancelled: 0 });
    let cancel = async || {
        app.db
            .write("test.cancel", parent.clone(), |tx, id| {
                Box::pin(jobs::cancel_children(tx, id, NOW))
            })
            .await
    };
    // One child's person is being erased: that row may not change, the others are cancelled all the same.
    t.sql("UPDATE subjects SET state = 'erasing' WHERE user_id = 'ada'").await.unwrap();
    assert_eq!(cancel().await.unwrap(), 3);
    assert_eq!(count().await, Children { open: 1, done: 1, dead: 1, cancelled: 3 });
    assert!(
        matches!(finish(app, &claimed[2]).await, Err(Error::LeaseLost)),
        "a cancelled child cannot be finished"
    );
    assert_eq!(cancel().await.unwrap(), 0);
    assert_eq!(states(app).await.first().unwrap(), "parent due 1");
}

#[apply(both_backends)]
async fn jobs_of_a_person_being_erased_are_not_claimed(t: TestApp) {
    let app = &t.app;
    enqueue(app, Job { user: Some("ada"), ..Job::default() }).await;
    let bobs = enqueue(app, Job { user: Some("bob"), ..Job::default() }).await;
    t.sql("UPDATE subjects SET state = 'erasing' WHERE user_id = 'ada'").await.unwrap();
    let claimed = claim(app, 10).await;
    assert_eq!(claimed.iter().map(|c| &c.job_id).collect::<Vec<_>>(), [&bobs]);
    assert_eq!((claimed[0].user_id.as_deref(), claimed[0].epoch), (Some("bob"), Some(1)));
    // Erased while the worker was at it: its result is not kept.
    t.sql("UPDATE subjects SET state = 'erasing' WHERE user_id = 'bob'").await.unwrap();
    assert!(finish(app, &claimed[0]).await.is_err());
    t.sql("UPDATE subjects SET state = 'active', epoch = 2").await.unwrap();
    t.clock().advance(app.settings.jobs.lease_seconds + 1);
    assert!(
        claim(app, 10).await.is_empty(),
        "nor after they came back: the work was of the epoch before"
    );
}

#[apply(both_backends)]
async fn run_until_idle_does_all_that_is_due_and_only_that(t: TestApp) {
    let app = &t.app;
    for n in 0..40 {
        enqueue(app, Job { run_at: NOW - n, ..Job::default() }).await;
    }
    enqueue(app, Job { run_at: NOW + 1, ..Job::default() }).await;
    let handler = Noting::new(|| Ok(Outcome::Done));
    assert_eq!(jobs::run_until_idle(app, &only(&handler)).await.unwrap(), 40);
    assert_eq!(handler.seen().len(), 40);
    assert_eq!(states(app).await, ["test done 40", "test waiting 1"]);
    let failing = Noting::new(|| Err(Error::Internal("always".to_owned())));
    t.clock().advance(1);
    assert_eq!(jobs::run_until_idle(app, &only(&failing)).await.unwrap(), 1);
    assert_eq!(
        states(app).await,
        ["test done 40", "test waiting 1"],
        "it waits for its next attempt"
    );
}

#[apply(both_backends)]
async fn finished_jobs_are_forgotten_after_their_time(t: TestApp) {
    let app = &t.app;
    let handler = Noting::new(|| Ok(Outcome::Done));
    for _ in 0..600 {
        enqueue(app, Job::default()).await;
    }
    jobs::run_until_idle(app, &only(&handler)).await.unwrap();
    t.clock().advance(10 * 86_400);
    let recent = enqueue(app, Job { user: Some("ada"), ..Job::default() }).await;
    jobs::run_until_idle(app, &only(&handler)).await.unwrap();
    t.clock().advance(21 * 86_400);
    let open = enqueue(app, Job { run_at: NOW, ..Job::default() }).await;
    enqueue(app, Job { kind: "prune_jobs", dedupe: Some("all"), ..Job::default() }).await;
    jobs::run_until_idle(app, &jobs::handlers()).await.unwrap();
    assert_eq!(t.number("SELECT COUNT(*) FROM jobs WHERE kind = 'test'").await, 2);
    for id in [recent, open] {
        assert_eq!(t.number(&format!("SELECT COUNT(*) FROM jobs WHERE job_id = '{id}'")).await, 1);
    }
}

#[apply(both_backends)]
async fn two_runners_share_the_work_and_each_job_runs_once(t: TestApp) {
    let second = if t.backend == Backend::Postgres { Some(t.replica().await) } else { None };
    let other = second.as_ref().map_or(&t.app, |replica| &replica.app);
    let mut expected = BTreeSet::new();
    for n in 0..200 {
        expected.insert(enqueue(&t.app, Job { run_at: NOW - n % 7, ..Job::default() }).await);
    }
    let handlers: Vec<Arc<Noting>> = (0..2)
        .map(|_| {
            Arc::new(Noting {
                seen: Mutex::new(Vec::new()),
                act: || Ok(Outcome::Done),
                pause: Duration::from_millis(3),
            })
        })
        .collect();
    for (app, handler) in [&t.app, other].into_iter().zip(&handlers) {
        app.spawn(Runner::new(app.clone(), vec![handler.clone()]).run());
    }
    until("all done", async || states(&t.app).await == ["test done 200"]).await;
    // Work that comes later is picked up without waiting for anything.
    expected.insert(enqueue(&t.app, Job::default()).await);
    t.app.db.announce_work().await;
    until("the late one done", async || states(&t.app).await == ["test done 201"]).await;
    let (one, two) = (handlers[0].seen(), handlers[1].seen());
    assert!(!one.is_empty() && !two.is_empty(), "{} and {}", one.len(), two.len());
    assert_eq!(one.len() + two.len(), 201, "none ran twice");
    assert_eq!(one.into_iter().chain(two).collect::<BTreeSet<_>>(), expected);
    let stopping = Instant::now();
    t.app.stop().await;
    other.stop().await;
    assert!(
        stopping.elapsed() < Duration::from_secs(3),
        "idle runners stop at once: {:?}",
        stopping.elapsed()
    );
}

#[apply(both_backends)]
async fn a_runner_goes_on_when_work_is_announced_just_as_it_begins_to_listen(t: TestApp) {
    let handler = Noting::new(|| Ok(Outcome::Done));
    t.app.spawn(Runner::new(t.app.clone(), vec![handler.clone()]).run());
    let (app, runtime) = (t.app.clone(), tokio::runtime::Handle::current());
    let announcing = tokio::task::spawn_blocking(move || {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(500) {
            runtime.block_on(app.db.announce_work());
        }
    });
    announcing.await.unwrap();
    enqueue(&t.app, Job::default()).await;
    t.app.db.announce_work().await;
    until("done", async || states(&t.app).await == ["test done 1"]).await;
}

#[apply(both_backends)]
async fn a_graceful_stop_finishes_what_is_short_and_gives_back_what_is_long(t: TestApp) {
    let short = enqueue(&t.app, Job::default()).await;
    let handler = Arc::new(Noting {
        seen: Mutex::new(Vec::new()),
        act: || Ok(Outcome::Done),
        pause: Duration::from_millis(400),
    });
    t.app.spawn(Runner::new(t.app.clone(), vec![handler.clone()]).run());
    until("begun", async || !handler.seen().is_empty()).await;
    let survivor = t.replica().await;
    t.app.stop().await;
    assert_eq!(handler.seen(), [short]);
    assert_eq!(states(&survivor.app).await, ["test done 1"]);

    let long = enqueue(&survivor.app, Job { max_attempts: 1, ..Job::default() }).await;
    let handler = Arc::new(Noting {
        seen: Mutex::new(Vec::new()),
        act: || Ok(Outcome::Done),
        pause: Duration::from_secs(600),
    });
    survivor.app.spawn(Runner::new(survivor.app.clone(), vec![handler.clone()]).run());
    until("begun", async || !handler.seen().is_empty()).await;
    let last = t.replica().await;
    let started = Instant::now();
    survivor.app.stop().await;
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    let again = claim(&last.app, 1).await.remove(0);
    assert_eq!((again.job_id, again.attempts), (long, 1), "free at once, and nothing was counted");
}

/// A job that failed as often as it may.
async fn dead_job(app: &Arc<App>, job: Job) -> String {
    let id = enqueue(app, Job { max_attempts: 1, ..job }).await;
    let claimed = claim(app, 1).await.remove(0);
    let error = Error::refused(Code::JudgeFailed, "The judge gave no verdict.");
    jobs::fail(app, &claimed, &error).await.unwrap();
    assert_eq!(claimed.job_id, id);
    id
}

#[apply(both_backends)]
async fn jobs_that_gave_up_are_listed_without_their_person_and_retried(t: TestApp) {
    let server = t.serve().await;
    let operator = server.with_token(&t.key("org", Role::Dashboard).await);
    let mut ids = Vec::new();
    for n in 0..3 {
        let payload = json!({"said": "canary-of-ada"});
        let job = Job { user: Some("ada"), payload, ..Job::default() };
        ids.push(dead_job(&t.app, job).await);
        t.clock().advance(n % 2);
    }
    let first = operator.get("/api/jobs/dead?limit=2").await.ok();
    let listed = |page: &Value| -> Vec<String> {
        let jobs = page["jobs"].as_array().unwrap();
        jobs.iter().map(|job| job["job_id"].as_str().unwrap().to_owned()).collect()
    };
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = operator.get(&format!("/api/jobs/dead?limit=2&cursor={cursor}")).await.ok();
    assert_eq!(second["next_cursor"], json!(null));
    let (newest, rest) = (listed(&first), listed(&second));
    assert_eq!(newest.first(), ids.last());
    let mut all = [newest, rest].concat();
    all.sort();
    let mut expected = ids.clone();
    expected.sort();
    assert_eq!(all, expected);
    let job = &first["jobs"][0];
    assert_eq!((&job["kind"], &job["attempts"]), (&json!(KIND), &json!(1)));
    assert_eq!(job["last_error"], "The judge gave no verdict.");
    assert!(!first.to_string().contains("ada"), "{first}");
    let bad = operator.get("/api/jobs/dead?cursor=x").await;
    assert_eq!(bad.input_problems(), [("/cursor".to_owned(), "malformed".to_owned())]);

    let retry =
        async |by: &Server, id: &str| by.call("POST", &format!("/api/jobs/{id}/retry"), None).await;
    // Others see and retry nothing of it.
    let other = server.with_token(&t.key("other", Role::Dashboard).await);
    assert_eq!(other.get("/api/jobs/dead").await.ok()["jobs"], json!([]));
    retry(&other, &ids[0]).await.problem(404, "not_found");
    let auditor = server.with_token(&t.key("org", Role::Auditor).await);
    auditor.get("/api/jobs/dead").await.ok();
    retry(&auditor, &ids[0]).await.problem(403, "forbidden");
    retry(&operator, "none").await.problem(404, "not_found");
    retry(&operator, &ids[0]).await.ok();
    retry(&operator, &ids[0]).await.problem(409, "job_not_dead");
    let claimed = claim(&t.app, 5).await;
    assert_eq!(claimed.len(), 1);
    assert_eq!((claimed[0].job_id.as_str(), claimed[0].attempts), (ids[0].as_str(), 1));
    finish(&t.app, &claimed[0]).await.unwrap();
    assert_eq!(operator.get("/api/jobs/dead").await.ok()["jobs"].as_array().unwrap().len(), 2);
}

#[apply(both_backends)]
async fn what_is_in_the_queue_again_and_children_are_not_retried(t: TestApp) {
    let dead = dead_job(&t.app, Job { dedupe: Some("same"), ..Job::default() }).await;
    let again = enqueue(&t.app, Job { dedupe: Some("same"), ..Job::default() }).await;
    assert_ne!(dead, again);
    let refused = jobs::retry(&t.app, &"org".into(), &dead).await.unwrap_err();
    assert_eq!(refused.code(), Code::JobNotDead);
    let claimed = claim(&t.app, 1).await.remove(0);
    finish(&t.app, &claimed).await.unwrap();
    jobs::retry(&t.app, &"org".into(), &dead).await.unwrap();
    let claimed = claim(&t.app, 1).await.remove(0);
    finish(&t.app, &claimed).await.unwrap();
    let child = dead_job(&t.app, Job { parent: Some(dead), ..Job::default() }).await;
    assert!(jobs::dead(&t.app, &"org".into(), None, 10).await.unwrap().is_empty());
    let refused = jobs::retry(&t.app, &"org".into(), &child).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
}

#[apply(both_backends)]
async fn the_queue_is_looked_at_and_its_age_remembered(t: TestApp) {
    let server = t.serve().await;
    let operator = server.with_token(&t.key("org", Role::Dashboard).await);
    let ages = async || operator.get("/api/jobs/ages").await.ok();
    assert_eq!(ages().await, json!({"step_seconds": 600, "ages": []}));
    enqueue(&t.app, Job::default()).await;
    for _ in 0..3 {
        t.clock().advance(60);
        service::operations::queue_ages::look(&t.app).await;
    }
    let step = (NOW + 180) / 600 * 600;
    let seen = json!([{"at": step, "oldest_due_age_seconds": 180}]);
    assert_eq!(ages().await["ages"], seen);
}
