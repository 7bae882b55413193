//! Reasons for null numbers.

/// A number, or the reason why there is none.
pub type Defined<T> = Result<T, NullReason>;

base::vocabulary! {
    /// Reason for a null number.
    pub enum NullReason {
        /// An arm has no evaluated session: there is no rate to compare.
        ArmWithoutEvaluatedSessions = "arm_without_evaluated_sessions",
        /// Nothing has been evaluated at all.
        NoEvaluatedSessions = "no_evaluated_sessions",
        /// With one user in an arm the variance between users is not identified.
        FewerThanTwoEvaluatedUsersInAnArm = "fewer_than_two_evaluated_users_in_an_arm",
        /// The method is for proportions, and a user's total lies outside `0..=sessions`.
        OutcomeNotBinary = "outcome_not_binary",
        /// The denominator of a relative change is zero.
        ZeroBaseline = "zero_baseline",
        /// Every user is exactly like every other: the variance is zero and says nothing.
        ZeroVariance = "zero_variance",
        /// The denominator of a ratio cannot be told from zero: its interval has no end.
        UnboundedInterval = "unbounded_interval",
        /// There are no users at all.
        NoUsers = "no_users",
        /// A share, rate, level or margin lies outside its range.
        InputOutOfRange = "input_out_of_range",
        /// Too few users in an arm for an interval that relies on the central limit theorem.
        FewerThanThirtyEvaluatedUsersInAnArm = "fewer_than_30_evaluated_users_in_an_arm",
        /// Nobody has looked yet.
        NoLooks = "no_looks",
        /// The intervals of successive looks have nothing in common.
        EmptyIntersection = "empty_intersection",
        /// Too few users to estimate an adjustment.
        FewerThanHundredUsers = "fewer_than_100_users",
        /// Too few users have sessions before their first exposure.
        TooLittleHistory = "too_little_history",
        /// The outcome before first exposure does not vary, and so explains nothing.
        ConstantPrePeriod = "constant_pre_period",
        /// The adjustment would not make the estimate more precise.
        VarianceNotReduced = "variance_not_reduced",
        /// No user has two sessions: sessions of one user cannot be compared.
        NoUserWithTwoSessions = "no_user_with_two_sessions",
        /// Nothing to test: fewer than two segments are large enough.
        FewerThanTwoSegments = "fewer_than_two_segments",
        /// Too few people to show anything about them.
        FewerThanFiveUsers = "fewer_than_five_users",
        /// The arms received learnings equally often.
        NoDifferenceInDelivery = "no_difference_in_delivery",
        /// A slope needs two weeks in each arm.
        FewerThanTwoWeeks = "fewer_than_two_weeks",
        /// One user alone decides the slope of an arm.
        OneUserDeterminesSlope = "one_user_determines_slope",
        /// No session has a person's label.
        NoLabels = "no_labels",
        /// Every judged session is labelled, or none is judged.
        NoUnlabelledSessions = "no_unlabelled_sessions",
        /// No labelled session succeeded: sensitivity is unknown.
        NoLabelledSuccesses = "no_labelled_successes",
        /// No labelled session failed: specificity is unknown.
        NoLabelledFailures = "no_labelled_failures",
        /// Sensitivity + specificity does not exceed 1: the judge cannot be corrected.
        JudgeNoBetterThanChance = "judge_no_better_than_chance",
        /// The judge passes fewer or more sessions than its errors on the labels allow.
        JudgeRateOutsideErrorRates = "judge_rate_outside_error_rates",
        /// Agreement by chance is certain: everyone says the same about every session.
        NoVariationInLabels = "no_variation_in_labels",
        /// No pair differs: there is nothing to test.
        NoDiscordantPairs = "no_discordant_pairs",
        /// An arm has no published session.
        ArmWithoutPublishedSessions = "arm_without_published_sessions",
        /// Treatment was handed nothing yet.
        NothingServed = "nothing_served",
        /// A health check failed; the numbers stand, the decision does not.
        Unhealthy = "unhealthy",
        /// The smaller arm has fewer than 30 evaluated users, or both arms together fewer than 5 successes or
        /// failures.
        TooFewEvents = "too_few_events",
        /// One user has so many of the sessions of an arm that the method is not shown to cover.
        OneUserDominates = "one_user_dominates",
        /// Too few users of an arm have a session that a person labelled.
        FewerThanThirtyLabelledUsersInAnArm = "fewer_than_30_labelled_users_in_an_arm",
        /// Too few users have a session that a person labelled.
        FewerThanThirtyLabelledUsers = "fewer_than_30_labelled_users",
        /// Rules alone judged, which see failures and hardly a success: what they decided has no rate.
        OnlyRulesJudged = "only_rules_judged",
        /// The sessions come from too few users for an interval.
        TooFewUsers = "too_few_users",
        /// No session that cites the rule has one to be compared with.
        NothingToCompareWith = "nothing_to_compare_with",
        /// No number of users, or none of those there are, decides about such an effect.
        OutOfReach = "out_of_reach",
    }
}

impl std::error::Error for NullReason {}

#[cfg(test)]
mod tests {
    use super::*;
    use base::vocabulary::Vocabulary;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_and_machine_readable() {
        let names: BTreeSet<_> = NullReason::ALL.iter().map(|r| r.as_str()).collect();
        assert_eq!(names.len(), NullReason::ALL.len());
        assert!(names.iter().all(|name| {
            name.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
        }));
    }
}
