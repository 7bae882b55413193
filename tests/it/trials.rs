//! Trials of playbooks: withheld as the hash says, on every way to an agent, and effects that follow the rows.

use std::collections::{BTreeMap, BTreeSet};

use base::clock::Clock;
use base::ids::Ids;
use serde_json::{Value, json};
use service::learnings::trials::is_withheld;
use service::webhooks::EventType;
use stats::learning_trials::{Epoch, EpochPlan, Evidence, TrialUser};

use crate::experiments::{callers, start};
use crate::governance::erase::pair;
use crate::learning_loop::work;
use crate::support::{NOW, Process, Server, TestApp, apply, both_backends, schedule, until};

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
                    "SELECT u.user_id, x.session_id, x.agent_playbook_id, x.epoch_no, e.share, x.withheld
                     FROM trial_exposures x JOIN subjects u ON u.org_id = x.org_id AND u.subject = x.subject
                     JOIN trial_epochs e ON e.org_id = x.org_id
                          AND e.agent_playbook_id = x.agent_playbook_id AND e.epoch_no = x.epoch_no
                     ORDER BY u.user_id, x.session_id, x.agent_playbook_id, x.epoch_no"
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
    let (subject, success) = (t.subject_in(ORG, user), if success { "TRUE" } else { "FALSE" });
    t.sql(&format!(
        "INSERT INTO evaluation_results (org_id, subject, session_id, evaluation_name, agent_version, epoch, is_success,
            failure_type, failure_reason, number_of_corrections, is_escalated, learning_status, created_at, evaluated_at,
            interaction_count, last_interaction_id, judge, prompt_version, rubric_hash, input_tokens, output_tokens,
            latency_ms, attempts, flags, source, is_newest, chance)
         VALUES ('{ORG}', {subject}, '{session}', 'agent_success', 'v1', 1, {success}, '', '', 0, FALSE, 'complete', {NOW}, 1,
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

    recomputed_from_export(&person).await;
    let detail = person.get(&format!("/api/learnings/effects/{harmful}")).await.ok();
    for field in ["state", "effect", "e_value", "always_valid_lower", "served", "withheld"] {
        assert_eq!(detail[field], listed[1][field], "{field}");
    }
    let revision = &detail["revisions"][0];
    assert_eq!((&revision["effect"], &revision["is_present"]), (&detail["effect"], &json!(true)));
    assert_eq!(revision["epochs"][0]["share"], 0.5);
    let newest = detail["series"].as_array().unwrap().last().unwrap();
    assert_eq!((&newest["effect"], &newest["until"]), (&detail["effect"], &json!(t.clock().now())));
    person.get("/api/learnings/effects/999").await.problem(404, "not_found");
    person.get("/api/learnings/effects/nonsense").await.problem(404, "not_found");

    let events = [EventType::PlaybookHelps, EventType::PlaybookHurts];
    crate::webhooks::refused_receiver(&t, ORG, &events).await;
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
    rejected_by_proposal(&t, &person, harmful, &settled[1]).await;
    for (event, id) in [("playbook.helps", helpful), ("playbook.hurts", harmful)] {
        let about = format!("event = '{event}' AND body LIKE '%\"agent_playbook_id\":{id},%'");
        let told = format!("SELECT COUNT(*) FROM webhook_deliveries WHERE {about}");
        assert_eq!(t.number(&told).await, 1, "{event}");
    }
    let edit = json!({"agent_playbook_id": harmful, "content": "Offer a refund when asked.",
        "playbook_status": "approved"});
    person.put("/api/update_agent_playbook", &edit).await.ok();
    t.clock().advance(20);
    let body = json!({"user_id": "user-2", "session_id": "s3", "query": "refund", "top_k": 50});
    agent.post("/api/search", &body).await.ok();
    recorded(&t, 2 * 390 + 2).await;
    let detail = person.get(&format!("/api/learnings/effects/{harmful}")).await.ok();
    assert_eq!((&detail["state"], &detail["effect"]), (&json!("no_sign_yet"), &json!(null)));
    let (old, new) = (&detail["revisions"][0], &detail["revisions"][1]);
    assert_eq!(old["effect"], listed[1]["effect"], "old numbers stay with the old text");
    assert_eq!((&old["is_present"], &new["is_present"]), (&json!(false), &json!(true)));
    recomputed_from_export(&person).await;

    // A session that is deleted and a person who is erased count no more.
    let governor = server.with_token(&t.key(ORG, service::credentials::Role::Governance).await);
    let theirs = t.subject_in(ORG, "user-1");
    let exposures = format!("SELECT COUNT(*) FROM trial_exposures WHERE subject = {theirs}");
    assert!(t.number(&exposures).await > 0);
    governor.post("/api/governance/erase-user", &pair("user-1", "e")).await.ok();
    work(&t).await;
    verdicts.retain(|(user, _), _| user != "user-1");
    assert_eq!(t.number(&exposures).await, 0);
    let corrected = effects(&person).await;
    let evidence = by_hand(&t, helpful, &verdicts).await.unwrap();
    assert_eq!(corrected[0]["e_value"].as_f64().unwrap(), evidence.e_value);
    assert_ne!(corrected[0]["effect"], listed[0]["effect"]);
    let users = |side: &str| corrected[0][side]["found_users"].as_u64().unwrap();
    assert_eq!(users("served") + users("withheld"), 260, "259, and one of them in both epochs");
    recomputed_from_export(&person).await;
}

/// The command finds in the export what the interface says, to the last digit; the export names nobody.
async fn recomputed_from_export(person: &Server) {
    let export = person.get("/api/learnings/effects/export").await;
    assert_eq!(export.headers["content-type"], "application/x-ndjson");
    assert!(!export.text.contains("user-") && export.text.contains("subref_v1_"));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &export.text).unwrap();
    let path = file.path().display().to_string();
    let rows = ["learnings", "effects", "--rows", &path];
    let output = Process::run(&[&rows[..], &["--format", "json"]].concat());
    let again: Value = serde_json::from_slice(&output.stdout).unwrap();
    let listed = person.get("/api/learnings/effects").await.ok();
    assert_eq!(again["as_of"], listed["as_of"]);
    let (again, listed) = (again["effects"].as_array().unwrap(), &listed["effects"]);
    assert_eq!(again.len(), listed.as_array().unwrap().len());
    for (again, listed) in again.iter().zip(listed.as_array().unwrap()) {
        for (name, value) in again.as_object().unwrap() {
            assert_eq!(listed[name], *value, "{name}");
        }
    }
    let report = Process::run(&rows);
    let lines = String::from_utf8_lossy(&report.stdout).lines().count();
    assert_eq!(lines, 1 + again.len(), "a line of headings, and one for each");

    std::fs::write(file.path(), "{\"row\": \"nothing\"}\n").unwrap();
    let refused = Process::run(&rows);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && error.contains("line 1"), "{error}");
}

