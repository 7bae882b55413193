//! Spending on judging and learning, day by day.

use serde_json::json;
use service::credentials::Role;

use crate::support::{NOW, TestApp, apply, both_backends};

#[apply(both_backends)]
async fn what_was_paid_is_told_day_by_day(t: TestApp) {
    const DAY: i64 = 86_400;
    let server = t.serve().await;
    let operator = server.with_token(&t.key("org", Role::Dashboard).await);
    let ada = t.subject("ada");
    t.sql(&format!(
        "INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
         VALUES ('org', {ada}, 'ada', 'active', 1, 1)"
    ))
    .await
    .unwrap();
    for (n, (days_ago, dollars)) in
        [(0, "0.5"), (0, "0.25"), (2, "1.5"), (40, "7"), (1, "NULL")].into_iter().enumerate()
    {
        let at = NOW - days_ago * DAY;
        t.sql(&format!(
            "INSERT INTO evaluation_results (org_id, subject, session_id, evaluation_name, agent_version, epoch,
                is_success, failure_type, failure_reason, number_of_corrections, is_escalated, learning_status,
                created_at, evaluated_at, interaction_count, last_interaction_id, judge, prompt_version, rubric_hash,
                input_tokens, output_tokens, latency_ms, attempts, flags, cost_usd)
             VALUES ('org', {ada}, 's{n}', 'agent_success', 'v', 1, TRUE, '', '', 0, FALSE, 'complete', {at}, {at}, 1, 1,
                'm', 'v1', '', 0, 0, 0, 1, '[]', {dollars})"
        ))
        .await
        .unwrap();
        t.sql(&format!(
            "INSERT INTO learning_windows (org_id, subject, window_no, epoch, first_interaction_id, last_interaction_id,
                interaction_count, outcome, reason, extractor, prompt_version, rubric_hash, input_tokens, output_tokens,
                cost_usd, flags, processed_at)
             VALUES ('org', {ada}, {n}, 1, 1, 1, 1, 'extracted', '', 'm', 'v1', '', 0, 0, {dollars}, '[]', {at})"
        ))
        .await
        .unwrap();
    }
    let spent = operator.get("/api/spending?days=3").await.ok();
    let midnight = NOW / DAY * DAY;
    let day = |ago: i64, dollars: f64| json!({"day": midnight - ago * DAY, "judging_usd": dollars, "learning_usd": dollars});
    assert_eq!(spent["days"], json!([day(2, 1.5), day(1, 0.0), day(0, 0.75)]));
    assert_eq!(operator.get("/api/spending").await.ok()["days"].as_array().unwrap().len(), 30);
    let other = server.with_token(&t.key("other", Role::Dashboard).await);
    let of_others = other.get("/api/spending?days=1").await.ok();
    assert_eq!(of_others["days"], json!([day(0, 0.0)]));
}
