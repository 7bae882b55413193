//! People who sign in with an OpenID Connect provider: who gets in, as what, and from when on no longer.

use reqwest::header::{HeaderMap, LOCATION, SET_COOKIE};
use serde_json::{Value, json};
use service::credentials::{self, NewCredential, Role, browser};

use crate::publish::two_turns;
use crate::support::{Backend, NOW, Provider, Server, TestApp, apply, both_backends};

/// The answer to a browser that goes to an address: where it is led, and its new cookies.
struct Led {
    to: String,
    cookies: Vec<String>,
}

impl Led {
    fn of(headers: &HeaderMap) -> Self {
        let text = |value: &reqwest::header::HeaderValue| value.to_str().unwrap().to_owned();
        let cookies = headers.get_all(SET_COOKIE).iter().map(text).collect();
        Led { to: headers.get(LOCATION).map(text).unwrap_or_default(), cookies }
    }

    fn cookie(&self, name: &str) -> Option<String> {
        let named = self.cookies.iter().find(|set| set.starts_with(&format!("{name}=")))?;
        Some(named.split(';').next().unwrap().to_owned())
    }

    /// Reason that nobody was signed in.
    fn problem(&self) -> &str {
        assert_eq!(self.cookie("evenhand_session"), None);
        self.to.strip_prefix("/sign-in?problem=").unwrap_or_else(|| panic!("led to {}", self.to))
    }
}

/// Goes to an address without following where it leads.
async fn go(url: &str, cookie: &str) -> Led {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let request = client.build().unwrap().get(url).header("cookie", cookie);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    assert!(matches!(status, 302 | 303), "{url}: {status} {}", response.text().await.unwrap());
    Led::of(response.headers())
}

/// A browser on its way: the address that the provider sent it back to, and the cookie of its attempt.
struct OnItsWay {
    query: String,
    attempt: String,
}

async fn leave(server: &Server, return_to: &str) -> OnItsWay {
    let begun =
        go(&format!("http://{}/auth/oidc/start?return_to={return_to}", server.address), "").await;
    let attempt = begun.cookie("evenhand_sign_in").expect("an attempt");
    let back = go(&begun.to, "").await;
    let (address, query) = back.to.split_once('?').unwrap();
    assert_eq!(address, "http://localhost:1/auth/oidc/callback");
    OnItsWay { query: query.to_owned(), attempt }
}

async fn come_back(server: &Server, way: &OnItsWay) -> Led {
    go(&format!("http://{}/auth/oidc/callback?{}", server.address, way.query), &way.attempt).await
}

/// Signs whoever sits at the provider's browser in.
pub async fn sign_in(server: &Server) -> Server {
    let led = come_back(server, &leave(server, "/sessions").await).await;
    assert_eq!(led.to, "/sessions");
    let cookie = led.cookie("evenhand_session").expect("signed in");
    browser_of(server, &cookie).await
}

async fn browser_of(server: &Server, cookie: &str) -> Server {
    let seen = server.with_browser(cookie, "").get("/auth/session").await.ok();
    server.with_browser(cookie, seen["csrf"].as_str().expect("signed in"))
}

/// An installation that people sign in to with a provider of the test's own.
pub async fn with_provider(t: &TestApp) -> (Provider, TestApp) {
    let provider = Provider::start(t.clock()).await;
    let t = t.replica_with(|settings| provider.configure(settings)).await;
    (provider, t)
}

pub fn kim(roles: Value) -> Value {
    json!({"name": "Kim Example", "email": "kim@example.org", "roles": roles})
}

async fn state(server: &Server) -> Value {
    server.get("/auth/session").await.ok()["state"].clone()
}

