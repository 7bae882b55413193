//! The two statements of a search, each one row with everything in it: what a person's learnings are ranked by, and
//! the learnings that won. A statement on its way costs more than most of what it does.

use sqlx::types::Json;

use super::{Filter, agent_playbooks, filtered, has_tag, is_one_of, profiles, user_playbooks};
use crate::experiments;
use crate::learnings::Learnings;
use storage::db::{Tx, listed};
use storage::error::{Error, Result};
use storage::row;
use storage::subjects::barrier;

/// A person's row as search looks at it: its number, its terms, its vector.
pub type Owned = (i64, String, Option<Vec<u8>>);

/// A person's rows to rank.
pub struct Owns {
    /// True if the person is being erased.
    pub is_erasing: bool,
    /// Change counter of the organization's playbooks.
    pub version: i64,
    pub profiles: Vec<Owned>,
    pub user_playbooks: Vec<Owned>,
}

/// Parameters of [`owned()`], besides the filter.
pub struct Asked<'a> {
    /// The model of the vectors to read.
    pub model: Option<&'a str>,
    /// Row limit of each kind.
    pub profiles: i64,
    pub user_playbooks: i64,
}

// The vectors come beside the list, one after the other: as part of it they would be digits, written and read one by one.
macro_rules! owned {
    ($table:literal, $vectors:literal, $key:literal, ($model:literal, $limit:literal), $passing:expr) => {
        concat!(
            "(SELECT CAST({json_rows:b.no, b.terms, length(b.vector)} AS TEXT) AS list,
                {joined:b.vector} AS vectors FROM (
                SELECT b.",
            $key,
            " AS no, b.terms, CASE WHEN ",
            $model,
            " IS NULL THEN NULL ELSE (
                    SELECT v.vector FROM ",
            $vectors,
            " v
                    WHERE v.org_id = b.org_id AND v.subject = b.subject AND v.",
            $key,
            " = b.",
            $key,
            "
                    AND v.revision = b.revision AND v.model = ",
            $model,
            ") END AS vector
                FROM ",
            $table,
            " b WHERE b.subject = $2 AND ",
            $passing,
            "
                ORDER BY b.",
            $key,
            " DESC LIMIT ",
            $limit,
            " + 0) AS b)"
        )
    };
}

/// The newest of a person's rows that pass the filter, with a model also their vectors as far as they are there.
pub async fn owned(tx: &mut Tx, filter: &Filter, asked: &Asked<'_>) -> Result<Owns> {
    type Found = (bool, Option<i64>, String, Option<Vec<u8>>, String, Option<Vec<u8>>);
    // The model, and the limits of both kinds, are the parameters that come after those of the filter.
    macro_rules! both {
        ($model:literal, $profiles:literal, $playbooks:literal $(, $form:ident)?) => {
            storage::statement!(concat!(
                "SELECT ",
                barrier::erasing!("$1", "$2"),
                ", (SELECT vectors_version FROM organization_scopes WHERE org_id = $1),
                   p.list, p.vectors, u.list, u.vectors FROM ",
                owned!(
                    "profiles",
                    "profile_vectors",
                    "profile_no",
                    ($model, $profiles),
                    profiles::passing!($($form)?)
                ),
                " AS p CROSS JOIN ",
                owned!(
                    "user_playbooks",
                    "user_playbook_vectors",
                    "user_playbook_id",
                    ($model, $playbooks),
                    user_playbooks::passing!($($form)?)
                ),
                " AS u"
            ))
        };
    }
    let Asked { model, profiles, user_playbooks } = *asked;
    let found = match filter.only_status() {
        Some(status) => {
            let sql = both!("$5", "$6", "$7", only_status);
            let (org_id, user_id) = (&filter.org_id, filter.user_id.as_ref());
            row!(
                tx,
                Found,
                sql,
                org_id,
                user_id,
                filter.now,
                status,
                model,
                profiles,
                user_playbooks
            )
        }
        None => {
            let sql = both!("$12", "$13", "$14");
            filtered!(@ row, tx, Found, filter, sql, model, profiles, user_playbooks)
        }
    }?;
    let (is_erasing, version, profiles, profile_vectors, user_playbooks, playbook_vectors) =
        found.ok_or_else(no_row)?;
    Ok(Owns {
        is_erasing,
        version: version.unwrap_or(0),
        profiles: with_vectors(&profiles, profile_vectors)?,
        user_playbooks: with_vectors(&user_playbooks, playbook_vectors)?,
    })
}

/// Rows from a list that says how long each one's vector is.
fn with_vectors(list: &str, vectors: Option<Vec<u8>>) -> Result<Vec<Owned>> {
    let mut rest = vectors.as_deref().unwrap_or_default();
    let mut next = |length: usize| {
        let (vector, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(vector.to_vec())
    };
    let rows: Vec<(i64, String, Option<usize>)> = listed(list)?;
    let missing = || Error::Internal("a search gave fewer vectors than it says".to_owned());
    rows.into_iter()
        .map(|(no, terms, length)| match length {
            Some(length) => Ok((no, terms, Some(next(length).ok_or_else(missing)?))),
            None => Ok((no, terms, None)),
        })
        .collect()
}

/// Row numbers of the best-ranked learnings.
#[derive(Debug, Default)]
pub struct Winners {
    pub profiles: Vec<i64>,
    pub user_playbooks: Vec<i64>,
    pub agent_playbooks: Vec<i64>,
}

macro_rules! won {
    ($table:literal, $key:literal, $numbers:literal, $columns:expr, $passing:expr) => {
        concat!(
            "(SELECT CAST({json_rows:",
            $columns,
            "} AS TEXT) FROM ",
            $table,
            " b
              WHERE b.",
            $key,
            " IN {integers:",
            $numbers,
            "} AND ",
            $passing,
            ")"
        )
    };
}

/// Winners that are still there and pass the filter, in any order, and whether an experiment is active.
pub async fn won(tx: &mut Tx, filter: &Filter, winners: &Winners) -> Result<(Learnings, bool)> {
    type Found = (bool, String, String, String);
    // The numbers of each kind, and the user id, are the parameters that come after those of the filter.
    macro_rules! all {
        ($profiles:literal, $user:literal, $agent:literal, $user_id:literal $(, $form:ident)?) => {
            storage::statement!(concat!(
                "SELECT ",
                experiments::one_runs!("$1"),
                ", ",
                won!(
                    "profiles",
                    "profile_no",
                    $profiles,
                    profiles::columns!($user_id, "CAST(b.", " AS TEXT)"),
                    profiles::passing!($($form)?)
                ),
                ", ",
                won!(
                    "user_playbooks",
                    "user_playbook_id",
                    $user,
                    user_playbooks::columns!($user_id, "CAST(b.", " AS TEXT)"),
                    concat!("b.subject = $2 AND ", user_playbooks::passing!($($form)?))
                ),
                ", ",
                won!(
                    "agent_playbooks",
                    "agent_playbook_id",
                    $agent,
                    agent_playbooks::columns!("CAST(b.", " AS TEXT)"),
                    agent_playbooks::passing!($($form)?)
                )
            ))
        };
    }
    let [profiles, user_playbooks, agent_playbooks] =
        [&winners.profiles, &winners.user_playbooks, &winners.agent_playbooks].map(Json);
    // Profiles and user playbooks that pass are all this user's.
    let user_id = filter.user_id.as_deref();
    let found = match filter.only_status() {
        Some(status) => {
            let sql = all!("$6", "$7", "$8", "$9", only_status);
            let Filter { org_id, user_id: user, now, playbook_statuses, .. } = filter;
            let approval = Json(playbook_statuses);
            row!(
                tx,
                Found,
                sql,
                org_id,
                user.as_ref(),
                *now,
                status,
                approval,
                profiles,
                user_playbooks,
                agent_playbooks,
                user_id
            )
        }
        None => {
            let sql = all!("$12", "$13", "$14", "$15");
            filtered!(
                @ row, tx, Found, filter, sql, profiles, user_playbooks, agent_playbooks, user_id
            )
        }
    }?;
    let (experiment_runs, profiles, user_playbooks, agent_playbooks) = found.ok_or_else(no_row)?;
    let learnings = Learnings {
        profiles: listed(&profiles)?,
        user_playbooks: listed(&user_playbooks)?,
        agent_playbooks: listed(&agent_playbooks)?,
    };
    Ok((learnings, experiment_runs))
}

fn no_row() -> Error {
    Error::Internal("a search gave no row".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_to_the_rows_that_have_them() {
        let list = r#"[[9,"p1xtea",3],[7,"p1xpot",null],[4,"",0],[2,"p1xtea",2]]"#;
        let rows = with_vectors(list, Some(vec![0, 255, 1, 34, 92])).unwrap();
        let row = |no, terms: &str, vector: Option<&[u8]>| {
            (no, terms.to_owned(), vector.map(<[u8]>::to_vec))
        };
        let expected = [
            row(9, "p1xtea", Some(&[0, 255, 1])),
            row(7, "p1xpot", None),
            row(4, "", Some(&[])),
            row(2, "p1xtea", Some(&[34, 92])),
        ];
        assert_eq!(rows, expected);
        assert!(with_vectors(list, Some(vec![0, 255, 1, 34])).is_err(), "one byte too few");
        assert!(with_vectors(list, None).is_err());
        assert!(with_vectors("[]", None).unwrap().is_empty());
    }
}
