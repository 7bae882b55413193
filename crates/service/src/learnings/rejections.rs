//! Ideas that people rejected. Kept as the words of the impersonal playbook they rejected, so that nothing of anybody is
//! in them and the idea is known again whoever has it.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::AgentPlaybook;
use super::likeness::{Likeness, dice};
use super::sql::rejections as sql;
use crate::app::App;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;

/// From this share of common words on, an idea came back unchanged.
const UNCHANGED: f64 = 0.8;

/// The words of an idea.
fn words(trigger: &str, content: &str) -> BTreeSet<String> {
    Likeness::of(&format!("{trigger} {content}")).terms().clone()
}

/// Remembers that a playbook's idea was rejected, with the rejection.
pub async fn remember_rejection(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    playbook: &AgentPlaybook,
) -> Result<()> {
    let words = words(&playbook.trigger, &playbook.content);
    let joined = words.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    let fingerprint = hex::encode(Sha256::digest(joined.as_bytes()));
    sql::put_rejected(tx, org_id, playbook, &fingerprint, &words, app.clock.now()).await
}

/// The idea is open again.
pub async fn forget_rejection(tx: &mut Tx, org_id: &OrgId, playbook: &AgentPlaybook) -> Result<()> {
    sql::delete_rejected(tx, org_id, playbook.agent_playbook_id).await
}

/// True if much the same idea was rejected before.
pub fn is_rejected(rejected: &[BTreeSet<String>], trigger: &str, content: &str) -> bool {
    let words = words(trigger, content);
    rejected.iter().any(|other| dice(&words, other) >= UNCHANGED)
}

/// The words of ideas that were rejected for this agent version.
pub async fn rejected(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_version: &str,
) -> Result<Vec<BTreeSet<String>>> {
    sql::rejected(tx, org_id, agent_version).await
}
