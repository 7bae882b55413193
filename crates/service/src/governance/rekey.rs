//! `evenhand governance rekey`: people's rows under another governance key, while nothing else has the database open.
//!
//! It can be interrupted at any time and run again: `storage::subjects::rekey` says how it goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::app::App;
use crate::config::Settings;
use crate::user_tables::USER_TABLES;
use base::owner::OrgId;
use storage::db::{Subject, SubjectHash};
use storage::error::{Error, Result};
use storage::subjects::audit::{self, NewEvent, Operation};
use storage::subjects::rekey::{self, Page, Tables};
use storage::subjects::{COMMAND_LINE, SubjectKeys};

/// Under this name a rekey tells its own sessions from those of replicas (PostgreSQL).
const SESSIONS: &str = "application_name=evenhand-rekey";
/// Tries to find itself alone: PostgreSQL notices sessions that ended a little later.
const LOOKS: u32 = 30;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Every table with a column of subjects, besides `subjects` itself.
pub const TABLES: Tables = Tables { of_people: USER_TABLES, others: &["purge_operations"] };

/// Progress of a rekey.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// People that were looked at.
    pub people: u64,
    /// Those of them whose rows got another subject.
    pub moved: u64,
    /// People there are.
    pub of: u64,
}

/// Result of a rekey.
#[derive(Debug)]
pub struct Rekeyed {
    pub key_id: String,
    /// True if it went on with one that was interrupted.
    pub went_on: bool,
    pub people: u64,
    /// Those whose rows got another subject this time.
    pub moved: u64,
    /// People who were erased and stay under an earlier key, by its id.
    pub behind: BTreeMap<String, u64>,
    /// Rows in the tables that were gone through.
    pub rows: u64,
}

/// The settings for a process that rekeys.
#[must_use]
pub fn settings(mut settings: Settings) -> Settings {
    let named = |url: &mut String| {
        if !url.is_empty() {
            let joint = if url.contains('?') { '&' } else { '?' };
            url.push(joint);
            url.push_str(SESSIONS);
        }
    };
    named(&mut settings.server.database_url);
    named(&mut settings.database.direct_url);
    settings
}

/// Gives everybody whose user id is known a subject under the key `key_id`; without one, under the key that a rekey
/// under way leads to, or the newest. `watch` is told after every page, and can end it. The app must have been opened
/// with [`settings`] and `Schema::BetweenKeys`.
pub async fn run(
    app: &Arc<App>,
    key_id: Option<&str>,
    mut watch: impl FnMut(Progress) -> Result<()>,
) -> Result<Rekeyed> {
    let keys = &app.subject_keys;
    app.check_governance_keys().await?;
    let under_way = standing(app).await?.under_way;
    let newest = keys.ids().next_back().unwrap_or_default();
    let to = key_id.or(under_way.as_deref()).unwrap_or(newest).to_owned();
    let hash = hash_by(keys, &to)?;
    refuse_others(app).await?;
    app.remember_governance_keys().await?;
    begin(app, &to).await?;
    // Somebody may have opened the database in between; from here on nobody can.
    refuse_others(app).await?;
    let before = counts(app).await?;
    let organizations = app
        .db
        .read("rekey.organizations", (), |tx, ()| Box::pin(rekey::organizations(tx, TABLES)))
        .await?;
    let of = app.db.read("rekey.people", (), |tx, ()| Box::pin(rekey::count_people(tx))).await?;
    let mut progress = Progress { of, ..Progress::default() };
    watch(progress)?;
    for org_id in &organizations {
        move_own(app, &hash, org_id).await?;
        let mut after = Subject::default();
        while let Some(page) = move_page(app, &hash, org_id, after).await? {
            after = page.last;
            progress.people += page.people;
            progress.moved += page.moved;
            watch(progress)?;
        }
    }
    let after = counts(app).await?;
    check(app, &hash, &organizations, &before, &after).await?;
    let behind = standing(app).await?.behind;
    let behind: BTreeMap<String, u64> =
        behind.into_iter().map(|(key_id, people)| (key_id, people.len() as u64)).collect();
    end(app, progress.moved, behind.values().sum()).await?;
    app.sign_audit_head().await;
    Ok(Rekeyed {
        key_id: to,
        went_on: under_way.is_some(),
        people: of,
        moved: progress.moved,
        behind,
        rows: after.values().sum(),
    })
}

