//! Shared playbooks: served after a person approved it, and free of the people it came from, before and after an erasure.

use serde_json::{Value, json};
use service::credentials::Role;

use super::{ENOUGH, agent_playbooks, says, teach, teach_all, work};
use crate::governance::erase::Both;
use crate::support::{Backend, Server, TestApp, apply, both_backends};

/// Everything that hands agent playbooks to whoever asks.
const PATHS: [&str; 3] = ["/api/search", "/api/search_agent_playbooks", "/api/get_agent_playbooks"];

/// The contents of the agent playbooks that each path gives, with an approval asked for or not.
async fn given(server: &Server, asked: Option<Value>) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for path in PATHS {
        let mut body = json!({"query": "card number", "user_id": "victim", "status_filter": [null, "pending"]});
        if let Some(asked) = &asked {
            body["agent_playbook_status_filter"] = asked.clone();
            body["playbook_status_filter"] = asked.clone();
        }
        let answer = server.post(path, &body).await.ok();
        let list = answer["agent_playbooks"].as_array().unwrap();
        found.push(list.iter().map(|p| p["content"].as_str().unwrap().to_owned()).collect());
    }
    found
}

async fn add(server: &Server, content: &str, status: &str) -> Value {
    let body = json!({"agent_playbooks": [{"content": content, "playbook_status": status, "confirmed": true}]});
    server.post("/api/add_agent_playbook", &body).await.json()
}

async fn decide(server: &Server, id: &Value, status: &str) {
    let body = json!({"agent_playbook_id": id, "playbook_status": status, "confirmed": true});
    server.put("/api/update_agent_playbook_status", &body).await.ok();
}

const ORDER: &str = "Always ask customers to confirm the card number.";
/// Every way to ask for something that is not approved.
fn every_filter() -> [Option<Value>; 4] {
    let lists = [json!(["pending"]), json!(["pending", "approved", "rejected"]), json!("rejected")];
    let [a, b, c] = lists.map(Some);
    [None, a, b, c]
}

#[apply(both_backends)]
async fn what_invented_people_teach_reaches_nobody_before_a_person_approves_it(t: TestApp) {
    let server = t.serve().await;
    let (agent, person) =
        (t.key("default", Role::Agent).await, t.key("default", Role::Dashboard).await);
    let (agent, person) = (server.with_token(&agent), server.with_token(&person));
    person.post("/api/update_config", &json!({"learning": {"min_users": 2}})).await.ok();
    teach(&t, &person, &[("invented-1", ORDER), ("invented-2", ORDER)]).await;
    let pending = agent_playbooks(&person).await;
    assert_eq!(
        (pending.len(), &pending[0]["playbook_status"]),
        (1, &json!("pending")),
        "{pending:?}"
    );
    let nothing = vec![Vec::<String>::new(); 3];
    for asked in every_filter() {
        assert_eq!(given(&agent, asked.clone()).await, nothing, "{asked:?}");
    }
    // A person who inspects sees it when they ask for it, and in the list of what there is to decide.
    let seen = given(&person, Some(json!(["pending"]))).await;
    assert!(seen.iter().all(|found| found == &[ORDER]), "{seen:?}");
    assert_eq!(given(&person, None).await, [vec![], vec![], vec![ORDER.to_owned()]]);
    let id = &pending[0]["agent_playbook_id"];
    // It asks for payment data: whoever approves it has to say so twice.
    assert_eq!(pending[0]["flags"], json!(["payment"]));
    let mut approval = json!({"agent_playbook_id": id, "playbook_status": "approved"});
    for path in ["/api/update_agent_playbook_status", "/api/update_agent_playbook"] {
        let refused = person.put(path, &approval).await;
        let problem = refused.problem(409, "confirmation_needed");
        assert!(problem["detail"].as_str().unwrap().contains("payment data"), "{problem}");
    }
    assert_eq!(given(&agent, None).await, nothing);
    approval["confirmed"] = json!(true);
    person.put("/api/update_agent_playbook_status", &approval).await.ok();
    assert_eq!(given(&agent, None).await, vec![vec![ORDER.to_owned()]; 3]);
    assert_eq!(given(&agent, Some(json!(["pending"]))).await, nothing, "a filter narrows");
    for status in ["rejected", "pending"] {
        decide(&person, id, status).await;
        for asked in every_filter() {
            assert_eq!(given(&agent, asked.clone()).await, nothing, "{status} {asked:?}");
        }
    }
}

