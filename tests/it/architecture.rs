//! Allowed dependencies between modules, and the places of SQL: read from the source itself.
//!
//! Between crates Cargo decides. Between the folders of `crates/service` the table [`ALLOWED`] does: an edge that is not
//! in it is wrong.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The edges between the folders (and single files) of `crates/service/src`: from, and the ones it uses. No circle.
const ALLOWED: &[(&str, &[&str])] = &[
    ("app", &["config"]),
    ("credentials", &["app", "http"]),
    (
        "evaluation",
        &["app", "credentials", "http", "judging", "learnings", "organization", "sessions"],
    ),
    ("experiments", &["app", "credentials", "http"]),
    (
        "governance",
        &[
            "app",
            "credentials",
            "http",
            "intake",
            "learning_loop",
            "learnings",
            "schema",
            "sessions",
            "user_tables",
        ],
    ),
    ("http", &["app", "config"]),
    (
        "intake",
        &[
            "app",
            "credentials",
            "evaluation",
            "experiments",
            "http",
            "learning_loop",
            "sessions",
            "user_tables",
        ],
    ),
    ("judging", &["organization", "sessions"]),
    (
        "learning_loop",
        &[
            "app",
            "credentials",
            "evaluation",
            "experiments",
            "http",
            "judging",
            "learnings",
            "organization",
            "sessions",
        ],
    ),
    ("learnings", &["app", "credentials", "experiments", "http", "organization"]),
    ("operations", &["app", "credentials", "http", "schema"]),
    ("organization", &["app", "config", "credentials", "http"]),
    (
        "router",
        &[
            "app",
            "credentials",
            "evaluation",
            "experiments",
            "governance",
            "http",
            "intake",
            "learning_loop",
            "learnings",
            "operations",
            "organization",
            "sessions",
        ],
    ),
    ("sessions", &["app", "credentials", "experiments", "http"]),
    ("spending", &["app", "evaluation", "learning_loop"]),
    ("telemetry", &["app", "config", "http"]),
    (
        "wiring",
        &[
            "app",
            "config",
            "credentials",
            "evaluation",
            "experiments",
            "governance",
            "http",
            "learning_loop",
            "learnings",
            "organization",
            "schema",
            "user_tables",
        ],
    ),
];

/// The folder that writes a table; `storage` is the crate.
const TABLE_OWNERS: &[(&str, &[&str])] = &[
    ("credentials", &["credentials"]),
    (
        "evaluation",
        &[
            "candidate_verdicts",
            "cited_rules",
            "evaluation_decisions",
            "evaluation_results",
            "evaluation_rollups",
            "imported_scores",
            "learning_verdicts",
            "regenerations",
            "rule_rollups",
            "session_labels",
            "shadow_session_rollups",
            "shadow_sessions",
            "shadow_turn_rollups",
            "shadow_verdicts",
        ],
    ),
    (
        "experiments",
        &[
            "experiment_exposures",
            "experiment_looks",
            "experiment_stale_users",
            "experiment_strata",
            "experiment_user_sums",
            "experiments",
        ],
    ),
    ("governance", &["governance_exports", "purge_operations"]),
    (
        "learning_loop",
        &[
            "learning_proposals",
            "learning_streams",
            "learning_windows",
            "tuning_evidence",
            "tuning_proposals",
        ],
    ),
    (
        "learnings",
        &[
            "agent_playbook_decisions",
            "agent_playbook_sources",
            "agent_playbook_vectors",
            "agent_playbooks",
            "agent_playbooks_index",
            "learning_scopes",
            "organization_scopes",
            "profile_vectors",
            "profiles",
            "profiles_index",
            "rejected_ideas",
            "user_playbook_vectors",
            "user_playbooks",
            "user_playbooks_index",
        ],
    ),
    ("organization", &["organization_configs"]),
    ("sessions", &["interactions", "requests", "session_outcomes", "sessions"]),
    ("storage", &["audit_events", "jobs", "sequences", "subjects"]),
    ("wiring", &["installation"]),
];

