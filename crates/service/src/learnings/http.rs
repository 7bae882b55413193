//! The endpoints that add, change and delete learnings; those that read and search are in `http_reads.rs`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::decisions::Decider;
use super::requests::{
    BATCH, NewAgentPlaybook, NewProfile, NewUserPlaybook, PlaybookChange, ProfileChange, confirmed,
};
use super::{
    PlaybookStatus, agent_playbooks, deletes, http_profiles, http_reads, http_whole, profiles,
    user_playbooks,
};
use crate::app::App;
use crate::credentials::{Caller, Contributor, Operator, Role};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, Result};
use base::owner::UserId;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(add_user_profile))
        .routes(routes!(add_user_playbook))
        .routes(routes!(add_agent_playbook))
        .routes(routes!(update_user_profile))
        .routes(routes!(update_user_playbook))
        .routes(routes!(update_agent_playbook))
        .routes(routes!(update_agent_playbook_status))
        .routes(routes!(delete_profile))
        .routes(routes!(delete_user_playbook))
        .routes(routes!(delete_agent_playbook))
        .routes(routes!(delete_profiles_by_ids))
        .routes(routes!(delete_user_playbooks_by_ids))
        .routes(routes!(delete_agent_playbooks_by_ids))
        .merge(http_reads::routes())
        .merge(http_profiles::routes())
        .merge(http_whole::routes())
}

// ── adding ──────────────────────────────────────────────────────────────────────────────────────────

struct AddUserProfileRequest {
    user_profiles: Vec<NewProfile>,
}

crate::request_body!(AddUserProfileRequest, "AddUserProfileRequest");

impl Read for AddUserProfileRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        AddUserProfileRequest { user_profiles: f.required_list("user_profiles", BATCH) }
    }
}

struct AddUserPlaybookRequest {
    user_playbooks: Vec<NewUserPlaybook>,
}

crate::request_body!(AddUserPlaybookRequest, "AddUserPlaybookRequest");

impl Read for AddUserPlaybookRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        AddUserPlaybookRequest { user_playbooks: f.required_list("user_playbooks", BATCH) }
    }
}

struct AddAgentPlaybookRequest {
    agent_playbooks: Vec<NewAgentPlaybook>,
}

crate::request_body!(AddAgentPlaybookRequest, "AddAgentPlaybookRequest");

impl Read for AddAgentPlaybookRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        AddAgentPlaybookRequest { agent_playbooks: f.required_list("agent_playbooks", BATCH) }
    }
}

#[derive(Serialize, ToSchema)]
struct AddedProfiles {
    success: bool,
    message: String,
    added_count: usize,
    /// In the order in which they were sent.
    ids: Vec<String>,
}

#[derive(Serialize, ToSchema)]
struct AddedPlaybooks {
    success: bool,
    message: String,
    added_count: usize,
    /// In the order in which they were sent.
    ids: Vec<i64>,
}

impl AddedPlaybooks {
    fn of(ids: Vec<i64>, what: &str) -> Json<Self> {
        Json(AddedPlaybooks {
            success: true,
            message: format!("{} {what} added", ids.len()),
            added_count: ids.len(),
            ids,
        })
    }
}

/// Add profiles, all or none. The next search finds them.
#[utoipa::path(post, path = "/api/add_user_profile", tag = "learnings",
    request_body = AddUserProfileRequest, responses((status = 200, body = AddedProfiles)))]
async fn add_user_profile(
    State(app): State<Arc<App>>,
    Contributor(caller): Contributor,
    Input { value, .. }: Input<AddUserProfileRequest>,
) -> Result<Json<AddedProfiles>> {
    let ids = profiles::add(&app, &caller.org_id, value.user_profiles).await?;
    Ok(Json(AddedProfiles {
        success: true,
        message: format!("{} profiles added", ids.len()),
        added_count: ids.len(),
        ids,
    }))
}

/// Add user playbooks, all or none. The next search finds them.
#[utoipa::path(post, path = "/api/add_user_playbook", tag = "learnings",
    request_body = AddUserPlaybookRequest, responses((status = 200, body = AddedPlaybooks)))]
async fn add_user_playbook(
    State(app): State<Arc<App>>,
    Contributor(caller): Contributor,
    Input { value, .. }: Input<AddUserPlaybookRequest>,
) -> Result<Json<AddedPlaybooks>> {
    let ids = user_playbooks::add(&app, &caller.org_id, value.user_playbooks).await?;
    Ok(AddedPlaybooks::of(ids, "user playbooks"))
}

/// Add agent playbooks, all or none, with the user playbooks they came from. An agent key adds pending ones; an approved
/// one is refused (403 `approval_needs_a_person`).
#[utoipa::path(post, path = "/api/add_agent_playbook", tag = "learnings",
    request_body = AddAgentPlaybookRequest, responses((status = 200, body = AddedPlaybooks)))]
