//! Governance by construction: the list of user-owned tables, the wall, the barrier, the keys.

mod audit;
mod canary;
mod certificate;
pub mod erase;
mod export;
mod faults;
mod files;
mod model;
mod rekey;
mod simulation;

use std::collections::BTreeSet;
use std::sync::Arc;

use base::ids::Ids;
use serde_json::json;
use service::app::{App, Schema};
use service::credentials::GivenCredentials;
use service::user_tables::{NOT_USER_DATA, USER_TABLES};
use storage::db::Objects;
use storage::error::Code;

use crate::publish::two_turns;
use crate::support::{Backend, NOW, Server, TEST_KEYS, TestApp, apply, both_backends};

/// The columns of a row in each user-owned table besides `org_id`, `subject` and `epoch`, with values.
fn rest_of_row(table: &str) -> (&'static str, &'static str) {
    match table {
        "jobs" => (
            "job_id, kind, payload, state, run_at, attempts, max_attempts, moves, created_at",
            "'j', 'test', '[]', 'open', 1, 0, 1, 0, 1",
        ),
        "session_outcomes" => (
            "session_id, revision, outcome, occurred_at, recorded_at",
            "'s', 1, 'success', 1, 1",
        ),
        "interactions" => (
            "session_id, interaction_id, request_id, created_at, role, content, shadow_content, expert_content,
             user_action, user_action_description, interacted_image_url, image_encoding, tools_used, citations,
             retrieved_learnings",
            "'s', 1, 'r', 1, 'User', 'x', '', '', 'none', '', '', '', '[]', '[]', '[]'",
        ),
        "requests" => (
            "session_id, request_id, created_at, received_at, source, agent_version, evaluation_only,
             content_sha256, answer",
            "'s', 'r', 1, 1, '', 'v', FALSE, '', '[]'",
        ),
        "sessions" => (
            "session_id, first_request_at, first_request_id, last_request_at, last_received_at, source,
             agent_version, request_count, interaction_count",
            "'s', 1, 'r', 1, 1, '', 'v', 1, 1",
        ),
        "candidate_verdicts" => (
            "session_id, job_id, is_success, failure_type, failure_reason, judge, prompt_version, rubric_hash,
             evaluated_at",
            "'s', 'j', TRUE, '', '', 'offline', 'v1', '', 1",
        ),
        "session_labels" => (
            "session_id, evaluation_name, labelled_by, is_success, failure_type, note, labelled_at",
            "'s', 'agent_success', 'me', TRUE, '', '', 1",
        ),
        "learning_verdicts" => (
            "session_id, interaction_id, kind, learning_id, agent_version, interaction_created_at,
             relevance_reason, impact_reason, diagnosis_evidence_complete, created_at, judge, prompt_version,
             rubric_hash, input_tokens, output_tokens, latency_ms, attempts",
            "'s', 1, 'profile', 'p', 'v', 1, '', '', FALSE, 1, 'offline', 'v1', '', 0, 0, 0, 1",
        ),
        "evaluation_results" => (
            "session_id, evaluation_name, agent_version, is_success, failure_type, failure_reason,
             number_of_corrections, is_escalated, learning_status, created_at, evaluated_at,
             interaction_count, last_interaction_id, judge, prompt_version, rubric_hash, input_tokens,
             output_tokens, latency_ms, attempts, flags",
            "'s', 'agent_success', 'v', TRUE, '', '', 0, FALSE, 'complete', 1, 1, 1, 1, 'offline', 'v1', '', 0,
             0, 0, 1, '[]'",
        ),
        "cited_rules" => (
            "session_id, kind, rule_id, title, source, created_at, is_success",
            "'s', 'profile', 'p', '', '', 1, TRUE",
        ),
        "shadow_verdicts" => (
            "session_id, interaction_id, judge_prompt_version, agent_version, service_is_request_1, better_request,
             is_significantly_better, comparison_reason, created_at, judged_at, judge, rubric_hash, input_tokens,
             output_tokens, latency_ms, attempts",
            "'s', 1, 'v1', 'v', TRUE, 'tie', FALSE, '', 1, 1, 'offline', '', 0, 0, 0, 1",
        ),
        "shadow_sessions" => (
            "session_id, judge_prompt_version, source, created_at, regular_vs_shadow",
            "'s', 'v1', '', 1, 'tied'",
        ),
        "imported_scores" => (
            "session_id, source_run_id, scorer_name, value, ts, imported_at",
            "'s', 'run', 'scorer', 0.5, 1, 1",
        ),
        "verdict_gaps" => (
            "session_id, agent_version, cause, reason, learning_status, source, created_at, judged_at, is_newest,
             interaction_count, last_interaction_id, judge, prompt_version",
            "'s', 'v', 'undecided', 'no_evidence', 'complete', '', 1, 1, TRUE, 1, 1, 'rules', 'v1'",
        ),
        "model_training" => (
            "session_id, model_number, is_success, truth, out_of_fold",
            "'s', 1, TRUE, 'label', 0.5",
        ),
        "judgements_under_way" => ("session_id, job_id, lease_token", "'s', 'j', 't'"),
        "review_draws" => (
            "session_id, half, stratum, chance, drawn_at",
            "'s', 'random', '', 0.5, 1",
        ),
        "evaluation_decisions" => (
            "session_id, decision, reason, decided_at",
            "'s', 'judged', '', 1",
        ),
        "agent_playbook_sources" => (
            "agent_playbook_id, user_playbook_id, source_interaction_ids",
            "1, 1, '[]'",
        ),
        "profile_vectors" => ("profile_no, revision, model, vector", "1, 1, 'm', zeroblob(1)"),
        "user_playbook_vectors" => ("user_playbook_id, revision, model, vector", "1, 1, 'm', zeroblob(1)"),
        "profiles" => (
            "profile_no, profile_id, content, last_modified_timestamp, generated_from_request_id,
             profile_time_to_live, expiration_timestamp, source, status, tags, source_interaction_ids, revision, terms",
            "1, 'p', 'x', 1, '', 'infinity', 1, '', 'current', '[]', '[]', 1, ''",
        ),
        "user_playbooks" => (
            "user_playbook_id, agent_version, request_id, playbook_name, created_at, content, \"trigger\", rationale,
             source, status, tags, source_interaction_ids, revision, terms",
            "1, 'v', '', '', 1, 'x', '', '', '', 'current', '[]', '[]', 1, ''",
        ),
        "learning_scopes" => ("scope", "1"),
        "learning_streams" => ("cursor, seen, windows", "1, 1, 1"),
        "learning_windows" => (
            "window_no, first_interaction_id, last_interaction_id, interaction_count, outcome, reason, extractor,
             prompt_version, rubric_hash, input_tokens, output_tokens, flags, processed_at",
            "1, 1, 1, 1, 'extracted', '', 'offline', 'v1', '', 0, 0, '[]', 1",
        ),
        "learning_proposals" => (
            "window_no, place, kind, content, \"trigger\", rationale, source_interaction_ids, outcome, reason,
             created_at",
            "1, 0, 'profile', 'x', '', '', '[]', 'added', '', 1",
        ),
        "tuning_proposals" => (
            "proposal_id, kind, learning_id, digest, action, content, \"trigger\", rationale, drafted_by, judged,
             impact, impact_upper, status, created_at",
            "'t', 'profile', 'p', '', 'archive', '', '', '', '', 1, 0, 0, 'open', 1",
        ),
        "tuning_evidence" => (
            "proposal_id, session_id, interaction_id, category, reason, interaction_ids",
            "'t', 's', 1, '', '', '[]'",
        ),
        "experiment_exposures" => (
            "session_id, experiment_id, number, arm, first_exposed_at, last_exposed_at, searches, found, served,
             served_new, served_from_holdout",
            "'s', 'e', 1, 'treatment', 1, 1, 1, 1, 1, 0, 0",
        ),
        "questions" => (
            "question_id, tool_name, dedup_key, status, question_text, args, tags, created_at, expires_at",
            "'q', 'ask_human', 'k', 'pending', 'x', '{}', '[]', 1, 1",
        ),
        "trial_exposures" => (
            "session_id, agent_playbook_id, epoch_no, withheld, found_rank, found_at",
            "'s', 1, 1, FALSE, 1, 1",
        ),
        "webhook_deliveries" => (
            "delivery_id, webhook_id, event, body, state, attempts, created_at",
            "'d', 'w', 'session.failed', '{}', 'waiting', 0, 1",
        ),
        "experiment_stale_users" => ("experiment_id, marks", "'e', 1"),
        "experiment_user_sums" => (
            "experiment_id, contaminated, sums, part, sums_hash",
            "'e', 0, '', 0, 0",
        ),
        other => panic!("say here what a row of {other} looks like"),
    }
}