/// Foreign tables that a folder uses, and why. Everything else reads through a function of the owner.
const FOREIGN_TABLES: &[(&str, &[&str], &str)] = &[
    ("app", &["installation"], "readiness makes a write there"),
    (
        "evaluation",
        &["interactions", "session_outcomes", "sessions"],
        "verdicts are dated, filtered and counted by their sessions, in one statement",
    ),
    (
        "experiments",
        &[
            "agent_playbook_sources",
            "evaluation_results",
            "interactions",
            "learning_verdicts",
            "requests",
            "session_labels",
            "sessions",
            "subjects",
        ],
        "sums over a user's sessions are one statement; holdouts are not told who a playbook came from",
    ),
    (
        "governance",
        &["interactions", "subjects"],
        "exports page through turns; the barrier's rows are its register",
    ),
    (
        "learning_loop",
        &[
            "agent_playbook_sources",
            "agent_playbooks",
            "profiles",
            "user_playbook_vectors",
            "user_playbooks",
        ],
        "learnings are compared, scored and traced in bulk",
    ),
    (
        "sessions",
        &["evaluation_results", "experiment_exposures"],
        "a list shows the newest verdict; a publish takes over its session's exposure in its own statement",
    ),
];

/// Tables that another folder than the owner writes.
const WRITTEN_BY_OTHERS: &[(&str, &str)] = &[("app", "installation"), ("governance", "subjects")];

struct Source {
    /// Relative to the `src/` of its crate.
    path: String,
    /// The crate's folder: `service`, `storage`, …, or `evenhand` for the binary.
    package: String,
    /// The module below the crate: `sessions`, `db`, …
    module: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = std::fs::read_dir(root.join("crates")).unwrap().map(|entry| {
        let folder = entry.unwrap();
        (folder.file_name().into_string().unwrap(), folder.path().join("src"))
    });
    let packages = crates.chain([("evenhand".to_owned(), root.join("src"))]);
    packages.flat_map(|(package, folder)| sources_of(&package, &folder)).collect()
}

fn sources_of(package: &str, root: &Path) -> Vec<Source> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                let module = path.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
                found.push(Source { path, package: package.to_owned(), module, text });
            }
        }
    }
    assert!(!found.is_empty(), "{package} has no source");
    found
}

/// The lines of code with their numbers: no comments, and nothing of the unit tests at the end.
fn code(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let tests = source.text.find("#[cfg(test)]\nmod tests").unwrap_or(source.text.len());
    source.text[..tests]
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.starts_with("//"))
}

/// Paths that a line names below `crate::`: `crate::{row, db::Tx}` names `row` and `db::Tx`.
fn named(line: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for part in line.split("crate::").skip(1) {
        if let Some(list) = part.strip_prefix('{') {
            let list = list.split('}').next().unwrap_or(list);
            paths.extend(list.split(',').map(|path| path.trim().to_owned()));
        } else {
            let end = part
                .find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
                .unwrap_or(part.len());
            paths.push(part[..end].to_owned());
        }
    }
    paths.retain(|path| !path.is_empty());
    paths
}

/// Reason that `source` of the service must not name `path`, if it must not.
fn forbidden(source: &Source, path: &str, folders: &BTreeSet<&str>) -> Option<String> {
    let mut parts = path.split("::");
    let target = parts.next().unwrap_or(path);
    if target == source.module || !folders.contains(target) {
        return None;
    }
    if parts.next() == Some("sql") {
        return Some("an area never uses another area's sql".to_owned());
    }
    let allowed = ALLOWED.iter().find(|(from, _)| *from == source.module);
    let is_allowed = allowed.is_some_and(|(_, targets)| targets.contains(&target));
    (!is_allowed).then(|| format!("{} may not use {target}: see ALLOWED", source.module))
}

/// Every wrong edge in the service.
fn wrong_edges(sources: &[Source]) -> Vec<String> {
    let service: Vec<_> = sources.iter().filter(|source| source.package == "service").collect();
    let folders: BTreeSet<&str> = service.iter().map(|source| source.module.as_str()).collect();
    let mut wrong = Vec::new();
    for source in service {
        for (number, line) in code(source) {
            for path in named(line) {
                if let Some(why) = forbidden(source, &path, &folders) {
                    wrong.push(format!("{}:{number}: {line}\n    {why}", source.path));
                }
            }
        }
    }
    wrong
}

/// A source of the service that is not there, for showing that a test would fail on it.
fn invented(path: &str, text: &str) -> Source {
    let module = path.split('/').next().unwrap().to_owned();
    Source { path: path.to_owned(), package: "service".to_owned(), module, text: text.to_owned() }
}

