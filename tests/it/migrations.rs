//! A migration that landed stays as it is: databases that applied it have its checksum, and refuse another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::support::{Backend, TestApp};

/// The SHA-256 of every migration: its number and name, on SQLite, on PostgreSQL.
const LANDED: &[(&str, &str, &str)] = &[
    (
        "0001_schema",
        "e8d91dd87413f2e762fa91e8c53279aeeec8df9ef890b955153af569cfbd3b45",
        "4281bcfb997669d44468710ef73e2a5534d8e490ba27cf889413629fc2ad1c55",
    ),
    (
        "0002_autovacuum",
        "c6fb84a00210946a87a586de55d662ef9f0388c4c8d276b1e4ad23c8de75a105",
        "dc2bce25f5d3c29ed10a0b13c812085fd3e35c241b6323c00d93de03b71b1e8e",
    ),
    (
        "0003_rekey",
        "efcf51d73b88e46d0e404ad768bf6248662823600ce0eb0584c0f07103ddad6f",
        "aa991927823f95f0037a719780a38ac87e63b590f695754e18a25f054cfdc996",
    ),
    (
        "0004_parts",
        "9befc5cd08cd765c290fd621531082283e3930b60bab9ce1455f2a121dec3f5b",
        "888e57cb311641263a78f6d847e235561732dcf32d540323839fe52467df2248",
    ),
];

#[test]
fn a_migration_that_landed_is_never_edited() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/service/migrations");
    for (engine, landed) in [
        (
            "sqlite",
            LANDED.iter().map(|(name, sqlite, _)| (*name, *sqlite)).collect::<BTreeMap<_, _>>(),
        ),
        ("postgres", LANDED.iter().map(|(name, _, postgres)| (*name, *postgres)).collect()),
    ] {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder.join(engine)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let digest = hex::encode(Sha256::digest(std::fs::read(&path).unwrap()));
            match landed.get(name.as_str()) {
                Some(landed) => assert_eq!(
                    digest, *landed,
                    "{engine}/{name}.sql was changed after it landed, and databases that have it refuse to \
                     open: take the change back and add a new migration, for both engines",
                ),
                None => panic!("{engine}/{name}.sql is new: add it to LANDED with {digest}"),
            }
            found.push(name);
        }
        found.sort();
        let expected: Vec<_> = landed.into_keys().collect();
        assert_eq!(found, expected, "{engine}: a migration that landed is never removed");
    }
}

/// The changes of tables (`table: event`) that mark users of experiments as stale.
async fn stale_marks(backend: Backend) -> BTreeSet<String> {
    let t = TestApp::new(backend).await;
    let query = match backend {
        Backend::Sqlite => "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'",
        Backend::Postgres => {
            "SELECT tgname::text, relname::text, pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger
             JOIN pg_class ON pg_class.oid = tgrelid
             WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace"
        }
    };
    let triggers: Vec<(String, String, String)> = t
        .app
        .db
        .read("test.triggers", query, |tx, query| {
            Box::pin(async move { storage::rows!(tx, (String, String, String), query) })
        })
        .await
        .unwrap();
    let mut marks = BTreeSet::new();
    for (name, table, definition) in triggers {
        if name.starts_with("stale_") {
            let events = definition.split(" AFTER ").nth(1).and_then(|on| on.split(" ON ").next());
            let events = events.unwrap_or_else(|| panic!("{definition}")).split(" OR ");
            marks.extend(events.map(|event| format!("{table}: {event}")));
        }
    }
    marks
}

/// On SQLite a table that is made anew loses its triggers. There each event has a trigger of its own, so that their
/// names differ.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_engines_mark_users_as_stale_after_the_same_changes() {
    let (sqlite, postgres) =
        (stale_marks(Backend::Sqlite).await, stale_marks(Backend::Postgres).await);
    assert!(sqlite.len() > 10, "{sqlite:?}");
    assert_eq!(sqlite, postgres);
}
