//! `/api/keys`: the organization's credentials, made and ended by an operator.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Credential, Grant, Inspector, NewCredential, Operator, Role, rules};
use crate::app::App;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, PathId, Result};
use storage::error::{Code, Error};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list_keys, create_key)).routes(routes!(revoke_key))
}

/// A credential, without its token.
#[derive(Serialize, ToSchema)]
struct Key {
    credential_id: String,
    name: String,
    role: Role,
    grants: Vec<Grant>,
    /// False for an agent key that publishes and searches only.
    reads: bool,
    created_at: i64,
    /// From then on it is refused.
    expires_at: Option<i64>,
    /// When it was last used, to the hour.
    last_used_at: Option<i64>,
    revoked_at: Option<i64>,
}

impl From<Credential> for Key {
    fn from(credential: Credential) -> Self {
        Key {
            credential_id: credential.credential_id,
            name: credential.name,
            role: credential.role,
            grants: Grant::listed_for(credential.governance),
            reads: credential.reads,
            created_at: credential.created_at,
            expires_at: credential.expires_at,
            last_used_at: credential.last_used_at,
            revoked_at: credential.revoked_at,
        }
    }
}

#[derive(Serialize, ToSchema)]
struct KeysResponse {
    /// Newest first, revoked ones included.
    keys: Vec<Key>,
}

/// A credential to be made.
struct NewKey(NewCredential);

crate::request_body!(NewKey, "CreateKeyRequest");

impl Read for NewKey {
    fn read(f: &mut Fields<'_>) -> Self {
        let key = NewCredential {
            role: f.required_word("role"),
            name: f.text("name", 255),
            governance_grant: f
                .about("Let a dashboard key export and erase people.")
                .flag("governance_grant"),
            reads: !f.about("An agent key that publishes and searches only.").flag("no_reads"),
            lasts: f
                .about("Days after which it is refused; without it, it does not end.")
                .integer("expires_in_days", 1..=3650)
                .map(|days| days * 86_400),
        };
        if let Some((field, problem)) = key.contradiction().filter(|_| !f.is_refused("role")) {
            let field = if field == "reads" { "no_reads" } else { field };
            f.problem(field, "contradiction", problem);
        }
        NewKey(key)
    }
}

#[derive(Serialize, ToSchema)]
struct CreatedKey {
    key: Key,
    /// Shown this once; only its digest is kept.
    token: String,
}

#[derive(Serialize, ToSchema)]
struct RevokedKey {
    success: bool,
    message: String,
}

/// The organization's credentials.
#[utoipa::path(get, path = "/api/keys", tag = "operations", responses((status = 200, body = KeysResponse)))]
async fn list_keys(State(app): State<Arc<App>>, operator: Inspector) -> Result<Json<KeysResponse>> {
    let found = rules::list(&app, Some(&operator.0.org_id)).await?;
    Ok(Json(KeysResponse { keys: found.into_iter().map(Key::from).collect() }))
}

/// Make a credential. The first one ends local mode. Governance is handed on only by those who have it.
#[utoipa::path(post, path = "/api/keys", tag = "operations", request_body = NewKey,
    responses((status = 200, body = CreatedKey)))]
async fn create_key(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value: NewKey(new), .. }: Input<NewKey>,
) -> Result<Json<CreatedKey>> {
    let governs = new.governance_grant || new.role == Role::Governance;
    if governs && !caller.governance {
        return Err(Error::refused(
            Code::Forbidden,
            "Only a credential with the governance grant can give it to another; the first one comes from the \
             command line: `evenhand keys create --role governance`.",
        )
        .into());
    }
    let (by, org_id) = (&caller.credential_id, &caller.org_id);
    let (key, token) = rules::create_by(&app, by, org_id, new).await?;
    Ok(Json(CreatedKey { key: key.into(), token }))
}

/// End a credential: it is refused from the next request on. One that governs is ended only by those who do.
#[utoipa::path(delete, path = "/api/keys/{credential_id}", tag = "operations",
    params(("credential_id" = String, Path)), responses((status = 200, body = RevokedKey)))]
async fn revoke_key(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(id): PathId,
) -> Result<Json<RevokedKey>> {
    rules::revoke_by(&app, &caller.credential_id, caller.governance, &caller.org_id, &id).await?;
    Ok(Json(RevokedKey { success: true, message: format!("revoked {id}") }))
}
