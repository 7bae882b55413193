//! Planning: what an experiment of a given size could see, judging by past sessions.

use super::lifecycle::{MOST_PLANNED_USERS, PLANNED_USERS};
use super::part::{part, points};
use super::sql;
use crate::app::App;
use base::owner::OrgId;
use stats::planning::{DecisionPlanner, ReturningUsers};
use stats::power::{Clustering, DEFAULT_POWER, SMALLEST_ADVISABLE_HOLDOUT, small_holdout_price};
use stats::{Arm, Defined, NullReason, UserSum};
use storage::error::Result;

const DAY: i64 = 86_400;
/// No plan is longer, in days.
const LONGEST: u64 = 365;

/// Parameters of a plan.
#[derive(Clone, Debug)]
pub struct PlanQuery {
    pub holdout_percentage: f64,
    pub effect_percentage_points: f64,
    pub power: f64,
    /// Past days that are looked at.
    pub days: i64,
}

impl Default for PlanQuery {
    fn default() -> Self {
        PlanQuery {
            holdout_percentage: 10.0,
            effect_percentage_points: super::MARGIN,
            power: DEFAULT_POWER,
            days: 30,
        }
    }
}

part! {
    /// Power analysis of an experiment of this size, judging by past sessions.
    pub struct RetrievalExperimentPlan {
        pub holdout_percentage: f64,
        pub effect_percentage_points: f64,
        pub power: f64,
        /// Days of past sessions that the plan stands on.
        pub days: i64,
        pub past_users: u64,
        pub past_sessions: u64,
        pub success_rate: Defined<f64>,
        /// Correlation of one user's sessions: 0 not alike at all, 1 all the same.
        pub intraclass_correlation: Defined<f64>,
        /// Factor by which the clustering of sessions in users raises the number of sessions needed.
        pub design_effect: Defined<f64>,
        /// The smallest lift that as many users as there were would show.
        pub smallest_detectable_effect_percentage_points: Defined<f64>,
        /// Users needed to decide about the effect that was asked for, reading the results every day.
        pub treatment_users_needed: Defined<u64>,
        pub holdout_users_needed: Defined<u64>,
        /// Days until they have come, if the past users come back as they did.
        pub days_needed: Defined<u64>,
        /// Factor by which this holdout raises the detectable effect of an even split.
        pub small_holdout_price: Defined<f64>,
        pub warnings: Vec<String>,
    }
}

/// Plans an experiment.
pub async fn plan(app: &App, org_id: &OrgId, query: PlanQuery) -> Result<RetrievalExperimentPlan> {
    let now = app.clock.now();
    let input = (org_id.to_owned(), now - query.days * DAY, now);
    let sums = app
        .db
        .lookup("experiments.plan", input, |tx, (org_id, from, to)| {
            Box::pin(sql::past_sums(tx, org_id, *from, *to))
        })
        .await?;
    let past = sums.into_iter().flat_map(|(sessions, total, users)| {
        let sum = UserSum { sessions: u64::try_from(sessions).unwrap_or(0), total };
        std::iter::repeat_n(sum, usize::try_from(users).unwrap_or(0))
    });
    Ok(planned(&past.collect(), &query))
}

/// The number of users to plan an experiment for when its start does not say: those that the decision about `margin`
/// needs, judging by the past; [`PLANNED_USERS`] without a past.
pub async fn users_to_plan_for(
    app: &App,
    org_id: &OrgId,
    holdout_percentage: f64,
    margin: f64,
) -> Result<i64> {
    let query =
        PlanQuery { holdout_percentage, effect_percentage_points: margin, ..PlanQuery::default() };
    let plan = plan(app, org_id, query).await?;
    let users = plan.treatment_users_needed.and_then(|treatment| {
        plan.holdout_users_needed.map(|holdout| treatment.saturating_add(holdout))
    });
    let users = users.ok().and_then(|users| i64::try_from(users).ok());
    Ok(users.map_or(PLANNED_USERS, |users| users.clamp(2, MOST_PLANNED_USERS)))
}