async fn add_agent_playbook(
    State(app): State<Arc<App>>,
    Contributor(caller): Contributor,
    Input { value, .. }: Input<AddAgentPlaybookRequest>,
) -> Result<Json<AddedPlaybooks>> {
    let decider = match caller.role {
        Role::Dashboard => person(&caller),
        _ => Decider::Agent { credential_id: caller.credential_id.clone() },
    };
    let ids = agent_playbooks::add(&app, &caller.org_id, value.agent_playbooks, decider).await?;
    Ok(AddedPlaybooks::of(ids, "agent playbooks"))
}

// ── changing ────────────────────────────────────────────────────────────────────────────────────────

struct UserPlaybookChange(PlaybookChange);

crate::request_body!(UserPlaybookChange, "UpdateUserPlaybookRequest");

impl Read for UserPlaybookChange {
    fn read(f: &mut Fields<'_>) -> Self {
        UserPlaybookChange(PlaybookChange::read(f, "user_playbook_id"))
    }
}

struct AgentPlaybookChange(PlaybookChange);

crate::request_body!(AgentPlaybookChange, "UpdateAgentPlaybookRequest");

impl Read for AgentPlaybookChange {
    fn read(f: &mut Fields<'_>) -> Self {
        AgentPlaybookChange(PlaybookChange::read_of_agent(f))
    }
}

struct UpdateAgentPlaybookStatusRequest {
    agent_playbook_id: i64,
    playbook_status: PlaybookStatus,
    confirmed: bool,
}

crate::request_body!(UpdateAgentPlaybookStatusRequest, "UpdateAgentPlaybookStatusRequest");

impl Read for UpdateAgentPlaybookStatusRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        UpdateAgentPlaybookStatusRequest {
            agent_playbook_id: f.required_integer("agent_playbook_id", 1..=i64::MAX),
            playbook_status: f.required_word("playbook_status"),
            confirmed: confirmed(f),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct Changed {
    success: bool,
    msg: Option<String>,
}

impl Changed {
    fn one(what: &str) -> Json<Self> {
        Json(Changed { success: true, msg: Some(format!("{what} changed")) })
    }
}

/// Change a profile; what is absent stays.
#[utoipa::path(put, path = "/api/update_user_profile", tag = "learnings",
    request_body = ProfileChange, responses((status = 200, body = Changed)))]
async fn update_user_profile(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<ProfileChange>,
) -> Result<Json<Changed>> {
    profiles::change(&app, &caller.org_id, value).await?;
    Ok(Changed::one("profile"))
}

/// Change a user playbook; what is absent stays.
#[utoipa::path(put, path = "/api/update_user_playbook", tag = "learnings",
    request_body = UserPlaybookChange, responses((status = 200, body = Changed)))]
async fn update_user_playbook(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<UserPlaybookChange>,
) -> Result<Json<Changed>> {
    user_playbooks::change(&app, &caller.org_id, value.0).await?;
    Ok(Changed::one("user playbook"))
}

/// Change an agent playbook; what is absent stays.
#[utoipa::path(put, path = "/api/update_agent_playbook", tag = "learnings",
    request_body = AgentPlaybookChange, responses((status = 200, body = Changed)))]
async fn update_agent_playbook(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<AgentPlaybookChange>,
) -> Result<Json<Changed>> {
    agent_playbooks::change(&app, &caller.org_id, value.0, person(&caller)).await?;
    Ok(Changed::one("agent playbook"))
}

/// Approve an agent playbook, reject it, or put it back to pending.
#[utoipa::path(put, path = "/api/update_agent_playbook_status", tag = "learnings",
    request_body = UpdateAgentPlaybookStatusRequest, responses((status = 200, body = Changed)))]
async fn update_agent_playbook_status(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<UpdateAgentPlaybookStatusRequest>,
) -> Result<Json<Changed>> {
    let change = PlaybookChange {
        id: value.agent_playbook_id,
        playbook_status: Some(value.playbook_status),
        confirmed: value.confirmed,
        ..PlaybookChange::default()
    };
    agent_playbooks::change(&app, &caller.org_id, change, person(&caller)).await?;
    Ok(Changed::one("agent playbook"))
}

fn person(caller: &Caller) -> Decider {
    Decider::Person { credential_id: caller.credential_id.clone() }
}

// ── deleting ────────────────────────────────────────────────────────────────────────────────────────

struct DeleteProfileRequest {
    user_id: UserId,
    profile_id: String,
}

crate::request_body!(DeleteProfileRequest, "DeleteProfileRequest");

impl Read for DeleteProfileRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        DeleteProfileRequest { user_id: f.id("user_id"), profile_id: f.id("profile_id") }
    }
}

struct DeleteProfilesByIdsRequest {
    profile_ids: Vec<String>,
}

crate::request_body!(DeleteProfilesByIdsRequest, "DeleteProfilesByIdsRequest");

impl Read for DeleteProfilesByIdsRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        DeleteProfilesByIdsRequest { profile_ids: f.required_ids("profile_ids", BATCH) }
    }
}

