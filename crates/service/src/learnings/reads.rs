//! Reading learnings back: the newest first.

use sqlx::types::Json;

use super::flags::{PlaybookFlag, text_flags};
use super::sql::{self, Filter};
use super::{Learnings, PlaybookStatus, Profile, SourceWindow};
use crate::app::App;
use crate::organization;
use base::owner::{OrgId, UserId};
use storage::error::Result;

pub use super::sql::profiles::{EveryonesFilter, StoredProfiles};

/// The newest profiles of a user.
pub async fn profiles(app: &App, filter: Filter, limit: i64) -> Result<Learnings> {
    let profiles = app
        .db
        .read("learnings.get_profiles", (filter, limit), |tx, (filter, limit)| {
            Box::pin(sql::profiles::list(tx, filter, *limit))
        })
        .await?;
    Ok(Learnings { profiles, ..Learnings::default() })
}

/// The newest profiles of everybody.
pub async fn everyones_profiles(
    app: &App,
    org_id: &OrgId,
    filter: EveryonesFilter,
    limit: i64,
) -> Result<Vec<Profile>> {
    let input = (org_id.to_owned(), filter);
    app.db
        .read_standby("learnings.get_all_profiles", input, move |tx, (org_id, filter)| {
            Box::pin(sql::profiles::list_everyones(tx, org_id, filter, limit))
        })
        .await
}

/// Number and age of a user's profiles, and number of their playbooks.
pub async fn counts_of_user(
    app: &App,
    org_id: &OrgId,
    user_id: UserId,
) -> Result<(StoredProfiles, i64)> {
    let input = (org_id.to_owned(), user_id, app.clock.now());
    app.db
        .read("learnings.counts_of_user", input, |tx, (org_id, user_id, now)| {
            Box::pin(async move {
                let profiles = sql::profiles::stored(tx, org_id, user_id, *now).await?;
                Ok((profiles, sql::user_playbooks::count(tx, org_id, user_id).await?))
            })
        })
        .await
}

/// The newest user playbooks: of one user, or of all.
pub async fn user_playbooks(app: &App, filter: Filter, limit: i64) -> Result<Learnings> {
    let user_playbooks = app
        .db
        .read("learnings.get_user_playbooks", (filter, limit), |tx, (filter, limit)| {
            Box::pin(sql::user_playbooks::list(tx, filter, *limit))
        })
        .await?;
    Ok(Learnings { user_playbooks, ..Learnings::default() })
}

/// The newest agent playbooks, with what they came from.
pub async fn agent_playbooks(app: &App, filter: Filter, limit: i64) -> Result<Learnings> {
    let agent_playbooks = app
        .db
        .read("learnings.get_agent_playbooks", (filter, limit), |tx, (filter, limit)| {
            Box::pin(async move {
                let mut playbooks = sql::agent_playbooks::list(tx, filter, *limit).await?;
                let ids: Vec<i64> = playbooks.iter().map(|p| p.agent_playbook_id).collect();
                let windows = sql::agent_playbooks::windows(tx, &filter.org_id, &ids).await?;
                let people = sql::agent_playbooks::source_users(tx, &filter.org_id, &ids).await?;
                let proposed = sql::agent_playbooks::aggregated(tx, &filter.org_id, &ids).await?;
                let least = organization::config_in(tx, &filter.org_id).await?.config.learning;
                for playbook in &mut playbooks {
                    let counted = people.iter().find(|(id, _)| *id == playbook.agent_playbook_id);
                    let count = counted.map_or(0, |(_, count)| *count);
                    playbook.source_user_count = Some(count);
                    playbook.below_min_users = Some(
                        playbook.playbook_status == PlaybookStatus::Pending
                            && proposed.contains(&playbook.agent_playbook_id)
                            && count < least.min_users,
                    );
                    let mut flags = text_flags(playbook);
                    if playbook.below_min_users == Some(true) {
                        flags.push(PlaybookFlag::FewPeople);
                    }
                    playbook.flags = Some(flags);
                    playbook.source_windows =
                        Some(windows_of(playbook.agent_playbook_id, &windows));
                }
                Ok(playbooks)
            })
        })
        .await?;
    Ok(Learnings { agent_playbooks, ..Learnings::default() })
}

fn windows_of(id: i64, windows: &[(i64, i64, Json<Vec<i64>>)]) -> Vec<SourceWindow> {
    windows
        .iter()
        .filter(|(agent_playbook_id, ..)| *agent_playbook_id == id)
        .map(|(_, user_playbook_id, Json(interactions))| SourceWindow {
            user_playbook_id: *user_playbook_id,
            source_interaction_ids: interactions.clone(),
        })
        .collect()
}
