//! Another governance key for subjects.
//!
//! Which key subjects are made with is a fact about the installation. After that key has leaked, everybody whose user id
//! is known gets a subject under another one, in all tables, a page of people in a transaction. Those who were erased
//! stay behind: nobody knows whom to compute a subject of. Their rows in `subjects` say which key they stand under.
//!
//! While a rekey is under way a second fact says so, and nothing else opens the database. Whom it is done with shows by
//! computing: it goes on wherever it was interrupted. See docs/decisions/0036-rekey.md.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::SubjectKeys;
use super::sql::rekey as sql;
use super::user_tables::UserTable;
use crate::db::{Engine, Objects, Subject, SubjectHash, Tx};
use crate::error::{Error, Result};
use base::owner::{OrgId, UserId};

/// The fact that names the key which subjects are made with.
pub const SUBJECT_KEY: &str = "subject_key";
/// The fact that a rekey is under way, with the key that it leads to.
const UNDER_WAY: &str = "rekey";
/// The facts that a key makes no subjects any more, before its id.
pub const RETIRED: &str = "retired_key/";
/// People of a transaction.
pub const PAGE: i64 = 200;

/// The tables whose rows stand under subjects.
#[derive(Clone, Copy)]
pub struct Tables {
    pub of_people: &'static [UserTable],
    /// Others with a column `subject`, which hold nothing of a person.
    pub others: &'static [&'static str],
}

/// Facts of the database about the keys of subjects.
#[derive(Debug, Default)]
pub struct Standing {
    /// None before the first start is through.
    pub subject_key: Option<String>,
    /// The key that a rekey under way leads to.
    pub under_way: Option<String>,
    /// Subjects under other keys, by key id.
    pub behind: BTreeMap<String, HashSet<Subject>>,
}

/// Reads it, also from a database without a schema or with an older one.
pub async fn standing(tx: &mut Tx) -> Result<Standing> {
    if !tx.names_of(Objects::Tables).await?.iter().any(|table| table == "installation") {
        return Ok(Standing::default());
    }
    let mut standing = Standing {
        subject_key: sql::fact(tx, SUBJECT_KEY).await?,
        under_way: sql::fact(tx, UNDER_WAY).await?,
        behind: BTreeMap::new(),
    };
    if tx.columns_of("subjects").await?.iter().any(|(column, _)| column == "key_id") {
        for (key_id, subject) in sql::behind(tx).await? {
            standing.behind.entry(key_id).or_default().insert(subject);
        }
    }
    Ok(standing)
}

/// Says that people's rows are on their way to subjects under the key `to`, and leaves those whose user id is gone under
/// the key `from`. From here on nothing but a rekey opens the database.
pub async fn begin(
    tx: &mut Tx,
    tables: Tables,
    keys: &SubjectKeys,
    from: &str,
    to: &str,
) -> Result<()> {
    if from != to {
        sql::leave_behind(tx, from).await?;
    }
    sql::take_along(tx, to).await?;
    sql::set_fact(tx, SUBJECT_KEY, to).await?;
    sql::set_fact(tx, UNDER_WAY, to).await?;
    let mut is_earlier = true;
    for key_id in keys.ids() {
        is_earlier &= key_id != to;
        let retired = format!("{RETIRED}{key_id}");
        match is_earlier {
            true => sql::set_fact(tx, &retired, to).await?,
            false => sql::forget_fact(tx, &retired).await?,
        }
    }
    if tx.engine() == Engine::Postgres {
        sql::switch_triggers(tx, tables.of_people, "DISABLE").await?;
    }
    Ok(())
}

/// The end of it: the database opens again.
pub async fn end(tx: &mut Tx, tables: Tables) -> Result<()> {
    if tx.engine() == Engine::Postgres {
        sql::switch_triggers(tx, tables.of_people, "ENABLE").await?;
    }
    sql::forget_fact(tx, UNDER_WAY).await
}

/// The organizations that have people, or rows of their own in people's tables.
pub async fn organizations(tx: &mut Tx, tables: Tables) -> Result<BTreeSet<OrgId>> {
    let mut all = BTreeSet::from_iter(sql::organizations(tx).await?);
    for table in tables.of_people.iter().filter(|table| table.user_optional) {
        all.extend(sql::owners(tx, table).await?);
    }
    Ok(all)
}

/// How many people have a user id.
pub async fn count_people(tx: &mut Tx) -> Result<u64> {
    sql::count_people(tx).await
}

/// Part of an organization's people.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The next page begins after it.
    pub last: Subject,
    pub people: u64,
    /// Those of them who stood under another key.
    pub moved: u64,
}

/// The people after one, up to so many, and the last of them; none after the last page.
async fn people_after(
    tx: &mut Tx,
    org_id: &OrgId,
    after: Subject,
    most: i64,
) -> Result<Option<(Vec<(Subject, UserId)>, Subject)>> {
    let people = sql::people(tx, org_id, after, most).await?;
    let last = people.last().map(|(last, _)| *last);
    Ok(last.map(|last| (people, last)))
}

