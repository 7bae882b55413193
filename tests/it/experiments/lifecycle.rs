//! Starting, stopping, listing; and what is refused.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{PATH, callers, start, stop};
use crate::support::{NOW, Server, TestApp, apply, both_backends};

#[apply(both_backends)]
async fn from_start_to_history(t: TestApp) {
    let server = t.serve().await;
    let empty = server.get(PATH).await.ok();
    assert_eq!(empty, json!({"active_experiment": null, "experiments": []}));
    let started = start(&server, "exp-1", 10.0).await;
    let record = json!({"experiment_id": "exp-1", "holdout_percentage": 10.0, "started_at": NOW, "ended_at": null});
    assert_eq!(started, json!({"active_experiment": record, "experiments": [record]}));
    assert_eq!(server.get(PATH).await.ok(), started);

    let another = json!({"experiment_id": "exp-2", "holdout_percentage": 5});
    server.post(PATH, &another).await.problem(409, "experiment_active");
    let again = json!({"experiment_id": " exp-1 ", "holdout_percentage": 5});
    server.post(PATH, &again).await.problem(409, "experiment_id_used");
    t.clock().advance(60);
    let stopped = stop(&server, "  exp-1").await;
    assert_eq!(stopped["active_experiment"], Value::Null);
    assert_eq!(stopped["experiments"][0]["ended_at"], NOW + 60);
    server.post(PATH, &again).await.problem(409, "experiment_id_used");
    let body = json!({"experiment_id": "exp-1"});
    server.post(&format!("{PATH}/stop"), &body).await.problem(409, "experiment_not_active");
    let body = json!({"experiment_id": "none"});
    server.post(&format!("{PATH}/stop"), &body).await.problem(404, "not_found");
    // Ids are as they are written: another case is another experiment. Starts within one second keep their order.
    start(&server, "EXP-1", 0.001).await;
    stop(&server, "EXP-1").await;
    let last = start(&server, "exp-3", 99.999).await;
    let ids: Vec<&str> = last["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["experiment_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["exp-3", "EXP-1", "exp-1"]);
    assert!(
        last["experiments"].as_array().unwrap().iter().all(|record| record
            .as_object()
            .unwrap()
            .len()
            == 4)
    );
}

#[apply(both_backends)]
async fn what_is_wrong_is_told(t: TestApp) {
    let server = t.serve().await;
    for (percentage, code) in [
        (json!(0), "out_of_range"),
        (json!(100), "out_of_range"),
        (json!(-1), "out_of_range"),
        (json!(100.5), "out_of_range"),
        (json!("10"), "wrong_type"),
        (json!(true), "wrong_type"),
        (json!([10]), "wrong_type"),
        (json!(null), "required"),
    ] {
        let body = json!({"experiment_id": "x", "holdout_percentage": percentage});
        let found = server.post(PATH, &body).await.input_problems();
        assert_eq!(found, [("/holdout_percentage".to_owned(), code.to_owned())], "{percentage}");
    }
    for malformed in ["NaN", "Infinity", "1e999"] {
        let body = format!("{{\"experiment_id\": \"x\", \"holdout_percentage\": {malformed}}}");
        let request =
            server.request("POST", PATH).header("content-type", "application/json").body(body);
        let answer = server.send(request).await;
        assert_eq!(answer.status, 400, "{malformed}: {}", answer.text);
    }
    let long = "x".repeat(129);
    for (id, code) in [
        (json!(long), "too_long"),
        (json!(""), "empty"),
        (json!("   "), "empty"),
        (json!(7), "wrong_type"),
        (json!("a\nb"), "control_character"),
    ] {
        let body = json!({"experiment_id": id, "holdout_percentage": 10});
        let found = server.post(PATH, &body).await.input_problems();
        assert_eq!(found, [("/experiment_id".to_owned(), code.to_owned())], "{id}");
        let found = server.post(&format!("{PATH}/stop"), &body).await.input_problems();
        assert_eq!(found, [("/experiment_id".to_owned(), code.to_owned())], "{id}");
    }
    let several = json!({"planned_users": 1, "margin_percentage_points": 0});
    assert_eq!(server.post(PATH, &several).await.input_problems().len(), 4);
    assert_eq!(server.get(PATH).await.ok()["experiments"], json!([]), "nothing was started");
    start(&server, &"x".repeat(128), 10.0).await;
}

