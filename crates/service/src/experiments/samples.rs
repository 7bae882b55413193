//! The sums of all users of an experiment, as an analysis takes them.
//!
//! They stay in memory for some minutes after somebody looked: the next look reads the parts that changed. Which those
//! are is read in the look's own snapshot, so that what another replica wrote or erased is seen like one's own.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::analysis::{Analysis, Design, Sample, analyse, joined};
use super::looks::Looks;
use super::sql::{self, PartState};
use super::sums::{Stratum, UserSums};
use crate::app::App;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;

/// Samples stay for this long after the last look.
const KEPT: Duration = Duration::from_secs(300);
/// Users of all samples that stay, each of some 600 bytes.
const MOST_USERS: usize = 150_000;

/// An experiment, by its organization.
type Key = (OrgId, String);

/// Users of one part, and the state that they were read in.
#[derive(Clone)]
struct Part {
    state: PartState,
    users: Arc<Vec<UserSums>>,
}

/// A sample, and what was found in it last.
#[derive(Clone, Default)]
pub struct Known {
    parts: Vec<Part>,
    strata: BTreeMap<u32, Stratum>,
    latest: Option<Arc<Latest>>,
}

/// An analysis with all that it depends on beside the sample.
struct Latest {
    design: Design,
    before: Looks,
    found: Analysis,
    after: Looks,
}

/// A sample as it was read: parts that are known, and the lines of those that are not.
pub struct Read {
    parts: Vec<(PartState, Users)>,
    strata: BTreeMap<u32, Stratum>,
    /// What is known of a sample that is the same.
    latest: Option<Arc<Latest>>,
}

enum Users {
    Known(Arc<Vec<UserSums>>),
    Lines(String),
}

/// Reads the sample of an experiment, but for the parts that are as they are known.
pub async fn read(tx: &mut Tx, org_id: &OrgId, experiment_id: &str, known: &Known) -> Result<Read> {
    let states = sql::part_states(tx, org_id, experiment_id).await?;
    let strata = sql::strata(tx, org_id, experiment_id).await?;
    let is_known = states.iter().eq(known.parts.iter().map(|part| &part.state));
    if is_known && strata == known.strata {
        let parts = known.parts.iter().map(|part| (part.state, Users::Known(part.users.clone())));
        return Ok(Read { parts: parts.collect(), strata, latest: known.latest.clone() });
    }
    let users_of = |state: &PartState| {
        let part = known.parts.iter().find(|part| part.state == *state);
        part.map(|part| part.users.clone())
    };
    let found: Vec<_> = states.into_iter().map(|state| (state, users_of(&state))).collect();
    let changed = found.iter().filter(|(_, users)| users.is_none()).map(|(state, _)| state.part);
    let changed: Vec<i64> = changed.collect();
    let mut lines = sql::lines(tx, org_id, experiment_id, &changed).await?;
    let parts = found.into_iter().map(|(state, users)| {
        let lines = || Users::Lines(lines.remove(&state.part).unwrap_or_default());
        (state, users.map_or_else(lines, Users::Known))
    });
    Ok(Read { parts: parts.collect(), strata, latest: None })
}

impl Read {
    /// Makes numbers of the lines, on two cores; `None` if one of them is no line of this version.
    pub fn parse(self) -> Option<Known> {
        let Read { mut parts, strata, latest } = self;
        let half = parts.len() / 2;
        let rest = parts.split_off(half);
        let mut parts = std::thread::scope(|threads| {
            let others = threads.spawn(|| parsed(rest));
            let mut parts = parsed(parts)?;
            parts.extend(joined(others)?);
            Some(parts)
        })?;
        parts.shrink_to_fit();
        Some(Known { parts, strata, latest })
    }
}

fn parsed(parts: Vec<(PartState, Users)>) -> Option<Vec<Part>> {
    let part = |(state, users): (PartState, Users)| {
        let users = match users {
            Users::Known(users) => users,
            Users::Lines(lines) => {
                let mut users = Vec::with_capacity(usize::try_from(state.users).unwrap_or(0));
                for line in lines.lines() {
                    users.push(UserSums::parse(line)?);
                }
                Arc::new(users)
            }
        };
        Some(Part { state, users })
    };
    parts.into_iter().map(part).collect()
}

impl Known {
    pub fn sample(&self) -> Sample {
        Sample {
            parts: self.parts.iter().map(|part| part.users.clone()).collect(),
            strata: self.strata.clone(),
        }
    }

    /// The analysis of the sample at a time, and the looks with this one: as it was found before, if all that it
    /// depends on is the same.
    pub fn analysed(&mut self, design: &Design, before: Looks, as_of: i64) -> (Analysis, Looks) {
        let is_same = |latest: &&Arc<Latest>| latest.design == *design && latest.before == before;
        if let Some(latest) = self.latest.as_ref().filter(is_same) {
            let mut found = latest.found.clone();
            found.analysis.as_of = as_of;
            return (found, latest.after);
        }
        let mut after = before;
        let found = analyse(&self.sample(), design, as_of, &mut after);
        let latest = Latest { design: design.clone(), before, found: found.clone(), after };
        self.latest = Some(Arc::new(latest));
        (found, after)
    }

    fn user_count(&self) -> usize {
        self.parts.iter().map(|part| part.users.len()).sum()
    }
}

/// The samples that somebody looked at lately.
#[derive(Clone, Default)]
pub struct Samples(Arc<Mutex<HashMap<Key, (Known, Instant)>>>);

impl Samples {
    /// What is known of an experiment.
    pub fn known(&self, org_id: &OrgId, experiment_id: &str) -> Known {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = samples.get(&(org_id.clone(), experiment_id.to_owned()));
        known.map(|(known, _)| known.clone()).unwrap_or_default()
    }

    /// Keeps a sample, in the place of those that nobody looked at for the longest time.
    pub fn keep(app: &App, org_id: &OrgId, experiment_id: &str, known: Known) {
        let kept = app.state::<Samples>();
        let mut samples = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = samples.is_empty();
        samples.insert((org_id.clone(), experiment_id.to_owned()), (known, Instant::now()));
        while samples.values().map(|(known, _)| known.user_count()).sum::<usize>() > MOST_USERS {
            let oldest = samples.iter().min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            samples.remove(&oldest);
        }
        if was_empty && !samples.is_empty() {
            app.spawn(kept.clone().forget_unused(app.stopping.clone()));
        }
    }

    /// Forgets what nobody looks at any more, until nothing is left.
    async fn forget_unused(self, stopping: CancellationToken) {
        while tokio::time::timeout(KEPT / 5, stopping.cancelled()).await.is_err() {
            let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            samples.retain(|_, (_, used)| used.elapsed() < KEPT);
            if samples.is_empty() {
                return;
            }
        }
    }
}
