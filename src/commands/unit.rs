//! `evenhand service`: the systemd unit of the package, for a binary that came without one.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

const UNIT: &str = include_str!("../../packaging/evenhand.service");
/// The binary that the unit of the package starts.
const PACKAGED: &str = "/usr/bin/evenhand";
/// Folders of which the unit hides what is in them, or shows others.
const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

pub fn run() -> Result<ExitCode> {
    let binary = std::env::current_exe().context("cannot tell where this binary is")?;
    if !can_be_started(&binary) {
        eprintln!(
            "evenhand: a service cannot start {}: install it first, for example into /usr/local/bin",
            binary.display()
        );
    }
    say!("{}", starting(&binary));
    Ok(ExitCode::SUCCESS)
}

/// The unit with the path of this binary.
fn starting(binary: &Path) -> String {
    UNIT.replace(PACKAGED, &binary.display().to_string())
}

/// Whether the unit sees the path, and reads it as one word.
fn can_be_started(binary: &Path) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    binary.to_str().is_some_and(|path| path.chars().all(plain))
        && !HIDDEN.iter().any(|folder| binary.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_starts_this_binary_and_no_other() {
        let unit = starting(Path::new("/opt/evenhand/bin/evenhand"));
        let lines: Vec<_> = unit.lines().filter(|line| line.starts_with("ExecStart=")).collect();
        assert_eq!(lines.len(), 1, "{unit}");
        assert!(lines[0].starts_with("ExecStart=/opt/evenhand/bin/evenhand serve "), "{unit}");
        assert!(!unit.contains(PACKAGED), "{unit}");
    }

    #[test]
    fn paths_that_the_unit_hides_or_misreads_are_told() {
        assert!(can_be_started(Path::new("/usr/local/bin/evenhand")));
        for path in ["/home/ada/evenhand", "/tmp/evenhand", "/opt/two words/evenhand"] {
            assert!(!can_be_started(Path::new(path)), "{path}");
        }
    }
}
