//! Places of SQL, transactions and path parameters.

use super::{Source, code, sources};

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
                [".db.read", ".db.write(", ".db.lookup"].iter().any(|call| line.contains(call))
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
            || ["demo", "sqlite"].contains(&source.package.as_str())
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