/// A request that names one playbook, or several, under the name of its kind.
macro_rules! playbook_deletes {
    ($one:ident ($one_name:literal), $many:ident ($many_name:literal), $id:ident, $ids:ident) => {
        struct $one {
            $id: i64,
        }

        $crate::request_body!($one, $one_name);

        impl Read for $one {
            fn read(f: &mut Fields<'_>) -> Self {
                $one { $id: f.required_integer(stringify!($id), 1..=i64::MAX) }
            }
        }

        struct $many {
            $ids: Vec<i64>,
        }

        $crate::request_body!($many, $many_name);

        impl Read for $many {
            fn read(f: &mut Fields<'_>) -> Self {
                $many { $ids: f.required_numbers(stringify!($ids), BATCH) }
            }
        }
    };
}

playbook_deletes!(
    DeleteUserPlaybookRequest("DeleteUserPlaybookRequest"),
    DeleteUserPlaybooksByIdsRequest("DeleteUserPlaybooksByIdsRequest"),
    user_playbook_id,
    user_playbook_ids
);
playbook_deletes!(
    DeleteAgentPlaybookRequest("DeleteAgentPlaybookRequest"),
    DeleteAgentPlaybooksByIdsRequest("DeleteAgentPlaybooksByIdsRequest"),
    agent_playbook_id,
    agent_playbook_ids
);

#[derive(Serialize, ToSchema)]
struct DeletedLearning {
    success: bool,
    message: String,
}

impl DeletedLearning {
    fn one(what: &str) -> Json<Self> {
        Json(DeletedLearning { success: true, message: format!("{what} deleted") })
    }
}

#[derive(Serialize, ToSchema)]
pub(super) struct DeletedLearnings {
    success: bool,
    deleted_count: u64,
    message: String,
}

impl DeletedLearnings {
    pub(super) fn of(deleted_count: u64, what: &str) -> Json<Self> {
        Json(DeletedLearnings {
            success: true,
            deleted_count,
            message: format!("{deleted_count} {what} deleted"),
        })
    }
}

/// Delete a profile.
#[utoipa::path(delete, path = "/api/delete_profile", tag = "learnings",
    request_body = DeleteProfileRequest, responses((status = 200, body = DeletedLearning)))]
async fn delete_profile(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<DeleteProfileRequest>,
) -> Result<Json<DeletedLearning>> {
    deletes::profile(&app, caller.deletion(), value.user_id, value.profile_id).await?;
    Ok(DeletedLearning::one("profile"))
}

/// Delete a user playbook with its source windows; agent playbooks made from it stay.
#[utoipa::path(delete, path = "/api/delete_user_playbook", tag = "learnings",
    request_body = DeleteUserPlaybookRequest, responses((status = 200, body = DeletedLearning)))]
async fn delete_user_playbook(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<DeleteUserPlaybookRequest>,
) -> Result<Json<DeletedLearning>> {
    deletes::user_playbooks(&app, caller.deletion(), vec![value.user_playbook_id]).await?;
    Ok(DeletedLearning::one("user playbook"))
}

/// Delete an agent playbook; the user playbooks it came from stay.
#[utoipa::path(delete, path = "/api/delete_agent_playbook", tag = "learnings",
    request_body = DeleteAgentPlaybookRequest, responses((status = 200, body = DeletedLearning)))]
async fn delete_agent_playbook(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<DeleteAgentPlaybookRequest>,
) -> Result<Json<DeletedLearning>> {
    deletes::agent_playbooks(&app, caller.deletion(), vec![value.agent_playbook_id]).await?;
    Ok(DeletedLearning::one("agent playbook"))
}

/// Delete several profiles; ids that do not exist are passed over.
#[utoipa::path(delete, path = "/api/delete_profiles_by_ids", tag = "learnings",
    request_body = DeleteProfilesByIdsRequest, responses((status = 200, body = DeletedLearnings)))]
async fn delete_profiles_by_ids(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<DeleteProfilesByIdsRequest>,
) -> Result<Json<DeletedLearnings>> {
    let deleted = deletes::profiles(&app, caller.deletion(), value.profile_ids).await?;
    Ok(DeletedLearnings::of(deleted, "profiles"))
}

/// Delete several user playbooks; ids that do not exist are passed over.
#[utoipa::path(delete, path = "/api/delete_user_playbooks_by_ids", tag = "learnings",
    request_body = DeleteUserPlaybooksByIdsRequest, responses((status = 200, body = DeletedLearnings)))]
async fn delete_user_playbooks_by_ids(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<DeleteUserPlaybooksByIdsRequest>,
) -> Result<Json<DeletedLearnings>> {
    let deleted = deletes::user_playbooks(&app, caller.deletion(), value.user_playbook_ids).await?;
    Ok(DeletedLearnings::of(deleted, "user playbooks"))
}

/// Delete several agent playbooks; ids that do not exist are passed over.
#[utoipa::path(delete, path = "/api/delete_agent_playbooks_by_ids", tag = "learnings",
    request_body = DeleteAgentPlaybooksByIdsRequest, responses((status = 200, body = DeletedLearnings)))]
async fn delete_agent_playbooks_by_ids(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<DeleteAgentPlaybooksByIdsRequest>,
) -> Result<Json<DeletedLearnings>> {
    let deleted =
        deletes::agent_playbooks(&app, caller.deletion(), value.agent_playbook_ids).await?;
    Ok(DeletedLearnings::of(deleted, "agent playbooks"))
}
