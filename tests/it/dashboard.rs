//! The dashboard's ground: signing in, keys, its files, and the reads its pages stand on.

use serde_json::{Value, json};
use service::credentials::{self, GivenCredentials, Role, browser};

use crate::evaluation::{talk, work};
use crate::publish::two_turns;
use crate::support::{Answer, Backend, NOW, Server, TestApp, apply, both_backends, not_run};

/// A browser: a cookie, and what its changes carry.
struct Browser<'a> {
    server: &'a Server,
    cookie: String,
    csrf: String,
}

impl<'a> Browser<'a> {
    async fn sign_in(server: &'a Server, token: &str) -> Self {
        let answer = server.post("/auth/session", &json!({"token": token})).await;
        let set = answer.headers["set-cookie"].to_str().unwrap().to_owned();
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
        let cookie = set.split(';').next().unwrap().to_owned();
        let body = answer.ok();
        assert_eq!(body["state"], "signed_in");
        Browser { server, cookie, csrf: body["csrf"].as_str().unwrap().to_owned() }
    }

    async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let request = self.server.request(method, path).header("cookie", &self.cookie);
        let request = request.header("x-evenhand-csrf", &self.csrf);
        self.server.send(body.into_iter().fold(request, |request, body| request.json(body))).await
    }

    /// A change as a page of another site could make a browser send it.
    async fn forged(&self, csrf: Option<&str>) -> Answer {
        let request = self.server.request("POST", "/api/keys").header("cookie", &self.cookie);
        let request = csrf.into_iter().fold(request, |r, csrf| r.header("x-evenhand-csrf", csrf));
        self.server.send(request.json(&json!({"role": "agent"}))).await
    }
}

#[apply(both_backends)]
async fn a_browser_signs_in_and_its_changes_prove_where_they_come_from(t: TestApp) {
    let server = t.serve().await;
    let (credential, token) = credentials::create(
        &t.app,
        &"one".into(),
        credentials::NewCredential::of(Role::Dashboard, "kim").with_grant(true),
    )
    .await
    .unwrap();
    let look = async || server.get("/auth/session").await.ok();
    assert_eq!(
        look().await,
        json!({"state": "signed_out", "org_id": null, "csrf": null, "role": null, "governance": false,
            "person": null, "organizations": [], "provider": null})
    );
    let browser = Browser::sign_in(&server, &format!(" {token}\n")).await;
    let who = browser.call("GET", "/api/whoami", None).await.ok();
    assert_eq!(
        (&who["org_id"], &who["role"], &who["grants"]),
        (&json!("one"), &json!("dashboard"), &json!(["governance"]))
    );
    let seen = browser.call("GET", "/auth/session", None).await.ok();
    assert_eq!((&seen["state"], &seen["csrf"]), (&json!("signed_in"), &json!(browser.csrf)));
    // Reading needs the cookie alone; a change needs the proof.
    browser.forged(None).await.problem(403, "csrf_missing");
    browser.forged(Some("")).await.problem(403, "csrf_missing");
    browser.forged(Some(&browser.csrf[1..])).await.problem(403, "csrf_missing");
    browser.forged(Some(&browser.csrf)).await.ok();
    // Another replica knows it, too.
    let other = t.replica().await.serve().await;
    Browser { server: &other, cookie: browser.cookie.clone(), csrf: browser.csrf.clone() }
        .call("GET", "/api/whoami", None)
        .await
        .ok();
    // A cookie that was tampered with, has expired or lost its credential is refused.
    let value = browser.cookie.split_once('=').unwrap().1;
    let id = &credential.credential_id;
    for bad in [
        // As it was made when the key alone was enough to make one, for thirty years.
        format!("{id}.2714564800.{}", browser.csrf),
        value[1..].to_owned(),
        format!("x{value}"),
        "..".to_owned(),
        String::new(),
    ] {
        let request = server
            .request("GET", "/api/whoami")
            .header("cookie", format!("evenhand_session={bad}"));
        server.send(request).await.problem(401, "unauthenticated");
    }
    t.clock().advance(browser::SIGNED_IN_SECONDS);
    browser.call("GET", "/api/whoami", None).await.problem(401, "unauthenticated");
    let browser = Browser::sign_in(&server, &token).await;
    credentials::revoke(&t.app, &credential.credential_id).await.unwrap();
    browser.call("GET", "/api/whoami", None).await.problem(401, "unauthenticated");
}

