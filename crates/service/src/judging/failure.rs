//! A judge that could not be asked: how long work waits, and what callers are told.

use judge::JudgeError;
use storage::error::{Code, Error};

/// 10, 20, 40 … seconds, at most an hour, give or take a quarter.
pub fn pause(times: i64, random: f64) -> i64 {
    let seconds = 5i64 << times.clamp(1, 10);
    #[allow(clippy::cast_possible_truncation)] // at most an hour and a quarter
    let jittered = (seconds.min(3600) as f64 * (0.75 + random / 2.0)).round() as i64;
    jittered.max(1)
}

/// The problem that a failed judgement is to people and callers.
pub fn judge_error(error: &JudgeError) -> Error {
    let code = if error.is_temporary() { Code::JudgeUnavailable } else { Code::JudgeFailed };
    let retry_after = error
        .is_temporary()
        .then(|| error.after().map_or(30, |after| after.as_secs().clamp(1, 3600)));
    Error::Refused { code, detail: error.to_string(), problems: Default::default(), retry_after }
}
