//! The drill: a synthetic person with canaries in every field, through the public interface, then erased and looked for
//! in the files. Proof on the installation itself.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::canaries::{self, Scanner};
use super::certificate;
use crate::app::App;
use crate::credentials::{self, NewCredential, Role};
use base::owner::UserId;
use storage::db::Engine;
use storage::error::{Error, Result};
use storage::subjects::sealing::Signed;

/// Its own organization: nobody's numbers change.
const ORG: &str = "evenhand-drill";
/// Sessions planted, each with canaries of its own.
const SESSIONS: usize = 20;
/// Shared texts planted, each with a word of the person's own.
const SHARED: usize = 3;

/// Calls the service as a client would.
struct Client {
    router: Router,
    token: String,
}

impl Client {
    async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.call(Method::POST, path, body).await
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))
            .map_err(|e| Error::Internal(e.to_string()))?;
        let response = self.router.clone().oneshot(request).await;
        let response = response.map_err(|e| Error::Internal(e.to_string()))?;
        let status = response.status();
        let body = response.into_body().collect().await;
        let body = body.map_err(|e| Error::Internal(e.to_string()))?.to_bytes();
        if !status.is_success() {
            return Err(Error::Internal(format!("{path} answered {status}")));
        }
        serde_json::from_slice(&body).map_err(|e| Error::Internal(e.to_string()))
    }
}

/// Plants, erases, looks, and gives the signed result; `passed` in it says how it went.
pub async fn run(app: &Arc<App>, router: Router) -> Result<Value> {
    let name = "made for a drill, revoked after it";
    let new = NewCredential::of(Role::Dashboard, name);
    let (credential, token) = credentials::create(app, &ORG.into(), new.with_grant(true)).await?;
    let client = Client { router, token };
    let result = drill(app, &client).await;
    credentials::revoke(app, &credential.credential_id).await?;
    let result = result?;
    let Signed { key_id, public_key, signature } = certificate::sign(app, &result)?;
    Ok(json!({
        "certificate": result,
        "key_id": key_id,
        "public_key": public_key,
        "signature": signature,
    }))
}

async fn drill(app: &Arc<App>, client: &Client) -> Result<Value> {
    let user_id = UserId::from(canaries::new(&app.ids));
    let mut planted = vec![user_id.to_string()];
    let mut canary = || {
        let new = canaries::new(&app.ids);
        planted.push(new.clone());
        new
    };
    let mut shared = Vec::new();
    for number in 0..SESSIONS {
        let session_id = canary();
        client
            .post("/api/publish_interaction", &publish(&user_id, &session_id, &mut canary))
            .await?;
        let outcome = json!({"user_id": user_id, "session_id": session_id, "outcome": "success",
            "occurred_at": app.clock.now(), "label": canary(), "metadata": {"note": canary()}});
        client.post("/api/session_outcome", &outcome).await?;
        let profile = json!({"user_profiles": [{"user_id": user_id, "content": format!("likes {}", canary()),
            "tags": [canary()]}]});
        client.post("/api/add_user_profile", &profile).await?;
        let taught = canary();
        let playbook = json!({"user_playbooks": [{"user_id": user_id, "content": taught,
            "trigger": canary(), "rationale": canary()}]});
        let playbook = client.post("/api/add_user_playbook", &playbook).await?;
        if number < SHARED {
            let text = json!({"agent_playbooks": [{"content": format!("Be brief about {taught}."), "agent_version": "drill",
                "playbook_status": "approved", "source_windows": [{"user_playbook_id": playbook["ids"][0], "source_interaction_ids": []}]}]});
            let added = client.post("/api/add_agent_playbook", &text).await?;
            shared.push(added["ids"][0].clone());
        }
        // A judge that costs money is not asked for this.
        if app.judge.is_offline() && number < 3 {
            let grade =
                json!({"user_id": user_id, "session_id": session_id, "agent_version": "drill"});
            client.post("/api/evaluations/grade_on_demand", &grade).await?;
        }
    }
    let scanner = Scanner::new(&planted).map_err(Error::Internal)?;
    let before = find(app, &scanner)?;
    let request = json!({"user_id": user_id, "request_id": format!("drill-{user_id}")});
    let mut erased = client.post("/api/governance/erase-user", &request).await?;
    for _ in 0..60 {
        if erased["status"] == "complete" {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        erased = client.post("/api/governance/erase-user", &request).await?;
    }
    let preview = client.post("/api/governance/preview-user", &json!({"user_id": user_id})).await?;
    let after = find(app, &scanner)?;
    let kept = client.post("/api/get_agent_playbooks", &json!({"agent_version": "drill"})).await?;
    let masked = is_masked(&kept, &shared, &planted);
    let ids = json!({"agent_playbook_ids": shared});
    client.call(Method::DELETE, "/api/delete_agent_playbooks_by_ids", &ids).await?;
    let scanned = before.is_some();
    let (before, after) = (before.unwrap_or(0), after.unwrap_or(0));
    let control = !scanned || before * 100 >= planted.len() * 99;
    let gone = erased["status"] == "complete" && preview["total"] == 0 && after == 0;
    Ok(json!({
        "drill_version": 2,
        "passed": control && gone && masked,
        "engine": app.db.engine(),
        "evenhand_version": env!("CARGO_PKG_VERSION"),
        "drilled_at": app.clock.now(),
        "purge_id": erased["purge_id"],
        "status": erased["status"],
        "deleted_counts": erased["deleted_counts"],
        "rows_left": preview["total"],
        "shared_texts_planted": shared.len(),
        "shared_texts_masked": masked,
        "files_scanned": scanned,
        "canaries_planted": planted.len(),
        "canaries_found_before": if scanned { json!(before) } else { Value::Null },
        "canaries_found_after": if scanned { json!(after) } else { Value::Null },
    }))
}

/// True if the shared texts are still there, without any word that was planted.
fn is_masked(kept: &Value, shared: &[Value], planted: &[String]) -> bool {
    let Some(kept) = kept["agent_playbooks"].as_array() else { return false };
    let text_of = |id: &Value| kept.iter().find(|p| p["agent_playbook_id"] == *id);
    let is_clean = |playbook: &Value| {
        let text = playbook.to_string();
        text.contains("Be brief about") && !planted.iter().any(|word| text.contains(word.as_str()))
    };
    shared.iter().all(|id| text_of(id).is_some_and(is_clean))
}

fn publish(user_id: &UserId, session_id: &str, canary: &mut impl FnMut() -> String) -> Value {
    json!({
        "user_id": user_id, "session_id": session_id, "request_id": canary(), "agent_version": "drill",
        "interaction_data_list": [
            {"role": "User", "content": format!("Where is {}?", canary()), "user_action": "click",
             "user_action_description": canary(), "interacted_image_url": format!("https://example.org/{}", canary())},
            {"role": "Assistant", "content": canary(), "shadow_content": canary(), "expert_content": canary(),
             "tools_used": [{"tool_name": canary(), "tool_data": {"argument": canary()}, "status": "success"}],
             "citations": [{"kind": "profile", "real_id": canary(), "tag": canary(), "title": canary()}]},
        ],
    })
}

/// Number of canaries in the files of the installation; `None` where they are on another machine.
fn find(app: &App, scanner: &Scanner) -> Result<Option<usize>> {
    if app.db.engine() != Some(Engine::Sqlite) {
        return Ok(None);
    }
    let found = scanner.find_in_folder(&app.settings.server.data_dir);
    let found = found.map_err(|e| Error::Internal(format!("the data folder: {e}")))?;
    Ok(Some(found.len()))
}
