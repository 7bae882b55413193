//! Trials of playbooks: withheld as the hash says, on every way to an agent, and effects that follow the rows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use service::learnings::trials::is_withheld;
use stats::learning_trials::{Epoch, EpochPlan, Evidence, TrialUser};

use crate::experiments::{callers, start};
use crate::governance::erase::pair;
use crate::learning_loop::work;
use crate::support::{NOW, Server, TestApp, apply, both_backends, schedule, until};

const ORG: &str = "org";

async fn switch_on(person: &Server, more: Value) {
    let mut trials = json!({"enabled": true, "new_share": 0.5});
    trials.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    person.post("/api/update_config", &json!({"learning_trials": trials})).await.ok();
}

async fn add(person: &Server, content: &str, tags: &[&str]) -> i64 {
    let playbook = json!({"content": content, "agent_version": "v1", "playbook_status": "approved", "tags": tags});
    let added =
        person.post("/api/add_agent_playbook", &json!({"agent_playbooks": [playbook]})).await;
    added.ok()["ids"][0].as_i64().unwrap()
}

/// The numbers of the agent playbooks in an answer.
fn ids(answer: &Value) -> BTreeSet<i64> {
    let list = answer["agent_playbooks"].as_array().unwrap().iter();
    list.map(|playbook| playbook["agent_playbook_id"].as_i64().unwrap()).collect()
}

/// Playbooks that an agent is handed by each of the three endpoints, which must be the same.
async fn get(agent: &Server, user: &str, session: Option<&str>) -> BTreeSet<i64> {
    let mut body = json!({"user_id": user, "query": "refund", "top_k": 50});
    if let Some(session) = session {
        body["session_id"] = json!(session);
    }
    let found = ids(&agent.post("/api/search", &body).await.ok());
    assert_eq!(ids(&agent.post("/api/search_agent_playbooks", &body).await.ok()), found);
    let read = json!({"user_id": user, "session_id": body["session_id"], "top_k": 50});
    assert_eq!(ids(&agent.post("/api/get_agent_playbooks", &read).await.ok()), found);
    found
}

async fn recorded(t: &TestApp, count: i64) {
    let query = "SELECT COUNT(*) FROM trial_exposures";
    until("exposures are written", async || t.number(query).await >= count).await;
    assert_eq!(t.number(query).await, count);
}

#[derive(Clone, Debug)]
struct Row {
    user_id: String,
    session_id: String,
    agent_playbook_id: i64,
    epoch_no: i64,
    share: i64,
    withheld: bool,
}

async fn rows(t: &TestApp) -> Vec<Row> {
    let found = t
        .app
        .db
        .read("test.exposures", (), |tx, ()| {
            Box::pin(async move {
                storage::rows!(
                    tx,
                    (String, String, i64, i64, i64, bool),
                    "SELECT x.user_id, x.session_id, x.agent_playbook_id, x.epoch_no, e.share, x.withheld
                     FROM trial_exposures x JOIN trial_epochs e ON e.org_id = x.org_id
                          AND e.agent_playbook_id = x.agent_playbook_id AND e.epoch_no = x.epoch_no
                     ORDER BY x.user_id, x.session_id, x.agent_playbook_id, x.epoch_no"
                )
            })
        })
        .await
        .unwrap();
    let row = |(user_id, session_id, agent_playbook_id, epoch_no, share, withheld)| Row {
        user_id,
        session_id,
        agent_playbook_id,
        epoch_no,
        share,
        withheld,
    };
    found.into_iter().map(row).collect()
}

