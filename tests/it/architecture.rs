//! Who may call whom, and where SQL may stand: read from the source itself.

use std::path::{Path, PathBuf};

/// Modules that know nothing of the areas.
const BASE: &[&str] = &["clock", "config", "error", "ids", "private_files", "telemetry"];

/// The part of governance that every area stands on; the operations stand on the areas.
const BARRIER: &[&str] = &[
    "governance/audit.rs",
    "governance/barrier.rs",
    "governance/in_flight.rs",
    "governance/references.rs",
    "governance/sealing.rs",
    "governance/user_tables.rs",
    "governance/wall.rs",
];

struct Source {
    /// Relative to `src/`.
    path: String,
    /// The module below the crate: `sessions`, `db`, …
    module: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
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
                found.push(Source { path, module, text });
            }
        }
    }
    assert!(found.len() > 30, "{} files", found.len());
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

/// Why `source` must not name `path`, if it must not.
fn forbidden(source: &Source, path: &str) -> Option<&'static str> {
    let target = path.split("::").next().unwrap_or(path);
    // Macros of db/ and names of `error` stand at the root of the crate.
    if ["on", "row", "rows", "run"].contains(&target) {
        return (source.module == "stats").then_some("stats uses nothing");
    }
    if target == source.module {
        return None;
    }
    let second = path.split("::").nth(1).unwrap_or("");
    if second == "sql" {
        return Some("an area never uses another area's sql");
    }
    match source.module.as_str() {
        "stats" => Some("stats uses nothing"),
        "faults" if target != "error" => Some("stands below everything"),
        "error" | "clock" => Some("stands below everything"),
        "ids" if target != "clock" => Some("ids needs the clock only"),
        "db" if !["error", "clock", "ids", "private_files"].contains(&target) => {
            Some("db knows nothing of what is stored")
        }
        module if target == "commands" && module != "main" => {
            Some("commands are called by main only")
        }
        module if target == "app" && (BASE.contains(&module) && module != "telemetry") => {
            Some("the base does not know the app")
        }
        "governance"
            if BARRIER.contains(&source.path.as_str())
                && !["db", "error", "ids", "clock", "private_files"].contains(&target) =>
        {
            Some("the barrier is called by the areas, not the other way round")
        }
        "jobs" if !["app", "db", "error", "governance", "http"].contains(&target) => {
            Some("jobs do not know the areas")
        }
        _ => None,
    }
}

#[test]
fn calls_go_in_one_direction() {
    let mut wrong = Vec::new();
    for source in &sources() {
        for (number, line) in code(source) {
            for path in named(line) {
                if let Some(why) = forbidden(source, &path) {
                    wrong.push(format!("src/{}:{number}: {line}\n    {why}", source.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
const WITH_SQL: &[&str] = &[
    "governance/barrier.rs",
    "governance/wall.rs",
    "app.rs",
    "commands/demo/mod.rs",
    "governance/user_tables.rs",
];

#[test]
fn sql_stands_where_it_belongs() {
    let words = ["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "CREATE TABLE", "PRAGMA "];
    let mut wrong = Vec::new();
    for source in &sources() {
        let allowed = source.module == "db"
            || source.path.ends_with("/sql.rs")
            || source.path.contains("/sql/")
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
        let folder = format!("{}/migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            files.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("sqlite"), names("postgres"));
    let known: Vec<String> =
        evenhand::db::migrations::names().iter().map(|name| format!("{name}.sql")).collect();
    assert_eq!(names("sqlite"), known, "none is forgotten");
}
