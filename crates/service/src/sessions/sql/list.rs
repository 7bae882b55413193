//! SQL of the list of sessions.

use crate::experiments::Arm;
use crate::sessions::{CallTotals, ListedSession, SessionOrder, VerdictFilter};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::{row, rows};

macro_rules! session_columns {
    () => {
        "s.session_id, s.first_request_at, s.last_request_at, s.finished_at, s.source, s.agent_version, \
         s.request_count, s.interaction_count"
    };
}
pub(crate) use session_columns;

/// Filter of a list of sessions. `None` means any.
#[derive(Clone, Default)]
pub struct SessionFilter {
    pub user_id: Option<UserId>,
    pub source: Option<String>,
    pub agent_version: Option<String>,
    /// By the newest verdict.
    pub verdict: Option<VerdictFilter>,
    /// Last activity at or after, before.
    pub from: Option<i64>,
    pub to: Option<i64>,
    /// A pattern from [`storage::db::like_pattern`] that some turn's content matches.
    pub text: Option<String>,
    /// One of these ids.
    pub session_ids: Option<Vec<String>>,
    /// As many corrections or more, and as many at most, by the newest verdict.
    pub min_corrections: Option<i64>,
    pub max_corrections: Option<i64>,
    /// Some request names this experiment, and this arm of it.
    pub experiment_id: Option<String>,
    pub arm: Option<Arm>,
    pub order: SessionOrder,
    /// Only sessions after this one in the list's order.
    pub after: Option<Place>,
    /// Only sessions up to this one in the list's order, itself included.
    pub until: Option<Place>,
}

/// The place of a session in the list: its last activity, user and id.
pub type Place = (i64, UserId, String);

impl SessionFilter {
    /// True if sessions have to be looked at that are not in the list: no index knows which are.
    pub fn must_look(&self) -> bool {
        let by_their_rows = self.source.is_some()
            || self.agent_version.is_some()
            || self.verdict.is_some()
            || self.min_corrections.is_some()
            || self.max_corrections.is_some()
            || self.experiment_id.is_some();
        let is_narrow = self.user_id.is_some() || self.session_ids.is_some();
        self.session_ids.is_none() && self.text.is_some() || by_their_rows && !is_narrow
    }

    /// The first and the last second of last activities.
    fn times(&self) -> (i64, i64) {
        let (first, last) = match self.order {
            SessionOrder::Newest => (&self.until, &self.after),
            SessionOrder::Oldest => (&self.after, &self.until),
        };
        let time_of = |place: &Option<Place>| place.as_ref().map(|(time, ..)| *time);
        let before = self.to.map(|to| to.saturating_sub(1));
        (
            self.from.into_iter().chain(time_of(first)).max().unwrap_or(i64::MIN),
            before.into_iter().chain(time_of(last)).min().unwrap_or(i64::MAX),
        )
    }

    /// The ids as a parameter of a statement.
    fn session_id_list(&self) -> Option<String> {
        let ids = self.session_ids.as_ref()?;
        Some(serde_json::Value::from(ids.clone()).to_string())
    }
}

/// Runs one of the texts of a statement: which index answers it depends on the filter. `+` keeps an engine from walking
/// everybody's sessions by their times where few are asked for.
macro_rules! by_index {
    ($filter:expr, $text:ident) => {
        match ($filter.order, &$filter.user_id, &$filter.session_ids) {
            (SessionOrder::Newest, Some(_), _) => $text!("s.subject = $2", "+", "<", ">=", "DESC"),
            (SessionOrder::Oldest, Some(_), _) => $text!("s.subject = $2", "+", ">", "<=", "ASC"),
            (SessionOrder::Newest, None, Some(_)) => {
                $text!("$2 IS NULL AND s.session_id IN {texts:$9}", "+", "<", ">=", "DESC")
            }
            (SessionOrder::Oldest, None, Some(_)) => {
                $text!("$2 IS NULL AND s.session_id IN {texts:$9}", "+", ">", "<=", "ASC")
            }
            (SessionOrder::Newest, None, None) => $text!("$2 IS NULL", "", "<", ">=", "DESC"),
            (SessionOrder::Oldest, None, None) => $text!("$2 IS NULL", "", ">", "<=", "ASC"),
        }
    };
}

macro_rules! by_activity {
    ($plus:literal, $direction:literal) => {
        concat!(
            $plus,
            "s.last_request_at ",
            $direction,
            ", s.subject ",
            $direction,
            ", s.session_id ",
            $direction
        )
    };
}

