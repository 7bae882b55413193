//! A disk that is full, fails, or is read by others: nothing acknowledged is lost, the server says how it stands, and
//! goes on by itself.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Process, not_run, patient_client, until};

/// A publish with an answer of this many characters, and its status.
async fn publish(server: &Process, request: &str, length: usize) -> u16 {
    let body = json!({
        "request_id": request, "user_id": "ada", "session_id": "s",
        "interaction_data_list": [{"role": "Assistant", "content": "x".repeat(length)}]
    });
    let answer = patient_client().post(server.url("/api/publish_interaction")).json(&body).send();
    let answer = answer.await.unwrap();
    let status = answer.status().as_u16();
    if status != 200 {
        assert!(answer.headers().contains_key("retry-after"), "{status}");
    }
    status
}

async fn readiness(server: &Process) -> u16 {
    patient_client().get(server.url("/health/ready")).send().await.unwrap().status().as_u16()
}

async fn stored_requests(server: &Process) -> Vec<String> {
    let url = server.url("/api/get_requests");
    let body = json!({"user_id": "ada", "session_id": "s", "top_k": 1000});
    let answer: Value =
        patient_client().post(url).json(&body).send().await.unwrap().json().await.unwrap();
    let sessions = answer["sessions"].as_array().unwrap();
    let requests = sessions.iter().flat_map(|session| session["requests"].as_array().unwrap());
    requests.map(|r| r["request"]["request_id"].as_str().unwrap().to_owned()).collect()
}

fn run(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).status().is_ok_and(|status| status.success())
}

/// Publishes until the storage takes no more, checks that readiness knows, lets `mend` make room, and checks that the
/// next publish succeeds and that exactly what was acknowledged is there.
async fn fails_and_recovers(server: &Process, mend: impl FnOnce()) {
    let mut acknowledged = Vec::new();
    for n in 0.. {
        assert!(n < 400, "the disk never filled up");
        let request = format!("r{n:03}");
        match publish(server, &request, 100_000).await {
            200 => acknowledged.push(request),
            status => {
                assert_eq!(status, 503);
                break;
            }
        }
    }
    // Writes that share a commit fail together and wedge nothing either.
    let together: Vec<_> = (0..8).map(|n| format!("together{n}")).collect();
    let statuses = futures_util::future::join_all(
        together.iter().map(|request| publish(server, request, 1_000_000)),
    );
    for (request, status) in together.iter().zip(statuses.await) {
        match status {
            200 => acknowledged.push(request.clone()),
            status => assert_eq!(status, 503),
        }
    }
    assert_eq!(readiness(server).await, 503);
    mend();
    assert_eq!(publish(server, "after", 100_000).await, 200, "the first publish after it succeeds");
    acknowledged.push("after".to_owned());
    assert_eq!(readiness(server).await, 200);
    let mut stored = stored_requests(server).await;
    stored.sort();
    acknowledged.sort();
    assert_eq!(stored, acknowledged);
}

#[tokio::test]
async fn a_full_disk_stops_writes_only_while_it_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    // A mount of its own, seen by the server alone, that goes with it.
    let mut command = Process::within(
        &[
            "unshare",
            "--mount",
            "bash",
            "-c",
            "mount -t tmpfs -o size=6m tmpfs $0 && exec \"$@\"",
            dir,
        ],
        &["serve", "--listen", "127.0.0.1:0", "--data-dir", dir],
    );
    if !run("unshare", &["--mount", "true"]) {
        not_run("disk::", "mounting a small file system needs root");
        return;
    }
    let server = Process::start(&mut command);
    assert_eq!(readiness(&server).await, 200);
    fails_and_recovers(&server, || {
        let id = server.id().to_string();
        let enlarge = ["--target", &id, "--mount", "mount", "-o", "remount,size=256m", dir];
        assert!(run("nsenter", &enlarge));
    })
    .await;
}

#[tokio::test]
async fn writes_that_fail_do_not_stop_the_ones_after_them() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    // Beyond the limit write(2) fails with EFBIG, which SQLite takes for an I/O error.
    let mut command = Process::within(
        &["bash", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""],
        &["serve", "--listen", "127.0.0.1:0", "--data-dir", dir],
    );
    let server = Process::start(&mut command);
    let id = server.id().to_string();
    let limit = |bytes: &str| {
        let limit = format!("--fsize={bytes}:unlimited");
        assert!(run("prlimit", &["--pid", &id, &limit]));
    };
    for n in 0..3 {
        assert_eq!(publish(&server, &format!("before{n}"), 100).await, 200);
    }
    limit("4096");
    assert_eq!(publish(&server, "lost", 100).await, 503);
    assert_eq!(readiness(&server).await, 503);
    limit("unlimited");
    assert_eq!(publish(&server, "after", 100).await, 200, "the first publish after it succeeds");
    until("readiness", async || readiness(&server).await == 200).await;
    let mut stored = stored_requests(&server).await;
    stored.sort();
    assert_eq!(stored, ["after", "before0", "before1", "before2"]);
}

