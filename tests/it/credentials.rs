//! Credentials: who may call what, and from when on no longer.

use std::sync::Arc;

use base::ids::Ids;
use serde_json::json;
use service::app::{App, Schema};
use service::credentials::{self, GivenCredentials, Role};

use crate::conformance::{body_schema, operations, specification};
use crate::publish::two_turns;
use crate::support::{Backend, Server, TestApp, apply, both_backends, until};

/// Endpoints closed to agent keys.
const OPERATORS_ONLY: &[&str] = &[
    "/api/jobs",
    "/api/jobs/ages",
    "/api/jobs/dead",
    "/api/jobs/{job_id}/retry",
    "/api/keys",
    "/api/keys/{credential_id}",
    "/api/get_config",
    "/api/set_config",
    "/api/update_config",
    "/api/get_operation_status",
    "/api/manual_playbook_generation",
    "/api/manual_profile_generation",
    "/api/rerun_playbook_generation",
    "/api/rerun_profile_generation",
    "/api/run_playbook_aggregation",
    "/api/evaluations/grade_on_demand",
    "POST /api/evaluations/regenerate",
    "/api/evaluations/regenerate/preview",
    "DELETE /api/evaluations/regenerate/{job_id}",
    "POST /api/evaluations/labels",
    "/api/evaluations/review_queue",
    "POST /api/retrieval_experiments",
    "/api/retrieval_experiments/stop",
    "/api/retrieval_experiments/{experiment_id}/about",
    "/api/retrieval_experiments/{experiment_id}/export",
    "/api/evaluations/judge_diffs",
    "/api/evaluations/judge_diffs/{job_id}/promote",
    "/api/delete_interaction",
    "/api/delete_request",
    "/api/delete_requests_by_ids",
    "/api/delete_session",
    "/api/clear_user_data",
    "/api/admin/cache/invalidate",
    "/api/my_config",
    "/api/spending",
    "/stall_state",
    "/stall_state/notified",
    "/api/webhooks",
    "/api/webhooks/{webhook_id}",
    "/api/webhooks/{webhook_id}/test",
    "/api/webhooks/{webhook_id}/deliveries",
    "/api/alerts",
    "/api/alerts/{rule_id}",
    "GET /api/pending_tool_calls",
    "/api/pending_tool_calls/{id}/resolve",
    "/api/pending_tool_calls/{id}/answer",
    "/api/pending_tool_calls/{id}/not_applicable",
    "/api/pending_tool_calls/{id}/cancel",
    "/api/get_all_interactions",
    "/api/get_all_profiles",
    "/api/storage_stats",
    "/api/profile_change_log",
    "/api/review_user_playbooks",
    "/api/upgrade_all_profiles",
    "/api/upgrade_all_user_playbooks",
    "/api/delete_all_interactions",
    "/api/delete_all_profiles",
    "/api/delete_all_playbooks",
    "/api/delete_all_user_playbooks",
    "/api/delete_all_agent_playbooks",
    "/api/update_user_profile",
    "/api/update_user_playbook",
    "/api/update_agent_playbook",
    "/api/update_agent_playbook_status",
    "/api/get_learning_provenance",
    "/api/learnings/effects",
    "/api/learnings/effects/export",
    "/api/sessions/export",
    "/api/learnings/effects/{agent_playbook_id}",
    "/api/learnings/scorecard",
    "/api/learnings/tuning_proposals",
    "/api/learnings/tuning_proposals/accept",
    "/api/learnings/tuning_proposals/decline",
    "/api/delete_profile",
    "/api/delete_profiles_by_ids",
    "/api/delete_user_playbook",
    "/api/delete_user_playbooks_by_ids",
    "/api/delete_agent_playbook",
    "/api/delete_agent_playbooks_by_ids",
];
/// Endpoints open to anyone.
const OPEN: &[&str] =
    &["/health/live", "/health/ready", "/meta/version", "/api/governance/public-key"];