#[apply(both_backends)]
async fn a_person_signs_in_by_name_and_out_again(t: TestApp) {
    let (provider, t) = with_provider(&t).await;
    let server = t.serve().await;
    provider.seat("kim-1", kim(json!(["run"])));
    let out = server.get("/auth/session").await.ok();
    assert_eq!((&out["state"], &out["provider"]), (&json!("signed_out"), &json!("Test ID")));
    let led = come_back(&server, &leave(&server, "/sessions").await).await;
    let set = led.cookies.iter().find(|set| set.starts_with("evenhand_session=")).unwrap();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    let kim = browser_of(&server, &led.cookie("evenhand_session").unwrap()).await;
    let seen = kim.get("/auth/session").await.ok();
    assert_eq!(seen["person"], json!({"name": "Kim Example", "email": "kim@example.org"}),);
    assert_eq!((&seen["org_id"], &seen["role"]), (&json!("one"), &json!("dashboard")));
    assert_eq!((&seen["organizations"], &seen["governance"]), (&json!(["one"]), &json!(false)));
    kim.post("/api/keys", &json!({"role": "agent"})).await.ok();
    // A change without the proof is as good as another site's.
    let forged = server.with_browser(&led.cookie("evenhand_session").unwrap(), "");
    forged.post("/api/keys", &json!({"role": "agent"})).await.problem(403, "csrf_missing");
    // The same person again is the same person, on another replica too.
    let other = t.replica().await.serve().await;
    sign_in(&other).await.get("/api/whoami").await.ok();
    assert_eq!(t.number("SELECT COUNT(*) FROM people").await, 1);
    assert_eq!(t.number("SELECT COUNT(*) FROM person_sessions").await, 2);
    kim.call("DELETE", "/auth/session", None).await.ok();
    kim.get("/api/whoami").await.problem(401, "unauthenticated");
    assert_eq!(t.number("SELECT COUNT(*) FROM person_sessions").await, 1);
    // The stored rows make no cookie, and hold no refresh token.
    let value = led.cookie("evenhand_session").unwrap().split_once('=').unwrap().1.to_owned();
    let known = "SELECT COUNT(*) FROM person_sessions WHERE sealed_refresh_token LIKE '%refresh-%' OR session_sha256 LIKE";
    assert_eq!(t.number(&format!("{known} '%{value}%'")).await, 0);
}

#[apply(both_backends)]
async fn a_person_removed_at_the_provider_is_out_at_the_next_check(t: TestApp) {
    let (provider, t) = with_provider(&t).await;
    let server = t.serve().await;
    let recheck = t.settings().oidc.recheck_seconds;
    provider.seat("kim-1", kim(json!(["run"])));
    let kim = sign_in(&server).await;
    t.clock().advance(recheck - 1);
    kim.get("/api/whoami").await.ok();
    assert_eq!(provider.with().refreshed, 0);
    // As long as the provider knows them, they stay, hour after hour; the refresh token is new each time.
    for _ in 0..20 {
        t.clock().advance(recheck + 1);
        kim.get("/api/whoami").await.ok();
    }
    assert_eq!(provider.with().refreshed, 20);
    provider.with().people.clear();
    kim.get("/api/whoami").await.ok();
    t.clock().advance(recheck + 1);
    kim.get("/api/whoami").await.problem(401, "unauthenticated");
    assert_eq!(t.number("SELECT COUNT(*) FROM person_sessions").await, 0);
    assert_eq!(leave(&server, "/").await.query.split('&').next(), Some("error=access_denied"));
}

