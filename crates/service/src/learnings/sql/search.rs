//! The two statements of a search, each one row with everything in it: what a person's learnings are ranked by, and
//! the learnings that won. A statement on its way costs more than most of what it does.

use sqlx::types::Json;

use super::{Filter, agent_playbooks, filtered, has_tag, is_one_of, profiles, user_playbooks};
use crate::experiments;
use crate::learnings::Learnings;
use storage::db::{Tx, listed};
use storage::error::{Error, Result};
use storage::subjects::barrier;

/// A person's row as search looks at it: its number, its terms, its vector in hexadecimal digits.
pub type Owned = (i64, String, Option<String>);

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

macro_rules! owned {
    ($table:literal, $vectors:literal, $key:literal, $limit:literal, $passing:expr) => {
        concat!(
            "(SELECT CAST({json_rows:b.no, b.terms, b.vector} AS TEXT) FROM (
                SELECT b.",
            $key,
            " AS no, b.terms, CASE WHEN $12 IS NULL THEN NULL ELSE (
                    SELECT {hex:v.vector} FROM ",
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
    let found = filtered!(
        tx,
        (bool, Option<i64>, String, String),
        filter,
        concat!(
            "SELECT ",
            barrier::erasing!("$1", "$2"),
            ", (SELECT vectors_version FROM organization_scopes WHERE org_id = $1), ",
            owned!("profiles", "profile_vectors", "profile_no", "$13", profiles::passing!()),
            ", ",
            owned!(
                "user_playbooks",
                "user_playbook_vectors",
                "user_playbook_id",
                "$14",
                user_playbooks::passing!()
            )
        ),
        asked.model,
        asked.profiles,
        asked.user_playbooks
    )?;
    let (is_erasing, version, profiles, user_playbooks) = only(found)?;
    Ok(Owns {
        is_erasing,
        version: version.unwrap_or(0),
        profiles: listed(&profiles)?,
        user_playbooks: listed(&user_playbooks)?,
    })
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
    let found = filtered!(
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
    let (experiment_runs, profiles, user_playbooks, agent_playbooks) = only(found)?;
    let learnings = Learnings {
        profiles: listed(&profiles)?,
        user_playbooks: listed(&user_playbooks)?,
        agent_playbooks: listed(&agent_playbooks)?,
    };
    Ok((learnings, experiment_runs))
}

fn only<T>(rows: Vec<T>) -> Result<T> {
    rows.into_iter().next().ok_or_else(|| Error::Internal("a search gave no row".to_owned()))
}
