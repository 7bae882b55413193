//! Rates stand for all sessions, also where some were likelier to be judged than others.

use std::sync::Arc;

use judge::recorded::{RecordedJudge, Scripted};
use serde_json::{Value, json};

use crate::evaluation::{decision, talk, work};
use crate::support::{NOW, Server, TestApp, apply, both_backends};

async fn hero(server: &Server) -> Value {
    let window = json!({"from_ts": NOW - 86_400, "to_ts": NOW + 86_400});
    server.post("/api/get_evaluation_overview", &window).await.ok()["hero"].clone()
}

async fn judged_always(t: &TestApp, is_success: bool) -> TestApp {
    let verdict = json!({
        "reasoning": "", "is_success": is_success, "number_of_corrections": 0, "is_escalated": false,
        "failure_type": if is_success { "" } else { "wrong_answer" },
        "failure_reason": if is_success { "" } else { "It was wrong." },
    });
    t.judged_by(Arc::new(RecordedJudge::new([]).then(Scripted::Ok(verdict)))).await
}

/// 40 sessions that failed and were certain to be judged, and 160 that went well, of which a quarter is judged.
#[apply(both_backends)]
async fn verdicts_count_by_the_inverse_of_their_chances(t: TestApp) {
    let (failing, succeeding) = (judged_always(&t, false).await, judged_always(&t, true).await);
    let server = succeeding.serve().await;
    let publish = async |sessions: std::ops::Range<usize>| {
        for n in sessions {
            let mut body = talk(&format!("u{n}"), &format!("s{n}"), true);
            body["session_finished"] = json!(true);
            server.publish(&body).await.ok();
        }
    };
    publish(0..40).await;
    work(&failing).await;
    let rate = json!({"agent_success_config": {"sampling_rate": 0.25}});
    server.post("/api/update_config", &rate).await.ok();
    publish(40..200).await;
    work(&succeeding).await;

    let drawn = t.number("SELECT COUNT(*) FROM evaluation_results WHERE is_success").await;
    assert!((20..60).contains(&drawn), "{drawn} of 160");
    let before = hero(&server).await;
    assert_eq!(before["n"], 40 + drawn);
    let expected = 400.0 * drawn as f64 / (4.0 * drawn as f64 + 40.0);
    let shown = before["regular_success_rate_pp"].as_f64().unwrap();
    assert!((shown - expected).abs() < 1e-9, "{shown} {expected}");
    let ends = |hero: &Value| [0, 1].map(|end| hero["ci95_pp"][end].as_f64().unwrap());
    let [low, high] = ends(&before);
    assert!(low < shown && shown < high && low > 0.0 && high < 100.0, "{before}");

    // Somebody asks for the verdict of one that was not drawn: it stands for nobody.
    let mut left_out = None;
    for n in 40..200 {
        if decision(&server, &format!("s{n}")).await.0 == "sampled_out" {
            left_out = Some(format!("s{n}"));
            break;
        }
    }
    let ask = json!({"session_id": left_out.unwrap(), "agent_version": "v1"});
    let grade = server.post("/api/evaluations/grade_on_demand", &ask).await.ok();
    assert!(grade["result_id"].is_i64());
    let after = hero(&server).await;
    assert_eq!((&after["n"], ends(&after)), (&before["n"], ends(&before)));
    assert_eq!(after["regular_success_rate_pp"], before["regular_success_rate_pp"]);

    // Sums that are folded and made anew from the rows say the same.
    service::evaluation::overview::fold_all(&t.app).await.unwrap();
    assert_eq!(hero(&server).await["regular_success_rate_pp"], before["regular_success_rate_pp"]);
    assert_eq!(t.mismatches().await, 0);

    // A regeneration judges all of them: each stands for itself.
    let window = json!({"from_ts": NOW - 100, "to_ts": NOW + 100});
    server.post("/api/evaluations/regenerate", &window).await.ok();
    work(&succeeding).await;
    let all = hero(&server).await;
    assert_eq!((&all["n"], &all["regular_success_rate_pp"]), (&json!(200), &json!(100.0)));
    assert_eq!(t.number("SELECT MIN(chance) FROM evaluation_results").await, 10_000);
    assert_eq!(t.mismatches().await, 0);
}
