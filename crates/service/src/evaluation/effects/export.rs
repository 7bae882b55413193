//! The rows behind the effects, with references in the place of ids: whoever has them can compute every number anew.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::compute::{EpochOfTrial, FoundUser, SidesOfEpoch, Trial};
use super::{Effect, effects, sql};
use crate::app::App;
use crate::http::{Pages, lines};
use base::owner::OrgId;
use stats::learning_trials::TrialUser;
use storage::error::Result;

/// A line of an export.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "snake_case")]
enum Line {
    /// The first one.
    Export { as_of: i64 },
    Epoch {
        agent_playbook_id: i64,
        epoch_no: i64,
        /// Digest of the playbook's text.
        digest: String,
        share: f64,
        is_settled: bool,
        planned_users: u64,
        started_at: i64,
    },
    /// A user for whom the playbook was found in that epoch.
    User {
        user: String,
        agent_playbook_id: i64,
        epoch_no: i64,
        withheld: bool,
        /// Days since 1970.
        first_day: i64,
        sessions: u64,
        weight: u64,
        successes: u64,
    },
}

/// Cursor of an export: a playbook at a time, so that memory stays flat.
pub struct EffectsExport {
    app: Arc<App>,
    org_id: OrgId,
    /// The playbook before the next one.
    after: Option<i64>,
    is_begun: bool,
}

/// Begins an export.
pub fn begin(app: &Arc<App>, org_id: &OrgId) -> EffectsExport {
    let org_id = org_id.to_owned();
    EffectsExport { app: app.clone(), org_id, after: Some(i64::MIN), is_begun: false }
}

impl Pages for EffectsExport {
    async fn next_page(&mut self) -> Result<Option<String>> {
        if !self.is_begun {
            self.is_begun = true;
            return lines(&[Line::Export { as_of: self.app.clock.now() }]).map(Some);
        }
        let Some(after) = self.after.take() else { return Ok(None) };
        let input = (self.org_id.clone(), after);
        let page = self
            .app
            .db
            .read("trials.export", input, |tx, (org_id, after)| {
                Box::pin(async move {
                    let Some(id) = sql::next_playbook(tx, org_id, *after).await? else {
                        return Ok(None);
                    };
                    let epochs = sql::epochs(tx, org_id, Some(id)).await?;
                    Ok(Some((id, epochs, sql::found_users(tx, org_id, id).await?)))
                })
            })
            .await?;
        let Some((agent_playbook_id, epochs, found)) = page else { return Ok(None) };
        self.after = Some(agent_playbook_id);
        let mut written: Vec<Line> = Vec::with_capacity(epochs.len() + found.len());
        written.extend(epochs.into_iter().map(|(_, epoch)| Line::Epoch {
            agent_playbook_id,
            epoch_no: epoch.epoch_no,
            digest: epoch.digest,
            share: epoch.share,
            is_settled: epoch.is_settled,
            planned_users: epoch.planned_users,
            started_at: epoch.started_at,
        }));
        let keys = &self.app.subject_keys;
        written.extend(found.into_iter().map(|row| {
            let TrialUser { sessions, weight, successes } = row.sums();
            Line::User {
                user: keys.subject_ref(&self.org_id, &row.user_id),
                agent_playbook_id,
                epoch_no: row.epoch_no,
                withheld: row.withheld,
                first_day: row.day,
                sessions,
                weight,
                successes,
            }
        }));
        lines(&written).map(Some)
    }
}

/// Effects computed from an export.
#[derive(Debug, Serialize)]
pub struct ExportedEffects {
    pub as_of: i64,
    pub effects: Vec<Effect>,
}

/// Computes every effect from the rows of an export; an error names the line that cannot be read.
pub fn read_rows(rows: impl BufRead) -> std::result::Result<ExportedEffects, String> {
    let mut as_of = None;
    let mut epochs: BTreeMap<(i64, i64), (EpochOfTrial, Vec<FoundUser>)> = BTreeMap::new();
    for (number, text) in (1..).zip(rows.lines()) {
        let text = text.map_err(|error| format!("line {number}: {error}"))?;
        if text.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(&text).map_err(|error| format!("line {number}: {error}"))? {
            Line::Export { as_of: at } => as_of = Some(at),
            Line::Epoch {
                agent_playbook_id,
                epoch_no,
                digest,
                share,
                is_settled,
                planned_users,
                started_at,
            } => {
                let sides = SidesOfEpoch::default();
                let epoch = EpochOfTrial {
                    epoch_no,
                    digest,
                    share,
                    is_settled,
                    planned_users,
                    started_at,
                    sides,
                };
                epochs.insert((agent_playbook_id, epoch_no), (epoch, Vec::new()));
            }
            Line::User {
                agent_playbook_id,
                epoch_no,
                withheld,
                first_day,
                sessions,
                weight,
                successes,
                ..
            } => {
                let epoch = epochs.get_mut(&(agent_playbook_id, epoch_no)).ok_or_else(|| {
                    format!("line {number}: a user of an epoch that no line before describes")
                })?;
                let sums = TrialUser { sessions, weight, successes };
                epoch.1.push(FoundUser { withheld, first_day, sums });
            }
        }
    }
    let as_of =
        as_of.ok_or("there is no line with \"row\": \"export\"; is this an export of effects?")?;
    let mut by_playbook: BTreeMap<i64, Vec<EpochOfTrial>> = BTreeMap::new();
    for ((agent_playbook_id, _), (epoch, users)) in epochs {
        let epoch = EpochOfTrial { sides: SidesOfEpoch::of_users(&users), ..epoch };
        by_playbook.entry(agent_playbook_id).or_default().push(epoch);
    }
    let present = by_playbook.into_iter().filter_map(|(id, epochs)| Trial::present(id, epochs));
    let trials: Vec<Trial> = present.collect();
    Ok(ExportedEffects { as_of, effects: effects(&trials, as_of) })
}