#[test]
fn folders_use_each_other_as_the_table_allows() {
    let mut sources = sources();
    let wrong = wrong_edges(&sources);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // One wrong line is enough to fail.
    for line in ["use crate::governance::purge;", "use crate::evaluation::sql::results;"] {
        sources.push(invented("experiments/mod.rs", &format!("{line}\n")));
        assert_eq!(wrong_edges(&sources).len(), 1, "{line}");
        sources.pop();
    }
}

/// Folders in an order in which each uses only earlier ones; none if there is a circle.
fn one_way_order<'a>(edges: &[(&'a str, &[&'a str])]) -> Option<Vec<&'a str>> {
    let mut order: Vec<&str> = Vec::new();
    let mut left: BTreeSet<&str> =
        edges.iter().flat_map(|(from, to)| to.iter().chain([from])).copied().collect();
    while !left.is_empty() {
        let uses = |folder: &str| {
            edges.iter().find(|(from, _)| *from == folder).map_or(&[][..], |(_, to)| to)
        };
        let next = *left.iter().find(|folder| uses(folder).iter().all(|to| order.contains(to)))?;
        left.remove(next);
        order.push(next);
    }
    Some(order)
}

#[test]
fn folders_have_no_circle() {
    assert!(one_way_order(ALLOWED).is_some(), "{ALLOWED:?}");
    assert_eq!(one_way_order(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"])]), None);
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/architecture.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    for (from, to) in ALLOWED {
        let line = format!("| `{from}` | {} |", to.join(", "));
        assert!(docs.contains(&line), "docs/architecture.md lacks the line\n{line}");
    }
}

/// The table names that a source's SQL uses, and whether it writes them.
fn tables_used<'a>(source: &'a Source, tables: &BTreeSet<String>) -> BTreeSet<(&'a str, bool)> {
    let mut used = BTreeSet::new();
    let code: Vec<&str> = code(source).map(|(_, line)| line).collect();
    let words = code.iter().flat_map(|line| line.split_whitespace());
    let name = |word: &'a str| {
        let end = word.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(word.len());
        &word[..end]
    };
    let mut before = ("", "");
    for word in words {
        let verb = before.1.trim_start_matches(['"', '(']);
        if matches!(verb, "FROM" | "JOIN" | "INTO" | "UPDATE") && tables.contains(name(word)) {
            let writes = verb == "INTO" || verb == "UPDATE" || before.0.ends_with("DELETE");
            used.insert((name(word), writes));
        }
        before = (before.1, word);
    }
    used
}

fn all_tables() -> BTreeSet<String> {
    TABLE_OWNERS.iter().flat_map(|(_, tables)| *tables).map(|table| (*table).to_owned()).collect()
}

/// Every table that a folder uses without owning it or being allowed to.
fn foreign_tables(sources: &[Source]) -> Vec<String> {
    let tables = all_tables();
    let mut wrong = Vec::new();
    for source in sources.iter().filter(|s| s.package == "service" || s.package == "storage") {
        let folder = if source.package == "storage" { "storage" } else { source.module.as_str() };
        for (table, writes) in tables_used(source, &tables) {
            let owner = TABLE_OWNERS.iter().find(|(_, tables)| tables.contains(&table)).unwrap().0;
            let listed =
                |(by, tables, _): &(&str, &[&str], &str)| *by == folder && tables.contains(&table);
            let may = owner == folder
                || FOREIGN_TABLES.iter().any(listed)
                    && (!writes || WRITTEN_BY_OTHERS.contains(&(folder, table)));
            if !may {
                let does = if writes { "writes" } else { "reads" };
                wrong.push(format!("{}: {does} {table}, which is {owner}'s", source.path));
            }
        }
    }
    wrong
}

#[test]
fn tables_are_used_by_their_owners() {
    let mut sources = sources();
    let wrong = foreign_tables(&sources);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // One foreign table name is enough to fail; so is writing where only reading is allowed.
    for statement in ["SELECT 1 FROM profiles", "DELETE FROM sessions WHERE 1 = 1"] {
        sources.push(invented("evaluation/sql/new.rs", &format!("run!(tx, \"{statement}\")")));
        assert_eq!(foreign_tables(&sources).len(), 1, "{statement}");
        sources.pop();
    }
    let migrations = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/service/migrations/sqlite");
    let files = std::fs::read_dir(migrations).unwrap();
    let text: String =
        files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let mut made = BTreeSet::new();
    for (verb, name) in ["CREATE TABLE ", "CREATE VIRTUAL TABLE "].iter().flat_map(|verb| {
        text.match_indices(verb).map(|(at, verb)| (verb, &text[at + verb.len()..]))
    }) {
        let name = name.trim_start_matches("IF NOT EXISTS ");
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap();
        assert!(!name[..end].is_empty(), "{verb}");
        made.insert(name[..end].to_owned());
    }
    // A table under its name while a migration copies it.
    made.remove("audit_events_with_playbooks");
    assert_eq!(made, all_tables(), "every table has an owner");
}

/// The largest set of files below `folder` that reach each other, by what they import.
fn largest_circle(sources: &[&Source]) -> Vec<String> {
    let path_of = |source: &Source| {
        let path = source.path.trim_end_matches(".rs").trim_end_matches("/mod");
        path.replace('/', "::")
    };
    let names: Vec<String> = sources.iter().map(|source| path_of(source)).collect();
    let target = |path: &str| {
        names
            .iter()
            .enumerate()
            .filter(|(_, name)| path == name.as_str() || path.starts_with(&format!("{name}::")))
            .max_by_key(|(_, name)| name.len())
            .map(|(index, _)| index)
    };
    let edges: Vec<BTreeSet<usize>> = sources
        .iter()
        .enumerate()
        .map(|(from, source)| {
            let is_mod = source.path.ends_with("/mod.rs");
            let imported = imports(source, &names[from], is_mod);
            imported.iter().filter_map(|path| target(path)).filter(|to| *to != from).collect()
        })
        .collect();
    let reach: Vec<BTreeSet<usize>> = (0..names.len())
        .map(|from| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(at) = open.pop() {
                open.extend(edges[at].iter().filter(|to| seen.insert(**to)));
            }
            seen
        })
        .collect();
    let circle = |from: usize| {
        let back = |to: &&usize| reach[**to].contains(&from);
        reach[from].iter().filter(back).map(|to| names[*to].clone()).collect::<Vec<_>>()
    };
    (0..names.len()).map(circle).max_by_key(Vec::len).unwrap_or_default()
}

