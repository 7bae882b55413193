//! Publishing: what is acknowledged is stored, whole, once.

use serde_json::{Value, json};

use crate::support::{NOW, TestApp};

/// The smallest valid publish.
pub fn two_turns(user: &str, session: &str) -> Value {
    json!({
        "user_id": user, "session_id": session,
        "interaction_data_list": [
            {"role": "User", "content": "Where is my parcel?"},
            {"role": "Assistant", "content": "It arrives on Tuesday."},
        ]
    })
}

both_backends! {
    async fn what_is_published_is_read_back(t: TestApp) {
        let server = t.serve().await;
        let body = json!({
            "request_id": " r1 ", "user_id": " ada ", "session_id": "s1", "source": "web",
            "agent_version": "v2", "created_at": NOW - 100, "colour": "blue",
            "interaction_data_list": [
                {"role": "User", "content": "hello world", "user_action": "click",
                 "user_action_description": "pressed", "interacted_image_url": "https://example.org/a.png",
                 "created_at": NOW - 90},
                {},
                {"role": "Assistant", "content": "hi", "shadow_content": "hey", "expert_content": "good day",
                 "tools_used": [{"tool_name": "find", "tool_data": {"deep": [1, {"a": 1.5}]}, "status": "error"}],
                 "citations": [{"kind": "playbook", "real_id": "7", "title": "T"}],
                 "retrieved_learnings": [{"kind": "profile", "learning_id": "p1"}]},
            ]
        });
        let answer = server.publish(&body).await.ok();
        assert_eq!(answer["request_id"], "r1");
        assert_eq!(answer["interaction_ids"].as_array().unwrap().len(), 2);
        assert_eq!(
            answer["warnings"],
            json!(["unknown field ignored: /colour", "item carries nothing, dropped: /interaction_data_list/1"])
        );
        let read = server.post("/api/get_requests", &json!({"user_id": "ada"})).await.ok();
        insta::assert_json_snapshot!("publish_read_back", read);
    }
}

both_backends! {
    async fn the_order_of_names_does_not_make_other_content(t: TestApp) {
        let server = t.serve().await;
        let body = |data: &str| format!(
            r#"{{"user_id": "ada", "session_id": "s1", "request_id": "r1", "interaction_data_list": [
                {{"role": "Assistant", "content": "hi", "tools_used": [{{"tool_name": "find", "tool_data": {data}}}]}}]}}"#
        );
        let publish = async |data: &str| {
            let request = server.request("POST", "/api/publish_interaction");
            server.send(request.header("content-type", "application/json").body(body(data))).await
        };
        let first = publish(r#"{"a": 1, "b": {"c": 2, "d": 3}}"#).await.ok();
        let again = publish(r#"{"b": {"d": 3, "c": 2}, "a": 1}"#).await.ok();
        assert_eq!((&again["duplicate"], &first["duplicate"]), (&json!(true), &json!(false)));
        assert_eq!(again["interaction_ids"], first["interaction_ids"]);
        publish(r#"{"a": 1, "b": {"c": 2, "d": 4}}"#).await.problem(409, "request_id_reused");
    }
}