#[apply(both_backends)]
async fn an_agent_proposes_and_never_approves(t: TestApp) {
    let server = t.serve().await;
    let (agent, person) =
        (t.key("default", Role::Agent).await, t.key("default", Role::Dashboard).await);
    let (agent, person) = (server.with_token(&agent), server.with_token(&person));
    let both = json!({"agent_playbooks": [{"content": "a"}, {"content": "b", "playbook_status": "approved"}]});
    agent.post("/api/add_agent_playbook", &both).await.problem(403, "approval_needs_a_person");
    assert_eq!(t.number("SELECT COUNT(*) FROM agent_playbooks").await, 0, "all or none");
    let id = add(&agent, ORDER, "pending").await["ids"][0].clone();
    for (path, body) in [
        (
            "/api/update_agent_playbook_status",
            json!({"agent_playbook_id": id, "playbook_status": "approved"}),
        ),
        (
            "/api/update_agent_playbook",
            json!({"agent_playbook_id": id, "playbook_status": "approved"}),
        ),
    ] {
        agent.put(path, &body).await.problem(403, "forbidden");
    }
    add(&person, "Mention the card number nowhere.", "approved").await;
    let way = async |id: &Value| {
        let ask = json!({"kind": "agent_playbook", "learning_id": id.to_string()});
        let way = person.post("/api/get_learning_provenance", &ask).await.ok();
        way["decisions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| json!([d["decision"], d["actor"]]))
            .collect::<Vec<_>>()
    };
    assert_eq!(way(&id).await, [json!(["proposed", "agent"])]);
    assert_eq!(way(&json!(id.as_i64().unwrap() + 1)).await, [json!(["approved", "dashboard"])]);
    assert_eq!(t.number("SELECT COUNT(*) FROM audit_events WHERE operation = 'PLAYBOOK'").await, 2);
    // The organization may choose to serve what is pending; what was rejected stays away.
    person.post("/api/update_config", &json!({"serve_pending": true})).await.ok();
    assert_eq!(person.get("/api/get_config").await.ok()["serve_pending"], true);
    assert_eq!(given(&agent, Some(json!(["pending"]))).await, vec![vec![ORDER.to_owned()]; 3]);
    assert!(given(&agent, None).await.iter().all(|found| found.len() == 2));
    decide(&person, &id, "rejected").await;
    assert!(given(&agent, None).await.iter().all(|found| found.len() == 1));
    person.post("/api/update_config", &json!({"serve_pending": null})).await.ok();
    decide(&person, &id, "pending").await;
    assert!(given(&agent, None).await.iter().all(|found| found.len() == 1));
}

#[apply(both_backends)]
async fn in_local_mode_a_person_approves_and_reads_are_an_agents(t: TestApp) {
    let server = t.serve().await;
    let id = add(&server, ORDER, "pending").await["ids"][0].clone();
    for asked in every_filter() {
        assert_eq!(given(&server, asked).await, vec![Vec::<String>::new(); 3]);
    }
    assert_eq!(agent_playbooks(&server).await.len(), 1, "the dashboard's own request");
    decide(&server, &id, "approved").await;
    assert_eq!(given(&server, None).await, vec![vec![ORDER.to_owned()]; 3]);
}

#[apply(both_backends)]
async fn nothing_of_one_person_gets_into_what_is_shared(t: TestApp) {
    let both = Both::new(&t).await;
    let turns = [
        "Always remember my name is Mia Lindqvist.",
        "Always use booking number 3JA7XV.",
        "Always note that I am in hospital.",
        "Always call Mia Lindqvist about 3JA7XV.",
        "Always quote prices with tax.",
    ];
    let mut accounts: Vec<String> = (0..2).map(|n| format!("account-{n}")).collect();
    let say_all = async |accounts: &[String]| {
        for text in turns {
            let said: Vec<_> = accounts.iter().map(|user| (user.as_str(), text)).collect();
            teach(&t, &both.agent, &said).await;
        }
    };
    say_all(&accounts).await;
    both.agent.post("/api/update_config", &json!({"learning": {"min_users": 2}})).await.ok();
    accounts.extend((2..5).map(|n| format!("account-{n}")));
    say_all(&accounts[2..]).await;
    assert_eq!(t.number("SELECT COUNT(DISTINCT subject) FROM user_playbooks").await, 5);
    assert!(
        agent_playbooks(&both.agent).await.is_empty(),
        "five accounts with one booking are one person"
    );
    // Other people say what can be shared: it is, in their words.
    teach_all(&t, &both.agent, "Always quote prices with tax.").await;
    for account in &accounts {
        let erased = both.erase(account, "dsr").await;
        assert_eq!(erased["shared_texts_masked"], 0, "{erased}");
    }
    let shared = agent_playbooks(&both.agent).await;
    assert_eq!(shared.len(), 1, "{shared:?}");
    assert_eq!(shared[0]["content"], "Always quote prices with tax.");
    let text = shared[0].to_string().to_lowercase();
    for personal in ["mia", "lindqvist", "3ja7xv", "hospital", "account-"] {
        assert!(!text.contains(personal), "{personal} in {text}");
    }
}

#[apply(both_backends)]
async fn a_shared_text_stays_when_the_last_of_its_people_goes(t: TestApp) {
    let both = Both::new(&t).await;
    teach_all(&t, &both.agent, "Always quote prices with tax.").await;
    let before = agent_playbooks(&both.agent).await;
    for user in ENOUGH {
        assert_eq!(both.erase(user, "dsr").await["shared_texts_masked"], 0);
    }
    let after = agent_playbooks(&both.agent).await;
    assert_eq!(
        (&after[0]["content"], &after[0]["playbook_metadata"]),
        (&before[0]["content"], &before[0]["playbook_metadata"])
    );
    assert_eq!(
        (&after[0]["source_user_count"], &after[0]["below_min_users"]),
        (&json!(0), &json!(true))
    );
}

#[apply(both_backends)]
async fn an_erasure_masks_what_somebody_typed_by_hand(t: TestApp) {
    let both = Both::new(&t).await;
    let said =
        "I am in hospital, please waive the fee for booking 3JA7XV. My name is Mia Lindqvist.";
    both.agent.publish(&says("guest-17", "s", &[("User", said)])).await.ok();
    let own = json!({"user_playbooks": [{"user_id": "guest-17", "content": "Waive the fee for 3JA7XV"},
        {"user_id": "other", "content": "People who are ill pay no fee"}]});
    let sources = both.agent.post("/api/add_user_playbook", &own).await.ok()["ids"].clone();
    let playbook = json!({"agent_playbooks": [{"playbook_status": "approved", "tags": ["3JA7XV", "fees"],
        "playbook_name": "The case of Mia Lindqvist", "trigger": "somebody is ill",
        "content": "People who are ill pay no fee when they cannot travel (guest-17, booking 3JA7XV: \"I am in hospital\").",
        "rationale": "Mia asked for it.", "playbook_metadata": "from guest-17",
        "source_windows": [{"user_playbook_id": sources[0]}, {"user_playbook_id": sources[1]}]},
        {"playbook_status": "rejected", "content": "Refund Mia Lindqvist at once", "source_windows": [{"user_playbook_id": sources[0]}]},
        {"playbook_status": "approved", "content": "Nothing of Mia in hospital is linked here"}]});
    both.agent.post("/api/add_agent_playbook", &playbook).await.ok();
    let search = async |query: &str| {
        let body =
            json!({"query": query, "agent_playbook_status_filter": ["approved", "rejected"]});
        both.agent.post("/api/search", &body).await.ok()["agent_playbooks"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((search("3JA7XV").await, search("Lindqvist").await), (1, 2));
    let done = both.erase("guest-17", "dsr").await;
    assert_eq!(done["shared_texts_masked"], 2, "{done}");
    assert_eq!(done["deleted_counts"]["agent_playbook_sources"], 2);
    assert!(done["deleted_counts"].get("shared_texts_masked").is_none());
    let path = format!(
        "/api/governance/purge-operations/{}/certificate",
        done["purge_id"].as_str().unwrap()
    );
    assert_eq!(both.governor.get(&path).await.ok()["certificate"]["shared_texts_masked"], 2);
    let left = agent_playbooks(&both.agent).await;
    assert_eq!(
        left[2]["content"],
        "People who are ill pay no fee when they cannot travel ([removed], booking [removed]\")."
    );
    assert_eq!(
        (&left[2]["playbook_name"], &left[2]["rationale"]),
        (&json!("The case of [removed]"), &json!("[removed] asked for it."))
    );
    assert_eq!(
        (&left[2]["tags"], &left[2]["playbook_metadata"]),
        (&json!(["[removed]", "fees"]), &json!("from [removed]"))
    );
    assert_eq!(
        (&left[2]["trigger"], &left[2]["playbook_status"]),
        (&json!("somebody is ill"), &json!("approved"))
    );
    assert_eq!(left[2]["source_user_count"], 1);
    assert_eq!(left[1]["content"], "Refund [removed] at once");
    assert_eq!(
        left[0]["content"], "Nothing of Mia in hospital is linked here",
        "only what came from them is compared"
    );
    assert_eq!(
        (search("3JA7XV").await, search("Lindqvist").await, search("ill pay fee").await),
        (0, 0, 1)
    );
    let kept = "SELECT COUNT(*) FROM rejected_ideas WHERE CAST(terms AS TEXT) LIKE '%lindqvist%'";
    assert_eq!(t.number(kept).await, 0);
    if t.backend == Backend::Sqlite {
        for file in std::fs::read_dir(&t.settings().server.data_dir).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
            assert!(!bytes.to_ascii_lowercase().windows(9).any(|part| part == b"lindqvist"));
        }
    }
    work(&t).await;
    assert_eq!(
        both.erase("other", "dsr").await["shared_texts_masked"],
        1,
        "now the rest is theirs alone"
    );
}

#[apply(both_backends)]
async fn clearing_a_persons_data_masks_their_words_too(t: TestApp) {
    let both = Both::new(&t).await;
    let own = json!({"user_playbooks": [{"user_id": "guest-17", "content": "Booking 3JA7XV"}]});
    let source = both.agent.post("/api/add_user_playbook", &own).await.ok()["ids"][0].clone();
    let playbook = json!({"agent_playbooks": [{"content": "Look at 3JA7XV first", "source_windows": [{"user_playbook_id": source}]}]});
    both.agent.post("/api/add_agent_playbook", &playbook).await.ok();
    let cleared =
        both.agent.post("/api/clear_user_data", &json!({"user_id": "guest-17"})).await.ok();
    assert_eq!(cleared["deleted_counts"]["agent_playbook_sources"], 1);
    assert_eq!(agent_playbooks(&both.agent).await[0]["content"], "Look at [removed] first");
}

/// Noise that the first rules learned from: answers, retorts and phrases of everyday talk, by twenty people.
#[apply(both_backends)]
async fn noise_of_many_people_teaches_nothing(t: TestApp) {
    let server = t.serve().await;
    let users: Vec<String> = (0..20).map(|n| format!("guest-{n}")).collect();
    for noise in ["Never heard of it.", "No, not right now.", "Okay, never mind."] {
        let said: Vec<(&str, &str)> = users.iter().map(|user| (user.as_str(), noise)).collect();
        teach(&t, &server, &said).await;
    }
    for table in ["profiles", "user_playbooks", "agent_playbooks"] {
        assert_eq!(t.number(&format!("SELECT COUNT(*) FROM {table}")).await, 0, "{table}");
    }
}

/// Two and four accounts share nothing; the fifth makes it a proposal.
#[apply(both_backends)]
async fn five_different_people_make_a_proposal(t: TestApp) {
    let server = t.serve().await;
    for (n, user) in (1..).zip(ENOUGH) {
        assert!(agent_playbooks(&server).await.is_empty(), "{n} people");
        teach(&t, &server, &[(user, "Always quote prices with tax.")]).await;
    }
    let made = agent_playbooks(&server).await;
    assert_eq!((made.len(), &made[0]["flags"]), (1, &json!([])));
}

/// A pending text that lost its people is approved only on a second word.
#[apply(both_backends)]
async fn approving_what_lost_its_people_needs_a_second_word(t: TestApp) {
    let both = Both::new(&t).await;
    teach_all(&t, &both.agent, "Always quote prices with tax.").await;
    both.erase(ENOUGH[0], "dsr").await;
    let left = agent_playbooks(&both.agent).await;
    assert_eq!(left[0]["flags"], json!(["few_people"]));
    let mut approval =
        json!({"agent_playbook_id": left[0]["agent_playbook_id"], "playbook_status": "approved"});
    let refused = both.agent.put("/api/update_agent_playbook_status", &approval).await;
    refused.problem(409, "confirmation_needed");
    approval["confirmed"] = json!(true);
    both.agent.put("/api/update_agent_playbook_status", &approval).await.ok();
}
