//! The change log of profiles: what each window of a person's turns added, and what that replaced.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::sql::provenance as lineage;
use crate::app::App;
use crate::learnings::{Profile, rows};
use base::owner::{OrgId, UserId};
use storage::error::Result;

/// Changes that one window of a person's turns made to their profiles.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ProfileChanges {
    /// The number of the first profile it added.
    pub id: i64,
    pub user_id: UserId,
    /// The request of the last turn that its first profile came from.
    pub request_id: String,
    pub created_at: i64,
    pub added_profiles: Vec<Profile>,
    /// Those they took the place of, as far as they are still stored.
    pub removed_profiles: Vec<Profile>,
}

/// The newest changes first: those behind up to `limit` profiles that are still stored.
pub async fn newest(app: &App, org_id: &OrgId, limit: i64) -> Result<Vec<ProfileChanges>> {
    app.db
        .read_standby("learnings.profile_changes", org_id.to_owned(), move |tx, org_id| {
            Box::pin(async move {
                let changes = lineage::profile_changes(tx, org_id, limit).await?;
                let ids = changes.iter().flat_map(|c| [&c.learning_id, &c.replaced_id]);
                let ids: Vec<String> = ids.flatten().cloned().collect();
                let found = rows::profiles::by_ids(tx, org_id, &ids).await?;
                let stored: HashMap<String, Profile> =
                    found.into_iter().map(|p| (p.profile_id.clone(), p)).collect();
                Ok(by_window(&changes, &stored))
            })
        })
        .await
}

/// Puts the changes of one window together; one of which no profile is left is not there.
fn by_window(
    changes: &[lineage::ProfileChange],
    stored: &HashMap<String, Profile>,
) -> Vec<ProfileChanges> {
    let profile = |id: &Option<String>| id.as_ref().and_then(|id| stored.get(id)).cloned();
    let mut windows = Vec::new();
    for window in changes.chunk_by(|a, b| a.user_id == b.user_id && a.window_no == b.window_no) {
        let added: Vec<Profile> = window.iter().filter_map(|c| profile(&c.learning_id)).collect();
        let Some(first) = added.first() else { continue };
        windows.push(ProfileChanges {
            id: first.profile_no,
            user_id: first.user_id.clone(),
            request_id: first.generated_from_request_id.clone(),
            created_at: window[0].created_at,
            removed_profiles: window.iter().filter_map(|c| profile(&c.replaced_id)).collect(),
            added_profiles: added,
        });
    }
    windows
}
