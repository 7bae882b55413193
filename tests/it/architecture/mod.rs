//! Allowed dependencies between modules, and the places of SQL: read from the source itself.
//!
//! Between crates Cargo decides. Between the folders of `crates/service` the table [`folders::ALLOWED`] does: an edge that is not
//! in it is wrong.

mod circles;
mod folders;
mod statements;
mod tables;

use std::path::{Path, PathBuf};

pub struct Source {
    /// Relative to the `src/` of its crate.
    pub path: String,
    /// The crate's folder: `service`, `storage`, …, or `evenhand` for the binary.
    pub package: String,
    /// The module below the crate: `sessions`, `db`, …
    pub module: String,
    pub text: String,
}

pub fn sources() -> Vec<Source> {
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
pub fn code(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let tests = source.text.find("#[cfg(test)]\nmod tests").unwrap_or(source.text.len());
    source.text[..tests]
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.starts_with("//"))
}

/// A source of the service that is not there, for showing that a test would fail on it.
pub fn invented(path: &str, text: &str) -> Source {
    let module = path.split('/').next().unwrap().to_owned();
    Source { path: path.to_owned(), package: "service".to_owned(), module, text: text.to_owned() }
}