#[apply(both_backends)]
async fn of_64_starts_at_once_one_succeeds(t: TestApp) {
    let (server, other) = (t.serve().await, t.replica().await);
    let there = other.serve().await;
    let (one, _) = (&server, &there);
    for same_id in [true, false] {
        let starts = (0..64).map(|n| {
            let id = if same_id { "same".to_owned() } else { format!("exp-{n}") };
            let body = json!({"experiment_id": id, "holdout_percentage": 10});
            let server = if n % 2 == 0 { one } else { &there };
            async move { server.post(PATH, &body).await }
        });
        let answers = join_all(starts).await;
        let won = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(won, 1);
        let code = if same_id { "experiment_id_used" } else { "experiment_active" };
        for answer in answers.into_iter().filter(|answer| answer.status != 200) {
            answer.problem(409, code);
        }
        let active = server.get(PATH).await.ok()["active_experiment"]["experiment_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let body = json!({"experiment_id": active});
        let path = format!("{PATH}/stop");
        let stops = join_all((0..16).map(|_| server.post(&path, &body))).await;
        assert_eq!(stops.iter().filter(|answer| answer.status == 200).count(), 1);
        for answer in stops.into_iter().filter(|answer| answer.status != 200) {
            answer.problem(409, "experiment_not_active");
        }
    }
    assert_eq!(t.number("SELECT COUNT(*) FROM experiments").await, 2);
}

#[apply(both_backends)]
async fn what_an_experiment_is_for_is_said_and_changed(t: TestApp) {
    let server = t.serve().await;
    let (agent, one) = callers(&t, &server, "one").await;
    let (_, two) = callers(&t, &server, "two").await;
    let results = format!("{PATH}/exp/results");
    let new = json!({"experiment_id": "exp", "holdout_percentage": 10, "hypothesis": " It helps. ", "owner": "Mara"});
    one.post(PATH, &new).await.ok();
    let said = json!({"hypothesis": "It helps.", "owner": "Mara", "notes": ""});
    assert_eq!(agent.get(&results).await.ok()["about"], said);

    let path = format!("{PATH}/exp/about");
    let patch = async |by: &Server, body: Value| by.call("PATCH", &path, Some(&body)).await;
    let notes = json!({"notes": "Two lines:\nthe app was new.", "owner": ""});
    let changed =
        json!({"hypothesis": "It helps.", "owner": "", "notes": "Two lines:\nthe app was new."});
    assert_eq!(patch(&one, notes).await.ok(), changed);
    stop(&one, "exp").await;
    assert_eq!(patch(&one, json!({})).await.ok(), changed, "what is absent stays");
    assert_eq!(one.get(&results).await.ok()["about"], changed);
    patch(&agent, json!({"notes": "x"})).await.problem(403, "forbidden");
    patch(&two, json!({"notes": "x"})).await.problem(404, "not_found");
    let long =
        json!({"hypothesis": "x".repeat(501), "owner": "x".repeat(129), "notes": "x".repeat(4001)});
    let problems = patch(&one, long).await.input_problems();
    let too_long = |name: &str| (format!("/{name}"), "too_long".to_owned());
    assert_eq!(problems, ["hypothesis", "owner", "notes"].map(too_long));
}

#[apply(both_backends)]
async fn organizations_have_experiments_of_their_own(t: TestApp) {
    let server = t.serve().await;
    let (agent, one) = callers(&t, &server, "one").await;
    let (_, two) = callers(&t, &server, "two").await;
    start(&one, "exp", 10.0).await;
    start(&two, "exp", 20.0).await;
    let seen = agent.get(PATH).await.ok();
    assert_eq!(seen["active_experiment"]["holdout_percentage"], 10.0);
    stop(&two, "exp").await;
    assert_eq!(agent.get(PATH).await.ok(), seen);
    let body = json!({"experiment_id": "exp"});
    agent.post(&format!("{PATH}/stop"), &body).await.problem(403, "forbidden");
    assert!(
        t.sql("INSERT INTO experiments (org_id, experiment_id, number, holdout_percentage, planned_users,
         margin_percentage_points, started_at, ended_at) VALUES ('one', 'other', 9, 10, 5000, 2, 1, NULL)")
            .await
            .is_err(),
        "the index stands behind"
    );
}
