//! Provenance of a learning: its turns, the windows they were read in, merges, replacements and people's
//! decisions.

use std::collections::BTreeSet;

use serde::Serialize;
use sqlx::types::Json;
use utoipa::ToSchema;

use super::extraction::ProposalOutcome;
use super::sql::{provenance as lineage, tuning};
use crate::app::App;
use crate::learnings::{LearningStatus, PlaybookDecision, rows};
use crate::sessions;
use base::owner::{OrgId, UserId};
use judge::LearningKind;
use storage::db::Tx;
use storage::error::{Error, Result};

/// Longest chain of replacements that is followed back.
const GENERATIONS: usize = 50;

/// Provenance of a learning.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Provenance {
    pub kind: LearningKind,
    pub learning_id: String,
    /// Owner; null for agent playbooks.
    pub user_id: Option<UserId>,
    /// Null when it is current.
    pub status: Option<LearningStatus>,
    /// The turns it stands on, of people who are still there.
    pub interactions: Vec<SourceTurn>,
    /// Cited turns that were deleted since.
    pub deleted_interaction_ids: Vec<i64>,
    /// Proposals, merges and replacements that led to it, oldest first. Empty for a learning added through
    /// the API.
    pub proposals: Vec<ProposalRecord>,
    /// Id of the learning that replaced it, if one did.
    pub superseded_by: Option<String>,
    /// Of agent playbooks: the user playbooks it came from, with their own way.
    pub sources: Vec<PlaybookSource>,
    /// Of agent playbooks: how many different people they are of.
    pub source_user_count: Option<i64>,
    /// Of agent playbooks: who proposed, approved, edited or rejected it, oldest first.
    pub decisions: Vec<PlaybookDecision>,
}

/// A turn that taught something.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SourceTurn {
    pub interaction_id: i64,
    pub user_id: UserId,
    pub session_id: String,
    pub request_id: String,
    pub created_at: i64,
    pub role: String,
}

/// A proposal and what became of it.
#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct ProposalRecord {
    pub user_id: UserId,
    /// The number of the window in its person's stream.
    pub window_no: i64,
    pub content: String,
    pub trigger: String,
    pub rationale: String,
    #[schema(value_type = Vec<i64>)]
    pub source_interaction_ids: Json<Vec<i64>>,
    pub outcome: ProposalOutcome,
    pub reason: String,
    /// The learning it became, or was merged into.
    pub learning_id: Option<String>,
    /// The learning whose place it took.
    pub replaced_id: Option<String>,
    /// `offline` (rules), or provider/model as reported.
    pub extractor: String,
    pub prompt_version: String,
    pub rubric_hash: String,
    pub created_at: i64,
}

/// A user playbook that an agent playbook came from.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PlaybookSource {
    pub user_playbook_id: i64,
    pub user_id: UserId,
    pub source_interaction_ids: Vec<i64>,
    pub proposals: Vec<ProposalRecord>,
}

pub async fn provenance(
    app: &App,
    org_id: &OrgId,
    kind: LearningKind,
    learning_id: String,
) -> Result<Provenance> {
    app.db
        .read("learnings.provenance", (org_id.to_owned(), learning_id), move |tx, (org_id, id)| {
            Box::pin(trace(tx, org_id, kind, id))
        })
        .await
}

async fn trace(tx: &mut Tx, org_id: &OrgId, kind: LearningKind, id: &str) -> Result<Provenance> {
    let key = (kind, id.to_owned());
    let present = tuning::present(tx, org_id, [&key]).await?.into_iter().next();
    let present = present.ok_or_else(|| Error::not_found("learning"))?;
    let mut found = Provenance {
        kind: present.kind,
        learning_id: present.learning_id,
        user_id: present.user_id,
        status: present.status.unless_current(),
        interactions: Vec::new(),
        deleted_interaction_ids: Vec::new(),
        proposals: Vec::new(),
        superseded_by: None,
        sources: Vec::new(),
        source_user_count: None,
        decisions: Vec::new(),
    };
    let mut cited: BTreeSet<(UserId, i64)> = BTreeSet::new();
    if let Some(user_id) = found.user_id.clone() {
        found.proposals = way_to(tx, org_id, kind, id).await?;
        found.superseded_by = lineage::successor(tx, org_id, kind, id).await?;
        let own = lineage::source_turns(tx, org_id, kind, id).await?;
        cited.extend(own.into_iter().map(|turn| (user_id.clone(), turn)));
        for proposal in &found.proposals {
            cited.extend(proposal.source_interaction_ids.iter().map(|t| (user_id.clone(), *t)));
        }
    } else {
        let number = id.parse().unwrap_or(0);
        for (user_playbook_id, user_id, Json(turns)) in lineage::sources(tx, org_id, number).await?
        {
            let id = user_playbook_id.to_string();
            let way = way_to(tx, org_id, LearningKind::UserPlaybook, &id).await?;
            cited.extend(turns.iter().map(|turn| (user_id.clone(), *turn)));
            found.sources.push(PlaybookSource {
                user_playbook_id,
                user_id,
                source_interaction_ids: turns,
                proposals: way,
            });
        }
        let people: BTreeSet<&str> = found.sources.iter().map(|s| s.user_id.as_str()).collect();
        found.source_user_count = i64::try_from(people.len()).ok();
        found.decisions = rows::decisions(tx, org_id, number).await?;
    }
    turns(tx, org_id, cited, &mut found).await?;
    Ok(found)
}

/// Every proposal on the way to a learning, through what it replaced, oldest first.
async fn way_to(
    tx: &mut Tx,
    org_id: &OrgId,
    kind: LearningKind,
    id: &str,
) -> Result<Vec<ProposalRecord>> {
    let (mut way, mut seen) = (Vec::new(), BTreeSet::new());
    let mut next = vec![id.to_owned()];
    for _ in 0..GENERATIONS {
        next.retain(|id| seen.insert(id.clone()));
        if next.is_empty() {
            break;
        }
        let found = lineage::proposals_of(tx, org_id, kind, &next).await?;
        next = found.iter().filter_map(|proposal| proposal.replaced_id.clone()).collect();
        way.extend(found);
    }
    way.sort_by_key(|proposal| (proposal.window_no, proposal.created_at));
    Ok(way)
}

/// Looks the cited turns up.
async fn turns(
    tx: &mut Tx,
    org_id: &OrgId,
    cited: BTreeSet<(UserId, i64)>,
    found: &mut Provenance,
) -> Result<()> {
    let users: BTreeSet<&UserId> = cited.iter().map(|(user_id, _)| user_id).collect();
    for user_id in users {
        let ids: Vec<i64> =
            cited.iter().filter(|(user, _)| user == user_id).map(|(_, id)| *id).collect();
        let there = sessions::interactions_by_ids(tx, org_id, user_id, &ids).await?;
        let known: BTreeSet<i64> = there.iter().map(|turn| turn.interaction_id).collect();
        found.deleted_interaction_ids.extend(ids.iter().filter(|id| !known.contains(id)));
        found.interactions.extend(there.into_iter().map(|turn| SourceTurn {
            interaction_id: turn.interaction_id,
            user_id: turn.user_id,
            session_id: turn.session_id,
            request_id: turn.request_id,
            created_at: turn.created_at,
            role: turn.role,
        }));
    }
    Ok(())
}