fn hash_by(keys: &SubjectKeys, key_id: &str) -> Result<SubjectHash> {
    keys.subject_hash_by(key_id).ok_or_else(|| {
        let given: Vec<&str> = keys.ids().collect();
        Error::Internal(format!(
            "there is no governance key {key_id}; given are {}",
            given.join(", ")
        ))
    })
}

async fn refuse_others(app: &App) -> Result<()> {
    let mut looks = 1;
    while let Some(others) = app.db.others().await? {
        if looks == LOOKS {
            return Err(Error::Internal(format!(
                "{others}; stop every `evenhand serve` and `evenhand work`, and what else uses this database, then run \
                 `evenhand governance rekey` again"
            )));
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
        looks += 1;
    }
    Ok(())
}

async fn standing(app: &App) -> Result<rekey::Standing> {
    app.db.read("rekey.standing", (), |tx, ()| Box::pin(rekey::standing(tx))).await
}

async fn begin(app: &Arc<App>, to: &str) -> Result<()> {
    app.db
        .write("rekey.begin", (app.clone(), to.to_owned()), |tx, (app, to)| {
            Box::pin(async move {
                let keys = &app.subject_keys;
                rekey::begin(tx, TABLES, keys, keys.subject_key_id(), to).await
            })
        })
        .await
}

async fn move_own(app: &App, hash: &SubjectHash, org_id: &OrgId) -> Result<()> {
    app.db
        .write("rekey.own", (hash.clone(), org_id.clone()), |tx, (hash, org_id)| {
            Box::pin(rekey::move_own(tx, TABLES, hash, org_id))
        })
        .await
}

async fn move_page(
    app: &App,
    hash: &SubjectHash,
    org_id: &OrgId,
    after: Subject,
) -> Result<Option<Page>> {
    app.db
        .write("rekey.page", (hash.clone(), org_id.clone(), after), |tx, (hash, org_id, after)| {
            Box::pin(rekey::move_page(tx, TABLES, hash, org_id, *after))
        })
        .await
}

async fn counts(app: &App) -> Result<BTreeMap<&'static str, u64>> {
    app.db.read("rekey.counts", (), |tx, ()| Box::pin(rekey::counts(tx, TABLES))).await
}

/// Fails unless everybody stands where they are looked for and all rows are theirs, as many as before.
async fn check(
    app: &App,
    hash: &SubjectHash,
    organizations: &BTreeSet<OrgId>,
    before: &BTreeMap<&'static str, u64>,
    after: &BTreeMap<&'static str, u64>,
) -> Result<()> {
    let mut problems = Vec::new();
    for (table, rows) in after {
        if before.get(table) != Some(rows) {
            problems.push(format!("{table} had {:?} rows and has {rows}", before.get(table)));
        }
    }
    let input = (hash.clone(), organizations.clone());
    let left = app
        .db
        .read("rekey.left", input, |tx, (hash, organizations)| {
            Box::pin(rekey::left(tx, TABLES, hash, organizations))
        })
        .await?;
    problems
        .extend(left.iter().map(|(table, rows)| format!("{rows} rows of {table} are nobody's")));
    let mut astray = 0;
    for org_id in organizations {
        let mut last = Subject::default();
        loop {
            let input = (hash.clone(), org_id.clone(), last);
            let page = app.db.read("rekey.astray", input, |tx, (hash, org_id, last)| {
                Box::pin(rekey::astray(tx, hash, org_id, *last))
            });
            let Some(page) = page.await? else { break };
            last = page.last;
            astray += page.moved;
        }
    }
    if astray > 0 {
        problems.push(format!("{astray} people do not stand under the key"));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Error::Internal(format!(
        "the rekey is not complete, and the database stays closed: {}",
        problems.join("; ")
    )))
}

async fn end(app: &Arc<App>, moved: u64, behind: u64) -> Result<()> {
    app.db
        .write("rekey.end", (app.clone(), moved, behind), |tx, (app, moved, behind)| {
            Box::pin(async move {
                rekey::end(tx, TABLES).await?;
                let org_id = &OrgId::default();
                let event = NewEvent {
                    org_id,
                    operation: Operation::Config,
                    ok: true,
                    actor_ref: &app.subject_keys.actor_ref(org_id, COMMAND_LINE),
                    subject_ref: None,
                    request_ref: None,
                    counts: BTreeMap::from([
                        ("people_rekeyed".to_owned(), *moved),
                        ("people_behind".to_owned(), *behind),
                    ]),
                    now: app.clock.now(),
                };
                audit::append(tx, &app.subject_keys, event).await.map(drop)
            })
        })
        .await
}
