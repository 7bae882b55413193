//! Alerts: a rule is quiet, raises an alert once when a metric got worse, and clears it once.

use serde_json::{Value, json};
use service::webhooks::EventType;

use crate::evaluation::work;
use crate::support::{Server, TestApp, apply, both_backends, schedule};

const PATH: &str = "/api/alerts";
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Sessions of 32 groups of users that began in one hour, as the sums of the overview have them: five of each group, of
/// which about so many succeed.
fn hour(start: i64, source: &str, successes: i64, by_rules: bool) -> Vec<String> {
    let line = |group: i64| {
        // Groups and hours differ a little, as users do.
        let luck = (start / HOUR + group * 7) % 5;
        let successes = (successes + i64::from(luck == 0) - i64::from(luck == 1)).clamp(0, 5);
        let (failures, rules) = (5 - successes, if by_rules { 5 } else { 0 });
        format!(
            "('default', {start}, '{source}', 'v1', 1, {group}, 5, {successes}, 0, {failures}, {successes}, {failures}, \
             0, 0, 0, 0, 5, 15, 0, {rules}, 10000)"
        )
    };
    (0..32).map(line).collect()
}

async fn insert(t: &TestApp, lines: &[String]) {
    for some in lines.chunks(256) {
        let statement = format!(
            "INSERT INTO evaluation_deltas (org_id, hour, source, agent_version, is_newest, user_group, n, successes,
                system_errors, corrections, corrected_0, corrected_1, corrected_2, corrected_3, corrected_4, corrected_5,
                turns_n, turns, escalations, by_rules, chance) VALUES {}",
            some.join(", ")
        );
        t.sql(&statement).await.unwrap();
    }
}

/// Hours with sessions, every third, from one time on and before another.
fn hours(from: i64, to: i64) -> impl Iterator<Item = i64> {
    let first = from + (-from).rem_euclid(3 * HOUR);
    (0..).map(move |n| first + n * 3 * HOUR).take_while(move |start| *start < to)
}

async fn four_weeks(t: &TestApp, source: &str, successes: i64, by_rules: bool) {
    let now = t.clock().now();
    let lines: Vec<String> = hours(now - 29 * DAY, now)
        .flat_map(|start| hour(start, source, successes, by_rules))
        .collect();
    insert(t, &lines).await;
}

/// Lives through so many hours at most, looking at the rules every hour, until `done`.
async fn live(t: &TestApp, most: i64, successes: i64, mut done: impl AsyncFnMut() -> bool) -> i64 {
    for passed in 1..=most {
        let now = t.clock().now();
        let lines: Vec<String> =
            hours(now - HOUR, now).flat_map(|start| hour(start, "web", successes, false)).collect();
        if !lines.is_empty() {
            insert(t, &lines).await;
        }
        t.clock().advance(HOUR);
        work(t).await;
        if done().await {
            return passed;
        }
    }
    panic!("not within {most} hours");
}

async fn rule(server: &Server) -> Value {
    server.get(PATH).await.ok()["rules"][0].clone()
}

async fn told(t: &TestApp, event: &str) -> i64 {
    t.number(&format!("SELECT COUNT(*) FROM webhook_deliveries WHERE event = '{event}'")).await
}

#[apply(both_backends)]
async fn a_drop_is_told_once_and_its_end_once(t: TestApp) {
    let server = t.serve().await;
    four_weeks(&t, "web", 4, false).await;
    let events = [EventType::AlertRaised, EventType::AlertCleared];
    crate::webhooks::refused_receiver(&t, "default", &events).await;
    let body = json!({"name": "Success on the web", "metric": "success_rate", "source": "web"});
    let made = server.post(PATH, &body).await.ok();
    assert_eq!(
        (&made["state"], &made["smallest_change"], &made["reason"]),
        (&json!("quiet"), &json!(3.0), &json!(null)),
        "{made}"
    );
    schedule(&t.app, "evaluate_alerts").await;
    live(&t, 48, 4, async || t.clock().now() >= made["created_at"].as_i64().unwrap() + 48 * HOUR)
        .await;
    assert_eq!(rule(&server).await["state"], "quiet");
    assert_eq!(told(&t, "alert.raised").await, 0);

    let dropped_at = t.clock().now();
    let took = live(&t, 72, 3, async || rule(&server).await["state"] == "worse").await;
    println!("a drop of 20 points was found after {took} hours");
    let worse = rule(&server).await;
    let episode = &worse["episodes"][0];
    let near = (episode["worse_since"].as_i64().unwrap() - dropped_at).abs();
    assert!(near <= DAY, "{episode}");
    let (before, since) = (&episode["mean_before"], &episode["mean_since"]);
    assert!((before.as_f64().unwrap() - 0.8).abs() < 0.02, "{episode}");
    assert!((since.as_f64().unwrap() - 0.6).abs() < 0.05, "{episode}");
    assert_eq!(told(&t, "alert.raised").await, 1);

    live(&t, 30, 3, async || rule(&server).await["state"] == "still_worse").await;
    let over = async || rule(&server).await["episodes"][0]["cleared_at"].is_i64();
    live(&t, 15 * 24, 4, over).await;
    let ended = rule(&server).await;
    assert_eq!(ended["episodes"][0]["cleared_as"], "recovered", "{ended}");
    live(&t, 24, 4, async || rule(&server).await["state"] == "quiet").await;
    assert_eq!((told(&t, "alert.raised").await, told(&t, "alert.cleared").await), (1, 1));
    let body =
        "SELECT COUNT(*) FROM webhook_deliveries WHERE body LIKE '%\"metric\":\"success_rate\"%'";
    assert_eq!(t.number(body).await, 2);
}

