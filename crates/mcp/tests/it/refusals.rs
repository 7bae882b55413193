//! Calls that Evenhand refuses, or does not answer, are results that a model can read.

use serde_json::json;

use crate::fake::Connection;

#[tokio::test]
async fn a_refusal_is_a_result_with_its_code_and_what_to_do_next() {
    let c = Connection::open().await;
    c.fake.refuses(403, "forbidden", "A publish key publishes and searches only.", json!([]));
    let (text, data) = c.fail("overview", json!({})).await;
    assert_eq!(text, "403 forbidden: A publish key publishes and searches only.");
    assert_eq!(
        data,
        json!({"status": 403, "code": "forbidden", "errors": [], "errors_not_listed": 0,
            "detail": "A publish key publishes and searches only."})
    );
}

#[tokio::test]
async fn a_missing_token_is_told_with_the_place_to_set_it() {
    let c = Connection::open().await;
    c.fake.refuses(401, "unauthenticated", "Send the header.", json!([]));
    let (text, _) = c.fail("search_learnings", json!({"query": "x"})).await;
    assert!(text.starts_with("401 unauthenticated: Send the header.\n"), "{text}");
    assert!(text.contains("EVENHAND_TOKEN"), "{text}");
}

#[tokio::test]
async fn a_session_that_is_not_there_ends_an_explanation() {
    let c = Connection::open().await;
    c.fake.refuses(404, "not_found", "There is no such session.", json!([]));
    let (text, _) =
        c.fail("explain_verdict", json!({"user_id": "ada", "session_id": "gone"})).await;
    assert_eq!(text, "404 not_found: There is no such session.");
    assert_eq!(c.fake.requests().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_away_and_one_that_is_another_are_told_apart() {
    let c = Connection::open().await;
    c.fake.is_away("Nothing listens on http://127.0.0.1:8700.");
    let (text, data) = c.fail("overview", json!({})).await;
    assert_eq!(text, "Nothing listens on http://127.0.0.1:8700.");
    assert_eq!(data["code"], "no_answer");

    c.fake.says(502, "<html>Bad Gateway</html>");
    let (text, data) = c.fail("overview", json!({})).await;
    assert_eq!(text, "502 no_problem_body: Something answered 502 Bad Gateway without saying why.");
    assert_eq!(data["status"], 502);

    c.fake.says(200, "<html>Welcome</html>");
    let (text, _) = c.fail("overview", json!({})).await;
    assert!(text.contains("not Evenhand's interface; check the URL"), "{text}");
}
