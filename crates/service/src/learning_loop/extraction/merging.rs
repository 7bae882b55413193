//! Placement of a proposal: beside the known learnings, into one of them, or in its place.
//!
//! Decided outside of any transaction and checked again when it is saved. A suspect proposal never takes the place of
//! anything.

use std::collections::HashMap;
use std::sync::Arc;

use super::suspicion::Examined;
use super::window::Window;
use crate::app::App;
use crate::learnings::LearningStatus;
use crate::learnings::likeness::{Likeness, Relation};
use crate::learnings::rows::{self, Filter};
use crate::learnings::vectors::Compact;
use judge::LearningKind;
use storage::error::Result;
use storage::jobs::Claim;

/// Learnings of one kind that a proposal is compared with, the newest.
const COMPARED: i64 = 500;

/// A proposal and where it goes.
#[derive(Clone, Debug)]
pub struct Placed {
    pub examined: Examined,
    pub placement: Placement,
    /// Agent version and request of the last turn it cites.
    pub agent_version: String,
    pub request_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    Refuse(&'static str),
    Add,
    /// Says the same: its turns are added to the other's.
    Merge(Target),
    /// Says something newer about the same.
    Supersede(Target),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A stored learning, if it still has this text.
    Stored { id: String, content: String },
    /// An earlier proposal of the same window, by its place.
    Earlier(usize),
}

/// Something a proposal can be compared with.
struct KnownLearning {
    kind: LearningKind,
    agent_version: String,
    likeness: Likeness,
    target: Target,
}

pub async fn place(
    app: &Arc<App>,
    job: &Claim,
    window: &Window,
    proposals: Vec<Examined>,
) -> Result<Vec<Placed>> {
    if proposals.is_empty() {
        return Ok(Vec::new());
    }
    let mut known = known(app, job).await?;
    let vectors = vectors(app, &proposals).await;
    let mut placed = Vec::with_capacity(proposals.len());
    for ((place, examined), vector) in proposals.into_iter().enumerate().zip(vectors) {
        let cited = examined.proposal.evidence.last().and_then(|id| window.arrival(*id));
        let (agent_version, request_id) = cited.map_or_else(Default::default, |arrival| {
            (arrival.agent_version.clone(), arrival.interaction.request_id.clone())
        });
        let proposal = &examined.proposal;
        let likeness =
            Likeness::of(&text(&proposal.trigger, &proposal.content)).with_vector(vector);
        let placement = match examined.refused {
            Some(why) => Placement::Refuse(why),
            None => nearest(&known, proposal.kind, &agent_version, &likeness, examined.is_suspect),
        };
        if matches!(placement, Placement::Add | Placement::Supersede(_)) {
            let (kind, agent_version) = (proposal.kind, agent_version.clone());
            known.push(KnownLearning {
                kind,
                agent_version,
                likeness,
                target: Target::Earlier(place),
            });
        }
        placed.push(Placed { examined, placement, agent_version, request_id });
    }
    Ok(placed)
}

fn nearest(
    known: &[KnownLearning],
    kind: LearningKind,
    agent_version: &str,
    likeness: &Likeness,
    is_suspect: bool,
) -> Placement {
    let comparable = |k: &&KnownLearning| {
        k.kind == kind && (kind == LearningKind::Profile || k.agent_version == agent_version)
    };
    let best = known
        .iter()
        .filter(comparable)
        .map(|known| (likeness.relation(&known.likeness), likeness.common(&known.likeness), known))
        .filter(|(relation, ..)| *relation != Relation::Different)
        .max_by(|a, b| {
            let same = |relation| relation == Relation::Same;
            same(a.0).cmp(&same(b.0)).then(a.1.total_cmp(&b.1))
        });
    match best {
        Some((Relation::Same, _, known)) => Placement::Merge(known.target.clone()),
        Some((_, _, known)) if !is_suspect => Placement::Supersede(known.target.clone()),
        _ => Placement::Add,
    }
}

/// Text by which learnings are compared.
fn text(trigger: &str, content: &str) -> String {
    format!("{trigger} {content}")
}

/// The vectors of proposals, where there is an embedder that answers.
async fn vectors(app: &App, proposals: &[Examined]) -> Vec<Option<Vec<u8>>> {
    let none = vec![None; proposals.len()];
    if app.embedder.model().is_none() {
        return none;
    }
    let texts = proposals.iter().map(|p| text(&p.proposal.trigger, &p.proposal.content)).collect();
    match app.embedder.embed(texts).await {
        Ok(made) => made.iter().map(|v| Compact::new(v).map(|c| c.to_bytes())).collect(),
        Err(error) => {
            tracing::warn!(%error, "proposals are compared by their words alone");
            none
        }
    }
}

/// The person's learnings, as far as they are compared.
async fn known(app: &App, job: &Claim) -> Result<Vec<KnownLearning>> {
    let filter = Filter {
        org_id: job.org_id.clone(),
        user_id: job.user_id.clone(),
        statuses: vec![LearningStatus::Current, LearningStatus::Pending],
        now: app.clock.now(),
        ..Filter::default()
    };
    let model = app.embedder.model().map(str::to_owned);
    app.db
        .read("learnings.known", (filter, model), |tx, (filter, model)| {
            Box::pin(async move {
                let profiles = rows::profiles::list(tx, filter, COMPARED).await?;
                let playbooks = rows::user_playbooks::list(tx, filter, COMPARED).await?;
                let (mut of_profiles, mut of_playbooks) = (HashMap::new(), HashMap::new());
                if let Some(model) = model {
                    of_profiles.extend(rows::profiles::vectors(tx, model, filter, COMPARED).await?);
                    of_playbooks
                        .extend(rows::user_playbooks::vectors(tx, model, filter, COMPARED).await?);
                }
                let mut known = Vec::with_capacity(profiles.len() + playbooks.len());
                for profile in profiles {
                    let vector = of_profiles.remove(&profile.profile_no).flatten();
                    known.push(KnownLearning {
                        kind: LearningKind::Profile,
                        agent_version: String::new(),
                        likeness: Likeness::of(&profile.content).with_vector(vector),
                        target: Target::Stored { id: profile.profile_id, content: profile.content },
                    });
                }
                for playbook in playbooks {
                    let vector = of_playbooks.remove(&playbook.user_playbook_id).flatten();
                    let likeness = Likeness::of(&text(&playbook.trigger, &playbook.content));
                    known.push(KnownLearning {
                        kind: LearningKind::UserPlaybook,
                        agent_version: playbook.agent_version,
                        likeness: likeness.with_vector(vector),
                        target: Target::Stored {
                            id: playbook.user_playbook_id.to_string(),
                            content: playbook.content,
                        },
                    });
                }
                Ok(known)
            })
        })
        .await
}