/// A person accepts the proposal about a playbook that hurts: its effect, its interval and three failed sessions. Its history
/// stays.
async fn rejected_by_proposal(t: &TestApp, person: &Server, id: i64, effect: &Value) {
    let proposals = person.get("/api/learnings/tuning_proposals").await.ok();
    let proposals = proposals["proposals"].as_array().unwrap();
    assert_eq!(proposals.len(), 1, "{proposals:?}");
    let proposal = &proposals[0];
    assert_eq!(
        (&proposal["action"], &proposal["learning_id"]),
        (&json!("reject"), &json!(id.to_string()))
    );
    for field in ["effect", "always_valid_lower", "always_valid_upper", "e_value"] {
        assert_eq!(proposal["trial"][field], effect[field], "{field}");
    }
    assert_eq!(proposal["trial"]["withheld_users"], effect["withheld"]["users"]);
    assert!(proposal["rationale"].as_str().unwrap().contains("points lower"), "{proposal}");
    let examples = proposal["evidence"].as_array().unwrap();
    let users: BTreeSet<&str> = examples.iter().map(|e| e["user_id"].as_str().unwrap()).collect();
    assert_eq!((examples.len(), users.len()), (3, 3), "sessions of three users");
    for example in examples {
        let of = |row: &&Row| row.user_id == example["user_id"] && row.agent_playbook_id == id;
        assert!(rows(t).await.iter().filter(of).all(|row| !row.withheld), "{example}");
    }
    // The next hour proposes nothing new.
    t.clock().advance(3600);
    work(t).await;
    let again = person.get("/api/learnings/tuning_proposals").await.ok();
    assert_eq!(again["proposals"].as_array().unwrap().len(), 1);
    let accepted = json!({"proposal_id": proposal["proposal_id"]});
    person.post("/api/learnings/tuning_proposals/accept", &accepted).await.ok();
    let rejected = effects(person).await;
    let of = |effect: &&Value| effect["agent_playbook_id"] == id;
    let rejected = rejected.iter().find(of).unwrap();
    assert_eq!(
        (&rejected["playbook_status"], &rejected["state"]),
        (&json!("rejected"), &json!("hurts"))
    );
}

