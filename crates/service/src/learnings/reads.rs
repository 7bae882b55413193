//! Reading learnings back: the newest first.

use sqlx::types::Json;

use super::flags::{PlaybookFlag, text_flags};
use super::sql::{self, Filter};
use super::{Learnings, PlaybookStatus, SourceWindow};
use crate::app::App;
use crate::organization;
use storage::error::Result;

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