/// Fails writes with EIO, or SQLite's requests for memory, and checks that the server says so, loses nothing and goes on.
async fn fails_for_a_while(kind: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (library, source) = (folder.path().join("faulty.so"), folder.path().join("faulty.c"));
    std::fs::write(&source, include_str!("support/faulty.c")).unwrap();
    let (library, source) = (library.to_str().unwrap(), source.to_str().unwrap());
    if !run("cc", &["-shared", "-fPIC", "-O1", "-o", library, source]) {
        not_run("disk::", "there is no C compiler that makes the failing library");
        return;
    }
    let data = folder.path().join("data");
    let dir = data.to_str().unwrap();
    let mut command = Process::command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", dir]);
    let server = Process::start(command.env("LD_PRELOAD", library).env("FAULTY", kind));
    let signal = |name: &str| assert!(run("kill", &[name, &server.id().to_string()]));
    assert_eq!(publish(&server, "before", 100).await, 200);
    let (mut acknowledged, mut failed) = (vec!["before".to_owned()], 0);
    for round in 0..3 {
        signal("-USR1");
        for n in 0..4 {
            let request = format!("amid{round}{n}");
            match publish(&server, &request, 50_000).await {
                // Memory that SQLite has already may be enough.
                200 if kind == "nomem" => acknowledged.push(request),
                status => {
                    assert_eq!(status, 503, "{kind}");
                    failed += 1;
                }
            }
        }
        if kind == "eio" {
            assert_eq!(readiness(&server).await, 503, "{kind}");
        }
        signal("-USR2");
        let after = format!("after{round}");
        assert_eq!(publish(&server, &after, 50_000).await, 200, "{kind}: the first one after it");
        acknowledged.push(after);
        until("readiness", async || readiness(&server).await == 200).await;
    }
    assert!(failed > 0, "{kind} was not noticed at all");
    let mut stored = stored_requests(&server).await;
    stored.sort();
    acknowledged.sort();
    assert_eq!(stored, acknowledged, "{kind}");
}

#[tokio::test]
async fn a_disk_that_fails_for_a_while_loses_nothing() {
    fails_for_a_while("eio").await;
}

#[tokio::test]
async fn memory_that_fails_for_a_while_loses_nothing() {
    fails_for_a_while("nomem").await;
}

#[tokio::test]
async fn a_database_that_is_deleted_under_the_server_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let server = Process::serve(&["--data-dir", dir]);
    let file = folder.path().join("evenhand.db");
    assert_eq!(publish(&server, "before", 100).await, 200);
    let kept = folder.path().join("kept");
    std::fs::rename(&file, &kept).unwrap();
    assert_eq!(readiness(&server).await, 503);
    assert_eq!(publish(&server, "nowhere", 100).await, 503, "acknowledged into nowhere");
    // Another file in its place is not it.
    std::fs::copy(&kept, &file).unwrap();
    assert_eq!(publish(&server, "elsewhere", 100).await, 503);
    assert_eq!(readiness(&server).await, 503);
    std::fs::rename(&kept, &file).unwrap();
    assert_eq!(publish(&server, "after", 100).await, 200);
    assert_eq!(readiness(&server).await, 200);
    let mut stored = stored_requests(&server).await;
    stored.sort();
    assert_eq!(stored, ["after", "before"]);
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn only_the_owner_can_read_what_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (data, copy) = (folder.path().join("data"), folder.path().join("copy.db"));
    let dir = data.to_str().unwrap();
    let server = Process::start(
        Process::command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", dir])
            .env_remove("EVENHAND_GOVERNANCE__KEYS"),
    );
    assert_eq!(publish(&server, "r", 100).await, 200);
    let backup = Process::command(&["backup", "--data-dir", dir, copy.to_str().unwrap()])
        .env_remove("EVENHAND_GOVERNANCE__KEYS")
        .output()
        .unwrap();
    assert!(backup.status.success(), "{backup:?}");
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&copy), 0o600);
    let files = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path());
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}