#[apply(both_backends)]
async fn each_role_may_call_what_it_is_for(t: TestApp) {
    let server = t.serve().await;
    let agent = server.with_token(&t.key("one", Role::Agent).await);
    let dashboard = server.with_token(&t.key("one", Role::Dashboard).await);
    let governance = server.with_token(&t.key("one", Role::Governance).await);
    let (_, granted) = credentials::create(
        &t.app,
        &"one".into(),
        credentials::NewCredential::of(Role::Dashboard, "").with_grant(true),
    )
    .await
    .unwrap();
    let granted = server.with_token(&granted);
    let spec = specification();
    for (method, path, operation) in operations(&spec) {
        // Valid or not: who calls is asked before what is said.
        let body = body_schema(&spec, &operation).map(|_| json!({}));
        let call = async |server: &Server| server.call(&method, &path, body.as_ref()).await;
        if OPEN.contains(&path.as_str()) {
            call(&server).await.ok();
            continue;
        }
        let refused = call(&server).await;
        assert_eq!(refused.headers["www-authenticate"], "Bearer");
        refused.problem(401, "unauthenticated");
        if path.starts_with("/api/governance/") {
            call(&agent).await.problem(403, "credential_not_governance");
            call(&dashboard).await.problem(403, "credential_not_governance");
            assert!(
                !matches!(call(&governance).await.status, 401 | 403),
                "governance {method} {path}"
            );
            assert!(!matches!(call(&granted).await.status, 401 | 403), "granted {method} {path}");
            continue;
        }
        call(&governance).await.problem(403, "forbidden");
        assert!(!matches!(call(&dashboard).await.status, 401 | 403), "dashboard {method} {path}");
        let with_method = format!("{method} {path}");
        if OPERATORS_ONLY.iter().any(|only| *only == path || *only == with_method) {
            call(&agent).await.problem(403, "forbidden");
        } else {
            assert!(!matches!(call(&agent).await.status, 401 | 403), "agent {method} {path}");
        }
    }
    let who = agent.get("/api/whoami").await.ok();
    assert_eq!(
        (&who["org_id"], &who["role"], &who["grants"]),
        (&json!("one"), &json!("agent"), &json!([]))
    );
    assert_eq!(granted.get("/api/whoami").await.ok()["grants"], json!(["governance"]));
    assert!(
        credentials::create(
            &t.app,
            &"one".into(),
            credentials::NewCredential::of(Role::Agent, "").with_grant(true)
        )
        .await
        .is_err()
    );
}

#[apply(both_backends)]
async fn what_is_no_credential_gets_401(t: TestApp) {
    let server = t.serve().await;
    let token = t.key("one", Role::Agent).await;
    let authorized = async |value: &[u8]| {
        let value = reqwest::header::HeaderValue::from_bytes(value).unwrap();
        server.send(server.request("GET", "/api/whoami").header("authorization", value)).await
    };
    let short = &token[..token.len() - 1];
    for bad in [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer    ".to_owned(),
        token.clone(),
        format!("Basic {token}"),
        format!("Bearer {token}x"),
        format!("Bearer {short}"),
        format!("Bearer {token} {token}"),
        format!("Bearer {}", token.to_uppercase()),
        "Bearer eh_agent_".to_owned(),
        "Bearer '; DROP TABLE credentials".to_owned(),
        format!("Bearer {}", "x".repeat(4000)),
        "Bearer \u{fc}".to_owned(),
    ] {
        let refused = authorized(bad.as_bytes()).await;
        assert_eq!(refused.status, 401, "{bad}");
        assert_eq!(refused.headers["www-authenticate"], "Bearer");
        let body = refused.problem(401, "unauthenticated");
        assert!(!body.to_string().contains(short), "a token is never repeated");
    }
    authorized(b"Bearer \xff\xfe").await.problem(401, "unauthenticated");
    for good in [format!("Bearer {token}"), format!("bearer   {token} ")] {
        authorized(good.as_bytes()).await.ok();
    }
    assert!(token.starts_with("eh_agent_") && token.len() == 9 + 43, "{token}");
    let stored = t
        .number(&format!("SELECT COUNT(*) FROM credentials WHERE token_sha256 LIKE '%{token}%'"))
        .await;
    assert_eq!(stored, 0);
}

#[apply(both_backends)]
async fn a_revocation_holds_from_the_next_request_on_also_elsewhere(t: TestApp) {
    let server = t.serve().await;
    let other = t.replica().await;
    let (credential, token) =
        credentials::create(&t.app, &"one".into(), credentials::NewCredential::of(Role::Agent, ""))
            .await
            .unwrap();
    let (here, there) = (server.with_token(&token), other.serve().await);
    here.get("/api/whoami").await.ok();
    there.with_token(&token).get("/api/whoami").await.ok();
    credentials::revoke(&other.app, &credential.credential_id).await.unwrap();
    here.get("/api/whoami").await.problem(401, "unauthenticated");
    there.with_token(&token).get("/api/whoami").await.problem(401, "unauthenticated");
    // Twice is as good as once; unknown is an error; local mode does not come back.
    credentials::revoke(&t.app, &credential.credential_id).await.unwrap();
    assert!(credentials::revoke(&t.app, "none").await.is_err());
    server.get("/api/whoami").await.problem(401, "unauthenticated");
}