#[apply(both_backends)]
async fn a_playbook_is_withheld_as_the_hash_says(t: TestApp) {
    let server = t.serve().await;
    let (agent, person) = callers(&t, &server, ORG).await;
    let first = add(&person, "Offer a refund after checking.", &[]).await;
    let second = add(&person, "Ask for the refund reason.", &[]).await;
    let law = add(&person, "Name the refund law.", &["legal"]).await;
    let all = BTreeSet::from([first, second, law]);
    assert_eq!(get(&agent, "ada", Some("s")).await, all, "off by default");
    switch_on(&person, json!({"always_serve": ["legal"]})).await;

    let expected = |user: &str, epoch: i64, share: i64| -> BTreeSet<i64> {
        let withheld = |id: &i64| is_withheld(&ORG.into(), *id, epoch, &user.into(), share);
        all.iter().copied().filter(|id| *id == law || !withheld(id)).collect()
    };
    let mut sides = BTreeSet::new();
    for n in 0..30 {
        let user = format!("user-{n}");
        let found = get(&agent, &user, Some("s1")).await;
        assert_eq!(found, expected(&user, 1, 5_000), "{user}");
        sides.insert(found);
    }
    assert_eq!(sides.len(), 4, "each playbook by itself");
    recorded(&t, 60).await;
    for row in rows(&t).await {
        let by_hash = is_withheld(
            &ORG.into(),
            row.agent_playbook_id,
            row.epoch_no,
            &row.user_id.as_str().into(),
            row.share,
        );
        assert_eq!(row.withheld, by_hash, "{row:?}");
    }
    assert_eq!(
        get(&agent, "user-0", None).await,
        expected("user-0", 1, 5_000),
        "gated without a session"
    );
    recorded(&t, 60).await;
    let nobody = json!({"query": "refund", "top_k": 50});
    assert_eq!(
        ids(&agent.post("/api/search", &nobody).await.ok()),
        all,
        "without a user everything"
    );

    let read = person
        .inspecting()
        .post("/api/get_agent_playbooks", &json!({"user_id": "user-0"}))
        .await
        .ok();
    assert_eq!(ids(&read), all, "a person sees everything");
    let share = |id: i64| {
        let list = read["agent_playbooks"].as_array().unwrap();
        list.iter().find(|p| p["agent_playbook_id"] == id).unwrap()["withheld_share"].clone()
    };
    assert_eq!((share(first), share(law)), (json!(0.5), json!(null)));

    // Another text, or another share, begins an epoch and assigns anew.
    let edit = json!({"agent_playbook_id": first, "content": "Offer a refund after a check."});
    person.put("/api/update_agent_playbook", &edit).await.ok();
    switch_on(&person, json!({"new_share": 0.25, "always_serve": ["legal"]})).await;
    t.clock().advance(20);
    for n in 0..30 {
        let user = format!("user-{n}");
        assert_eq!(get(&agent, &user, Some("s2")).await, expected(&user, 2, 2_500), "{user}");
    }
    assert_eq!(t.number("SELECT MAX(epoch_no) FROM trial_epochs").await, 2);
    person.post("/api/update_config", &json!({"learning_trials": {"enabled": false}})).await.ok();
    t.clock().advance(20);
    assert_eq!(get(&agent, "user-0", Some("s3")).await, all);
}

#[apply(both_backends)]
async fn the_holdout_of_an_experiment_takes_no_part(t: TestApp) {
    let server = t.serve().await;
    let (agent, person) = callers(&t, &server, ORG).await;
    add(&person, "Offer a refund after checking.", &[]).await;
    switch_on(&person, json!({})).await;
    start(&person, "exp", 50.0).await;
    let mut served = 0;
    for n in 0..20 {
        let body = json!({"user_id": format!("user-{n}"), "session_id": "s", "query": "refund"});
        let answer = agent.post("/api/search", &body).await.ok();
        if answer["experiment"]["arm"] == "treatment" {
            served += 1;
        } else {
            assert_eq!(answer["agent_playbooks"], json!([]));
        }
    }
    assert!((1..20).contains(&served));
    recorded(&t, served).await;
}

/// A verdict on a session that need not be there.
async fn judged(t: &TestApp, user: &str, session: &str, success: bool, chance: i64) {
    let success = if success { "TRUE" } else { "FALSE" };
    t.sql(&format!(
        "INSERT INTO evaluation_results (org_id, user_id, session_id, evaluation_name, agent_version, epoch, is_success,
            failure_type, failure_reason, number_of_corrections, is_escalated, learning_status, created_at, evaluated_at,
            interaction_count, last_interaction_id, judge, prompt_version, rubric_hash, input_tokens, output_tokens,
            latency_ms, attempts, flags, source, is_newest, chance)
         VALUES ('{ORG}', '{user}', '{session}', 'agent_success', 'v1', 1, {success}, '', '', 0, FALSE, 'complete', {NOW}, 1,
            1, 1, 'offline', 'v1', '', 0, 0, 0, 1, '[]', '', TRUE, {chance})"
    ))
    .await
    .unwrap();
}

async fn effects(person: &Server) -> Vec<Value> {
    let found = person.get("/api/learnings/effects").await.ok();
    found["effects"].as_array().unwrap().clone()
}

/// The evidence on a playbook, from rows alone.
async fn by_hand(
    t: &TestApp,
    id: i64,
    verdicts: &BTreeMap<(String, String), (bool, u64)>,
) -> Option<Evidence> {
    let mut sums: BTreeMap<(bool, String), TrialUser> = BTreeMap::new();
    for row in rows(t).await.into_iter().filter(|row| row.agent_playbook_id == id) {
        let Some((success, weight)) = verdicts.get(&(row.user_id.clone(), row.session_id.clone()))
        else {
            continue;
        };
        let sum = sums.entry((row.withheld, row.user_id)).or_insert(TrialUser {
            sessions: 0,
            weight: 0,
            successes: 0,
        });
        sum.sessions += 1;
        sum.weight += weight;
        sum.successes += if *success { *weight } else { 0 };
    }
    let side = |withheld: bool| -> Vec<TrialUser> {
        sums.iter().filter(|((side, _), _)| *side == withheld).map(|(_, sum)| *sum).collect()
    };
    let plan = EpochPlan { share: 0.5, planned_users: 200 };
    Evidence::of(&[Epoch::new(side(false), side(true), plan).unwrap()]).ok()
}