#[apply(both_backends)]
async fn the_sums_are_the_same_before_and_after_they_are_folded(t: TestApp) {
    let server = t.serve().await;
    four_weeks(&t, "web", 4, false).await;
    four_weeks(&t, "app", 2, false).await;
    for (name, more) in [
        ("all", json!({})),
        ("web", json!({"source": "web"})),
        ("version", json!({"agent_version": "v1"})),
        ("nothing", json!({"source": "elsewhere"})),
    ] {
        t.clock().advance(1);
        let mut body = json!({"name": name, "metric": "corrections"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.post(PATH, &body).await.ok();
    }
    let seen = async || {
        let found = server.get(PATH).await.ok();
        let rules = found["rules"].as_array().unwrap().clone();
        rules.iter().map(|rule| (rule["state"].clone(), rule["reason"].clone())).collect::<Vec<_>>()
    };
    let before = seen().await;
    assert_eq!(before[..3], vec![(json!("quiet"), json!(null)); 3], "{before:?}");
    assert_eq!(before[3].0, "collecting");
    service::evaluation::overview::fold_all(&t.app).await.unwrap();
    assert_eq!(t.number("SELECT COUNT(*) FROM evaluation_deltas").await, 0);
    schedule(&t.app, "evaluate_alerts").await;
    t.clock().advance(HOUR);
    work(&t).await;
    assert_eq!(seen().await, before);
}

#[apply(both_backends)]
async fn rules_are_made_changed_and_deleted(t: TestApp) {
    let server = t.serve().await;
    let bad = json!({"name": " ", "metric": "happiness", "smallest_change": 0});
    assert_eq!(
        server.post(PATH, &bad).await.input_problems(),
        [
            ("/name".into(), "empty".into()),
            ("/metric".into(), "not_allowed".into()),
            ("/smallest_change".into(), "out_of_range".into()),
        ]
    );
    let made =
        server.post(PATH, &json!({"name": "Turns", "metric": "turns_to_resolution"})).await.ok();
    assert_eq!((&made["state"], &made["smallest_change"]), (&json!("collecting"), &json!(10.0)));
    let path = format!("{PATH}/{}", made["rule_id"].as_str().unwrap());
    let change = json!({"name": "Long sessions", "smallest_change": 25, "enabled": false});
    let changed = server.call("PATCH", &path, Some(&change)).await.ok();
    assert_eq!(
        (&changed["name"], &changed["smallest_change"], &changed["enabled"]),
        (&json!("Long sessions"), &json!(25.0), &json!(false))
    );
    server.call("DELETE", &path, None).await.ok();
    server.call("DELETE", &path, None).await.problem(404, "not_found");
    server.call("PATCH", &path, Some(&change)).await.problem(404, "not_found");

    four_weeks(&t, "web", 0, true).await;
    let made = server.post(PATH, &json!({"name": "Success", "metric": "success_rate"})).await.ok();
    assert_eq!(
        (&made["state"], &made["reason"]),
        (&json!("collecting"), &json!("only_rules_judged")),
        "rules see failures alone"
    );
    for number in 1..50 {
        let body = json!({"name": format!("rule {number}"), "metric": "escalation_rate"});
        server.post(PATH, &body).await.ok();
    }
    let more = json!({"name": "one more", "metric": "corrections"});
    server.post(PATH, &more).await.problem(409, "too_many_alert_rules");
}