#[apply(both_backends)]
async fn local_mode_serves_this_machine_until_the_first_credential(t: TestApp) {
    let server = t.serve().await;
    let who = server.get("/api/whoami").await.ok();
    assert_eq!(
        (&who["org_id"], &who["role"], &who["grants"]),
        (&json!("default"), &json!("dashboard"), &json!([]))
    );
    server.publish(&two_turns("ada", "s")).await.ok();
    server.get("/api/jobs").await.ok();
    let with = async |name: &str, value: &str| {
        server.send(server.request("GET", "/api/whoami").header(name, value)).await
    };
    for foreign in [
        "evil.example",
        "evil.example:8700",
        "10.0.0.1",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
    ] {
        with("host", foreign).await.problem(401, "unauthenticated");
    }
    for foreign in [
        "https://evil.example",
        "http://10.0.0.1",
        "null",
        "http://localhost.evil.example",
        "",
        "file://",
    ] {
        with("origin", foreign).await.problem(401, "unauthenticated");
    }
    for local in ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:5173"] {
        with("origin", local).await.ok();
    }
    for local in ["localhost", "LOCALHOST:8700", "127.0.0.1:1", "[::1]:8700"] {
        with("host", local).await.ok();
    }
    for forwarding in [
        "forwarded",
        "via",
        "x-real-ip",
        "x-forwarded-for",
        "x-forwarded-host",
        "X-Forwarded-Proto",
    ] {
        with(forwarding, "127.0.0.1").await.problem(401, "unauthenticated");
    }
    let old = server.request("GET", "/api/whoami").version(reqwest::Version::HTTP_10);
    server.send(old).await.problem(401, "unauthenticated");
    t.key("elsewhere", Role::Agent).await;
    server.get("/api/whoami").await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn local_mode_is_not_for_servers_beyond_loopback() {
    let t = TestApp::with(Backend::Sqlite, |s| s.server.listen = "0.0.0.0:0".to_owned()).await;
    t.serve().await.get("/api/whoami").await.problem(401, "unauthenticated");
}

async fn open_given(t: &TestApp, given: GivenCredentials) -> Arc<App> {
    let ids = Ids::seeded(t.clock().clone(), 77);
    App::open_with(t.settings().clone(), t.clock().clone(), ids, Schema::Migrate, given)
        .await
        .unwrap()
}

#[tokio::test]
async fn credentials_given_in_the_environment_work_and_are_written_nowhere() {
    let t = TestApp::new(Backend::Sqlite).await;
    let (agent, dashboard) =
        ("a-very-long-agent-key-from-outside-1234", "a-very-long-dashboard-key-from-outside");
    let given = [(Role::Agent, agent.to_owned()), (Role::Dashboard, dashboard.to_owned())];
    let app = open_given(&t, GivenCredentials::new(&"acme".into(), &given)).await;
    let server = Server::start(app).await;
    let who = server.with_token(agent).get("/api/whoami").await.ok();
    assert_eq!((&who["org_id"], &who["role"]), (&json!("acme"), &json!("agent")));
    server.with_token(agent).get("/api/jobs").await.problem(403, "forbidden");
    server.with_token(dashboard).get("/api/jobs").await.ok();
    server
        .with_token("another-very-long-key-that-nobody-gave")
        .get("/api/whoami")
        .await
        .problem(401, "unauthenticated");
    server.get("/api/whoami").await.problem(401, "unauthenticated");
    assert_eq!(t.number("SELECT COUNT(*) FROM credentials").await, 0);
}

#[tokio::test]
async fn a_credential_that_sends_too_fast_waits_and_the_others_do_not() {
    let t = TestApp::with(Backend::Sqlite, |s| {
        s.rate_limit.on_loopback = true;
        s.rate_limit.requests_per_second = 1;
        s.rate_limit.burst = 5;
    })
    .await;
    let server = t.serve().await;
    let fast = server.with_token(&t.key("one", Role::Agent).await);
    let calm = server.with_token(&t.key("one", Role::Agent).await);
    for _ in 0..5 {
        fast.get("/api/whoami").await.ok();
    }
    let refused = fast.get("/api/whoami").await;
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=2).contains(&wait), "{wait}");
    refused.problem(429, "rate_limited");
    calm.get("/api/whoami").await.ok();
    server.get("/health/live").await.ok();
    until("a second gives one more", async || fast.get("/api/whoami").await.status == 200).await;
}