#[apply(both_backends)]
async fn effects_follow_the_rows_and_an_erasure(t: TestApp) {
    let server = t.serve().await;
    let (agent, person) = callers(&t, &server, ORG).await;
    let helpful = add(&person, "Check the order before a refund.", &[]).await;
    let harmful = add(&person, "Offer a refund without checking.", &[]).await;
    switch_on(&person, json!({})).await;
    assert_eq!(effects(&person).await.len(), 0);
    let mut verdicts = BTreeMap::new();
    for n in 0..260u32 {
        let user = format!("user-{n}");
        for session in ["s1", "s2"].iter().take(1 + (n % 2) as usize) {
            let body =
                json!({"user_id": user, "session_id": session, "query": "refund", "top_k": 50});
            let served = ids(&agent.post("/api/search", &body).await.ok());
            // Without the helpful one half succeed; the harmful one spoils all but a fifth.
            let luck = n.wrapping_mul(2_654_435_761) >> 16 & 0xff;
            let limit = match (served.contains(&helpful), served.contains(&harmful)) {
                (true, false) => 240,
                (true, true) => 90,
                (false, false) => 130,
                (false, true) => 40,
            };
            let (success, chance) = (luck < limit, if n % 5 == 0 { 2_500 } else { 10_000 });
            let key = (user.clone(), (*session).to_owned());
            verdicts.insert(key, (success, 100_000_000 / u64::try_from(chance).unwrap()));
        }
    }
    recorded(&t, 2 * 390).await;
    for ((user, session), (success, weight)) in &verdicts {
        let chance = i64::try_from(100_000_000 / weight).unwrap();
        judged(&t, user, session, *success, chance).await;
    }
    let compare = async |verdicts: &BTreeMap<(String, String), (bool, u64)>| {
        let listed = effects(&person).await;
        for effect in &listed {
            let id = effect["agent_playbook_id"].as_i64().unwrap();
            let evidence = by_hand(&t, id, verdicts).await.unwrap();
            assert_eq!(effect["effect"].as_f64().unwrap(), evidence.effect * 100.0, "{effect}");
            assert_eq!(effect["e_value"].as_f64().unwrap(), evidence.e_value, "{effect}");
        }
        listed
    };
    let listed = compare(&verdicts).await;
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (&listed[0]["agent_playbook_id"], &listed[0]["state"]),
        (&json!(helpful), &json!("helps")),
        "{listed:?}"
    );
    assert_eq!(
        (&listed[1]["agent_playbook_id"], &listed[1]["state"]),
        (&json!(harmful), &json!("hurts")),
        "{listed:?}"
    );
    assert_eq!(listed[0]["sample_ratio_ok"], true);
    let found = |side: &str| listed[0][side]["found_users"].as_u64().unwrap();
    assert_eq!(found("served") + found("withheld"), 260);
    assert_eq!(person.get("/api/learnings/effects?state=hurts").await.ok()["total"], 1);
    assert_eq!(person.get("/api/learnings/effects?agent_version=v9").await.ok()["total"], 0);
    let of_source = person.get("/api/learnings/effects?source=web").await.ok();
    assert_eq!(
        of_source["effects"][0]["null_reason"], "too_few_events",
        "no session is of that source"
    );

    // The helpful one reaches nearly everybody from the next hour on; the harmful one stays as it is.
    schedule(&t.app, "settle_trials").await;
    t.clock().advance(3600);
    work(&t).await;
    let shares = "SELECT COUNT(*) FROM trial_epochs WHERE epoch_no = 2 AND share = 200";
    assert_eq!(t.number(&format!("{shares} AND agent_playbook_id = {helpful}")).await, 1);
    assert_eq!(t.number("SELECT COUNT(*) FROM trial_epochs").await, 3);
    let settled = effects(&person).await;
    assert_eq!((&settled[0]["is_settled"], &settled[0]["share"]), (&json!(true), &json!(0.02)));
    assert_eq!((&settled[0]["state"], &settled[0]["epochs"]), (&json!("helps"), &json!(2)));

    // A session that is deleted and a person who is erased count no more.
    let governor = server.with_token(&t.key(ORG, service::credentials::Role::Governance).await);
    governor.post("/api/governance/erase-user", &pair("user-1", "e")).await.ok();
    work(&t).await;
    verdicts.retain(|(user, _), _| user != "user-1");
    assert_eq!(t.number("SELECT COUNT(*) FROM trial_exposures WHERE user_id = 'user-1'").await, 0);
    let corrected = compare(&verdicts).await;
    assert_ne!(corrected[0]["effect"], listed[0]["effect"]);
    let users = |side: &str| corrected[0][side]["found_users"].as_u64().unwrap();
    assert_eq!(users("served") + users("withheld"), 259);
}