/// A row of the organization `org`; whose it is and the epoch are SQL.
fn insert(table: &str, subject: &str, epoch: &str) -> String {
    let (columns, values) = rest_of_row(table);
    format!(
        "INSERT INTO {table} (org_id, subject, epoch, {columns}) VALUES ('org', {subject}, {epoch}, {values})"
    )
}

#[apply(both_backends)]
async fn every_table_is_listed_as_user_owned_or_with_the_reason_why_not(t: TestApp) {
    let live = t
        .app
        .db
        .read("test.tables", (), |tx, ()| Box::pin(tx.names_of(Objects::Tables)))
        .await
        .unwrap();
    let live: BTreeSet<&str> = live.iter().map(String::as_str).collect();
    let mut listed: BTreeSet<&str> = USER_TABLES.iter().map(|t| t.table).collect();
    assert!(NOT_USER_DATA.iter().all(|(name, reason)| listed.insert(name) && !reason.is_empty()));
    if t.backend == Backend::Postgres {
        listed.retain(|name| *name != "sequences" && !name.contains("_index"));
    }
    assert_eq!(live, listed);
}

#[apply(both_backends)]
async fn every_user_owned_table_says_whose_its_rows_are(t: TestApp) {
    for table in USER_TABLES {
        let name = table.table;
        t.sql(&format!("SELECT org_id, subject, epoch FROM {name} LIMIT 1")).await.unwrap();
    }
    let targets: BTreeSet<_> = USER_TABLES.iter().map(|t| t.target).collect();
    assert_eq!(targets.len(), USER_TABLES.len(), "targets are told apart");
}

