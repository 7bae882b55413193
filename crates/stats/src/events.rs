//! When there is too little to say anything beside the headline.

use super::comparison::Comparison;
use super::reason::{Defined, NullReason};

/// Nothing but the headline before the smaller arm has this many evaluated users.
pub const SMALLEST_ARM: usize = 30;
/// Nothing but the headline before both arms together have this many successes, and as many failures.
pub const SMALLEST_EVENTS: u64 = 5;

/// Refuses with `too_few_events` until the smaller arm has [`SMALLEST_ARM`] evaluated users and, for outcomes
/// between 0 and 1, both arms together have [`SMALLEST_EVENTS`] successes and [`SMALLEST_EVENTS`] failures.
///
/// Null if an arm has no evaluated session.
pub fn require_events(comparison: &Comparison<'_>) -> Defined<()> {
    comparison.lift()?;
    let Comparison { treatment, holdout } = comparison;
    if treatment.user_count().min(holdout.user_count()) < SMALLEST_ARM {
        return Err(NullReason::TooFewEvents);
    }
    if treatment.is_binary() && holdout.is_binary() {
        let sessions = treatment.session_count().saturating_add(holdout.session_count());
        let total = treatment.total().saturating_add(holdout.total());
        let successes = u64::try_from(total).unwrap_or(0);
        if successes.min(sessions.saturating_sub(successes)) < SMALLEST_EVENTS {
            return Err(NullReason::TooFewEvents);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arm, UserSum};

    #[test]
    fn thirty_users_five_successes_and_five_failures() {
        let arm = |users: usize, failures: usize| -> Arm {
            (0..users)
                .map(|n| UserSum { sessions: 2, total: 2 - i64::from(n < failures) })
                .collect()
        };
        let check = |t: &Arm, c: &Arm| require_events(&Comparison::new(t, c));
        assert_eq!(check(&arm(100, 3), &arm(30, 2)), Ok(()));
        assert_eq!(check(&arm(100, 3), &arm(30, 1)), Err(NullReason::TooFewEvents));
        assert_eq!(check(&arm(100, 30), &arm(29, 9)), Err(NullReason::TooFewEvents));
        let tokens: Arm = (0..30).map(|_| UserSum { sessions: 1, total: 700 }).collect();
        assert_eq!(check(&tokens, &tokens), Ok(()));
        let none = check(&arm(100, 3), &Arm::default());
        assert_eq!(none, Err(NullReason::ArmWithoutEvaluatedSessions));
    }
}