#[apply(both_backends)]
async fn a_session_ends_by_itself_where_the_provider_cannot_be_asked(t: TestApp) {
    let (provider, t) = with_provider(&t).await;
    let server = t.serve().await;
    let lasts = t.settings().oidc.session_seconds;
    // Without a refresh token there is nothing to ask with.
    provider.with().hands_out_refresh_tokens = false;
    provider.seat("kim-1", kim(json!(["run"])));
    let kim = sign_in(&server).await;
    provider.with().people.clear();
    t.clock().advance(lasts - 1);
    kim.get("/api/whoami").await.ok();
    t.clock().advance(1);
    kim.get("/api/whoami").await.problem(401, "unauthenticated");
    // A provider that is down keeps nobody in beyond that, and throws nobody out before.
    provider.with().hands_out_refresh_tokens = true;
    provider.seat("kim-1", self::kim(json!(["run"])));
    let kim = sign_in(&server).await;
    provider.with().is_down = true;
    t.clock().advance(lasts - 1);
    kim.get("/api/whoami").await.ok();
    t.clock().advance(1);
    kim.get("/api/whoami").await.problem(401, "unauthenticated");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_stays_longer_than_twelve_hours() {
    let (provider, t) = with_provider(&TestApp::new(Backend::Sqlite).await).await;
    let server = t.serve().await;
    provider.seat("kim-1", kim(json!(["look"])));
    let kim = sign_in(&server).await;
    let step = t.settings().oidc.session_seconds / 2;
    for _ in 0..browser::SIGNED_IN_SECONDS / step - 1 {
        t.clock().advance(step);
        kim.get("/api/whoami").await.ok();
    }
    t.clock().advance(step);
    kim.get("/api/whoami").await.problem(401, "unauthenticated");
}

#[apply(both_backends)]
async fn what_the_provider_changes_holds_from_the_next_check_on(t: TestApp) {
    let (provider, t) = with_provider(&t).await;
    let t = t.replica_with(|s| s.oidc.organization_claim = "orgs".to_owned()).await;
    let server = t.serve().await;
    let recheck = t.settings().oidc.recheck_seconds + 1;
    let claims = |roles: Value, orgs: Value| json!({"name": "Kim", "email": "kim@example.org", "roles": roles, "orgs": orgs});
    provider.seat("kim-1", claims(json!(["run"]), json!(["one", "two"])));
    let kim = sign_in(&server).await;
    let key = json!({"role": "agent"});
    kim.post("/api/keys", &key).await.ok();
    provider.seat("kim-1", claims(json!(["look"]), json!(["one"])));
    t.clock().advance(recheck);
    kim.post("/api/keys", &key).await.problem(403, "forbidden");
    let seen = kim.get("/auth/session").await.ok();
    assert_eq!((&seen["role"], &seen["organizations"]), (&json!("auditor"), &json!(["one"])));
    // No role, or not the organization that the session is in: out.
    provider.seat("kim-1", claims(json!(["other"]), json!(["one"])));
    t.clock().advance(recheck);
    kim.get("/api/whoami").await.problem(401, "unauthenticated");
    assert_eq!(come_back(&server, &leave(&server, "/").await).await.problem(), "no_role");
    provider.seat("kim-1", claims(json!(["look"]), json!([])));
    assert_eq!(come_back(&server, &leave(&server, "/").await).await.problem(), "no_organization");
    provider.seat("kim-1", claims(json!(["look"]), json!(["one"])));
    let kim = sign_in(&server).await;
    provider.seat("kim-1", claims(json!(["look"]), json!(["two"])));
    t.clock().advance(recheck);
    kim.get("/api/whoami").await.problem(401, "unauthenticated");
    // The refreshed token of somebody else proves nothing.
    provider.seat("kim-1", claims(json!(["look"]), json!(["one"])));
    let kim = sign_in(&server).await;
    provider.with().tamper = |_, claims| claims["sub"] = json!("lee-2");
    t.clock().advance(recheck);
    kim.get("/api/whoami").await.problem(401, "unauthenticated");
}

#[apply(both_backends)]
async fn of_many_requests_one_asks_the_provider(t: TestApp) {
    let (provider, t) = with_provider(&t).await;
    let (server, other) = (t.serve().await, t.replica().await.serve().await);
    provider.seat("kim-1", kim(json!(["run"])));
    let led = come_back(&server, &leave(&server, "/").await).await;
    let cookie = led.cookie("evenhand_session").unwrap();
    t.clock().advance(t.settings().oidc.recheck_seconds + 1);
    let requests = (0..20).map(|n| {
        let server = if n % 2 == 0 { &server } else { &other };
        let browser = server.with_browser(&cookie, "");
        async move { browser.get("/api/whoami").await.status }
    });
    let answers = futures_util::future::join_all(requests).await;
    assert!(answers.iter().all(|status| *status == 200), "{answers:?}");
    assert_eq!(provider.with().refreshed, 1, "a refresh token is good for one use");
    server.with_browser(&cookie, "").get("/api/whoami").await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_token_that_is_not_good_signs_nobody_in() {
    let (provider, t) = with_provider(&TestApp::new(Backend::Sqlite).await).await;
    let server = t.serve().await;
    provider.seat("kim-1", kim(json!(["all"])));
    /// Changes the head and the claims of a token.
    type Forgery = fn(&mut Value, &mut Value);
    let attempts: [(&str, Forgery); 8] = [
        ("another audience", |_, claims| claims["aud"] = json!("somebody-else")),
        ("another audience too", |_, claims| {
            claims["aud"] = json!([crate::support::CLIENT_ID, "somebody-else"]);
        }),
        ("another issuer", |_, claims| claims["iss"] = json!("http://127.0.0.1:1")),
        ("ended", |_, claims| claims["exp"] = json!(NOW)),
        ("another attempt's", |_, claims| claims["nonce"] = json!("replayed")),
        ("without a nonce", |_, claims| {
            claims.as_object_mut().unwrap().remove("nonce");
        }),
        ("another algorithm", |head, _| head["alg"] = json!("HS256")),
        ("an unknown key", |head, _| head["kid"] = json!("unknown")),
    ];
    for (what, tamper) in attempts {
        provider.with().tamper = tamper;
        let led = come_back(&server, &leave(&server, "/").await).await;
        assert_eq!(led.problem(), "refused", "{what}");
    }
    provider.with().tamper = |head, _| head["alg"] = json!("none");
    provider.with().unsigned = true;
    let problem = come_back(&server, &leave(&server, "/").await).await;
    // The token is not even read as one.
    assert!(matches!(problem.problem(), "refused" | "unreachable"), "{}", problem.to);
    provider.with().tamper = |_, _| {};
    let problem = come_back(&server, &leave(&server, "/").await).await;
    assert!(matches!(problem.problem(), "refused" | "unreachable"), "{}", problem.to);
    assert_eq!(t.number("SELECT COUNT(*) FROM people").await, 0);
    provider.with().unsigned = false;
    sign_in(&server).await;
    // New keys are fetched when they are needed.
    provider.with().key_id = "second".to_owned();
    sign_in(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_belongs_to_the_browser_that_made_it_and_ends() {
    let (provider, t) = with_provider(&TestApp::new(Backend::Sqlite).await).await;
    let server = t.serve().await;
    provider.seat("kim-1", kim(json!(["run"])));
    // Another browser, which a link with somebody else's code was put under: no cookie, or its own.
    let (way, other) = (leave(&server, "/").await, leave(&server, "/").await);
    for attempt in ["", "evenhand_sign_in=", "evenhand_sign_in=x:k1:00", other.attempt.as_str()] {
        let stolen = OnItsWay { query: way.query.clone(), attempt: attempt.to_owned() };
        assert_eq!(come_back(&server, &stolen).await.problem(), "expired");
    }
    let led = come_back(&server, &way).await;
    assert!(led.cookie("evenhand_session").is_some());
    assert_eq!(
        led.cookie("evenhand_sign_in").as_deref(),
        Some("evenhand_sign_in="),
        "it is used up"
    );
    assert_eq!(come_back(&server, &way).await.problem(), "refused", "a code is good once");
    let late = leave(&server, "/").await;
    t.clock().advance(600);
    assert_eq!(come_back(&server, &late).await.problem(), "expired");
    let mut cancelled = leave(&server, "/").await;
    cancelled.query = cancelled.query.replace("code=", "error=access_denied&x=");
    assert_eq!(come_back(&server, &cancelled).await.problem(), "cancelled");
    // One goes on where one was, and never elsewhere.
    for (asked, led_to) in [
        ("/learnings%3Fview%3Dagent", "/learnings?view=agent"),
        ("//evil.example", "/"),
        ("https://evil.example", "/"),
        ("/%5Cevil.example", "/"),
    ] {
        let led = come_back(&server, &leave(&server, asked).await).await;
        assert_eq!(led.to, led_to);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_is_away_is_said() {
    let (provider, t) = with_provider(&TestApp::new(Backend::Sqlite).await).await;
    let server = t.serve().await;
    provider.with().is_down = true;
    let led = go(&format!("http://{}/auth/oidc/start", server.address), "").await;
    assert_eq!(led.problem(), "unreachable");
    provider.with().is_down = false;
    provider.seat("kim-1", kim(json!(["run"])));
    let way = leave(&server, "/").await;
    provider.with().is_down = true;
    assert_eq!(come_back(&server, &way).await.problem(), "unreachable");
}

#[apply(both_backends)]
async fn a_person_switches_between_their_organizations_and_to_no_other(t: TestApp) {
    let (provider, t) = with_provider(&t).await;
    let t = t.replica_with(|s| s.oidc.organization_claim = "orgs".to_owned()).await;
    let server = t.serve().await;
    for org in ["one", "two", "three"] {
        let agent = server.with_token(&t.key(org, Role::Agent).await);
        agent.publish(&two_turns(&format!("user-of-{org}"), "s")).await.ok();
    }
    let claims = json!({"name": "Kim", "roles": ["run"], "orgs": ["one", "two"]});
    provider.seat("kim-1", claims);
    let kim = sign_in(&server).await;
    let users = async |browser: &Server| {
        let found = browser.get("/api/sessions").await.ok();
        let sessions = found["sessions"].as_array().unwrap();
        sessions.iter().map(|s| s["user_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(users(&kim).await, ["user-of-one"]);
    let open = kim.get("/auth/session").await.ok();
    assert_eq!((&open["org_id"], &open["organizations"]), (&json!("one"), &json!(["one", "two"])));
    let to = |org: &str| json!({ "org_id": org });
    let switch = async |browser: &Server, org: &str| {
        browser.call("PATCH", "/auth/session", Some(&to(org))).await
    };
    switch(&kim, "three").await.problem(403, "forbidden");
    switch(&kim, "").await.problem(422, "invalid_input");
    switch(&server, "two").await.problem(401, "unauthenticated");
    let switched = switch(&kim, "two").await;
    let cookie = Led::of(&switched.headers).cookie("evenhand_session").unwrap();
    assert_eq!(switched.ok()["org_id"], "two");
    let in_two = browser_of(&server, &cookie).await;
    assert_eq!(users(&in_two).await, ["user-of-two"]);
    assert_eq!(in_two.get("/api/sessions/user-of-one/s").await.status, 404);
    // The former cookie is worth nothing, and a page that still shows the former organization changes nothing.
    kim.get("/api/whoami").await.problem(401, "unauthenticated");
    let stale = server.with_browser(&cookie, "the former proof");
    stale
        .post("/api/clear_user_data", &json!({"user_id": "user-of-two"}))
        .await
        .problem(403, "csrf_missing");
    // It stays there after the provider was asked again.
    t.clock().advance(t.settings().oidc.recheck_seconds + 1);
    assert_eq!(users(&in_two).await, ["user-of-two"]);
    // A token has one organization.
    let token = json!({"token": t.key("one", Role::Dashboard).await});
    let answer = server.post("/auth/session", &token).await;
    let cookie = Led::of(&answer.headers).cookie("evenhand_session").unwrap();
    let body = answer.ok();
    assert_eq!((&body["organizations"], &body["person"]), (&json!(["one"]), &json!(null)));
    let operator = server.with_browser(&cookie, body["csrf"].as_str().unwrap());
    switch(&operator, "two").await.problem(403, "forbidden");
}

#[apply(both_backends)]
async fn the_audit_names_people_and_keys(t: TestApp) {
    let (provider, t) = with_provider(&t).await;
    let server = t.serve().await;
    provider.seat("kim-1", kim(json!(["all"])));
    let kim = sign_in(&server).await;
    kim.post("/api/governance/erase-user", &json!({"user_id": "ada", "request_id": "r"}))
        .await
        .ok();
    kim.post("/api/keys", &json!({"role": "governance", "name": "desk"})).await.ok();
    let (_, token) = credentials::create(
        &t.app,
        &"one".into(),
        NewCredential::of(Role::Dashboard, "robot").with_grant(true),
    )
    .await
    .unwrap();
    let robot = server.with_token(&token);
    robot.post("/api/update_config", &json!({"agent_context_prompt": "x"})).await.ok();
    t.key("elsewhere", Role::Agent).await;
    let found = robot.get("/api/governance/audit-events").await.ok();
    let events: Vec<(String, String, Value)> = found["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (
                text(&event["operation"]),
                text(&event["actor"]["kind"]),
                event["actor"]["name"].clone(),
            )
        })
        .collect();
    let event =
        |operation: &str, kind: &str, name: Value| (operation.to_owned(), kind.to_owned(), name);
    assert_eq!(
        events,
        [
            event("CONFIG", "key", json!("robot")),
            event("KEY_CREATE", "command_line", json!(null)),
            event("KEY_CREATE", "person", json!("Kim Example")),
            event("ERASE", "person", json!("Kim Example")),
        ]
    );
    let erasure = &found["events"][3]["actor"];
    assert_eq!(
        (&erasure["email"], &erasure["subject"]),
        (&json!("kim@example.org"), &json!("kim-1"))
    );
    let before = found["events"][1]["sequence"].as_i64().unwrap();
    let page =
        robot.get(&format!("/api/governance/audit-events?limit=1&before={before}")).await.ok();
    assert_eq!(page["events"].as_array().unwrap().len(), 1);
    assert_eq!(page["events"][0], found["events"][2]);
    // The stored chain holds references, as ever.
    let named = "SELECT COUNT(*) FROM audit_events WHERE actor_ref NOT LIKE 'actref_v1_%'";
    assert_eq!(t.number(named).await, 0);
    // Another organization's audit is none of theirs.
    let (_, token) = credentials::create(
        &t.app,
        &"elsewhere".into(),
        NewCredential::of(Role::Governance, "other"),
    )
    .await
    .unwrap();
    let other = server.with_token(&token).get("/api/governance/audit-events").await.ok();
    assert!(!other.to_string().contains("Kim"), "{other}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_ends_local_mode_and_tokens_go_on() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    assert_eq!(state(&server).await, "local");
    let start = server.get("/auth/oidc/start").await;
    start.problem(404, "not_found");
    server.get("/auth/oidc/callback?code=x&state=y").await.problem(404, "not_found");
    let (provider, with) = with_provider(&t).await;
    let served = with.serve().await;
    assert_eq!(state(&served).await, "signed_out");
    served.get("/api/whoami").await.problem(401, "unauthenticated");
    let token = with.key("one", Role::Agent).await;
    served.with_token(&token).get("/api/whoami").await.ok();
    // Without its provider, nobody's session is one.
    provider.seat("kim-1", kim(json!(["run"])));
    let led = come_back(&served, &leave(&served, "/").await).await;
    let cookie = led.cookie("evenhand_session").unwrap();
    assert_eq!(state(&served.with_browser(&cookie, "")).await, "signed_in");
    assert_eq!(state(&server.with_browser(&cookie, "")).await, "signed_out");
}
