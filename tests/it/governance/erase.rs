//! Erasing: everything goes, once, whatever else is going on; and nothing comes back.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use base::owner::{OrgId, UserId};
use futures_util::future::{BoxFuture, join_all};
use judge::recorded::{RecordedJudge, Scripted};
use judge::{Call, Judge, JudgeAnswer, JudgeError};
use serde_json::{Value, json};
use service::credentials::Role;
use storage::db::Db;
use storage::subjects::{audit, barrier};

use super::canary;
use crate::evaluation::{talk, work};
use crate::publish::two_turns;
use crate::support::{Backend, NOW, Server, TestApp, apply, both_backends, until};

/// A server seen with an agent's and a governance credential of the same organization.
pub struct Both {
    pub agent: Server,
    /// An agent's own key: its searches are production traffic.
    pub program: Server,
    pub governor: Server,
    _server: Server,
}

impl Both {
    pub async fn new(t: &TestApp) -> Self {
        let server = t.serve().await;
        let agent = server.with_token(&t.key("org", Role::Dashboard).await);
        let program = server.with_token(&t.key("org", Role::Agent).await);
        let governor = server.with_token(&t.key("org", Role::Governance).await);
        Both { agent, program, governor, _server: server }
    }

    /// Erases somebody. On a busy machine an erasure outlasts the request for it, and is asked for again.
    pub async fn erase(&self, user: &str, request: &str) -> Value {
        loop {
            let asked = pair(user, request);
            let answer = self.governor.post("/api/governance/erase-user", &asked).await;
            if answer.status != 202 {
                return answer.ok();
            }
        }
    }
}

pub fn pair(user: &str, request: &str) -> Value {
    json!({"user_id": user, "request_id": request})
}

/// Rows of a person of [`Both`]'s organization in all user-owned tables.
pub async fn rows_of(t: &TestApp, user: &str) -> i64 {
    let (subject, mut sum) = (t.subject(user), 0);
    for table in service::user_tables::USER_TABLES {
        let table = table.table;
        sum += t.number(&format!("SELECT COUNT(*) FROM {table} WHERE subject = {subject}")).await;
    }
    sum
}

pub async fn erase_events(t: &TestApp) -> i64 {
    t.number("SELECT COUNT(*) FROM audit_events WHERE operation = 'ERASE' AND status = 'ok'").await
}

/// A slow judge that looks at the barrier whenever somebody's words arrive.
struct Watching {
    inner: RecordedJudge,
    db: OnceLock<Db>,
    late: Mutex<Vec<String>>,
}

impl Default for Watching {
    fn default() -> Self {
        let inner = RecordedJudge::new([]).taking(Duration::from_millis(60));
        Watching { inner, db: OnceLock::new(), late: Mutex::default() }
    }
}

impl Judge for Watching {
    fn provider(&self) -> &str {
        "watching"
    }

    fn label(&self) -> &str {
        "watching/judge"
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<JudgeAnswer, JudgeError>> {
        Box::pin(async move {
            let user = call.user.split("I am ").nth(1).and_then(|rest| rest.split('.').next());
            if let Some(user) = user {
                let input = (OrgId::from("org"), UserId::from(user));
                let db = self.db.get().unwrap();
                let open = db.lookup("test.barrier", input, |tx, (org, user)| {
                    Box::pin(barrier::open_epoch(tx, org, user))
                });
                if open.await.unwrap().is_none() {
                    self.late.lock().unwrap().push(user.to_owned());
                }
            }
            self.inner.call(call).await
        })
    }
}

#[apply(both_backends)]
async fn an_erasure_deletes_everything_and_says_what(t: TestApp) {
    let both = Both::new(&t).await;
    for user in ["ada", "bob"] {
        both.agent.publish(&two_turns(user, "s1")).await.ok();
        both.agent
            .post(
                "/api/add_user_profile",
                &json!({"user_profiles": [
            {"user_id": user, "content": "likes green tea"}]}),
            )
            .await
            .ok();
    }
    let before =
        both.governor.post("/api/governance/preview-user", &json!({"user_id": "ada"})).await.ok();
    assert_eq!(
        (&before["counts"]["interactions"], &before["counts"]["profiles"]),
        (&json!(2), &json!(1))
    );
    let done = both.erase(" ada ", "dsr-1").await;
    assert_eq!((&done["status"], &done["completed_at"]), (&json!("complete"), &json!(NOW)));
    assert_eq!(done["subject_ref"], before["subject_ref"]);
    assert!(done["request_ref"].as_str().unwrap().starts_with("reqref_v1_"));
    for (target, count) in done["deleted_counts"].as_object().unwrap() {
        assert_eq!(before["counts"][target], *count, "{target}");
    }
    assert_eq!(rows_of(&t, "ada").await, 0);
    assert_eq!(t.number("SELECT COUNT(*) FROM subjects WHERE user_id = 'ada'").await, 0);
    let erased = format!(
        "SELECT COUNT(*) FROM subjects WHERE subject = {} AND state = 'erased' AND user_id IS NULL",
        t.subject("ada")
    );
    assert_eq!(t.number(&erased).await, 1);
    assert!(rows_of(&t, "bob").await > 5);
    let status = both
        .governor
        .get(&format!("/api/governance/purge-operations/{}", done["purge_id"].as_str().unwrap()))
        .await
        .ok();
    let names: Vec<_> = status.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "completed_at",
            "created_at",
            "error_code",
            "error_detail",
            "purge_id",
            "request_ref",
            "status",
            "subject_ref",
            "updated_at"
        ]
    );
    assert_eq!((&status["status"], &status["error_code"]), (&json!("complete"), &json!(null)));
    assert_eq!(erase_events(&t).await, 1);
    both.agent.publish(&two_turns("ada", "s2")).await.problem(409, "subject_erased");
    let after =
        both.governor.post("/api/governance/preview-user", &json!({"user_id": "ada"})).await.ok();
    assert_eq!(after["total"], 0);
}