#[apply(both_backends)]
async fn a_browser_erases_with_the_grant_and_the_proof(t: TestApp) {
    let server = t.serve().await;
    let person = json!({"user_id": "ada", "request_id": "dsr"});
    let (path, listed) = ("/api/governance/erase-user", "/api/governance/purge-operations");
    // Being on the same machine is not enough.
    server.post(path, &person).await.problem(401, "unauthenticated");
    let (_, plain) = credentials::create(
        &t.app,
        &"one".into(),
        credentials::NewCredential::of(Role::Dashboard, "lee"),
    )
    .await
    .unwrap();
    let plain = Browser::sign_in(&server, &plain).await;
    plain.call("POST", path, Some(&person)).await.problem(403, "credential_not_governance");
    plain.call("GET", listed, None).await.problem(403, "credential_not_governance");
    let (_, granted) = credentials::create(
        &t.app,
        &"one".into(),
        credentials::NewCredential::of(Role::Dashboard, "kim").with_grant(true),
    )
    .await
    .unwrap();
    let granted = Browser::sign_in(&server, &granted).await;
    let forged =
        Browser { csrf: plain.csrf.clone(), cookie: granted.cookie.clone(), server: &server };
    forged.call("POST", path, Some(&person)).await.problem(403, "csrf_missing");
    let erased = granted.call("POST", path, Some(&person)).await.ok();
    assert_eq!(erased["status"], "complete");
    let found = granted.call("GET", listed, None).await.ok();
    assert_eq!(found["purge_operations"][0]["purge_id"], erased["purge_id"]);
}

