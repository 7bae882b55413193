//! Files and folders that only their owner can read: everything an installation stores is about people.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;
/// The bits that let a group or everybody in.
const OTHERS: u32 = 0o077;

/// Options that open a file for writing and make it private if they create it.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(FILE);
    options
}

/// Makes the folder and what is missing above it. An empty folder is taken over and made private; one with contents
/// may be somebody's on purpose, so it is only reported.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(folder)?;
    if !open_to_others(folder)? {
        return Ok(());
    }
    if fs::read_dir(folder)?.next().is_none() {
        return fs::set_permissions(folder, Permissions::from_mode(FOLDER));
    }
    tracing::warn!(folder = %folder.display(), "others on this machine can list the data folder: chmod 700 ends that");
    Ok(())
}

/// Makes the file if it is missing, and takes it away from others if it was open to them.
pub fn make_file(file: &Path) -> io::Result<()> {
    options().create(true).truncate(false).open(file)?;
    if open_to_others(file)? {
        fs::set_permissions(file, Permissions::from_mode(FILE))?;
    }
    Ok(())
}

fn open_to_others(path: &Path) -> io::Result<bool> {
    Ok(fs::metadata(path)?.permissions().mode() & OTHERS != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn folders_and_files_are_private_from_their_first_moment() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("a/b");
        make_folder(&folder).unwrap();
        make_file(&folder.join("new")).unwrap();
        assert_eq!((mode(&folder), mode(&folder.join("new"))), (0o700, 0o600));
    }

    #[test]
    fn an_empty_folder_is_taken_over_and_a_used_one_is_left() {
        let top = tempfile::tempdir().unwrap();
        fs::set_permissions(top.path(), Permissions::from_mode(0o755)).unwrap();
        make_folder(top.path()).unwrap();
        assert_eq!(mode(top.path()), 0o700);
        let file = top.path().join("database");
        fs::write(&file, "kept").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(top.path(), Permissions::from_mode(0o755)).unwrap();
        make_folder(top.path()).unwrap();
        make_file(&file).unwrap();
        assert_eq!((mode(top.path()), mode(&file)), (0o755, 0o600));
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    }
}