#[apply(both_backends)]
async fn many_rows_go_in_batches_and_others_keep_theirs(t: TestApp) {
    let both = Both::new(&t).await;
    for session in ["s1", "s2", "s3"] {
        for user in ["ada", "bob"] {
            let mut body = two_turns(user, session);
            body["interaction_data_list"] = (0..100)
                .map(|turn| json!({"role": "User", "content": format!("turn {turn}")}))
                .collect();
            both.agent.publish(&body).await.ok();
        }
    }
    let others = rows_of(&t, "bob").await;
    let done = both.erase("ada", "dsr").await;
    assert_eq!(
        (&done["status"], &done["deleted_counts"]["interactions"]),
        (&json!("complete"), &json!(300))
    );
    assert_eq!((rows_of(&t, "ada").await, rows_of(&t, "bob").await), (0, others));
    assert_eq!(t.mismatches().await, 0);
}

#[apply(both_backends)]
async fn the_same_pair_is_one_erasure_however_often_it_is_asked_for(t: TestApp) {
    let both = Both::new(&t).await;
    both.agent.publish(&two_turns("ada", "s1")).await.ok();
    let answers = join_all((0..250).map(|_| both.erase("ada", "dsr-1"))).await;
    let ids: std::collections::BTreeSet<_> =
        answers.iter().map(|a| a["purge_id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(
        (erase_events(&t).await, t.number("SELECT COUNT(*) FROM purge_operations").await),
        (1, 1)
    );
    // Another request is another erasure, and finds nothing.
    let second = both.erase("ada", "dsr-2").await;
    assert_ne!(second["purge_id"], answers[0]["purge_id"]);
    assert_eq!(second["deleted_counts"], json!({}));
    // And so is that of somebody nobody has seen.
    assert_eq!(both.erase("nobody", "dsr-3").await["deleted_counts"], json!({}));
    both.agent.publish(&two_turns("nobody", "s1")).await.problem(409, "subject_erased");
    assert_eq!(audit::verify(&t.app.db, &t.app.subject_keys).await.unwrap().broken_at, None);
}

#[apply(both_backends)]
async fn a_readmitted_user_starts_anew_and_repeats_leave_them_alone(t: TestApp) {
    let both = Both::new(&t).await;
    both.agent.publish(&two_turns("ada", "s1")).await.ok();
    let first = both.erase("ada", "dsr-1").await;
    let readmit = async |user: &str| {
        both.governor.post("/api/governance/readmit-user", &pair(user, "back")).await.ok()["readmitted"].clone()
    };
    assert_eq!(
        (readmit("ada").await, readmit("ada").await, readmit("eve").await),
        (json!(true), json!(false), json!(false))
    );
    assert_eq!(t.number("SELECT COUNT(*) FROM audit_events WHERE operation = 'READMIT'").await, 1);
    let dated = |at: i64| {
        let mut body = two_turns("ada", "s2");
        body["created_at"] = json!(at);
        body
    };
    both.agent.publish(&dated(NOW - 1)).await.problem(409, "predates_erasure");
    let mut turn = two_turns("ada", "s2");
    turn["interaction_data_list"][1]["created_at"] = json!(NOW - 5);
    both.agent.publish(&turn).await.problem(409, "predates_erasure");
    both.agent.publish(&two_turns("ada", "s2")).await.ok();
    t.clock().advance(60);
    both.agent.publish(&dated(NOW + 30)).await.ok();
    assert_eq!(both.erase("ada", "dsr-1").await, first, "a repeat deletes nothing");
    let requests = format!("SELECT COUNT(*) FROM requests WHERE subject = {}", t.subject("ada"));
    assert_eq!(t.number(&requests).await, 2);
    let again = both.erase("ada", "dsr-2").await;
    assert_eq!(again["deleted_counts"]["requests"], 2);
    assert_eq!(again["subject_ref"], first["subject_ref"]);
}

#[apply(both_backends)]
async fn what_was_asked_before_a_key_rotation_is_known_after_it(t: TestApp) {
    let both = Both::new(&t).await;
    both.agent.publish(&two_turns("ada", "s1")).await.ok();
    let first = both.erase("ada", "dsr-1").await;
    let rotated = format!("{},k2:{}", crate::governance::current_keys(&t).trim(), "ab".repeat(32));
    let app = crate::governance::reopened(&t, &rotated).await.unwrap();
    let server = Server::start(app.clone()).await;
    let token = service::credentials::create(
        &app,
        &"org".into(),
        service::credentials::NewCredential::of(Role::Governance, "").with_grant(true),
    )
    .await
    .unwrap()
    .1;
    let governor = server.with_token(&token);
    assert_eq!(
        governor.post("/api/governance/erase-user", &pair("ada", "dsr-1")).await.ok(),
        first
    );
    let second = governor.post("/api/governance/erase-user", &pair("ada", "dsr-2")).await.ok();
    assert_eq!(second["status"], "complete");
    assert_eq!(t.number("SELECT COUNT(*) FROM subjects").await, 1);
}

#[apply(both_backends)]
async fn two_replicas_do_one_erasure(t: TestApp) {
    let other = t.replica().await;
    let (here, there) = (Both::new(&t).await, Both::new(&other).await);
    for session in 0..20 {
        here.agent.publish(&two_turns("ada", &format!("s{session}"))).await.ok();
    }
    let calls = (0..20)
        .map(|n| if n % 2 == 0 { here.erase("ada", "dsr") } else { there.erase("ada", "dsr") });
    let answers = join_all(calls).await;
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(answers[0]["deleted_counts"]["interactions"], 40);
    assert_eq!(erase_events(&t).await, 1);
    there.agent.publish(&two_turns("ada", "s")).await.problem(409, "subject_erased");
}

#[apply(both_backends)]
async fn other_organizations_see_and_erase_nothing_of_it(t: TestApp) {
    let both = Both::new(&t).await;
    both.agent.publish(&two_turns("ada", "s1")).await.ok();
    let stranger = both.governor.with_token(&t.key("else", Role::Governance).await);
    let preview =
        stranger.post("/api/governance/preview-user", &json!({"user_id": "ada"})).await.ok();
    assert_eq!(preview["total"], 0);
    let theirs = stranger.post("/api/governance/erase-user", &pair("ada", "dsr")).await.ok();
    assert_eq!(theirs["deleted_counts"], json!({}));
    assert_eq!(t.number("SELECT COUNT(*) FROM requests").await, 1);
    let done = both.erase("ada", "dsr").await;
    assert_ne!(
        (&done["purge_id"], &done["subject_ref"]),
        (&theirs["purge_id"], &theirs["subject_ref"])
    );
    let path = format!("/api/governance/purge-operations/{}", done["purge_id"].as_str().unwrap());
    stranger.get(&path).await.problem(404, "not_found");
    both.governor.get(&path).await.ok();
    both.governor.get("/api/governance/purge-operations/none").await.problem(404, "not_found");
    t.clock().advance(60);
    let later = both.erase("bob", "dsr").await;
    for (governor, of_organization) in
        [(&both.governor, vec![&later, &done]), (&stranger, vec![&theirs])]
    {
        let listed = governor.get("/api/governance/purge-operations").await.ok();
        let ids: Vec<_> =
            listed["purge_operations"].as_array().unwrap().iter().map(|p| &p["purge_id"]).collect();
        assert_eq!(ids, of_organization.iter().map(|purge| &purge["purge_id"]).collect::<Vec<_>>());
    }
}

#[apply(both_backends)]
async fn nothing_is_sent_to_a_judge_once_the_barrier_is_closed(t: TestApp) {
    let judge = Arc::new(Watching::default());
    let t = t.judged_by(judge.clone()).await;
    judge.db.set(t.app.db.clone()).ok().unwrap();
    let both = Both::new(&t).await;
    for round in 0..5 {
        let user = format!("ada{round}");
        for session in 0..6 {
            let mut body = talk(&user, &format!("s{round}-{session}"), true);
            body["interaction_data_list"][0]["content"] = json!(format!("I am {user}."));
            both.agent.publish(&body).await.ok();
        }
        both.agent.publish(&talk("bob", &format!("b{round}"), true)).await.ok();
        both.agent
            .post(
                "/api/evaluations/regenerate",
                &json!({"from_ts": NOW - 100, "to_ts": NOW + 9000}),
            )
            .await;
        t.clock().advance(600);
        let before = judge.inner.count();
        let app = t.app.clone();
        let working = tokio::spawn(async move {
            storage::jobs::run_until_idle(&app, &service::wiring::job_handlers()).await
        });
        let grade = json!({"session_id": format!("s{round}-5"), "agent_version": "v1"});
        let erased = async {
            until("two calls", async || judge.inner.count() >= before + 2).await;
            both.erase(&user, "dsr").await
        };
        let (graded, done) =
            tokio::join!(both.agent.post("/api/evaluations/grade_on_demand", &grade), erased);
        assert_eq!(done["status"], "complete");
        assert!(matches!(graded.status, 200 | 404 | 409), "{}", graded.text);
        working.await.unwrap().unwrap();
        work(&t).await;
        assert_eq!((rows_of(&t, &user).await, t.app.judge.in_use()), (0, 0));
    }
    assert_eq!(
        *judge.late.lock().unwrap(),
        Vec::<String>::new(),
        "sent after the barrier was closed"
    );
    let results =
        format!("SELECT COUNT(*) FROM evaluation_results WHERE subject = {}", t.subject("bob"));
    assert_eq!(t.number(&results).await, 5);
}

#[apply(both_backends)]
async fn a_call_under_way_on_another_replica_is_given_up(t: TestApp) {
    let judge =
        Arc::new(RecordedJudge::new([]).then(Scripted::Slow(Duration::from_secs(20), json!({}))));
    let other = t.judged_by(judge.clone()).await;
    let both = Both::new(&t).await;
    both.agent.publish(&talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    let app = other.app.clone();
    let working = tokio::spawn(async move {
        storage::jobs::run_until_idle(&app, &service::wiring::job_handlers()).await
    });
    until("asked", async || judge.count() > 0).await;
    both.erase("ada", "dsr").await;
    let ended = tokio::time::timeout(Duration::from_secs(5), working).await;
    assert!(ended.is_ok(), "the call was not given up");
    assert_eq!((judge.count(), rows_of(&t, "ada").await), (1, 0));
}

#[apply(both_backends)]
async fn answers_logs_and_stored_events_carry_no_ids_and_no_tokens(t: TestApp) {
    let log = canary::Log::default();
    let filter = canary::EVERYTHING_OF_OURS;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(log.clone()).init();
    let server = t.serve().await;
    let (agent, token) = (t.key("org", Role::Agent).await, t.key("org", Role::Governance).await);
    let user = "ada.lovelace@example.org";
    server.with_token(&agent).publish(&two_turns(user, "s1")).await.ok();
    let mut said = String::new();
    for token in [&token, &agent] {
        let governor = server.with_token(token);
        for _ in 0..2 {
            // An export is the person's own; around it nothing is.
            for format in ["json", "zip"] {
                let path = format!("/api/governance/export-user?format={format}");
                let answer = governor.post(&path, &pair(user, "secret-request-17")).await;
                said += &format!(
                    "{:?} {}",
                    answer.headers,
                    if answer.status == 200 { "" } else { &answer.text }
                );
            }
            for path in ["preview-user", "erase-user", "readmit-user"] {
                let answer = governor
                    .post(&format!("/api/governance/{path}"), &pair(user, "secret-request-17"))
                    .await;
                said += &format!("{:?} {}", answer.headers, answer.text);
            }
        }
        let purge_id =
            said.split("\"purge_id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        for path in [String::new(), format!("/{purge_id}"), format!("/{purge_id}/certificate")] {
            let answer = governor.get(&format!("/api/governance/purge-operations{path}")).await;
            said += &answer.text;
        }
    }
    assert!(!log.0.lock().unwrap().is_empty(), "the filter names our crates");
    said += &String::from_utf8_lossy(&log.0.lock().unwrap());
    for table in ["audit_events", "purge_operations", "governance_exports"] {
        let columns = t
            .app
            .db
            .read("test.columns", table, |tx, table| Box::pin(tx.columns_of(table)))
            .await
            .unwrap();
        for (column, _) in columns {
            for secret in ["lovelace", "secret-request", token.as_str()] {
                let found = t.number(&format!("SELECT COUNT(*) FROM {table} WHERE CAST({column} AS TEXT) LIKE '%{secret}%'")).await;
                assert_eq!(found, 0, "{table}.{column}");
            }
        }
    }
    for secret in ["lovelace", "secret-request", token.as_str(), agent.as_str()] {
        assert!(!said.contains(secret), "{secret} in {said}");
    }
    assert!(said.contains("credential_not_governance"));
}

#[apply(both_backends)]
async fn keys_and_configuration_changes_are_in_the_chain(t: TestApp) {
    let both = Both::new(&t).await;
    both.agent.post("/api/update_config", &json!({"eval_concurrency_limit": 3})).await.ok();
    let (credential, _) = service::credentials::create(
        &t.app,
        &"org".into(),
        service::credentials::NewCredential::of(Role::Agent, "x"),
    )
    .await
    .unwrap();
    for _ in 0..2 {
        service::credentials::revoke(&t.app, &credential.credential_id).await.unwrap();
    }
    for (operation, count) in [("CONFIG", 1), ("KEY_CREATE", 4), ("KEY_REVOKE", 1)] {
        let found = t
            .number(&format!("SELECT COUNT(*) FROM audit_events WHERE operation = '{operation}'"))
            .await;
        assert_eq!(found, count, "{operation}");
    }
    let verified = audit::verify(&t.app.db, &t.app.subject_keys).await.unwrap();
    assert_eq!((verified.events, verified.broken_at), (6, None));
    t.sql("UPDATE audit_events SET actor_ref = 'someone' WHERE sequence = 2").await.unwrap();
    assert_eq!(
        audit::verify(&t.app.db, &t.app.subject_keys).await.unwrap().broken_at,
        Some((2, "it was changed"))
    );
    t.sql("DELETE FROM audit_events WHERE sequence = 2").await.unwrap();
    assert_eq!(
        audit::verify(&t.app.db, &t.app.subject_keys).await.unwrap().broken_at,
        Some((3, "an event before it is missing"))
    );
}

#[apply(both_backends)]
async fn the_chain_holds_under_concurrent_appends(t: TestApp) {
    let other = t.replica().await;
    let keys = (0..40).map(async |n| {
        let app = if n % 2 == 0 { &t.app } else { &other.app };
        service::credentials::create(
            app,
            &"org".into(),
            service::credentials::NewCredential::of(Role::Agent, "x"),
        )
        .await
        .unwrap();
    });
    join_all(keys).await;
    let verified = audit::verify(&t.app.db, &t.app.subject_keys).await.unwrap();
    assert_eq!((verified.events, verified.broken_at), (40, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fenced_users_come_back_with_what_is_newer() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let t = TestApp::with(backend, |s| s.governance.return_policy = "fenced".to_owned()).await;
        let both = Both::new(&t).await;
        both.agent.publish(&two_turns("ada", "s1")).await.ok();
        both.erase("ada", "dsr").await;
        t.clock().advance(3600);
        let dated = |at: i64| {
            let mut body = two_turns("ada", "s2");
            body["created_at"] = json!(at);
            body
        };
        both.agent.publish(&two_turns("ada", "s2")).await.problem(409, "predates_erasure");
        both.agent.publish(&dated(NOW)).await.problem(409, "predates_erasure");
        let profile = json!({"user_profiles": [{"user_id": "ada", "content": "tea"}]});
        both.agent.post("/api/add_user_profile", &profile).await.problem(409, "predates_erasure");
        assert_eq!(t.number("SELECT COUNT(*) FROM subjects WHERE state = 'active'").await, 0);
        both.agent.publish(&dated(NOW + 10)).await.ok();
        // New sessions of a returned person are judged as usual.
        t.clock().advance(600);
        work(&t).await;
        assert_eq!(t.number("SELECT COUNT(*) FROM evaluation_decisions").await, 1);
        both.agent.publish(&dated(NOW - 10)).await.problem(409, "predates_erasure");
        t.clock().advance(86_400);
        both.agent.publish(&two_turns("ada", "s3")).await.ok();
    }
}