#[apply(both_backends)]
async fn only_tokens_of_people_sign_in(t: TestApp) {
    let server = t.serve().await;
    let try_ = async |token: &str| server.post("/auth/session", &json!({"token": token})).await;
    try_(&t.key("one", Role::Agent).await).await.problem(403, "forbidden");
    try_(&t.key("one", Role::Publish).await).await.problem(403, "forbidden");
    try_("eh_dashboard_invented").await.problem(401, "unauthenticated");
    server.post("/auth/session", &json!({})).await.problem(422, "invalid_input");
    let padded = json!({"token": "x", "padding": "y".repeat(8192)});
    server.post("/auth/session", &padded).await.problem(413, "body_too_large");
    let out = server.call("DELETE", "/auth/session", None).await;
    assert!(out.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
}

#[apply(both_backends)]
async fn a_governance_token_signs_in_for_governance_only(t: TestApp) {
    let server = t.serve().await;
    let token = t.key("one", Role::Governance).await;
    let browser = Browser::sign_in(&server, &token).await;
    let seen = browser.call("GET", "/auth/session", None).await.ok();
    assert_eq!((&seen["role"], &seen["governance"]), (&json!("governance"), &json!(true)));
    browser.call("GET", "/api/governance/purge-operations", None).await.ok();
    let person = json!({"user_id": "ada"});
    browser.call("POST", "/api/governance/preview-user", Some(&person)).await.ok();
    for path in ["/api/sessions", "/api/whoami", "/api/jobs", "/api/keys"] {
        browser.call("GET", path, None).await.problem(403, "forbidden");
    }
}

#[apply(both_backends)]
async fn signing_out_ends_the_cookie_itself(t: TestApp) {
    let server = t.serve().await;
    let token = t.key("one", Role::Dashboard).await;
    let (browser, other) =
        (Browser::sign_in(&server, &token).await, Browser::sign_in(&server, &token).await);
    browser.call("GET", "/api/whoami", None).await.ok();
    browser.call("DELETE", "/auth/session", None).await.ok();
    // A copy of it is worth nothing any more; other browsers stay.
    browser.call("GET", "/api/whoami", None).await.problem(401, "unauthenticated");
    other.call("GET", "/api/whoami", None).await.ok();
    // A reader of the table has no cookie.
    let value = other.cookie.split_once('=').unwrap().1;
    let found = t
        .number(&format!(
            "SELECT COUNT(*) FROM browser_sessions WHERE session_sha256 LIKE '%{value}%'"
        ))
        .await;
    assert_eq!((found, t.number("SELECT COUNT(*) FROM browser_sessions").await), (0, 1));
    t.clock().advance(browser::SIGNED_IN_SECONDS);
    other.call("GET", "/api/whoami", None).await.problem(401, "unauthenticated");
    Browser::sign_in(&server, &token).await;
    assert_eq!(t.number("SELECT COUNT(*) FROM browser_sessions").await, 1, "those that ended go");
}

#[tokio::test]
async fn a_cookie_is_for_tls_if_the_settings_say_so() {
    for secure in [false, true] {
        let t = TestApp::with(Backend::Sqlite, |s| s.server.secure_cookies = secure).await;
        let server = t.serve().await;
        let token = json!({"token": t.key("one", Role::Auditor).await});
        let request = server.request("POST", "/auth/session").header("x-forwarded-proto", "https");
        let answer = server.send(request.json(&token)).await;
        let cookie = answer.headers["set-cookie"].to_str().unwrap();
        assert_eq!(cookie.contains("Secure"), secure, "{cookie}");
    }
}

#[apply(both_backends)]
async fn keys_are_made_listed_and_ended_by_operators(t: TestApp) {
    let server = t.serve().await;
    assert_eq!(server.get("/auth/session").await.ok()["state"], "local");
    let governing =
        [json!({"role": "governance"}), json!({"role": "dashboard", "governance_grant": true})];
    for key in &governing {
        let refused = server.post("/api/keys", key).await.problem(403, "forbidden");
        assert!(refused["detail"].as_str().unwrap().contains("evenhand keys create"), "{refused}");
    }
    assert_eq!(t.number("SELECT COUNT(*) FROM credentials").await, 0);
    let made = server.post("/api/keys", &json!({"role": "dashboard", "name": "first"})).await.ok();
    assert_eq!((&made["key"]["name"], &made["key"]["grants"]), (&json!("first"), &json!([])));
    server.get("/api/keys").await.problem(401, "unauthenticated");
    let operator = server.with_token(made["token"].as_str().unwrap());
    let (_, granted) = credentials::create(
        &t.app,
        &"default".into(),
        credentials::NewCredential::of(Role::Dashboard, "").with_grant(true),
    )
    .await
    .unwrap();
    let granted = server.with_token(&granted);
    for key in &governing {
        operator.post("/api/keys", key).await.problem(403, "forbidden");
    }
    let governor = granted.post("/api/keys", &governing[0]).await.ok();
    // Nobody ends a key of a higher level than their own.
    let governor = governor["key"]["credential_id"].as_str().unwrap();
    let governor = format!("/api/keys/{governor}");
    operator.call("DELETE", &governor, None).await.problem(403, "forbidden");
    assert_eq!(t.number("SELECT COUNT(*) FROM credentials WHERE revoked_at IS NOT NULL").await, 0);
    granted.call("DELETE", &governor, None).await.ok();
    let bad = operator.post("/api/keys", &json!({"role": "agent", "governance_grant": true})).await;
    assert_eq!(
        bad.input_problems(),
        [("/governance_grant".to_owned(), "contradiction".to_owned())]
    );
    let agent = operator.post("/api/keys", &json!({"role": "agent", "name": "bot"})).await.ok();
    let bot = server.with_token(agent["token"].as_str().unwrap());
    bot.get("/api/whoami").await.ok();
    let listed = operator.get("/api/keys").await.ok();
    assert_eq!(listed["keys"].as_array().unwrap().len(), 4);
    assert!(!listed.to_string().contains("eh_"), "tokens are shown once");
    // Another organization's key is none of theirs.
    let (elsewhere, _) = credentials::create(
        &t.app,
        &"other".into(),
        credentials::NewCredential::of(Role::Agent, ""),
    )
    .await
    .unwrap();
    let path = |id: &str| format!("/api/keys/{id}");
    operator.call("DELETE", &path(&elsewhere.credential_id), None).await.problem(404, "not_found");
    operator.call("DELETE", &path("none"), None).await.problem(404, "not_found");
    let id = agent["key"]["credential_id"].as_str().unwrap();
    operator.call("DELETE", &path(id), None).await.ok();
    bot.get("/api/whoami").await.problem(401, "unauthenticated");
    let ended = operator.get("/api/keys").await.ok();
    let ended = ended["keys"]
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["credential_id"] == id)
        .unwrap()
        .clone();
    assert_eq!(ended["revoked_at"], NOW);
}

