//! The operations that each role may call: asked of the server for every operation, and written into docs/api.md.

use std::fmt::Write as _;

use serde_json::json;
use service::credentials::{self, NewCredential, Role};

use crate::conformance::{body_schema, operations, specification};
use crate::people::{kim, sign_in, with_provider};
use crate::support::{Backend, Server, TestApp};

const BEGIN: &str =
    "<!-- the table of roles: made by `UPDATE_DOCS=1 cargo nextest run roles::` -->\n";
const END: &str = "<!-- end of the table of roles -->";

/// A column of the table.
struct Column {
    name: &'static str,
    server: Server,
}

async fn columns(t: &TestApp, server: &Server) -> Vec<Column> {
    let made: [(&str, NewCredential); 7] = [
        ("publish", NewCredential::of(Role::Publish, "")),
        ("agent", NewCredential::of(Role::Agent, "")),
        ("agent, no reads", NewCredential { reads: false, ..NewCredential::of(Role::Agent, "") }),
        ("auditor", NewCredential::of(Role::Auditor, "")),
        ("dashboard", NewCredential::of(Role::Dashboard, "")),
        ("dashboard with grant", NewCredential::of(Role::Dashboard, "").with_grant(true)),
        ("governance", NewCredential::of(Role::Governance, "")),
    ];
    let mut columns = vec![Column { name: "nobody", server: server.with_token("unknown") }];
    for (name, new) in made {
        let (_, token) = credentials::create(&t.app, &"one".into(), new).await.unwrap();
        columns.push(Column { name, server: server.with_token(&token) });
    }
    columns
}

/// People who signed in with a provider, by the column that they may do the same as.
const PEOPLE: [(&str, &str); 4] = [
    ("look", "auditor"),
    ("run", "dashboard"),
    ("all", "dashboard with grant"),
    ("forget", "governance"),
];

/// Asks the server for every operation, as every column. People are asked for too: they may do what their column may.
async fn table() -> (String, Vec<(String, Vec<bool>)>) {
    let (provider, t) = with_provider(&TestApp::new(Backend::Sqlite).await).await;
    let server = t.serve().await;
    let columns = columns(&t, &server).await;
    let mut people = Vec::new();
    for (role, like) in PEOPLE {
        provider.seat(role, kim(json!([role])));
        let column = columns.iter().position(|column| column.name == like).unwrap();
        people.push((role, column, sign_in(&server).await));
    }
    let spec = specification();
    let mut rows = Vec::new();
    for (method, path, operation) in operations(&spec) {
        // Valid or not: who calls is asked before what is said.
        let body = body_schema(&spec, &operation).map(|_| json!({}));
        let mut allowed = Vec::new();
        for column in &columns {
            let status = column.server.call(&method, &path, body.as_ref()).await.status;
            allowed.push(!matches!(status, 401 | 403));
        }
        for (role, column, person) in &people {
            let status = person.call(&method, &path, body.as_ref()).await.status;
            let may = !matches!(status, 401 | 403);
            assert_eq!(may, allowed[*column], "{role}: {method} {path}: {status}");
        }
        rows.push((format!("{method} {path}"), allowed));
    }
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let mut text =
        format!("| operation | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for (operation, allowed) in &rows {
        let marks: Vec<&str> = allowed.iter().map(|yes| if *yes { "✓" } else { "" }).collect();
        writeln!(text, "| `{operation}` | {} |", marks.join(" | ")).unwrap();
    }
    (text, rows)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documented_table_is_what_the_server_does() {
    let (table, rows) = table().await;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/api.md");
    let docs = std::fs::read_to_string(file).unwrap();
    let (before, rest) = docs.split_once(BEGIN).expect("docs/api.md has the place of the table");
    let (documented, after) = rest.split_once(END).expect("and its end");
    if std::env::var("UPDATE_DOCS").is_ok() {
        std::fs::write(file, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(documented, table, "UPDATE_DOCS=1 cargo nextest run roles:: writes it anew");
    }
    // Permissions that must never change by an update of the table.
    let [nobody, publish, agent, no_reads, auditor, dashboard, _, governance] =
        std::array::from_fn(|column| {
            let of = rows.iter().filter(move |(_, allowed)| allowed[column]);
            of.map(|(operation, _)| operation.as_str()).collect::<Vec<_>>()
        });
    assert_eq!(
        nobody,
        [
            "GET /api/governance/public-key",
            "GET /health/live",
            "GET /health/ready",
            "GET /meta/version"
        ]
    );
    let own = |all: &[&str]| -> Vec<String> {
        all.iter().filter(|one| !nobody.contains(one)).map(|one| (*one).to_owned()).collect()
    };
    let mut publishes = own(&publish);
    publishes.sort();
    assert_eq!(
        publishes,
        [
            "GET /api/whoami",
            "POST /api/finalize_session",
            "POST /api/pending_tool_calls",
            "POST /api/publish_interaction",
            "POST /api/rerank_user_profiles",
            "POST /api/search",
            "POST /api/search_agent_playbooks",
            "POST /api/search_profiles",
            "POST /api/search_user_playbooks",
            "POST /api/session_outcome",
            "POST /v1/traces",
        ]
    );
    assert!(own(&governance).iter().all(|one| one.contains(" /api/governance/")), "{governance:?}");
    // An auditor changes nothing: no PUT, no DELETE, and of POSTs those that read.
    for operation in own(&auditor) {
        let (method, path) = operation.split_once(' ').unwrap();
        let name = path.rsplit('/').next().unwrap();
        let reads = method == "GET"
            || method == "POST"
                && (["get_", "search", "rerank_"].iter().any(|word| name.starts_with(word))
                    || name == "preview");
        assert!(reads, "{operation}");
    }
    let is_within = |part: &[&str], whole: &[&str]| part.iter().all(|one| whole.contains(one));
    assert!(is_within(&publish, &no_reads) && is_within(&no_reads, &agent));
    assert!(is_within(&agent, &dashboard) && is_within(&auditor, &dashboard));
    assert!(!dashboard.iter().any(|one| one.contains("erase-user") || one.contains("export-user")));
}