/// The `use` paths of a source from the crate's root, re-exports of a `mod.rs` left out: they are its table of contents.
fn imports(source: &Source, name: &str, is_mod: bool) -> Vec<String> {
    let lines: Vec<&str> = code(source).map(|(_, line)| line).collect();
    let text = lines.join(" ");
    let mut found = Vec::new();
    for statement in text.split(';') {
        let statement =
            statement.rsplit('}').next().filter(|s| s.contains("use ")).unwrap_or(statement);
        let Some(tree) = statement.trim().strip_prefix("use ") else { continue };
        let (prefix, list) = tree.split_once('{').unwrap_or((tree, ""));
        let items: Vec<&str> = list.trim_end_matches('}').split(',').map(str::trim).collect();
        for item in items {
            let path = format!("{prefix}{}", item.trim_start_matches("self")).replace(' ', "");
            let parent =
                |name: &str| name.rsplit_once("::").map_or("", |(parent, _)| parent).to_owned();
            let mut base = if is_mod { name.to_owned() } else { parent(name) };
            let mut rest = path.as_str();
            if let Some(absolute) = rest.strip_prefix("crate::") {
                found.push(absolute.to_owned());
                continue;
            }
            let mut relative = false;
            while let Some(above) = rest.strip_prefix("super::") {
                if relative || is_mod {
                    base = parent(&base);
                }
                relative = true;
                rest = above;
            }
            if relative {
                found.push(format!("{base}::{rest}"));
            }
        }
    }
    found
}

