//! `from_ts` and `to_ts` of requests: which sessions, by the time of their first requests.

use crate::http::fields::Fields;

/// A moment from 1970 on.
pub fn moment(f: &mut Fields<'_>, name: &'static str) -> Option<i64> {
    let at = f.time(name)?;
    if at < 0 {
        f.problem(name, "out_of_range", "must not be before 1970");
        return None;
    }
    Some(at)
}

/// A required window whose end may be its start; both are included.
pub fn read_window(f: &mut Fields<'_>) -> (i64, i64) {
    let (from_ts, to_ts) = both_ends(f, "Included; not before `from_ts`.");
    if from_ts > to_ts && are_known(f) {
        f.problem("to_ts", "before_start", "must not be before from_ts");
    }
    (from_ts, to_ts)
}

/// A required window that is not empty.
pub fn read_closed_window(f: &mut Fields<'_>) -> (i64, i64) {
    let (from_ts, to_ts) = both_ends(f, "Included; the future is read as now.");
    if from_ts >= to_ts && are_known(f) {
        f.problem("to_ts", "not_after_start", "must be after from_ts");
    }
    (from_ts, to_ts)
}

fn both_ends(f: &mut Fields<'_>, about_end: &'static str) -> (i64, i64) {
    let about_start = "Included: of the sessions' first requests.";
    let from_ts = f.about(about_start).required("from_ts", |f| moment(f, "from_ts"));
    let to_ts = f.about(about_end).required("to_ts", |f| moment(f, "to_ts"));
    (from_ts, to_ts)
}

fn are_known(f: &Fields<'_>) -> bool {
    ["from_ts", "to_ts"].iter().all(|name| !f.is_absent(name) && !f.is_refused(name))
}