/// Sessions of a filter, $1 to $19, with their newest verdicts.
macro_rules! filtered {
    ($of:literal, $plus:literal, $after:literal, $until:literal) => {
        concat!(
            " FROM sessions s
              LEFT JOIN evaluation_results v ON v.org_id = s.org_id AND v.subject = s.subject
                AND v.session_id = s.session_id AND v.is_newest
              WHERE s.org_id = $1 AND ",
            $of,
            " AND ($3 IS NULL OR s.source = $3)
              AND ($4 IS NULL OR s.agent_version = $4)
              AND ",
            $plus,
            "s.last_request_at >= $5 AND ",
            $plus,
            "s.last_request_at <= $6
              AND ($8 IS NULL OR ($8 = 'none' AND v.result_id IS NULL)
                   OR ($8 = 'success' AND v.is_success = TRUE)
                   OR ($8 = 'failure' AND v.is_success = FALSE))
              AND ($9 IS NULL OR s.session_id IN {texts:$9})
              AND ($10 IS NULL OR v.number_of_corrections >= $10)
              AND ($11 IS NULL OR EXISTS (
                    SELECT 1 FROM requests q WHERE q.org_id = s.org_id AND q.subject = s.subject
                       AND q.session_id = s.session_id AND q.retrieval_experiment_id = $11
                       AND ($12 IS NULL OR q.retrieval_experiment_arm = $12)))
              AND ($13 IS NULL OR v.number_of_corrections <= $13)
              AND ($14 IS NULL OR (s.last_request_at, s.subject, s.session_id) ",
            $after,
            " ($14, $15, $16))
              AND ($17 IS NULL OR (s.last_request_at, s.subject, s.session_id) ",
            $until,
            " ($17, $18, $19))
              AND ($7 IS NULL OR EXISTS (
                    SELECT 1 FROM interactions i WHERE i.org_id = s.org_id AND i.subject = s.subject
                       AND i.session_id = s.session_id AND LOWER(i.content) LIKE LOWER($7) ESCAPE '\\'))"
        )
    };
}

/// A call of [`rows!`] or [`row!`] with a filter's values, $1 to $19.
macro_rules! with_filter {
    ($call:ident, $tx:expr, $row:ty, $sql:ident, $org_id:expr, $filter:expr, $more:expr) => {{
        let (from, to) = $filter.times();
        let parts = |place: &Option<Place>| match place {
            Some((time, user_id, session_id)) => {
                (Some(*time), Some(user_id.clone()), Some(session_id.clone()))
            }
            None => (None, None, None),
        };
        let (after, until) = (parts(&$filter.after), parts(&$filter.until));
        $call!(
            $tx,
            $row,
            $sql,
            $org_id,
            $filter.user_id.as_ref(),
            $filter.source.as_deref(),
            $filter.agent_version.as_deref(),
            from,
            to,
            $filter.text.as_deref(),
            $filter.verdict,
            $filter.session_id_list(),
            $filter.min_corrections,
            $filter.experiment_id.as_deref(),
            $filter.arm,
            $filter.max_corrections,
            after.0,
            after.1,
            after.2,
            until.0,
            until.1,
            until.2,
            $more
        )
    }};
}

/// In the filter's order, ties by user and session.
pub async fn list_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    filter: &SessionFilter,
    limit: i64,
) -> Result<Vec<ListedSession>> {
    macro_rules! looked_up {
        () => {
            ", {user_of:s} AS user_id,
               (SELECT SUBSTR(i.content, 1, 200) FROM interactions i
                WHERE i.org_id = $1 AND i.subject = s.subject AND i.session_id = s.session_id
                  AND LOWER(i.role) = 'user' AND i.content <> ''
                ORDER BY i.created_at, i.interaction_id LIMIT 1) AS first_words,
               (SELECT CAST({json_rows:i.usage} AS TEXT) FROM interactions i
                WHERE i.org_id = $1 AND i.subject = s.subject AND i.session_id = s.session_id
                  AND i.usage IS NOT NULL) AS usages"
        };
    }
    macro_rules! page {
        ($looked_up:expr, $of:literal, $plus:literal, $after:literal, $until:literal, $direction:literal) => {
            concat!(
                "SELECT s.org_id, s.subject, ",
                session_columns!(),
                ", v.is_success, v.failure_type, v.failure_reason,
                   v.number_of_corrections AS number_of_correction_per_session, v.is_escalated",
                $looked_up,
                filtered!($of, $plus, $after, $until),
                " ORDER BY ",
                by_activity!($plus, $direction),
                " LIMIT $20 + 0"
            )
        };
    }
    // Users, first words and usages are looked up for the sessions of the page only. Citus does so beside the sessions:
    // what it has put together from several servers it cannot look anything up for.
    macro_rules! list {
        ($of:literal, $plus:literal, $after:literal, $until:literal, $direction:literal) => {
            match tx.is_spread() {
                true => {
                    storage::statement!(page!(looked_up!(), $of, $plus, $after, $until, $direction))
                }
                false => storage::statement!(concat!(
                    "SELECT s.*",
                    looked_up!(),
                    " FROM (",
                    page!("", $of, $plus, $after, $until, $direction),
                    ") s ORDER BY ",
                    by_activity!("", $direction)
                )),
            }
        };
    }
    let sql = by_index!(filter, list);
    let found = with_filter!(rows, tx, ListedRow, sql, org_id, filter, limit)?;
    let listed = |row: ListedRow| {
        Ok(ListedSession { calls: CallTotals::of_rows(&row.usages)?, ..row.session })
    };
    found.into_iter().map(listed).collect()
}

#[derive(sqlx_macros::FromRow)]
struct ListedRow {
    #[sqlx(flatten)]
    session: ListedSession,
    /// Usage of each turn that has one.
    usages: String,
}

/// The place of the session that comes `number` after the filter's first in its order, whatever else the filter says of
/// it than user and times; none if there are not so many.
pub async fn place_after(
    tx: &mut Tx,
    org_id: &OrgId,
    filter: &SessionFilter,
    number: i64,
) -> Result<Option<Place>> {
    macro_rules! nth {
        ($of:literal, $plus:literal, $after:literal, $direction:literal) => {
            concat!(
                " FROM sessions s WHERE s.org_id = $1 AND ",
                $of,
                " AND ",
                $plus,
                "s.last_request_at >= $3 AND ",
                $plus,
                "s.last_request_at <= $4
                  AND ($5 IS NULL OR (s.last_request_at, s.subject, s.session_id) ",
                $after,
                " ($5, $6, $7)) ORDER BY ",
                by_activity!($plus, $direction),
                " LIMIT 1 OFFSET $8"
            )
        };
    }
    macro_rules! place {
        ($of:literal, $plus:literal, $after:literal, $direction:literal) => {
            match tx.is_spread() {
                true => storage::statement!(concat!(
                    "SELECT s.last_request_at, {user_of:s}, s.session_id",
                    nth!($of, $plus, $after, $direction)
                )),
                // Not the user of every session that is skipped.
                false => storage::statement!(concat!(
                    "SELECT s.last_request_at, {user_of:s}, s.session_id
                     FROM (SELECT s.org_id, s.subject, s.last_request_at, s.session_id",
                    nth!($of, $plus, $after, $direction),
                    ") s"
                )),
            }
        };
    }
    // Every session has a request. The index over everybody's times does not have their number, and so is not taken
    // for a person's sessions because it has all that is asked for.
    macro_rules! of_user {
        ($after:literal, $direction:literal) => {
            place!("s.subject = $2 AND s.request_count > 0", "+", $after, $direction)
        };
    }
    let sql = match (filter.order, &filter.user_id) {
        (SessionOrder::Newest, Some(_)) => of_user!("<", "DESC"),
        (SessionOrder::Oldest, Some(_)) => of_user!(">", "ASC"),
        (SessionOrder::Newest, None) => place!("$2 IS NULL", "", "<", "DESC"),
        (SessionOrder::Oldest, None) => place!("$2 IS NULL", "", ">", "ASC"),
    };
    let (from, to) = filter.times();
    row!(
        tx,
        Place,
        sql,
        org_id,
        filter.user_id.as_ref(),
        from,
        to,
        filter.after.as_ref().map(|(time, ..)| *time),
        filter.after.as_ref().map(|(_, user_id, _)| user_id),
        filter.after.as_ref().map(|(.., session_id)| session_id.as_str()),
        number
    )
}

/// Number of sessions of a filter; counted no further than `most`.
pub async fn count_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    filter: &SessionFilter,
    most: i64,
) -> Result<i64> {
    macro_rules! count {
        ($of:literal, $plus:literal, $after:literal, $until:literal, $direction:literal) => {
            storage::statement!(concat!(
                "SELECT COUNT(*) FROM (SELECT 1",
                filtered!($of, $plus, $after, $until),
                " LIMIT $20 + 0) s"
            ))
        };
    }
    let sql = by_index!(filter, count);
    let counted = with_filter!(row, tx, (i64,), sql, org_id, filter, most)?;
    Ok(counted.map_or(0, |(count,)| count))
}