#[test]
fn files_of_an_area_form_no_large_circle() {
    let sources = sources();
    for (area, _) in ALLOWED {
        let files: Vec<&Source> =
            sources.iter().filter(|s| s.package == "service" && s.module == *area).collect();
        let circle = largest_circle(&files);
        assert!(circle.len() <= 10, "{area}: {} files use each other: {circle:?}", circle.len());
    }
    let made = [
        invented("x/a.rs", "use super::b::f;\n"),
        invented("x/b.rs", "use super::{c, d};\n"),
        invented("x/c.rs", "use crate::x::a;\n"),
        invented("x/d.rs", "use std::fmt;\n"),
    ];
    assert_eq!(largest_circle(&made.iter().collect::<Vec<_>>()), ["x::a", "x::b", "x::c"]);
}

/// Files of the HTTP surface (`http/`, and every file with `http` in its name) decide nothing and hold no storage.
#[test]
fn the_http_surface_opens_no_transactions() {
    let is_surface = |source: &&Source| {
        let file = source.path.rsplit('/').next().unwrap();
        source.module == "http"
            || file.trim_end_matches(".rs").split('_').any(|part| part == "http")
    };
    let mut wrong = Vec::new();
    let mut seen = 0;
    for source in sources().iter().filter(is_surface) {
        seen += 1;
        for (number, line) in code(source) {
            let reaches_in =
                [".db.read(", ".db.write(", ".db.lookup("].iter().any(|call| line.contains(call))
                    || line.contains("sql::");
            if reaches_in {
                wrong.push(format!("src/{}:{number}: {line}", source.path));
            }
        }
    }
    assert!(seen > 25, "{seen} files");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Axum's own extractor would answer in plain text, and let text through that is no identifier.
#[test]
fn path_parameters_are_read_in_one_place() {
    for source in sources().iter().filter(|source| source.path != "http/path.rs") {
        for (number, line) in code(source) {
            let reads = line.contains(": Path<") || line.contains("RawPathParams");
            assert!(!reads, "src/{}:{number}: {line}\n    take http::PathId", source.path);
        }
    }
}

/// Files that may contain SQL besides `sql.rs`, `sql/` and `db/`.
const WITH_SQL: &[&str] =
    &["subjects/barrier.rs", "subjects/wall.rs", "subjects/user_tables.rs", "app.rs", "wiring.rs"];

#[test]
fn sql_stands_where_it_belongs() {
    let words = ["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "CREATE TABLE", "PRAGMA "];
    let mut wrong = Vec::new();
    for source in &sources() {
        let allowed = source.module == "db"
            || source.path.ends_with("/sql.rs")
            || source.path.contains("/sql/")
            || source.package == "demo"
            || WITH_SQL.contains(&source.path.as_str());
        if allowed {
            continue;
        }
        for (number, line) in code(source) {
            if words.iter().any(|word| line.contains(word)) {
                wrong.push(format!("src/{}:{number}: {line}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "SQL outside of sql.rs:\n{}", wrong.join("\n"));
}

/// `{name}` and `{name:$1}` in a statement.
fn fragments(line: &str) -> Vec<&str> {
    let inside =
        line.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(name, _)| name));
    let name = inside.map(|fragment| fragment.split(':').next().unwrap_or(fragment));
    name.filter(|name| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    })
    .collect()
}

#[test]
fn statements_use_known_fragments() {
    let known: BTreeSet<&str> =
        storage::db::FRAGMENTS.iter().map(|(name, ..)| *name).chain(["rows"]).collect();
    // Statements that Rust puts together have its own braces.
    let is_sql = |source: &&Source| {
        let stands_alone = source.path.ends_with("/sql.rs") || source.path.contains("/sql/");
        stands_alone && !source.text.contains("format!(")
    };
    let (mut seen, mut wrong) = (0, Vec::new());
    for source in sources().iter().filter(is_sql) {
        for (number, line) in code(source) {
            for name in fragments(line) {
                seen += 1;
                if !known.contains(name) {
                    wrong.push(format!("{}:{number}: {{{name}}} {line}", source.path));
                }
            }
        }
    }
    assert!(seen > 100, "{seen} fragments");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(fragments("a IN {texts:$1} {for_update} {LIMIT}"), ["texts", "for_update"]);
}

#[test]
fn both_engines_have_the_same_migrations() {
    let names = |engine: &str| {
        let folder = format!("{}/crates/service/migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            files.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("sqlite"), names("postgres"));
    let known: Vec<String> =
        service::schema::MIGRATIONS.names().iter().map(|name| format!("{name}.sql")).collect();
    assert_eq!(names("sqlite"), known, "none is forgotten");
}
