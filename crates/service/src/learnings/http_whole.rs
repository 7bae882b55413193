//! Endpoints over all learnings of a kind: upgrading them, deleting them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::deletes::{self, Whole};
use super::http::DeletedLearnings;
use super::upgrade::{self, Personal, Selection};
use crate::app::App;
use crate::credentials::Operator;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, Result};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(upgrade_all_profiles))
        .routes(routes!(upgrade_all_user_playbooks))
        .routes(routes!(delete_all_profiles))
        .routes(routes!(delete_all_user_playbooks))
        .routes(routes!(delete_all_agent_playbooks))
        .routes(routes!(delete_all_playbooks))
}

struct UpgradeProfiles(Selection);

crate::request_body!(UpgradeProfiles, "UpgradeProfilesRequest");

impl Read for UpgradeProfiles {
    fn read(f: &mut Fields<'_>) -> Self {
        UpgradeProfiles(Selection {
            user_id: f.about("Everybody when absent.").optional_id("user_id"),
            only_affected: f
                .about("Leaves people without pending profiles as they are.")
                .flag_or("only_affected_users", true),
            archive_current: true,
            ..Selection::default()
        })
    }
}

struct UpgradeUserPlaybooks(Selection);

crate::request_body!(UpgradeUserPlaybooks, "UpgradeUserPlaybooksRequest");

impl Read for UpgradeUserPlaybooks {
    fn read(f: &mut Fields<'_>) -> Self {
        UpgradeUserPlaybooks(Selection {
            agent_version: f.about("All when absent.").blank_or_id("agent_version"),
            playbook_name: f.about("All when absent.").blank_or_id("playbook_name"),
            only_affected: true,
            archive_current: f
                .about("False: pending ones join the current ones, and nothing is archived or deleted.")
                .flag_or("archive_current", true),
            ..Selection::default()
        })
    }
}

#[derive(Serialize, ToSchema)]
struct UpgradedProfiles {
    success: bool,
    profiles_archived: u64,
    profiles_promoted: u64,
    profiles_deleted: u64,
    message: String,
}

#[derive(Serialize, ToSchema)]
struct UpgradedUserPlaybooks {
    success: bool,
    user_playbooks_archived: u64,
    user_playbooks_promoted: u64,
    user_playbooks_deleted: u64,
    message: String,
}

/// Make people's pending profiles current. Those that were current are archived, those that were archived before are
/// deleted.
#[utoipa::path(post, path = "/api/upgrade_all_profiles", tag = "learnings",
    request_body = UpgradeProfiles, responses((status = 200, body = UpgradedProfiles)))]
async fn upgrade_all_profiles(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<UpgradeProfiles>,
) -> Result<Json<UpgradedProfiles>> {
    let done = upgrade::upgrade(&app, caller.deletion(), Personal::Profiles, value.0).await?;
    Ok(Json(UpgradedProfiles {
        success: true,
        profiles_archived: done.archived,
        profiles_promoted: done.promoted,
        profiles_deleted: done.deleted,
        message: format!("{} profiles are current now", done.promoted),
    }))
}

/// Make people's pending playbooks current, of those who have any. Their current ones are archived, those that were
/// archived before are deleted.
#[utoipa::path(post, path = "/api/upgrade_all_user_playbooks", tag = "learnings",
    request_body = UpgradeUserPlaybooks, responses((status = 200, body = UpgradedUserPlaybooks)))]
async fn upgrade_all_user_playbooks(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<UpgradeUserPlaybooks>,
) -> Result<Json<UpgradedUserPlaybooks>> {
    let done = upgrade::upgrade(&app, caller.deletion(), Personal::UserPlaybooks, value.0).await?;
    Ok(Json(UpgradedUserPlaybooks {
        success: true,
        user_playbooks_archived: done.archived,
        user_playbooks_promoted: done.promoted,
        user_playbooks_deleted: done.deleted,
        message: format!("{} user playbooks are current now", done.promoted),
    }))
}

/// Delete all profiles of the organization.
#[utoipa::path(delete, path = "/api/delete_all_profiles", tag = "learnings",
    responses((status = 200, body = DeletedLearnings)))]
async fn delete_all_profiles(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
) -> Result<Json<DeletedLearnings>> {
    let deleted = deletes::all(&app, caller.deletion(), Whole::Profiles).await?;
    Ok(DeletedLearnings::of(deleted, "profiles"))
}

/// Delete all user playbooks of the organization; agent playbooks made from them stay.
#[utoipa::path(delete, path = "/api/delete_all_user_playbooks", tag = "learnings",
    responses((status = 200, body = DeletedLearnings)))]
async fn delete_all_user_playbooks(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
) -> Result<Json<DeletedLearnings>> {
    let deleted = deletes::all(&app, caller.deletion(), Whole::UserPlaybooks).await?;
    Ok(DeletedLearnings::of(deleted, "user playbooks"))
}

/// Delete all agent playbooks of the organization; the user playbooks they came from stay.
#[utoipa::path(delete, path = "/api/delete_all_agent_playbooks", tag = "learnings",
    responses((status = 200, body = DeletedLearnings)))]
async fn delete_all_agent_playbooks(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
) -> Result<Json<DeletedLearnings>> {
    let deleted = deletes::all(&app, caller.deletion(), Whole::AgentPlaybooks).await?;
    Ok(DeletedLearnings::of(deleted, "agent playbooks"))
}

/// Delete all playbooks of the organization: people's and its own.
#[utoipa::path(delete, path = "/api/delete_all_playbooks", tag = "learnings",
    responses((status = 200, body = DeletedLearnings)))]
async fn delete_all_playbooks(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
) -> Result<Json<DeletedLearnings>> {
    let mut deleted = deletes::all(&app, caller.deletion(), Whole::UserPlaybooks).await?;
    deleted += deletes::all(&app, caller.deletion(), Whole::AgentPlaybooks).await?;
    Ok(DeletedLearnings::of(deleted, "playbooks"))
}
