//! The edges between folders.

use std::collections::BTreeSet;

use super::{Source, code, invented, sources};

/// The edges between the folders (and single files) of `crates/service/src`: from, and the ones it uses. No circle.
pub const ALLOWED: &[(&str, &[&str])] = &[
    ("alerts", &["app", "credentials", "evaluation", "http", "webhooks"]),
    ("app", &["config"]),
    ("credentials", &["app", "config", "http"]),
    (
        "evaluation",
        &[
            "app",
            "credentials",
            "http",
            "judging",
            "learnings",
            "organization",
            "sessions",
            "webhooks",
        ],
    ),
    ("experiments", &["app", "credentials", "http", "webhooks"]),
    (
        "governance",
        &[
            "app",
            "config",
            "credentials",
            "evaluation",
            "experiments",
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
            "webhooks",
        ],
    ),
    ("learnings", &["app", "credentials", "experiments", "http", "organization", "webhooks"]),
    ("mcp", &["app", "credentials"]),
    ("operations", &["app", "credentials", "governance", "http", "schema", "spending"]),
    ("organization", &["app", "config", "credentials", "http"]),
    ("placement", &["evaluation", "user_tables"]),
    (
        "router",
        &[
            "alerts",
            "app",
            "credentials",
            "evaluation",
            "experiments",
            "governance",
            "http",
            "intake",
            "learning_loop",
            "learnings",
            "mcp",
            "operations",
            "organization",
            "questions",
            "sessions",
            "webhooks",
        ],
    ),
    ("questions", &["app", "credentials", "http"]),
    ("sessions", &["app", "credentials", "experiments", "http"]),
    ("spending", &["app", "evaluation", "learning_loop"]),
    ("telemetry", &["app", "config", "http"]),
    ("webhooks", &["app", "config", "credentials", "http"]),
    (
        "wiring",
        &[
            "alerts",
            "app",
            "config",
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
            "placement",
            "schema",
            "user_tables",
            "webhooks",
        ],
    ),
];

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