/// Gives the people of a page, and all their rows, the subjects that `hash` makes; none after the last page.
pub async fn move_page(
    tx: &mut Tx,
    tables: Tables,
    hash: &SubjectHash,
    org_id: &OrgId,
    after: Subject,
) -> Result<Option<Page>> {
    let Some((people, last)) = people_after(tx, org_id, after, PAGE).await? else {
        return Ok(None);
    };
    let moves: Vec<(Subject, Subject)> = people
        .iter()
        .map(|(subject, user_id)| (*subject, hash.subject(org_id, user_id)))
        .filter(|(subject, wanted)| subject != wanted)
        .collect();
    let mut others = vec!["subjects"];
    others.extend(tables.others);
    move_rows(tx, tables.of_people.iter().collect(), &others, org_id, &moves).await?;
    Ok(Some(Page { last, people: people.len() as u64, moved: moves.len() as u64 }))
}

/// The same for the organization's own rows.
pub async fn move_own(
    tx: &mut Tx,
    tables: Tables,
    hash: &SubjectHash,
    org_id: &OrgId,
) -> Result<()> {
    let of_both: Vec<_> = tables.of_people.iter().filter(|table| table.user_optional).collect();
    let wanted = hash.organization(org_id);
    let mut moves = BTreeSet::new();
    for table in &of_both {
        for (subject,) in sql::own_subjects(tx, table, org_id).await? {
            moves.insert((subject, wanted));
        }
    }
    moves.remove(&(wanted, wanted));
    let moves: Vec<_> = moves.into_iter().collect();
    move_rows(tx, of_both, &[], org_id, &moves).await
}

/// Gives an organization's rows their new subjects: `moves` are pairs of an old and a new one. Nothing else of a row
/// changes, so that no trigger has anything to say.
async fn move_rows(
    tx: &mut Tx,
    of_people: Vec<&'static UserTable>,
    others: &[&'static str],
    org_id: &OrgId,
    moves: &[(Subject, Subject)],
) -> Result<()> {
    if moves.is_empty() {
        return Ok(());
    }
    let moves = serde_json::to_string(moves).map_err(|e| Error::Internal(e.to_string()))?;
    match tx.engine() {
        Engine::Sqlite => {
            let triggers = sql::take_triggers(tx, &of_people).await?;
            for table in of_people.iter().map(|of| of.table).chain(others.iter().copied()) {
                sql::change(tx, table, org_id, &moves).await?;
            }
            tx.run_script(triggers).await
        }
        Engine::Postgres => {
            // Referenced rows are copied first and deleted last.
            for of in of_people.iter().rev() {
                sql::copy(tx, of.table, org_id, &moves).await?;
            }
            for of in &of_people {
                sql::delete(tx, of.table, org_id, &moves).await?;
            }
            for table in others.iter().copied() {
                if table == "subjects" {
                    sql::copy(tx, table, org_id, &moves).await?;
                    sql::delete(tx, table, org_id, &moves).await?;
                } else {
                    sql::change(tx, table, org_id, &moves).await?;
                }
            }
            Ok(())
        }
    }
}

/// Rows of each table: the same before and after.
pub async fn counts(tx: &mut Tx, tables: Tables) -> Result<BTreeMap<&'static str, u64>> {
    let mut counts = BTreeMap::new();
    let of_people = tables.of_people.iter().map(|of| of.table);
    for table in of_people.chain(["subjects"]).chain(tables.others.iter().copied()) {
        counts.insert(table, sql::count(tx, table).await?);
    }
    Ok(counts)
}

/// Rows that a rekey left where nobody finds them, table by table.
pub async fn left(
    tx: &mut Tx,
    tables: Tables,
    hash: &SubjectHash,
    organizations: &BTreeSet<OrgId>,
) -> Result<Vec<(&'static str, u64)>> {
    let mut left = Vec::new();
    for table in tables.of_people {
        let mut rows = sql::count_ownerless(tx, table).await?;
        if table.user_optional {
            for org_id in organizations {
                let own = sql::own_subjects(tx, table, org_id).await?;
                rows += own.iter().filter(|own| own.0 != hash.organization(org_id)).count() as u64;
            }
        }
        if rows > 0 {
            left.push((table.table, rows));
        }
    }
    Ok(left)
}

/// People of a page who do not stand under the subject that `hash` makes.
pub async fn astray(
    tx: &mut Tx,
    hash: &SubjectHash,
    org_id: &OrgId,
    after: Subject,
) -> Result<Option<Page>> {
    let Some((people, last)) = people_after(tx, org_id, after, PAGE).await? else {
        return Ok(None);
    };
    let stray = people.iter().filter(|(subject, user)| *subject != hash.subject(org_id, user));
    Ok(Some(Page { last, people: people.len() as u64, moved: stray.count() as u64 }))
}

/// The subject that the person stands under in this database whose subject under some key is `subject`: what was noted
/// outside of the database may be of before or after a rekey.
pub async fn find(
    tx: &mut Tx,
    keys: &SubjectKeys,
    org_id: &OrgId,
    subject: Subject,
) -> Result<Option<Subject>> {
    let hashes: Vec<SubjectHash> =
        keys.ids().filter_map(|key_id| keys.subject_hash_by(key_id)).collect();
    if hashes.len() < 2 {
        return Ok(None);
    }
    let mut after = Subject::default();
    loop {
        let Some((people, last)) = people_after(tx, org_id, after, 10 * PAGE).await? else {
            return Ok(None);
        };
        after = last;
        let found = people.iter().find(|(_, user_id)| {
            hashes.iter().any(|hash| hash.subject(org_id, user_id) == subject)
        });
        if let Some((found, _)) = found {
            return Ok(Some(*found));
        }
    }
}
