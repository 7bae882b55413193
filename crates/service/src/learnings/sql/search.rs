//! The two statements of a search, each one row with everything in it: what a person's learnings are ranked by, and
//! the learnings that won. A statement on its way costs more than most of what it does.

use sqlx::types::Json;

use super::{Filter, agent_playbooks, filtered_row, has_tag, is_one_of, profiles, user_playbooks};
use crate::experiments;
use crate::learnings::Learnings;
use storage::db::{Tx, listed};
use storage::error::{Error, Result};
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
    ($table:literal, $vectors:literal, $key:literal, $limit:literal, $passing:expr) => {
        concat!(
            "(SELECT CAST({json_rows:b.no, b.terms, length(b.vector)} AS TEXT) AS list,
                {joined:b.vector} AS vectors FROM (
                SELECT b.",
            $key,
            " AS no, b.terms, CASE WHEN $12 IS NULL THEN NULL ELSE (
                    SELECT v.vector FROM ",
            $vectors,
            " v
                    WHERE v.org_id = b.org_id AND v.subject = b.subject AND v.",
            $key,
            " = b.",
            $key,
            "
                    AND v.revision = b.revision AND v.model = $12) END AS vector
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
    let found = filtered_row!(
        tx,
        (bool, Option<i64>, String, Option<Vec<u8>>, String, Option<Vec<u8>>),
        filter,
        concat!(
            "SELECT ",
            barrier::erasing!("$1", "$2"),
            ", (SELECT vectors_version FROM organization_scopes WHERE org_id = $1),
               p.list, p.vectors, u.list, u.vectors FROM ",
            owned!("profiles", "profile_vectors", "profile_no", "$13", profiles::passing!()),
            " AS p CROSS JOIN ",
            owned!(
                "user_playbooks",
                "user_playbook_vectors",
                "user_playbook_id",
                "$14",
                user_playbooks::passing!()
            ),
            " AS u"
        ),
        asked.model,
        asked.profiles,
        asked.user_playbooks
    )?;
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
    let found = filtered_row!(
        tx,
        (bool, String, String, String),
        filter,
        concat!(
            "SELECT ",
            experiments::one_runs!("$1"),
            ", ",
            won!(
                "profiles",
                "profile_no",
                "$12",
                profiles::columns!("$15", "CAST(b.", " AS TEXT)"),
                profiles::passing!()
            ),
            ", ",
            won!(
                "user_playbooks",
                "user_playbook_id",
                "$13",
                user_playbooks::columns!("$15", "CAST(b.", " AS TEXT)"),
                concat!("b.subject = $2 AND ", user_playbooks::passing!())
            ),
            ", ",
            won!(
                "agent_playbooks",
                "agent_playbook_id",
                "$14",
                agent_playbooks::columns!("CAST(b.", " AS TEXT)"),
                agent_playbooks::passing!()
            )
        ),
        Json(&winners.profiles),
        Json(&winners.user_playbooks),
        Json(&winners.agent_playbooks),
        // Profiles and user playbooks that pass are all this user's.
        filter.user_id.as_deref()
    )?;
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
