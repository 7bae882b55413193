//! The review queue: which sessions people should look at.
//!
//! Half are drawn at random. Each session has a place between 0 and 1 by hash; in each stratum (week, source, arm, verdict)
//! the sessions below a threshold are drawn, and the threshold, which only rises, is the chance of each of them. The
//! other half are those whose label would teach the model most; they serve training, never correction or agreement.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::evaluation::results::sampling;
use crate::evaluation::sql;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::barrier;

/// Sessions of this many seconds are drawn from, the newest of them.
const RECENT: i64 = 30 * 86_400;
const POPULATION: i64 = 20_000;

base::vocabulary! {
    /// Reason for a session to be in the queue.
    pub enum ReviewHalf {
        /// Drawn at random: its label serves corrections and agreement.
        Random = "random",
        /// Its label teaches the model most.
        Informative = "informative",
    }
}

base::vocabulary! {
    /// The judge's verdict on a session in the queue.
    pub enum ReviewedVerdict {
        Success = "success",
        Failure = "failure",
        Undecided = "undecided",
    }
}

/// A session that may be drawn.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Reviewable {
    pub user_id: UserId,
    pub session_id: String,
    pub source: String,
    /// Week of its first request.
    pub week: i64,
    /// Arm of an experiment; empty without one.
    pub arm: String,
    pub is_success: Option<bool>,
    pub probability: Option<f64>,
    /// Half and chance, where it was drawn before.
    pub half: Option<ReviewHalf>,
    pub chance: Option<f64>,
}

impl Reviewable {
    fn verdict(&self) -> ReviewedVerdict {
        match self.is_success {
            Some(true) => ReviewedVerdict::Success,
            Some(false) => ReviewedVerdict::Failure,
            None => ReviewedVerdict::Undecided,
        }
    }

    fn stratum(&self) -> String {
        format!("{}|{}|{}|{}", self.week, self.source, self.arm, self.verdict())
    }

    /// Between 0 and 1, the same for ever.
    fn place(&self, org_id: &OrgId) -> f64 {
        let hash = sampling::hash("review", &[org_id, &self.user_id, &self.session_id]);
        #[allow(clippy::cast_precision_loss)] // 53 bits
        let place = (hash >> 11) as f64 / (1u64 << 53) as f64;
        place
    }

    /// 0 for a session at even odds.
    fn distance(&self) -> f64 {
        match (self.probability, self.is_success) {
            (Some(probability), _) => (probability - 0.5).abs(),
            (None, None) => 0.25,
            (None, Some(_)) => 0.5,
        }
    }
}

/// A session to look at.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReviewItem {
    pub user_id: UserId,
    pub session_id: String,
    pub source: String,
    pub half: ReviewHalf,
    /// Chance to be drawn; null of the informative half.
    pub chance: Option<f64>,
    pub verdict: ReviewedVerdict,
    /// The learned judge's probability of success.
    pub probability: Option<f64>,
}

