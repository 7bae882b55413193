//! Playbooks as resources.

use rmcp::model::{
    ErrorCode, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResult,
};
use rmcp::{ErrorData, ServiceError};
use serde_json::{Value, json};

use crate::fake::Connection;

fn refused<T>(result: Result<T, ServiceError>) -> ErrorData {
    match result {
        Err(ServiceError::McpError(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("an answer"),
    }
}

fn asked(most: i64) -> (String, String, Option<Value>) {
    let body = json!({"playbook_status_filter": "approved", "top_k": most});
    ("POST".to_owned(), "/api/get_agent_playbooks".to_owned(), Some(body))
}

/// Playbooks with these numbers, the newest first.
fn playbooks(ids: impl DoubleEndedIterator<Item = i64>) -> Value {
    let one = |id: i64| {
        json!({"agent_playbook_id": id, "playbook_status": "approved",
        "trigger": format!("Case {id}."), "content": "Do it."})
    };
    json!({"agent_playbooks": ids.rev().map(one).collect::<Vec<_>>()})
}

async fn page(c: &Connection, cursor: Option<&str>) -> (Vec<String>, Option<String>) {
    let params = PaginatedRequestParams::default().with_cursor(cursor.map(str::to_owned));
    let page = c.client.list_resources(Some(params)).await.unwrap();
    (page.resources.into_iter().map(|resource| resource.uri).collect(), page.next_cursor)
}

fn uri(id: i64) -> String {
    format!("evenhand://playbooks/{id}")
}

#[tokio::test]
async fn playbooks_are_listed_page_by_page() {
    let c = Connection::open().await;
    c.fake.answers("get_agent_playbooks", playbooks(150..=250));
    let (first, cursor) = page(&c, None).await;
    assert_eq!((first.len(), &first[0], &first[99]), (100, &uri(250), &uri(151)));
    assert_eq!(cursor.as_deref(), Some("151"));
    // Meanwhile one was added, and the one at the end of the page deleted.
    let now = playbooks((1..=150).chain(152..=251));
    c.fake.answers("get_agent_playbooks", now);
    let (second, cursor) = page(&c, cursor.as_deref()).await;
    assert_eq!((second.len(), &second[0], &second[99]), (100, &uri(150), &uri(51)));
    c.fake.answers("get_agent_playbooks", playbooks(1..=150));
    let (third, cursor) = page(&c, cursor.as_deref()).await;
    assert_eq!((third.len(), &third[49], cursor), (50, &uri(1), None));
    assert_eq!(c.fake.requests(), [asked(101), asked(1000), asked(1000)]);
}

#[tokio::test]
async fn a_list_says_what_each_playbook_is_for() {
    let c = Connection::open().await;
    let named = json!({"agent_playbook_id": 2, "playbook_name": "refunds", "trigger": "A refund."});
    let unnamed = json!({"agent_playbook_id": 1, "content": "Be kind.\nAlways."});
    c.fake.answers("get_agent_playbooks", json!({"agent_playbooks": [named, unnamed]}));
    let resources = c.client.list_all_resources().await.unwrap();
    let shown: Vec<_> = resources
        .iter()
        .map(|r| (r.name.as_str(), r.title.as_deref().unwrap(), r.description.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [("playbook-2", "refunds", Some("When: A refund.")), ("playbook-1", "Be kind.", None)]
    );
    assert_eq!(resources[0].mime_type.as_deref(), Some("text/markdown"));
    let templates = c.client.list_all_resource_templates().await.unwrap();
    assert_eq!(templates[0].uri_template, "evenhand://playbooks/{agent_playbook_id}");
}

#[tokio::test]
async fn a_cursor_of_nobody_and_a_refusal_are_errors() {
    let c = Connection::open().await;
    let params = PaginatedRequestParams::default().with_cursor(Some("x".to_owned()));
    let error = refused(c.client.list_resources(Some(params)).await);
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    let code = "user_id_required_by_experiment";
    c.fake.refuses(422, code, "Name the user.", json!([]));
    let error = refused(c.client.list_resources(None).await);
    assert_eq!(error.code, ErrorCode::INVALID_REQUEST);
    assert_eq!(error.message, "422 user_id_required_by_experiment: Name the user.");
    assert_eq!(error.data.unwrap()["code"], code);
    c.fake.is_away("Nothing listens there.");
    let error = refused(c.client.list_resources(None).await);
    assert_eq!(
        (error.code, error.message.as_ref()),
        (ErrorCode::INTERNAL_ERROR, "Nothing listens there.")
    );
}

async fn read(c: &Connection, uri: String) -> Result<ReadResourceResult, ServiceError> {
    c.client.read_resource(ReadResourceRequestParams::new(uri)).await
}

fn whole_playbook() -> Value {
    json!({"agent_playbooks": [
        {"agent_playbook_id": 13, "content": "Other."},
        {"agent_playbook_id": 12, "playbook_name": "refunds", "trigger": "A refund is asked for.",
         "content": "Look up the order.\n\nThen pay.", "rationale": "Orders differ.", "agent_version": "v2"},
    ]})
}

async fn text_of(c: &Connection, id: i64) -> String {
    let result = read(c, uri(id)).await.unwrap();
    let contents = serde_json::to_value(&result.contents).unwrap();
    assert_eq!(contents[0]["mimeType"], "text/markdown");
    assert_eq!(contents[0]["uri"], uri(id));
    contents[0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_playbook_is_a_page_with_its_effect() {
    let c = Connection::open().await;
    c.fake.answers("get_agent_playbooks", whole_playbook()).answers(
        "get_effect",
        json!({"agent_playbook_id": 12, "state": "helps", "effect": 3.256, "always_valid_lower": 0.5,
            "always_valid_upper": 6.0, "served": {"users": 90}, "withheld": {"users": 10}}),
    );
    assert_eq!(
        text_of(&c, 12).await,
        "# refunds\n\n## When\n\nA refund is asked for.\n\n## What to do\n\nLook up the order.\n\nThen pay.\n\n\
         ## Why\n\nOrders differ.\n\n## Effect\n\nBy trial it helps: +3.26 points of success (95 %: 0.5 to 6.0), \
         90 users with it and 10 without.\n\nAgent playbook 12, of agent version v2.\n"
    );
    let effect = ("GET".to_owned(), "/api/learnings/effects/12".to_owned(), None);
    assert_eq!(c.fake.requests(), [asked(1000), effect]);
    c.fake.answers("get_agent_playbooks", whole_playbook());
    c.fake.answers("get_effect", json!({"state": "no_sign_yet"}));
    assert!(text_of(&c, 12).await.contains("## Effect\n\nBy trial there is no sign yet.\n"));
}

#[tokio::test]
async fn a_playbook_is_there_without_an_effect_that_nobody_knows_or_may_see() {
    let c = Connection::open().await;
    for (status, code) in [(403, "forbidden"), (404, "not_found")] {
        c.fake.answers("get_agent_playbooks", whole_playbook());
        c.fake.refuses(status, code, "No.", json!([]));
        let text = text_of(&c, 13).await;
        assert_eq!(text, "# Other.\n\n## What to do\n\nOther.\n\nAgent playbook 13.\n");
    }
    c.fake.answers("get_agent_playbooks", whole_playbook());
    c.fake.refuses(503, "unavailable", "Later.", json!([]));
    assert_eq!(refused(read(&c, uri(12)).await).code, ErrorCode::INTERNAL_ERROR);
}

#[tokio::test]
async fn what_is_not_an_approved_playbook_is_not_found() {
    let c = Connection::open().await;
    c.fake.answers("get_agent_playbooks", whole_playbook());
    for wrong in [uri(99), "evenhand://playbooks/x".to_owned(), "file:///etc/passwd".to_owned()] {
        let error = refused(read(&c, wrong.clone()).await);
        assert_eq!(error.code, ErrorCode::RESOURCE_NOT_FOUND, "{wrong}");
        assert!(error.message.contains(&wrong), "{}", error.message);
    }
    assert_eq!(c.fake.requests(), [asked(1000)]);
}
