//! The list of sessions, page by page. Where no index knows which sessions a filter means (those of a verdict, with a text),
//! they are looked at in the list's order until the page is full or the time is over.

use std::time::{Duration, Instant};

use serde::Serialize;
use utoipa::ToSchema;

use super::sql::{self, Place, SessionFilter};
use super::{ListedSession, SessionOrder, SessionSummary, VerdictFilter};
use crate::app::App;
use crate::experiments::Arm;
use base::owner::{OrgId, UserId};
use storage::db::{Tx, like_pattern};
use storage::error::{Error, Result};

/// A page of the session list.
pub struct ListSessions {
    pub user_id: Option<UserId>,
    pub source: Option<String>,
    pub agent_version: Option<String>,
    pub verdict: Option<VerdictFilter>,
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub text: Option<String>,
    pub session_ids: Option<Vec<String>>,
    pub min_corrections: Option<i64>,
    pub max_corrections: Option<i64>,
    pub experiment_id: Option<String>,
    pub arm: Option<Arm>,
    pub order: SessionOrder,
    pub cursor: Option<String>,
    pub limit: i64,
    /// Whether all sessions of the filter are counted.
    pub count: bool,
}

/// Sessions of a filter are counted up to this number.
pub const MOST_COUNTED: i64 = 10_000;

/// A page of sessions, in the order of their last activity.
#[derive(Serialize, ToSchema)]
#[schema(as = ListSessionsResponse)]
pub struct SessionPage {
    pub sessions: Vec<ListedSession>,
    /// Ask with this for the next page; null on the last.
    pub next_cursor: Option<String>,
    /// Sessions of the filter on all pages, at most 10,000; null unless `count` asks for it, and where it cannot be
    /// told in a second.
    pub total: Option<i64>,
    /// Set where a page is not full because too many sessions had to be looked at: only those with a last activity up
    /// to here were. `next_cursor` goes on with the others.
    pub searched_to: Option<i64>,
}

/// Sessions that a filter is first tried on.
const FIRST_PART: i64 = 100;
/// Time that a part should take, so that the limit is kept to.
const PART_TIME: Duration = Duration::from_millis(100);

pub async fn list(app: &App, org_id: &OrgId, input: ListSessions) -> Result<SessionPage> {
    let filter = SessionFilter {
        user_id: input.user_id,
        source: input.source,
        agent_version: input.agent_version,
        verdict: input.verdict,
        from: input.from,
        to: input.to,
        text: input.text.as_deref().map(like_pattern),
        session_ids: input.session_ids,
        min_corrections: input.min_corrections,
        max_corrections: input.max_corrections,
        experiment_id: input.experiment_id,
        arm: input.arm,
        order: input.order,
        after: input.cursor.as_deref().map(decode_cursor).transpose()?,
        until: None,
    };
    let (limit, count) = (input.limit, input.count);
    let time = Duration::from_millis(app.settings.sessions.list_milliseconds);
    let (mut sessions, reached, total) = app
        .db
        .read_standby("sessions.list", (org_id.to_owned(), filter), move |tx, (org_id, filter)| {
            Box::pin(async move {
                let deadline = Instant::now() + time;
                let (sessions, reached) = find(tx, org_id, filter, limit + 1, deadline).await?;
                let total = match count && reached.is_none() {
                    true => count_all(tx, org_id, filter, deadline).await?,
                    false => None,
                };
                Ok((sessions, reached, total))
            })
        })
        .await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = sessions.len() > limit;
    sessions.truncate(limit);
    let last = sessions.last().filter(|_| more).map(|last| {
        let SessionSummary { last_request_at, user_id, session_id, .. } = &last.session;
        (*last_request_at, user_id.clone(), session_id.clone())
    });
    let searched_to = reached.as_ref().map(|(time, ..)| *time);
    let next_cursor = last.or(reached).map(|place| encode_cursor(&place));
    Ok(SessionPage { sessions, next_cursor, total, searched_to })
}

/// The sessions of a filter in its order, up to `most`. A filter that has to look at sessions looks at them in parts;
/// when the time is over before it found enough, the place that it has come to is given as well.
async fn find(
    tx: &mut Tx,
    org_id: &OrgId,
    filter: &SessionFilter,
    most: i64,
    deadline: Instant,
) -> Result<(Vec<ListedSession>, Option<Place>)> {
    let mut parts = Parts::of(filter, deadline);
    let mut found = Vec::new();
    while let Some(part) = parts.next(tx, org_id).await? {
        let missing = most - i64::try_from(found.len()).unwrap_or(most);
        found.extend(sql::list_sessions(tx, org_id, part, missing).await?);
        if found.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            return Ok((found, None));
        }
    }
    Ok((found, parts.reached()))
}

/// Number of sessions of a filter on all pages, as far as [`MOST_COUNTED`]; none if that takes too long.
async fn count_all(
    tx: &mut Tx,
    org_id: &OrgId,
    filter: &SessionFilter,
    deadline: Instant,
) -> Result<Option<i64>> {
    let everywhere = SessionFilter { after: None, ..filter.clone() };
    let mut parts = Parts::of(&everywhere, deadline);
    let mut total = 0;
    while let Some(part) = parts.next(tx, org_id).await? {
        total += sql::count_sessions(tx, org_id, part, MOST_COUNTED - total).await?;
        if total >= MOST_COUNTED {
            return Ok(Some(total));
        }
    }
    Ok(parts.reached().is_none().then_some(total))
}

/// A filter, part by part of its sessions: as long as there is time, or at once where it has to look at none that are
/// not in the list.
struct Parts {
    filter: SessionFilter,
    size: i64,
    deadline: Instant,
    /// When the last part began.
    begun: Option<Instant>,
}

impl Parts {
    fn of(filter: &SessionFilter, deadline: Instant) -> Self {
        Parts { filter: filter.clone(), size: FIRST_PART, deadline, begun: None }
    }

    async fn next(&mut self, tx: &mut Tx, org_id: &OrgId) -> Result<Option<&SessionFilter>> {
        if let Some(begun) = self.begun {
            let now = Instant::now();
            if self.filter.until.is_none() || now >= self.deadline {
                return Ok(None);
            }
            let was_quick = now - begun < PART_TIME;
            self.size = if was_quick { self.size * 2 } else { (self.size / 2).max(FIRST_PART) };
            self.filter.after = self.filter.until.take();
        }
        self.begun = Some(Instant::now());
        if self.filter.must_look() {
            let next = sql::place_after(tx, org_id, &self.filter, self.size - 1);
            self.filter.until = next.await?;
        }
        Ok(Some(&self.filter))
    }

    /// The place up to which sessions were looked at, unless that was the end.
    fn reached(self) -> Option<Place> {
        self.filter.until
    }
}

fn encode_cursor(place: &Place) -> String {
    hex::encode(serde_json::to_vec(place).unwrap_or_default())
}

fn decode_cursor(cursor: &str) -> Result<Place> {
    hex::decode(cursor)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Place>(&bytes).ok())
        .filter(|(_, user_id, session_id)| !user_id.contains('\0') && !session_id.contains('\0'))
        .ok_or_else(|| {
            Error::invalid(vec![storage::error::InputProblem {
                pointer: "/cursor".to_owned(),
                code: "bad_form".to_owned(),
                detail: "is not a cursor this server gave out; start without one".to_owned(),
            }])
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_and_inventions_are_refused() {
        let place = (5, UserId::from("ü|1"), "s".to_owned());
        assert_eq!(decode_cursor(&encode_cursor(&place)).unwrap(), place);
        assert!(decode_cursor("zz").is_err() && decode_cursor("00").is_err());
    }
}