/// Judge and people on the newest labels.
#[derive(Clone, Debug, Default, Serialize, ToSchema, sqlx_macros::FromRow)]
pub struct LastLabels {
    pub labels: i64,
    /// The judge says the same, the opposite, or nothing.
    pub agreed: i64,
    pub disagreed: i64,
    pub undecided: i64,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReviewQueue {
    /// The random half and the informative half in turns.
    pub items: Vec<ReviewItem>,
    /// Sessions with a label or an outcome; at 50, with 10 of each kind, the learned judge is trained.
    pub ground_truth: i64,
    pub needed: usize,
    /// The last ten labels against the judge's verdicts.
    pub last_ten: LastLabels,
}

/// Sessions to look at, `limit` at most; more are drawn if fewer are open.
pub async fn review_queue(app: &Arc<App>, org_id: &OrgId, limit: usize) -> Result<ReviewQueue> {
    let input = (app.clone(), org_id.to_owned());
    app.db
        .write("evaluation.review_queue", input, move |tx, (app, org_id)| {
            Box::pin(draw(tx, app, org_id, limit))
        })
        .await
}

async fn draw(tx: &mut Tx, app: &App, org_id: &OrgId, limit: usize) -> Result<ReviewQueue> {
    let now = app.clock.now();
    let mut sessions = sql::reviewable(tx, org_id, now - RECENT, POPULATION).await?;
    let thresholds = sql::thresholds(tx, org_id).await?.into_iter().collect();
    let halves = (limit.div_ceil(2), limit / 2);
    let strata = choose(org_id, &mut sessions, &thresholds, halves);
    let users: Vec<UserId> = sessions
        .iter()
        .filter(|one| one.half.is_some())
        .map(|one| one.user_id.clone())
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    let open = barrier::open_known(tx, org_id, &users).await?;
    let mut items: [Vec<ReviewItem>; 2] = [Vec::new(), Vec::new()];
    for one in &sessions {
        let (Some(half), Some(subject)) = (one.half, open.get(&one.user_id)) else { continue };
        sql::put_draw(tx, subject, &one.session_id, half, &one.stratum(), one.chance, now).await?;
        let place = usize::from(half == ReviewHalf::Informative);
        items[place].push(ReviewItem {
            user_id: one.user_id.clone(),
            session_id: one.session_id.clone(),
            source: one.source.clone(),
            half,
            chance: one.chance,
            verdict: one.verdict(),
            probability: one.probability,
        });
    }
    for (stratum, chance) in strata {
        sql::set_chance(tx, org_id, &stratum, chance).await?;
    }
    let [random, informative] = items;
    let mut turns = Vec::new();
    let (mut random, mut informative) = (random.into_iter(), informative.into_iter());
    loop {
        let both = [random.next(), informative.next()];
        if both.iter().all(Option::is_none) {
            break;
        }
        turns.extend(both.into_iter().flatten());
    }
    turns.truncate(limit);
    let known = crate::evaluation::learned::known_sessions(tx, org_id).await?;
    Ok(ReviewQueue {
        items: turns,
        ground_truth: i64::try_from(known).unwrap_or(i64::MAX),
        needed: judge::learned::FEWEST_LABELS,
        last_ten: sql::last_labels(tx, org_id, 10).await?,
    })
}

/// Marks the sessions that are drawn, so that so many of each half are open, and gives the chance of each stratum that
/// was drawn from, now or before (`thresholds`).
fn choose(
    org_id: &OrgId,
    sessions: &mut [Reviewable],
    thresholds: &BTreeMap<String, f64>,
    (random, informative): (usize, usize),
) -> BTreeMap<String, f64> {
    let mut strata: BTreeMap<String, Vec<(f64, usize)>> = BTreeMap::new();
    for (at, one) in sessions.iter().enumerate() {
        strata.entry(one.stratum()).or_default().push((one.place(org_id), at));
    }
    let mut open = sessions.iter().filter(|one| one.half == Some(ReviewHalf::Random)).count();
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let mut chances = BTreeMap::new();
    for (stratum, places) in &mut strata {
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        let threshold = thresholds.get(stratum).copied().unwrap_or(0.0);
        // Those who came since the last draw had the same chance.
        let below = places.iter().take_while(|(place, _)| *place < threshold).count();
        taken.insert(stratum.clone(), below);
        chances.insert(stratum.clone(), threshold);
        for (_, at) in &places[..below] {
            if sessions[*at].half != Some(ReviewHalf::Random) {
                open += 1;
            }
            (sessions[*at].half, sessions[*at].chance) =
                (Some(ReviewHalf::Random), Some(threshold));
        }
    }
    // Strata take turns, the one with the fewest first; each draw raises its stratum's chance to the next place.
    while open < random {
        let next = strata
            .iter()
            .filter(|(stratum, places)| taken[*stratum] < places.len())
            .min_by_key(|(stratum, _)| taken[*stratum]);
        let Some((stratum, places)) = next else { break };
        let drawn = taken[stratum] + 1;
        let chance = places.get(drawn).map_or(1.0, |(place, _)| *place);
        taken.insert(stratum.clone(), drawn);
        chances.insert(stratum.clone(), chance);
        open += 1;
        for (_, at) in &places[..drawn] {
            (sessions[*at].half, sessions[*at].chance) = (Some(ReviewHalf::Random), Some(chance));
        }
    }
    let open = sessions.iter().filter(|one| one.half == Some(ReviewHalf::Informative)).count();
    let mut rest: Vec<usize> =
        (0..sessions.len()).filter(|at| sessions[*at].half.is_none()).collect();
    rest.sort_by(|a, b| {
        let key = |at: usize| (sessions[at].distance(), sessions[at].place(org_id));
        key(*a).partial_cmp(&key(*b)).unwrap_or(std::cmp::Ordering::Equal)
    });
    for at in rest.into_iter().take(informative.saturating_sub(open)) {
        sessions[at].half = Some(ReviewHalf::Informative);
    }
    chances.retain(|_, chance| *chance > 0.0);
    chances
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(number: usize, is_success: Option<bool>) -> Reviewable {
        Reviewable {
            user_id: format!("u{number}").into(),
            session_id: "s".to_owned(),
            source: "web".to_owned(),
            week: 0,
            arm: String::new(),
            is_success,
            probability: None,
            half: None,
            chance: None,
        }
    }

    /// Weighted by the inverse of their chances, drawn sessions stand for all of them, also after several draws from a
    /// population that grows.
    #[test]
    fn chances_are_those_of_the_draw() {
        let (mut weight, mut failed) = (0.0, 0.0);
        for org in 0..30 {
            let drawn = draw_twice(&OrgId::from(format!("org-{org}")));
            let weights = |drawn: &[Reviewable]| -> f64 {
                drawn.iter().map(|one| one.chance.unwrap().recip()).sum()
            };
            weight += weights(&drawn) / 30.0;
            let failures: Vec<_> =
                drawn.into_iter().filter(|one| one.is_success == Some(false)).collect();
            failed += weights(&failures) / 30.0;
        }
        // Of one draw they are off by a tenth; on average they are right.
        assert!((weight - 900.0).abs() < 50.0, "{weight}");
        assert!((failed - 300.0).abs() < 25.0, "{failed}");
    }

    /// The random half of 900 sessions after two draws, of which the second found 400 more than the first.
    fn draw_twice(org: &OrgId) -> Vec<Reviewable> {
        let mut all: Vec<Reviewable> =
            (0..900).map(|n| one(n, if n % 3 == 0 { Some(false) } else { Some(true) })).collect();
        let mut first = all[..500].to_vec();
        let thresholds = choose(org, &mut first, &BTreeMap::new(), (60, 0));
        assert_eq!(first.iter().filter(|one| one.half.is_some()).count(), 60);
        all[..500].clone_from_slice(&first);
        choose(org, &mut all, &thresholds, (150, 20));
        let informative = all.iter().filter(|one| one.half == Some(ReviewHalf::Informative));
        assert_eq!(informative.count(), 20);
        all.retain(|one| one.half == Some(ReviewHalf::Random));
        assert!(all.len() >= 150);
        all
    }

    #[test]
    fn the_informative_half_is_nearest_to_even_odds() {
        let org = OrgId::from("acme");
        let mut all: Vec<Reviewable> = (0..10)
            .map(|n| Reviewable { probability: Some(0.1 * n as f64), ..one(n, Some(n > 5)) })
            .collect();
        choose(&org, &mut all, &BTreeMap::new(), (0, 2));
        let chosen: Vec<f64> =
            all.iter().filter(|one| one.half.is_some()).filter_map(|one| one.probability).collect();
        assert_eq!(chosen.len(), 2);
        assert!(chosen.iter().all(|p| (p - 0.5).abs() < 0.11), "{chosen:?}");
    }
}
