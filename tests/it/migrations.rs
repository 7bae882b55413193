//! A migration that landed stays as it is: databases that applied it have its checksum, and refuse another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::support::{Backend, TestApp};

/// The SHA-256 of every migration: its number and name, on SQLite, on PostgreSQL.
const LANDED: &[(&str, &str, &str)] = &[
    (
        "0001_foundation",
        "f5b972204fc39d24393b573722de304edeb3c6211f40713cbb4b30247a921fae",
        "281dacfa53f30d0d161aee5208fa10f0e31d0e009029fca5c1a3ea5ca6c37b37",
    ),
    (
        "0002_learnings",
        "9b1cc9655ae65f394b54e345537c9c4b53ec17b6a92cca85c699c526283beb57",
        "d2331c9c3fe0fbcc3a03f66b66804ccc104db38f8f13effca883804d594cd975",
    ),
    (
        "0003_evaluation",
        "5b32b6bbb0e213cf5c39a04bbe5774f96638804fffccd854db7f12cffece5a48",
        "ee6a46c28fd88ddb66373a947357bc775ca26cca1387c3da0a83a7201d58294a",
    ),
    (
        "0004_experiments",
        "4ba687e5cace15f711a2fa407e7a5d5a2973e37e98f7c65f90c272d49d618b02",
        "5eed0060f45e5826ebc936dc7246332b6e3709b3a1307459fad066dffe838eb3",
    ),
    (
        "0005_overview",
        "569a55d6fd34637e245c00c6386ca497d26236b5e1085d319b55787c24584142",
        "f748aa6f554b4953f5ad849d15edbca1f21d13384bce48882076b8b3454e07ec",
    ),
    (
        "0006_governance",
        "7e2ac30e6008c8660440e3ec002ad809ba340c5586768b7c05c90d6a954c4061",
        "1e51cdbc5c468aae3e4b6ccb593db1e9c7ce16c160df30c510a6cb55ffd428a6",
    ),
    (
        "0007_learning_loop",
        "7edf6030d640e0c15baa7b139123edd8c6d0c22d6c5c2d0dad1f03029e4f26e6",
        "8b57a9214b617f9aeee3b737194247d4a406df02a1a4e4cafe77031719a4604d",
    ),
    (
        "0008_experiment_attribution",
        "814bd7d16b81e1ffe9486133f99deb751d8688420e69e3a5045a878b848c15dc",
        "bf3784bb1e51ebebdf2b6b527afb9fc1713091547cd94f33c489b902cf57e9da",
    ),
    (
        "0009_evaluation_rate_looks",
        "010cfe24360a0374c377d0d5dd21b76ac89a02b44b9ddbea0b7ec4258fda025f",
        "cc48c21fdf10a4372a252ba76847d2cd2a0690925bab3c7a984a8dfeb88d69cd",
    ),
    (
        "0010_deltas",
        "8132a220c0b7fa59239cee1ff7566c4608e9b3f7f7031fc727bfef5a7db1d5c5",
        "f537a11fd005695a57aa89b3d86c390392cb00dc21815baf12a59b26f9f6bdec",
    ),
    (
        "0011_sampled_out",
        "47ce32f462823ce84358c6eb48e125fb908916876ee7d8628a5fd0b48ac0319c",
        "c3681c2c6471b414d810578688cf91f4abfa8c5cbbe832d964c7eb6a92524f87",
    ),
    (
        "0012_hardening",
        "40f6902ef98e9fde58c53ba09eb8e28df09a363ea2eed9583c8a521fd40825a5",
        "e9ed3e85895242a505fa0cf6c0b122f756ee37e881a05788bf4232ccdd7b667f",
    ),
    (
        "0013_judge",
        "b46d72cbf4a3df4a461ebf8b92ac75cb30d1e1322f0962903d444e020d48c1bd",
        "1f961bc987234afd9b59187b52d7901b6a44e6fc168428f258b6ceb87bc4825b",
    ),
    (
        "0014_replicas",
        "e4b5494d10dde511450e100f84a5863f4f8072b718349c2bf469f881f723c092",
        "8b04a07686a19955c25c6006f9281e374a8be1426f399096bd9c2937cd0a920d",
    ),
    (
        "0015_inclusion_chances",
        "48fdb18b269362b2f01a3f323bb4979e38c091cb0563dbef6ebc1a78103d0164",
        "6b73a42633b4a4fedc8b5ce037c9f9ee0b1a3ea3701fa740c17c351ea3633931",
    ),
    (
        "0016_questions",
        "6290205c8a4c629a524c32cea85bec62f1e3e99c93dc56cf455463e049865467",
        "a645822291b0437260acc083141e73b84a28ba924685901425b4358596d32e57",
    ),
    (
        "0017_trials",
        "18499bf2ef627f07aaca3067c88e447d59e83dad0ccedcdb893ae99ac611b298",
        "046b78ec02e99e07f92367b13e7ad61ae4dfd27f9df1731231db4b74ad4d2e30",
    ),
    (
        "0018_trial_proposals",
        "86e90322a3701e8bdbc8268bbd2dd2fc54cd742d81955a4d76c5db96199cf974",
        "15f33212ee06f8f14a4e07fca6cd3f3ddc3479fbfdfe759889961dc5e89753c5",
    ),
    (
        "0019_usage",
        "9328f3e4ed818c18d11c7b62cd1cd619c238e4dd2b548da752442c3bc75b0b78",
        "4cfcbec6535c9c8e99e6ee271c81bff7ca9c68d8829d75a1f555cd6defa9f91d",
    ),
    (
        "0020_webhooks",
        "4ab96ede9538851f03d3c2f31028445550a685bf20e104c968c928b0c16fe631",
        "09da9e7f0efdd8e1550b6baee6273cfb72bfadae2da18794db0439092b466733",
    ),
    (
        "0021_people",
        "ed95fb66c2b9261f56843b2bec9fa1715069a0361fc5853ffc87fb5a34f319cd",
        "0a3f23f25b0a1d739e6f4ae99fb91099a45b9246e16c40873a38ffb3472917d7",
    ),
    (
        "0022_webhook_targets",
        "57f7d54776829d802768fe7382689a750ea500762827b7a903aa5d1af0da004d",
        "bca3435c231af36e3681aadcb323c61be6cd1e8cb3108d0718f77d9be9460764",
    ),
    (
        "0023_history",
        "9b9a3b8fd5445b44b1e21a671a723525c85952c0f69b725ca291e22505f3e725",
        "8e9d7e9f49031b590155ad8e986f224b72415b3186a4fffa5b2c316c5cff6a1a",
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
