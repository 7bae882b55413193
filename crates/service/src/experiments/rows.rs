//! One row per session: what an analysis is made of, what an export holds and what `evenhand experiments analyse`
//! reads.
//!
//! Everything a number depends on is in here, so that whoever has the rows can compute the number again.

use serde::{Deserialize, Deserializer, Serialize};

use super::Arm;
use base::owner::UserId;

base::vocabulary! {
    /// Attribution of an evaluated session, or the reason for having none.
    pub enum Reason {
        /// It counts.
        Attributed = "attributed",
        /// None of its requests names the experiment.
        NoMetadata = "no_metadata",
        /// Its requests name both arms.
        MixedArms = "mixed_arms",
        /// The stored arm is not the user's.
        ArmMismatch = "arm_mismatch",
        /// The user has requests in both arms.
        UserInBothArms = "user_in_both_arms",
    }
}

impl Reason {
    /// Reasons that occur only if arms are stored wrongly.
    pub const IMPOSSIBLE: [Reason; 3] =
        [Reason::MixedArms, Reason::ArmMismatch, Reason::UserInBothArms];
}

/// A session of a user; or, without a session, that the user was exposed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionRow {
    pub user: UserId,
    /// The stored arm; absent where the session names no experiment.
    pub arm: Option<Arm>,
    pub session: Option<String>,
    /// The verdict; absent when the session was published and not judged.
    #[serde(deserialize_with = "yes_or_no")]
    pub success: Option<bool>,
    /// Reason that the verdict counts or not; absent means that it does, if there is an arm.
    pub reason: Option<Reason>,
    /// True if its first request precedes the user's first search. It counts all the same.
    #[serde(deserialize_with = "flag")]
    pub began_before_exposure: bool,
    /// True if its last request follows the stop. It counts all the same.
    #[serde(deserialize_with = "flag")]
    pub ended_after_stop: bool,
    pub corrections: Option<i64>,
    /// The user's turns to resolution, of successes.
    pub turns: Option<i64>,
    #[serde(deserialize_with = "yes_or_no")]
    pub escalated: Option<bool>,
    /// Output tokens; absent when some count is unknown.
    pub tokens: Option<i64>,
    /// A session of the thirty days before the user's first exposure.
    #[serde(deserialize_with = "flag")]
    pub pre_period: bool,
    /// Weeks since the start.
    pub week: Option<u32>,
    pub source: Option<String>,
    pub agent_version: Option<String>,
    pub judge: Option<String>,
    pub prompt_version: Option<String>,
    /// A person's label of the session.
    #[serde(deserialize_with = "yes_or_no")]
    pub label: Option<bool>,
    /// True if a search was recorded; absent means that it was.
    #[serde(deserialize_with = "yes_or_no")]
    pub exposed: Option<bool>,
    /// Learnings found by its searches: served to treatment, withheld from the holdout.
    pub found: u64,
    pub served: u64,
    pub served_new: u64,
    pub served_from_holdout: u64,
    /// True if its turns carried learnings.
    #[serde(deserialize_with = "flag")]
    pub carried: bool,
    /// True if sampling left it out: nobody asked for a verdict on it.
    #[serde(deserialize_with = "flag")]
    pub sampled_out: bool,
    /// True if it was due and has no verdict: the judge abstained, or failed.
    #[serde(deserialize_with = "flag")]
    pub without_verdict: bool,
}

/// true, false, 1 or 0.
fn yes_or_no<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Flag(bool),
        Number(u8),
    }
    match Option::<Either>::deserialize(from)? {
        None => Ok(None),
        Some(Either::Flag(flag)) => Ok(Some(flag)),
        Some(Either::Number(number @ 0..=1)) => Ok(Some(number == 1)),
        Some(Either::Number(_)) => Err(serde::de::Error::custom("must be true, false, 1 or 0")),
    }
}

fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(yes_or_no(from)?.unwrap_or(false))
}

impl SessionRow {
    /// The row of one line; says what is wrong with it.
    pub fn parse(line: &str) -> Result<SessionRow, String> {
        let row: SessionRow = serde_json::from_str(line).map_err(|e| e.to_string())?;
        if row.user.is_empty() {
            return Err("user is missing".to_owned());
        }
        if row.session.is_none() && row.arm.is_none() {
            return Err("a row has a session, or the arm its user was exposed to".to_owned());
        }
        let negative = [row.corrections, row.turns, row.tokens].iter().flatten().any(|n| *n < 0);
        if negative {
            return Err("corrections, turns and tokens are not negative".to_owned());
        }
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let row = SessionRow {
            user: "u".into(),
            arm: Some(Arm::Holdout),
            session: Some("s".to_owned()),
            success: Some(true),
            reason: Some(Reason::ArmMismatch),
            began_before_exposure: true,
            tokens: Some(7),
            found: 3,
            ..SessionRow::default()
        };
        assert_eq!(SessionRow::parse(&serde_json::to_string(&row).unwrap()), Ok(row));
    }

    #[test]
    fn numbers_stand_for_yes_and_no_and_mistakes_are_named() {
        let row = SessionRow::parse(r#"{"user":"u","arm":"treatment","session":"s","success":1}"#)
            .unwrap();
        assert_eq!((row.success, row.pre_period), (Some(true), false));
        for wrong in [
            r#"{"arm":"treatment","session":"s"}"#,
            r#"{"user":"u","arm":"both","session":"s"}"#,
            r#"{"user":"u","success":1}"#,
            r#"{"user":"u","session":"s","success":2}"#,
            r#"{"user":"u","session":"s","tokens":-1}"#,
            "[]",
        ] {
            assert!(SessionRow::parse(wrong).is_err(), "{wrong}");
        }
    }
}
