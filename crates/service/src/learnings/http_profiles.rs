//! Endpoints that read profiles for people who look after them: of everybody, and how many somebody has.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Profile;
use super::reads::{self, EveryonesFilter, StoredProfiles};
use crate::app::App;
use crate::credentials::Inspector;
use crate::http::fields::{Fields, Read};
use crate::http::{QueryInput, Result};
use base::owner::UserId;
use storage::db::like_pattern;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(get_all_profiles)).routes(routes!(storage_stats))
}

struct GetAllProfiles {
    filter: EveryonesFilter,
    limit: i64,
}

crate::request_query!(GetAllProfiles);

impl Read for GetAllProfiles {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        GetAllProfiles {
            filter: EveryonesFilter {
                status: f.about("Any when absent.").word("status_filter"),
                user_id: f.optional_id("user_id"),
                profile_id: f.optional_id("profile_id"),
                text: f
                    .about("Their content has this text, in upper or lower case.")
                    .optional_text("query", 1000)
                    .filter(|text| !text.trim().is_empty())
                    .map(|text| like_pattern(&text)),
                source: f.optional_text("source", 128),
                time_to_live: f.word("profile_time_to_live"),
                from,
                to,
                now: 0,
            },
            limit: f.integer_or("limit", 1..=1000, 100),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct GetAllProfilesResponse {
    success: bool,
    user_profiles: Vec<Profile>,
    msg: Option<String>,
}

/// Profiles of everybody, the newest first. What has expired is not there.
#[utoipa::path(get, path = "/api/get_all_profiles", tag = "learnings", params(GetAllProfiles),
    responses((status = 200, body = GetAllProfilesResponse)))]
async fn get_all_profiles(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    QueryInput(query): QueryInput<GetAllProfiles>,
) -> Result<Json<GetAllProfilesResponse>> {
    let filter = EveryonesFilter { now: app.clock.now(), ..query.filter };
    let user_profiles =
        reads::everyones_profiles(&app, &caller.org_id, filter, query.limit).await?;
    Ok(Json(GetAllProfilesResponse { success: true, user_profiles, msg: None }))
}

struct UserQuery {
    user_id: UserId,
}

crate::request_query!(UserQuery);

impl Read for UserQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        UserQuery { user_id: f.id("user_id") }
    }
}

#[derive(Serialize, ToSchema)]
struct StorageStats {
    success: bool,
    /// Profiles of any status that have not expired.
    profile_count: i64,
    /// User playbooks of any status.
    playbook_count: i64,
    oldest_profile_modified: Option<i64>,
    newest_profile_modified: Option<i64>,
    msg: Option<String>,
}

/// Number and age of a user's learnings.
#[utoipa::path(get, path = "/api/storage_stats", tag = "learnings", params(UserQuery),
    responses((status = 200, body = StorageStats)))]
async fn storage_stats(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    QueryInput(query): QueryInput<UserQuery>,
) -> Result<Json<StorageStats>> {
    let (profiles, playbook_count) =
        reads::counts_of_user(&app, &caller.org_id, query.user_id).await?;
    let StoredProfiles { count, oldest, newest } = profiles;
    Ok(Json(StorageStats {
        success: true,
        profile_count: count,
        playbook_count,
        oldest_profile_modified: oldest,
        newest_profile_modified: newest,
        msg: None,
    }))
}