#[allow(clippy::cast_precision_loss)] // numbers of users and days
fn planned(past: &Arm, query: &PlanQuery) -> RetrievalExperimentPlan {
    let share = query.holdout_percentage / 100.0;
    let users = past.user_count() as u64;
    let holdout = ((users as f64 * share).round() as u64).min(users);
    let clustering = Clustering::seen_in(past);
    let planner = past.mean().map(|baseline| DecisionPlanner {
        baseline,
        holdout_share: share,
        power: query.power,
    });
    let base = ReturningUsers::seen_in(past.clone(), query.days as f64);
    let effect = query.effect_percentage_points / 100.0;
    let with_base =
        |base: &Defined<ReturningUsers>| base.as_ref().map_err(|reason| *reason).cloned();
    let time = planner.and_then(|planner| planner.days_for(effect, &with_base(&base)?, LONGEST));
    // Without enough users of one's own: as many as it would take.
    let size = time.map(|time| time.size).or_else(|reason| match reason {
        NullReason::OutOfReach => planner?.users_for(effect, &clustering?),
        reason => Err(reason),
    });
    let detectable = planner.and_then(|planner| {
        let reach = with_base(&base)?.within(query.days as f64);
        planner.smallest_detectable_effect(reach.users, &reach.clustering)
    });
    let mut warnings = Vec::new();
    if time == Err(NullReason::OutOfReach) {
        warnings.push(match detectable {
            Ok(smallest) => format!(
                "Cannot be reached with your users within {LONGEST} days; the smallest lift that {} days of them can \
                 show is {:.1} percentage points.",
                query.days,
                smallest * 100.0
            ),
            Err(_) => format!("Cannot be reached with your users within {LONGEST} days."),
        });
    }
    if size.is_ok_and(|size| size.holdout_users < SMALLEST_ADVISABLE_HOLDOUT) {
        warnings.push(format!(
            "Fewer than {SMALLEST_ADVISABLE_HOLDOUT} holdout users: the always-valid interval needs that many."
        ));
    }
    if holdout < SMALLEST_ADVISABLE_HOLDOUT && users > 0 {
        warnings.push(format!(
            "As many users as in the last {} days would make a holdout of {holdout}.",
            query.days
        ));
    }
    RetrievalExperimentPlan {
        holdout_percentage: query.holdout_percentage,
        effect_percentage_points: query.effect_percentage_points,
        power: query.power,
        days: query.days,
        past_users: users,
        past_sessions: past.session_count(),
        success_rate: past.mean(),
        intraclass_correlation: clustering.map(|c| c.intraclass_correlation),
        design_effect: clustering.map(|c| c.design_effect()),
        smallest_detectable_effect_percentage_points: points(detectable),
        treatment_users_needed: size.map(|size| size.treatment_users),
        holdout_users_needed: size.map(|size| size.holdout_users),
        days_needed: time.map(|time| time.days),
        small_holdout_price: small_holdout_price(share),
        warnings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_holdouts_have_their_price_and_nothing_is_planned_from_nothing() {
        let past: Arm =
            (0..200).map(|n| UserSum { sessions: 4, total: i64::from(n % 5) }).collect();
        let at = |holdout_percentage| {
            planned(&past, &PlanQuery { holdout_percentage, ..PlanQuery::default() })
        };
        for (percentage, price) in [(5.0, 2.29), (10.0, 1.67), (20.0, 1.25), (50.0, 1.0)] {
            assert!((at(percentage).small_holdout_price.unwrap() - price).abs() < 0.006);
        }
        let (small, even) = (at(20.0), at(50.0));
        let effect = |plan: &RetrievalExperimentPlan| {
            plan.smallest_detectable_effect_percentage_points.unwrap()
        };
        assert!(effect(&small) > 1.1 * effect(&even), "{} {}", effect(&small), effect(&even));
        let users = |plan: &RetrievalExperimentPlan| plan.treatment_users_needed.unwrap();
        assert!(users(&small) > users(&even) && !small.warnings.is_empty());
        assert_eq!(small.days_needed, Err(NullReason::OutOfReach), "{:?}", small.warnings);
        let too_few = Err(NullReason::FewerThanThirtyEvaluatedUsersInAnArm);
        assert_eq!(at(5.0).smallest_detectable_effect_percentage_points, too_few);
        let nothing = planned(&Arm::default(), &PlanQuery::default());
        assert_eq!(nothing.days_needed, Err(NullReason::ArmWithoutEvaluatedSessions));
    }
}
