//! The public Python client, unmodified, against the real binary: `tests/python/walk.py` calls its methods one by one.

use std::process::{Command, Output, Stdio};

use crate::support::{Process, not_run};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[track_caller]
fn succeeded(what: &str, output: &Output) -> String {
    let said = text(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{said}", output.status);
    text(&output.stdout)
}

/// Fails when the client cannot be installed. Without a Python that can run it there is nothing to test; `make test`
/// says so before the tests begin.
#[test]
fn the_public_client_works_unmodified() {
    let root = env!("CARGO_MANIFEST_DIR");
    let found = Command::new(format!("{root}/scripts/python-client")).output().unwrap();
    if found.status.code() == Some(3) {
        not_run("python_client::", &text(&found.stderr));
        return;
    }
    let python = succeeded("scripts/python-client", &found);

    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("data").display().to_string();
    let keys = ["keys", "create", "--data-dir", &place, "--role", "dashboard"];
    let token = succeeded("keys create", &Process::run(&keys));
    let server = Process::serve(&["--data-dir", &place]);
    let walk = Command::new(python)
        .current_dir(root)
        .args(["tests/python/walk.py", &server.url("/"), &token])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    println!("{}", succeeded("tests/python/walk.py", &walk));
}
