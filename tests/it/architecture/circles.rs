//! Circles of files inside one area.

use std::collections::BTreeSet;

use super::folders::ALLOWED;
use super::{Source, code, invented, sources};

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
