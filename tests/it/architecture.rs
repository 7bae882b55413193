//! Who may call whom, and where SQL may stand: read from the source itself.
//!
//! Between crates Cargo decides. Between the folders of `crates/service` the table [`ALLOWED`] does: an edge that is not
//! in it is wrong.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The edges between the folders (and single files) of `crates/service/src`: from, and the ones it may use.
const ALLOWED: &[(&str, &[&str])] = &[
    (
        "app",
        &[
            "config",
            "credentials",
            "evaluation",
            "experiments",
            "governance",
            "http",
            "learnings",
            "organization",
            "schema",
            "user_tables",
        ],
    ),
    ("credentials", &["app", "http"]),
    ("evaluation", &["app", "http", "learnings", "organization", "sessions"]),
    ("experiments", &["app", "http"]),
    (
        "governance",
        &["app", "credentials", "http", "learnings", "schema", "sessions", "user_tables"],
    ),
    (
        "http",
        &[
            "app",
            "config",
            "credentials",
            "evaluation",
            "experiments",
            "governance",
            "imported_scores",
            "learnings",
            "operations",
            "organization",
            "schema",
            "sessions",
        ],
    ),
    ("imported_scores", &["app", "http", "sessions"]),
    (
        "learnings",
        &[
            "app",
            "config",
            "credentials",
            "evaluation",
            "experiments",
            "http",
            "organization",
            "sessions",
        ],
    ),
    ("operations", &["app", "http"]),
    ("organization", &["app", "config", "http"]),
    ("sessions", &["app", "evaluation", "experiments", "http", "learnings", "user_tables"]),
    ("telemetry", &["app", "config", "evaluation", "governance", "http"]),
];

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

/// What a line names below `crate::`: `crate::{row, db::Tx}` names `row` and `db::Tx`.
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

/// Why `source` of the service must not name `path`, if it must not.
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

#[test]
fn folders_use_each_other_as_the_table_allows() {
    let mut sources = sources();
    let wrong = wrong_edges(&sources);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // One wrong line is enough to fail.
    for line in ["use crate::governance::purge;", "use crate::evaluation::sql::results;"] {
        let text = format!("{line}\n");
        let (path, module) = ("experiments/mod.rs".to_owned(), "experiments".to_owned());
        sources.push(Source { path, package: "service".to_owned(), module, text });
        assert_eq!(wrong_edges(&sources).len(), 1, "{line}");
        sources.pop();
    }
}

/// `http.rs` of an area and everything in `http/` decide nothing and hold no storage.
#[test]
fn the_http_surface_opens_no_transactions() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|s| s.module == "http" || s.path.ends_with("/http.rs")) {
        for (number, line) in code(source) {
            let reaches_in = line.contains(".db.read(")
                || line.contains(".db.write(")
                || line.contains("sql::") && !line.contains("sql::RequestFilter");
            if reaches_in {
                wrong.push(format!("src/{}:{number}: {line}", source.path));
            }
        }
    }
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

/// Where SQL may stand besides `sql.rs`, `sql/` and `db/`.
const WITH_SQL: &[&str] =
    &["subjects/barrier.rs", "subjects/wall.rs", "subjects/user_tables.rs", "app.rs"];

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
