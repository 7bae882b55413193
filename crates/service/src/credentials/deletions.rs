//! Deletions by hand, as events of the audit chain.

use std::collections::BTreeMap;

use crate::app::App;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::audit::{self, NewEvent, Operation};

/// A deletion and who asks for it: a credential's id, or the name of a job.
#[derive(Clone, Debug)]
pub struct Deletion {
    pub org_id: OrgId,
    pub actor: String,
}

/// Writes a deletion into the audit, in the transaction that deletes.
pub async fn note_deletion(
    tx: &mut Tx,
    app: &App,
    deletion: &Deletion,
    user_id: Option<&UserId>,
    counts: BTreeMap<String, u64>,
) -> Result<()> {
    let Deletion { org_id, actor } = deletion;
    let keys = &app.subject_keys;
    let subject_ref = user_id.map(|user_id| keys.subject_ref(org_id, user_id));
    let event = NewEvent {
        org_id,
        operation: Operation::Delete,
        ok: true,
        actor_ref: &keys.actor_ref(org_id, actor),
        subject_ref: subject_ref.as_deref(),
        request_ref: None,
        counts,
        now: app.clock.now(),
    };
    audit::append(tx, keys, event).await.map(drop)
}