#[tokio::test]
async fn those_who_try_tokens_wait_and_those_who_have_one_do_not() {
    let t = TestApp::with(Backend::Sqlite, |s| {
        s.rate_limit.on_loopback = true;
        s.rate_limit.strangers_per_second = 1;
        s.rate_limit.strangers_burst = 5;
    })
    .await;
    let server = t.serve().await;
    let known = server.with_token(&t.key("one", Role::Agent).await);
    // All at once: a bucket fills up again with time.
    let tries =
        (0..40).map(async |n| server.with_token(&format!("eh_agent_{n}")).get("/api/whoami").await);
    let answers = futures_util::future::join_all(tries).await;
    let refused = answers.iter().filter(|answer| answer.status == 429);
    assert!(refused.clone().count() > 10, "{}", refused.count());
    assert!(refused.clone().all(|answer| answer.headers.contains_key("retry-after")));
    assert!(answers.iter().all(|answer| matches!(answer.status, 401 | 429)));
    known.get("/api/whoami").await.ok();
    // Signing in has a bucket of its own, and is counted before its body is read.
    let token = json!({"token": "x"});
    let tries = (0..40).map(async |_| server.post("/auth/session", &token).await.status);
    let answers = futures_util::future::join_all(tries).await;
    assert!(answers.contains(&401) && answers.contains(&429), "{answers:?}");
}

#[apply(both_backends)]
async fn a_credential_ends_when_its_time_is_over_and_tells_when_it_was_used(t: TestApp) {
    let server = t.serve().await;
    let operator = server.with_token(&t.key("one", Role::Dashboard).await);
    let new = json!({"role": "agent", "expires_in_days": 7});
    let made = operator.post("/api/keys", &new).await.ok();
    assert_eq!(made["key"]["expires_at"], crate::support::NOW + 7 * 86_400);
    assert_eq!(made["key"]["last_used_at"], json!(null));
    let short = server.with_token(made["token"].as_str().unwrap());
    t.clock().advance(7200);
    short.get("/api/whoami").await.ok();
    let hour = (crate::support::NOW + 7200) / 3600 * 3600;
    until("the use is noted", async || {
        let listed = operator.get("/api/keys").await.ok();
        let keys = listed["keys"].as_array().unwrap();
        keys.iter().any(|key| key["role"] == "agent" && key["last_used_at"] == hour)
    })
    .await;
    t.clock().advance(7 * 86_400 - 7200);
    short.get("/api/whoami").await.problem(401, "unauthenticated");
    let zero = json!({"role": "agent", "expires_in_days": 0});
    operator.post("/api/keys", &zero).await.problem(422, "invalid_input");
}

#[tokio::test]
async fn there_is_no_limit_on_loopback_unless_asked_for() {
    let t = TestApp::with(Backend::Sqlite, |s| s.rate_limit.burst = 1).await;
    let server = t.serve().await;
    for _ in 0..20 {
        server.get("/api/whoami").await.ok();
    }
}

async fn preflight(server: &Server, origin: &str) -> crate::support::Answer {
    let request = server.request("OPTIONS", "/api/publish_interaction").header("origin", origin);
    let request = request.header("access-control-request-method", "POST");
    server
        .send(request.header("access-control-request-headers", "authorization,content-type"))
        .await
}

#[tokio::test]
async fn pages_of_other_origins_get_nothing_unless_configured() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    let refused = preflight(&server, "https://tools.example").await;
    assert!(
        !refused.headers.keys().any(|name| name.as_str().starts_with("access-control")),
        "{:?}",
        refused.headers
    );

    let t = TestApp::with(Backend::Sqlite, |s| {
        s.server.cors_origins = vec!["https://tools.example".to_owned()]
    })
    .await;
    let served = t.serve().await;
    let server = served.with_token(&t.key("one", Role::Agent).await);
    let allowed = preflight(&server, "https://tools.example").await;
    assert_eq!(allowed.status, 200);
    assert_eq!(allowed.headers["access-control-allow-origin"], "https://tools.example");
    // A star does not stand for Authorization: browsers want it by name.
    let headers = allowed.headers["access-control-allow-headers"].to_str().unwrap().to_lowercase();
    assert!(headers.contains("authorization") && headers.contains("content-type"), "{headers}");
    let request = server.request("GET", "/api/whoami").header("origin", "https://tools.example");
    let answer = server.send(request).await;
    assert_eq!(answer.headers["access-control-allow-origin"], "https://tools.example");
    answer.ok();
    let other = preflight(&server, "https://evil.example").await;
    assert!(!other.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn a_server_without_storage_says_so() {
    let t = TestApp::with(Backend::Sqlite, |s| s.server.storage = "none".to_owned()).await;
    let server = t.serve().await;
    server.get("/health/live").await.ok();
    server.get("/health/ready").await.ok();
    let who = server.get("/api/whoami").await.ok();
    assert_eq!((&who["storage_configured"], &who["storage_type"]), (&json!(false), &json!(null)));
    server.publish(&two_turns("ada", "s")).await.problem(503, "storage_not_configured");
    server.get("/api/sessions").await.problem(503, "storage_not_configured");
    server
        .with_token("eh_agent_x")
        .get("/api/sessions")
        .await
        .problem(503, "storage_not_configured");
    assert!(!t.settings().server.data_dir.exists(), "nothing is written");
}
