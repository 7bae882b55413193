//! Selection of the learnings of a session that are judged: the references its turns carry that lead to a
//! learning the user may see.

use std::collections::{BTreeMap, BTreeSet};

use crate::learnings::{self, Resolved};
use crate::sessions::Interaction;
use base::owner::{OrgId, UserId};
use judge::LearningKind;
use storage::db::Tx;
use storage::error::Result;

/// References of one session that are judged; more are left out.
const MOST: usize = 1000;

/// A learning at the turn it was retrieved for.
#[derive(Clone, Debug, PartialEq)]
pub struct RetrievedAt {
    pub interaction_id: i64,
    pub interaction_created_at: i64,
    pub learning: Resolved,
}

/// The candidates of a session, in the order of its turns; each learning once per turn.
pub async fn find(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    turns: &[Interaction],
    now: i64,
) -> Result<Vec<RetrievedAt>> {
    let references: BTreeSet<(LearningKind, &str)> = turns
        .iter()
        .flat_map(|turn| turn.retrieved_learnings.iter())
        .map(|reference| (reference.kind, reference.learning_id.as_str()))
        .collect();
    if references.is_empty() {
        return Ok(Vec::new());
    }
    let known: BTreeMap<(LearningKind, String), Resolved> =
        learnings::resolve(tx, org_id, user_id, &references, now)
            .await?
            .into_iter()
            .map(|learning| ((learning.kind, learning.learning_id.clone()), learning))
            .collect();
    let mut candidates = Vec::new();
    let mut seen = BTreeSet::new();
    for turn in turns {
        for reference in turn.retrieved_learnings.iter() {
            let key = (reference.kind, reference.learning_id.clone());
            let Some(learning) = known.get(&key) else { continue };
            if seen.insert((turn.interaction_id, key)) && candidates.len() < MOST {
                candidates.push(RetrievedAt {
                    interaction_id: turn.interaction_id,
                    interaction_created_at: turn.created_at,
                    learning: learning.clone(),
                });
            }
        }
    }
    Ok(candidates)
}