/// Playbooks come, change, are rejected and come back while shares change and users search: what is withheld by the hash
/// never reaches its user, and the stored sides and sums agree with a recomputation.
#[apply(both_backends)]
async fn in_random_histories_nothing_withheld_is_handed_over(t: TestApp) {
    let server = t.serve().await;
    let (agent, person) = callers(&t, &server, ORG).await;
    let dice = Ids::seeded(Clock::manual(NOW), 22);
    let below = |bound: u64| (dice.fraction() * bound as f64) as u64;
    let mut playbooks = Vec::new();
    for n in 0..4 {
        playbooks.push(add(&person, &format!("Refund rule number {n}."), &[]).await);
    }
    switch_on(&person, json!({})).await;
    let (mut found, mut verdicts) = (BTreeSet::new(), BTreeMap::new());
    for step in 0..160u64 {
        let id = playbooks[below(4) as usize];
        match below(12) {
            0 => {
                let edit = json!({"agent_playbook_id": id, "content": format!("Refund rule as of {step}.")});
                person.put("/api/update_agent_playbook", &edit).await.ok();
            }
            1 => {
                let share = [0.1, 0.3, 0.5][below(3) as usize];
                switch_on(&person, json!({"new_share": share})).await;
                // Settings and epochs are known for ten seconds.
                t.clock().advance(20);
            }
            2 => {
                let status = ["approved", "rejected", "approved"][below(3) as usize];
                let change = json!({"agent_playbook_id": id, "playbook_status": status});
                person.put("/api/update_agent_playbook_status", &change).await.ok();
            }
            3 => t.clock().advance(86_400),
            _ => {
                let (user, session) = (format!("user-{}", below(12)), format!("s-{}", below(40)));
                let got = get(&agent, &user, Some(&session)).await;
                for (id, (epoch, share)) in epochs_on_trial(&t).await {
                    let withheld =
                        is_withheld(&ORG.into(), id, epoch, &user.as_str().into(), share);
                    assert_eq!(got.contains(&id), !withheld, "step {step}: {id} for {user}");
                    found.insert((user.clone(), session.clone(), id, epoch));
                }
                let key = (user, session);
                verdicts.entry(key).or_insert_with(|| (below(3) > 0, 10_000));
            }
        }
    }
    recorded(&t, found.len() as i64).await;
    for row in rows(&t).await {
        let user = row.user_id.as_str().into();
        let by_hash =
            is_withheld(&ORG.into(), row.agent_playbook_id, row.epoch_no, &user, row.share);
        assert_eq!(row.withheld, by_hash, "{row:?}");
    }
    for ((user, session), (success, _)) in &verdicts {
        judged(&t, user, session, *success, 10_000).await;
    }
    let stored = rows(&t).await;
    for effect in effects(&person).await {
        let id = effect["agent_playbook_id"].as_i64().unwrap();
        let digest = format!(
            "SELECT COUNT(*) FROM trial_epochs e WHERE e.agent_playbook_id = {id} AND e.digest =
                (SELECT n.digest FROM trial_epochs n WHERE n.agent_playbook_id = {id} ORDER BY n.epoch_no DESC LIMIT 1)"
        );
        assert_eq!(effect["epochs"].as_i64().unwrap(), t.number(&digest).await);
        let epochs = person.get(&format!("/api/learnings/effects/{id}")).await.ok();
        for epoch in epochs["revisions"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|r| r["epochs"].as_array().unwrap())
        {
            for (side, withheld) in [("served", false), ("withheld", true)] {
                let of = |row: &&Row| {
                    row.agent_playbook_id == id
                        && row.withheld == withheld
                        && epoch["epoch_no"] == row.epoch_no
                };
                let sessions = stored.iter().filter(of).count();
                assert_eq!(epoch[side]["sessions"], sessions, "{epoch}");
                let users: BTreeSet<&str> =
                    stored.iter().filter(of).map(|row| row.user_id.as_str()).collect();
                assert_eq!(epoch[side]["found_users"], users.len(), "{epoch}");
            }
        }
    }
    recomputed_from_export(&person).await;
}

/// The newest epoch of each approved playbook and its share.
async fn epochs_on_trial(t: &TestApp) -> BTreeMap<i64, (i64, i64)> {
    let epochs = t
        .app
        .db
        .read("test.epochs", (), |tx, ()| {
            Box::pin(async move {
                storage::rows!(
                    tx,
                    (i64, i64, i64),
                    "SELECT e.agent_playbook_id, e.epoch_no, e.share
                     FROM trial_epochs e JOIN agent_playbooks p ON p.agent_playbook_id = e.agent_playbook_id
                     WHERE p.playbook_status = 'approved' ORDER BY e.epoch_no"
                )
            })
        })
        .await
        .unwrap();
    epochs.into_iter().map(|(id, epoch, share)| (id, (epoch, share))).collect()
}