#[apply(both_backends)]
async fn listed_sessions_carry_their_newest_verdict(t: TestApp) {
    let server = t.serve().await;
    server.publish(&talk("ada", "good", true)).await.ok();
    server.publish(&talk("bob", "bad", false)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    server.publish(&two_turns("eve", "new")).await.ok();
    let ids = async |query: &str| -> Vec<String> {
        let found = server.get(&format!("/api/sessions?{query}")).await.ok();
        let mut ids: Vec<String> = found["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["session_id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("").await, ["bad", "good", "new"]);
    assert_eq!(ids("verdict=success").await, ["good"]);
    assert_eq!(ids("verdict=failure").await, ["bad"]);
    assert_eq!(ids("verdict=none").await, ["new"]);
    assert_eq!(ids("session_ids=good,%20new,gone").await, ["good", "new"]);
    assert_eq!(ids("session_ids=good,new&user_id=ada").await, ["good"]);
    assert!(ids("session_ids=").await.is_empty());
    let many = vec!["s"; 101].join(",");
    let refused = server.get(&format!("/api/sessions?session_ids={many}")).await;
    assert_eq!(refused.input_problems(), [("/session_ids".to_owned(), "too_many".to_owned())]);
    let found = server.get("/api/sessions").await.ok();
    let of = |id: &str| {
        found["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["session_id"] == id)
            .unwrap()
            .clone()
    };
    assert_eq!(
        (&of("good")["is_success"], &of("bad")["is_success"]),
        (&json!(true), &json!(false))
    );
    assert!(of("bad")["failure_type"].as_str().is_some_and(|kind| !kind.is_empty()));
    assert_eq!(
        (&of("new")["is_success"], &of("new")["failure_type"]),
        (&json!(null), &json!(null))
    );
}

#[apply(both_backends)]
async fn regenerations_are_previewed_and_listed(t: TestApp) {
    let server = t.serve().await;
    for n in 0..6 {
        server.publish(&talk("ada", &format!("s{n}"), true)).await.ok();
    }
    t.clock().advance(600);
    work(&t).await;
    let window = json!({"from_ts": NOW - 10, "to_ts": NOW + 10});
    let preview = server.post("/api/evaluations/regenerate/preview", &window).await.ok();
    assert_eq!(
        preview,
        json!({"total_candidates": 6, "total": 6, "estimated_cost_usd": 0.0, "judge": "rules"})
    );
    assert_eq!(server.get("/api/evaluations/regenerate").await.ok(), json!({"regenerations": []}));
    let unknown = json!({"from_ts": 1, "to_ts": 2, "evaluation_name": "nope"});
    assert_eq!(server.post("/api/evaluations/regenerate/preview", &unknown).await.status, 422);
    server
        .post("/api/evaluations/regenerate/preview", &json!({"from_ts": 2, "to_ts": 1}))
        .await
        .problem(422, "invalid_input");
    let started = server.post("/api/evaluations/regenerate", &window).await.ok();
    let listed = server.get("/api/evaluations/regenerate").await.ok();
    let first = &listed["regenerations"][0];
    assert_eq!((&first["job_id"], &first["status"]), (&started["job_id"], &json!("running")));
    assert_eq!((&first["from_ts"], &first["to_ts"]), (&json!(NOW - 10), &json!(NOW + 10)));
}

#[apply(both_backends)]
async fn the_judge_says_how_it_is_doing(t: TestApp) {
    let server = t.serve().await;
    let rate = |rate: f64| json!({"agent_success_config": {"sampling_rate": rate}});
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    server.post("/api/update_config", &rate(0.0)).await.ok();
    server.publish(&talk("ada", "s2", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    let health = server.get("/api/evaluations/judge_health").await.ok();
    assert_eq!(
        (&health["judge"], &health["offline"], &health["state"]),
        (&json!("rules"), &json!(true), &json!("running"))
    );
    assert_eq!(
        health["decisions"],
        json!([{"decision": "judged", "count": 1}, {"decision": "sampled_out", "count": 1}])
    );
    assert_eq!(health["reasons"][0]["decision"], "sampled_out");
    t.clock().advance(8 * 86_400);
    assert_eq!(server.get("/api/evaluations/judge_health").await.ok()["decisions"], json!([]));
}

#[apply(both_backends)]
async fn labels_are_read_back(t: TestApp) {
    let server = t.serve().await;
    server.publish(&two_turns("ada", "s1")).await.ok();
    let path = "/api/evaluations/labels?session_id=s1";
    assert_eq!(server.get(path).await.ok(), json!({"labels": []}));
    let label = json!({"session_id": "s1", "is_success": false, "failure_type": "wrong_answer", "note": "no", "labelled_by": "kim"});
    server.post("/api/evaluations/labels", &json!({"labels": [label]})).await.ok();
    let found = server.get(path).await.ok();
    assert_eq!(
        found["labels"],
        json!([{
            "user_id": "ada", "session_id": "s1", "evaluation_name": "agent_success", "is_success": false,
            "failure_type": "wrong_answer", "note": "no", "labelled_by": "kim", "labelled_at": NOW
        }])
    );
    server.get("/api/evaluations/labels?session_id=none").await.problem(404, "not_found");
    server.publish(&two_turns("bob", "s1")).await.ok();
    server.get(path).await.problem(409, "session_ambiguous");
    assert_eq!(server.get(&format!("{path}&user_id=bob")).await.ok(), json!({"labels": []}));
}

#[tokio::test]
async fn a_credential_of_the_environment_signs_in_and_ends_with_it() {
    let t = TestApp::new(Backend::Sqlite).await;
    let token = "a-very-long-dashboard-key-from-outside";
    let open = async |token: &str| {
        let given = GivenCredentials::new(&"acme".into(), &[(Role::Dashboard, token.to_owned())]);
        let ids = base::ids::Ids::seeded(t.clock().clone(), 7);
        let schema = service::app::Schema::Migrate;
        let settings = t.settings().clone();
        let opened = service::app::App::open_with(settings, t.clock().clone(), ids, schema, given);
        Server::start(opened.await.unwrap()).await
    };
    let server = open(token).await;
    let browser = Browser::sign_in(&server, token).await;
    assert_eq!(browser.call("GET", "/api/whoami", None).await.ok()["org_id"], "acme");
    let replaced = open("another-very-long-dashboard-key-from-outside").await;
    let same = Browser { server: &replaced, cookie: browser.cookie, csrf: browser.csrf };
    same.call("GET", "/api/whoami", None).await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn pages_are_one_document_and_other_paths_are_none() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    let home = server.get("/").await;
    assert_eq!(home.status, 200);
    for page in ["/overview", "/sessions?user=a", "/experiments/some-id", "/governance", "/sign-in"]
    {
        let answer = server.get(page).await;
        assert_eq!((answer.status, &answer.text), (200, &home.text), "{page}");
        assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    }
    for nothing in ["/nope", "/api/nope", "/assets/none.js", "/../Cargo.toml", "/index.html"] {
        server.get(nothing).await.problem(404, "not_found");
    }
    server.call("POST", "/overview", None).await.problem(404, "not_found");
    assert!(server.get("/docs").await.text.contains("Evenhand API"));
}

#[tokio::test]
async fn an_unknown_address_is_a_page_for_browsers_and_a_problem_for_programs() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    let ask = async |path: &str, accept: &str| {
        let request = server.request("GET", path).header("accept", accept);
        server.send(request.header("if-none-match", "*")).await
    };
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for path in ["/nope", "/nope/deeper?x=1", "/session"] {
        let answer = ask(path, browser).await;
        assert_eq!(answer.status, 404, "{path}");
        let kind = answer.headers["content-type"].to_str().unwrap();
        assert!(kind.starts_with("text/html") && answer.text.contains("<html"), "{kind}");
        ask(path, "application/json").await.problem(404, "not_found");
        ask(path, "*/*").await.problem(404, "not_found");
    }
    for path in ["/api/nope", "/auth/nope", "/health/nope", "/v1/nope", "/assets/none.js"] {
        ask(path, browser).await.problem(404, "not_found");
    }
    let posted = server.request("POST", "/nope").header("accept", browser);
    server.send(posted).await.problem(404, "not_found");
}

/// With a built dashboard: hashed files are kept for ever, sent compressed, and not sent twice.
#[tokio::test]
async fn built_files_are_cached_and_compressed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ui/dist/site/assets");
    let Ok(entries) = std::fs::read_dir(folder) else {
        not_run("dashboard::built_files_are_cached_and_compressed", "`make ui` was not run");
        return;
    };
    let names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    let script = names.iter().find(|name| name.ends_with(".js")).unwrap();
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    // A client that hands bodies on without decompressing them.
    let client = reqwest::Client::builder().no_gzip().no_brotli().build().unwrap();
    let get = async |encoding: &str, known: &str| {
        let request = client.get(format!("http://{}/assets/{script}", server.address));
        let request = request.header("accept-encoding", encoding).header("if-none-match", known);
        request.send().await.unwrap()
    };
    for (accepted, sent) in [("gzip, br", Some("br")), ("gzip", Some("gzip")), ("identity", None)] {
        let answer = get(accepted, "").await;
        let header = |name: &str| answer.headers().get(name).and_then(|v| v.to_str().ok());
        assert_eq!(header("content-encoding"), sent, "{accepted}");
        assert_eq!(header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert_eq!(header("content-type"), Some("text/javascript; charset=utf-8"));
        let tag = header("etag").unwrap().to_owned();
        assert_eq!(get(accepted, &tag).await.status(), 304);
    }
    assert_eq!(server.get("/").await.headers["cache-control"], "no-store");
}