#[apply(both_backends)]
async fn the_wall_refuses_rows_of_people_who_are_not_there(t: TestApp) {
    for (state, user_id) in [("active", "'active'"), ("erasing", "'erasing'"), ("erased", "NULL")] {
        t.sql(&format!(
            "INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
                            VALUES ('org', {}, {user_id}, '{state}', 3, 1)",
            t.subject(state)
        ))
        .await
        .unwrap();
    }
    t.sql("INSERT INTO agent_playbooks (org_id, agent_playbook_id, playbook_name, agent_version, created_at, content,
                   \"trigger\", rationale, playbook_status, playbook_metadata, status, tags, revision, terms)
               VALUES ('org', 1, '', 'v', 1, 'x', '', '', 'pending', '[]', 'current', '[]', 1, '')").await.unwrap();
    if t.backend == Backend::Postgres {
        t.sql("CREATE FUNCTION zeroblob(INTEGER) RETURNS BYTEA LANGUAGE sql AS 'SELECT ''\\x00''::bytea'").await.unwrap();
    }
    // Referenced tables first.
    for table in USER_TABLES.iter().rev() {
        let name = table.table;
        for (user, epoch) in
            [("unknown", "1"), ("erasing", "3"), ("erased", "3"), ("active", "2"), ("active", "4")]
        {
            let refused = t.sql(&insert(name, &t.subject(user), epoch)).await.expect_err(name);
            assert_eq!(refused.code(), Code::SubjectErased, "{name} {user} {epoch}: {refused}");
        }
        // The same person in another organization is another person, under either subject.
        for subject in [t.subject("active"), t.subject_in("other", "active")] {
            let elsewhere = insert(name, &subject, "3").replace("'org'", "'other'");
            let refused = t.sql(&elsewhere).await.expect_err(name);
            assert_eq!(refused.code(), Code::SubjectErased, "{name} elsewhere: {refused}");
        }
        assert_eq!(t.number(&format!("SELECT COUNT(*) FROM {name}")).await, 0);
        let own = insert(name, &t.subject("active"), "3");
        t.sql(&own).await.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    // And rows that are there can no longer be changed, or handed to someone else, which Citus lets nobody do.
    let handing_over = if t.app.db.is_spread() { Code::Internal } else { Code::SubjectErased };
    for table in USER_TABLES {
        let name = table.table;
        t.sql(&format!("UPDATE {name} SET epoch = 3")).await.unwrap();
        t.sql(&format!("UPDATE {name} SET epoch = 4")).await.expect_err(name);
        for user in ["unknown", "erasing", "erased"] {
            let handed = format!("UPDATE {name} SET subject = {}", t.subject(user));
            let refused = t.sql(&handed).await.expect_err(name);
            assert_eq!(refused.code(), handing_over, "{name} to {user}: {refused}");
        }
    }
    t.sql("UPDATE subjects SET state = 'erasing' WHERE user_id = 'active'").await.unwrap();
    for table in USER_TABLES {
        t.sql(&format!("UPDATE {} SET epoch = 3", table.table)).await.expect_err(table.table);
        t.sql(&format!("DELETE FROM {}", table.table)).await.unwrap();
    }
    // Rows that are nobody's need nobody, and cannot be somebody's.
    for table in USER_TABLES.iter().filter(|table| table.user_optional) {
        let name = table.table;
        let hidden = t.sql(&insert(name, &t.subject("active"), "NULL")).await.expect_err(name);
        assert_eq!(hidden.code(), Code::SubjectErased, "{name}: {hidden}");
    }
    t.sql(&insert("jobs", &t.subject("nobody"), "NULL")).await.unwrap();
}

#[apply(both_backends)]
async fn the_wall_looks_again_after_a_change_in_the_same_transaction(t: TestApp) {
    let ada = t.subject("ada");
    let session = insert("evaluation_decisions", &ada, "3").replace("'s'", "'second'");
    let statements = [
        format!(
            "INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
             VALUES ('org', {ada}, 'ada', 'active', 3, 1)"
        ),
        insert("evaluation_decisions", &ada, "3"),
        "UPDATE subjects SET state = 'erasing'".to_owned(),
        session,
    ]
    .map(|sql| -> &'static str { Box::leak(sql.into_boxed_str()) });
    let run = async |statements: Vec<&'static str>| {
        t.app
            .db
            .write("test.wall", statements, |tx, statements| {
                Box::pin(async move {
                    for statement in statements.iter().copied() {
                        storage::run!(tx, statement)?;
                    }
                    Ok(())
                })
            })
            .await
    };
    let refused = run(statements.to_vec()).await.expect_err("the person is being erased");
    assert_eq!(refused.code(), Code::SubjectErased, "{refused}");
    let [arrives, written, _, more] = statements;
    run(vec![arrives, written, more]).await.unwrap();
    assert_eq!(t.number("SELECT COUNT(*) FROM evaluation_decisions").await, 2);
}

#[apply(both_backends)]
async fn nothing_is_written_for_someone_being_erased_or_erased(t: TestApp) {
    let server = t.serve().await;
    server.publish(&two_turns("ada", "s1")).await.ok();
    server.publish(&two_turns("bob", "s2")).await.ok();
    let refused = async |code: &str, of_session: (u16, &str)| {
        server.publish(&two_turns("ada", "new")).await.problem(409, code);
        server.publish(&two_turns(" ada ", "new")).await.problem(409, code);
        for path in ["/api/session_outcome", "/api/finalize_session"] {
            let mut outcome = json!({"session_id": "s1", "outcome": "success", "occurred_at": NOW});
            server.post(path, &outcome).await.problem(of_session.0, of_session.1);
            outcome["user_id"] = json!("ada");
            server.post(path, &outcome).await.problem(of_session.0, of_session.1);
        }
        server.publish(&two_turns("bob", "s2")).await.ok();
    };
    let ada = t.subject_in("default", "ada");
    let requests = format!("SELECT COUNT(*) FROM requests WHERE subject = {ada}");
    t.sql("UPDATE subjects SET state = 'erasing' WHERE user_id = 'ada'").await.unwrap();
    refused("subject_erasing", (409, "subject_erasing")).await;
    assert_eq!(t.number(&requests).await, 1);
    // The person's remaining rows can still be deleted, and they are before the name goes.
    server.post("/api/clear_user_data", &json!({"user_id": "ada"})).await.ok();
    t.sql("UPDATE subjects SET state = 'erased', user_id = NULL, epoch = 2 WHERE user_id = 'ada'")
        .await
        .unwrap();
    refused("subject_erased", (404, "not_found")).await;
    assert_eq!(t.number("SELECT COUNT(*) FROM subjects").await, 2, "no second ada");
    assert_eq!(t.number(&requests).await, 0);
}

#[apply(both_backends)]
async fn a_wrong_key_is_refused_at_start(t: TestApp) {
    let keys = current_keys(&t);
    let k1 = keys.trim();
    let other = "ff".repeat(32);
    for (wrong, why) in [
        (format!("k1:{other}"), "another key under the same name"),
        (format!("k9:{other}"), "another key under another name"),
        (format!("{k1},k1:{other}"), "the same name twice"),
        (format!("k0:{other},{k1}"), "another key before the one that subjects are made with"),
    ] {
        assert!(reopened(&t, &wrong).await.is_err(), "{why}");
    }
    reopened(&t, k1).await.unwrap();
    let rotated = format!("{k1},k2:{other}");
    reopened(&t, &rotated).await.unwrap();
    assert!(reopened(&t, &format!("k2:{other},{k1}")).await.is_err(), "the new key first");
    // A key that references were made with is needed for as long as they are kept.
    assert!(reopened(&t, &format!("k2:{other}")).await.is_err(), "the old key is gone");
    reopened(&t, &rotated).await.unwrap();
}

#[apply(both_backends)]
async fn a_rotation_keeps_the_door_closed_for_the_erased_and_open_for_the_others(t: TestApp) {
    let server = t.serve().await;
    server.publish(&two_turns("ada", "s1")).await.ok();
    server.publish(&two_turns("bob", "s1")).await.ok();
    t.sql("UPDATE subjects SET state = 'erased', user_id = NULL WHERE user_id = 'ada'")
        .await
        .unwrap();
    let rotated = format!("{},k2:{}", current_keys(&t).trim(), "ab".repeat(32));
    let app = reopened(&t, &rotated).await.unwrap();
    let server = Server::start(app).await;
    server.publish(&two_turns("ada", "s2")).await.problem(409, "subject_erased");
    server.publish(&two_turns("bob", "s2")).await.ok();
    server.publish(&two_turns("eve", "s2")).await.ok();
    assert_eq!(t.number("SELECT COUNT(*) FROM subjects").await, 3);
}

/// The keys an installation was opened with.
pub fn current_keys(t: &TestApp) -> String {
    match t.backend {
        Backend::Sqlite => {
            std::fs::read_to_string(t.settings().server.data_dir.join("governance.key")).unwrap()
        }
        Backend::Postgres => TEST_KEYS.to_owned(),
    }
}

pub async fn reopened(t: &TestApp, keys: &str) -> storage::error::Result<Arc<App>> {
    let mut settings = t.settings().clone();
    settings.governance.keys = keys.to_owned();
    let ids = Ids::seeded(t.clock().clone(), 5);
    App::open_with(settings, t.clock().clone(), ids, Schema::Migrate, GivenCredentials::default())
        .await
}
