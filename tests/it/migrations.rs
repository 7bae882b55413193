//! A migration that landed stays as it is: databases that applied it have its checksum, and refuse another.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

/// The SHA-256 of every migration: its number and name, on SQLite, on PostgreSQL.
const LANDED: &[(&str, &str, &str)] = &[
    (
        "0001_foundation",
        "ebba5cc9704db0dfbc4326503868596ef6b41acbcbe526251d6e4872bc96622d",
        "6969adc391195c9b09d60684c3ce2d024599cbd9400d2823962ae51d23b7bcdd",
    ),
    (
        "0002_learnings",
        "ade41aa211a89d728d485cf1f7850c49dd106e0d6629e8e7a392b0a5b74066d0",
        "741d91eeae3ddd78d3a24f6438abca8b2f899517f56d8b62099122b0a6c5e439",
    ),
    (
        "0003_evaluation",
        "a216c96f64b8722d8334c879ddfce9578c46e8b971d568d3fb5e36cc10fe5a78",
        "15779d29a1e2421c29a262eb5d7be9ae4726e43acd5dbf6270b0014b83d999f2",
    ),
    (
        "0004_experiments",
        "4057f49ed3ed90d4b51c311bf56a96f5b781957ebdf4b19168fe2153f1570113",
        "8c4b172f833a25bc74473fc18670a20d2f60c6c1628c32e024b3d72d3b0aa45e",
    ),
    (
        "0005_overview",
        "1c9afaf5c6322a608fb28ae1479abe23583c0cc091641470f45f262b319c749d",
        "76ef8216caf780dc2e6026955feb14c9f25dfae7cfb1b490816b0159fbf95ee6",
    ),
    (
        "0006_governance",
        "4cd78f425d7cbe92a0fa497e656aeffa07df9b96cf75682f486da5c836166f7e",
        "39676054c4289a4fa75221da8f97b85347cad10e4d7d1098b9da04341c63e056",
    ),
    (
        "0007_learning_loop",
        "febdd117b4e285f671f5fd2842ccba9955cbc480a1a15b10026ffa2b5a1b0e7b",
        "d4df6aa0a4b7f2ee65a2d1f4d145ada9e23f735cc7fbb1340b9e6daf13734a12",
    ),
    (
        "0008_experiment_attribution",
        "bf0d84c476cfae8787479376ff9890eaeb75e8af8d74d0a26b4338094e110c06",
        "0cc836e95e92f2973a260566429cd27d131eddd5f3122298f469d12e7331286c",
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
        "05af0768c4b9a0d28f653cb023c8b28579e926e418c08a5fe2714dfdb54bff9a",
        "c3681c2c6471b414d810578688cf91f4abfa8c5cbbe832d964c7eb6a92524f87",
    ),
    (
        "0012_hardening",
        "40f6902ef98e9fde58c53ba09eb8e28df09a363ea2eed9583c8a521fd40825a5",
        "e9ed3e85895242a505fa0cf6c0b122f756ee37e881a05788bf4232ccdd7b667f",
    ),
    (
        "0013_judge",
        "dbbf393bb15bf83ba1c753d638f5da878d2d20ea6f94135d2f42342d79a9b341",
        "f93dcc6cd9b0d89fa21dc1923e801a5605f762075a555bdb06e7b5a79c65e009",
    ),
    (
        "0014_replicas",
        "b5490a563a2523603ba8b32c3772c01aefdda83625cd7e517065342edeea5f23",
        "e76cce84cc9ea5319d4d2e6779410383e20c00dc18b94be663743a55d14c143e",
    ),
    (
        "0015_inclusion_chances",
        "48fdb18b269362b2f01a3f323bb4979e38c091cb0563dbef6ebc1a78103d0164",
        "6b73a42633b4a4fedc8b5ce037c9f9ee0b1a3ea3701fa740c17c351ea3633931",
    ),
    (
        "0016_questions",
        "c941acb8acdb39938d1524eb067e7d3da674e9e78a9896eef20e732cde462582",
        "cec863f0ab15379fb22eb7305ce8b5306ea1e15337fff41673c821a2aec1139e",
    ),
    (
        "0017_trials",
        "f4ece6ce44305126c2f14f8cd91e22ed20cc735c1a197aecbef1e8f571ec8c68",
        "a34ef35c75fa887bd87e75322de21f6dfdd8a702c187a327bbb654b1ae56ebdc",
    ),
    (
        "0018_trial_proposals",
        "05d57855017e4625e7230093c819b8c2315ace354cd82aab9b4c11787dbff7d1",
        "15f33212ee06f8f14a4e07fca6cd3f3ddc3479fbfdfe759889961dc5e89753c5",
    ),
    (
        "0019_usage",
        "9328f3e4ed818c18d11c7b62cd1cd619c238e4dd2b548da752442c3bc75b0b78",
        "4cfcbec6535c9c8e99e6ee271c81bff7ca9c68d8829d75a1f555cd6defa9f91d",
    ),
    (
        "0020_webhooks",
        "f793d98ef0d861051608e733bdfabb20d5f632f97dfd6e36f4db718c63ea7bed",
        "81be8f453fe6eceef4dd705cb6b895ae45ffc14fda7ecfdd7518f19b1b4afac2",
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
