//! The command line: what it prints, where, and how it ends.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use serde_json::json;
use sqlx::Connection;

use crate::publish::two_turns;
use crate::support::{Process, Provider, new_schema};

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn succeeded(output: Output) -> Output {
    assert_eq!(output.status.code(), Some(0), "{}\n{}", out(&output), err(&output));
    output
}

/// Without the keys that tests give: as someone who just installed it.
fn run_plain(args: &[&str]) -> Output {
    Process::command(args).env_remove("EVENHAND_GOVERNANCE__KEYS").output().unwrap()
}

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data").display().to_string();
    (folder, path)
}

#[test]
fn a_reader_that_leaves_early_is_no_error_and_a_full_disk_is() {
    let piped = |sink: &str| {
        let script = format!("set -o pipefail; \"$0\" openapi {sink}");
        std::process::Command::new("bash")
            .args(["-c", &script, env!("CARGO_BIN_EXE_evenhand")])
            .output()
            .unwrap()
    };
    let head = succeeded(piped("| head -1"));
    assert_eq!((out(&head).as_str(), err(&head).as_str()), ("{\n", ""));
    let full = piped("> /dev/full");
    assert_eq!(full.status.code(), Some(1));
    assert!(err(&full).contains("cannot write to standard output"), "{}", err(&full));
}

#[tokio::test]
async fn keys_create_prints_the_token_alone_and_list_never_prints_it() {
    let (_folder, dir) = folder();
    let made = succeeded(run_plain(&[
        "keys",
        "create",
        "--data-dir",
        &dir,
        "--org",
        "acme",
        "--role",
        "agent",
        "--name",
        "shop",
    ]));
    let token = out(&made).trim_end().to_owned();
    assert!(
        token.starts_with("eh_agent_") && token.len() == 52 && out(&made).lines().count() == 1,
        "{token}"
    );
    succeeded(run_plain(&[
        "keys",
        "create",
        "--data-dir",
        &dir,
        "--role",
        "dashboard",
        "--grant",
        "governance",
    ]));
    let listed = out(&succeeded(run_plain(&["keys", "list", "--data-dir", &dir])));
    assert!(
        listed.contains("shop") && listed.contains("acme") && listed.contains("dashboard+"),
        "{listed}"
    );
    assert!(!listed.contains("eh_") && !listed.contains(&token[9..]), "{listed}");
    let of_acme =
        out(&succeeded(run_plain(&["keys", "list", "--data-dir", &dir, "--org", "acme"])));
    assert_eq!(of_acme.lines().count(), 2, "{of_acme}");
    let database = std::fs::read(Path::new(&dir).join("evenhand.db")).unwrap();
    assert!(
        !database.windows(token.len()).any(|part| part == token.as_bytes()),
        "stored only as a hash"
    );

    let process = Process::start(
        Process::command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", &dir])
            .env_remove("EVENHAND_GOVERNANCE__KEYS"),
    );
    let whoami = async || {
        reqwest::Client::new()
            .get(process.url("/api/whoami"))
            .bearer_auth(&token)
            .send()
            .await
            .unwrap()
            .status()
    };
    assert_eq!(whoami().await, 200);
    let id = of_acme.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    succeeded(run_plain(&["keys", "revoke", "--data-dir", &dir, id]));
    assert_eq!(whoami().await, 401, "also in the server that is running");
    assert!(out(&run_plain(&["keys", "list", "--data-dir", &dir])).contains("revoked"));
    assert_eq!(run_plain(&["keys", "revoke", "--data-dir", &dir, "none"]).status.code(), Some(1));
    for wrong in [
        &["--role", "agent", "--grant", "governance"][..],
        &["--role", "king"],
        &[],
        &["--role", "agent", "--org", " "],
    ] {
        let mut args = vec!["keys", "create", "--data-dir", &dir];
        args.extend(wrong);
        let refused = run_plain(&args);
        assert!(!refused.status.success() && out(&refused).is_empty(), "{wrong:?}");
    }
}

#[test]
fn serving_everyone_without_credentials_is_refused_with_what_helps() {
    let (_folder, dir) = folder();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let refused = run_plain(&["serve", "--data-dir", &dir, "--listen", listen]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(
            err(&refused).contains("evenhand keys create --role dashboard"),
            "{}",
            err(&refused)
        );
    }
    let mut command = Process::command(&["serve", "--data-dir", &dir, "--listen", "0.0.0.0:0"]);
    command.env_remove("EVENHAND_GOVERNANCE__KEYS");
    let short = command.env("EVENHAND_AGENT_KEY", "too-short").output().unwrap();
    assert!(
        err(&short).contains("EVENHAND_AGENT_KEY") && !err(&short).contains("too-short"),
        "{}",
        err(&short)
    );
    command.env("EVENHAND_AGENT_KEY", "long-enough-to-be-a-credential-of-32-characters");
    let process = Process::start(&mut command);
    assert!(process.address.starts_with("0.0.0.0:"), "{}", process.address);
}

#[test]
fn settings_are_printed_and_checked() {
    let printed = out(&succeeded(Process::run(&["config", "default"])));
    assert_eq!(printed, include_str!("../../crates/service/config.default.toml"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        Process::run(&["config", "check", "--config", file.to_str().unwrap()])
    };
    assert!(out(&succeeded(check(&printed))).contains("valid"));
    let wrong = check(
        "[server]\nlistn = \"1.2.3.4:5\"\nstorage = \"disk\"\n[jobs]\nlease_seconds = \"soon\"\n",
    );
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        out(&wrong).contains("server.listn") && out(&wrong).contains("server.listen"),
        "{}",
        out(&wrong)
    );
    assert!(out(&wrong).contains("jobs.lease_seconds"), "{}", out(&wrong));
    assert_eq!(check("not toml [").status.code(), Some(1));
    assert_eq!(
        Process::run(&["config", "check", "--config", "/nowhere.toml"]).status.code(),
        Some(1)
    );
    let from_environment =
        Process::command(&["config", "check"]).env("EVENHAND_LOG__FORMAT", "xml").output().unwrap();
    assert!(out(&from_environment).contains("log.format"), "{}", out(&from_environment));
    let unknown = Process::command(&["config", "check"])
        .env("EVENHAND_LOG__COLOUR", "blue")
        .output()
        .unwrap();
    assert_eq!(unknown.status.code(), Some(1), "{}", out(&unknown));
}

#[test]
fn the_checked_in_specification_is_fresh() {
    let printed = out(&succeeded(Process::run(&["openapi"])));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let checked_in = std::fs::read_to_string(file).unwrap();
    assert!(
        printed == checked_in,
        "openapi.json is stale: run `cargo run -q -- openapi > openapi.json`"
    );
}

#[tokio::test]
async fn a_backup_of_a_running_server_is_complete() {
    let (folder, dir) = folder();
    let process = Process::start(
        Process::command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", &dir])
            .env_remove("EVENHAND_GOVERNANCE__KEYS"),
    );
    let http = reqwest::Client::new();
    for n in 0..20 {
        let mut body = two_turns("ada", "s1");
        body["request_id"] = json!(format!("r{n}"));
        assert_eq!(
            http.post(process.url("/api/publish_interaction"))
                .json(&body)
                .send()
                .await
                .unwrap()
                .status(),
            200
        );
    }
    let copy = folder.path().join("restored").join("evenhand.db");
    std::fs::create_dir(copy.parent().unwrap()).unwrap();
    let target = copy.to_str().unwrap();
    succeeded(run_plain(&["backup", target, "--data-dir", &dir]));
    let again = run_plain(&["backup", target, "--data-dir", &dir]);
    assert_eq!(again.status.code(), Some(1));
    assert!(err(&again).contains("exists already"), "{}", err(&again));
    drop(process);
    // The copy and the key, kept apart, make an installation again.
    let restored = copy.parent().unwrap().to_str().unwrap();
    let keyless = run_plain(&["serve", "--listen", "127.0.0.1:0", "--data-dir", restored]);
    assert!(err(&keyless).contains("governance.key is missing"), "{}", err(&keyless));
    assert!(!Path::new(restored).join("governance.key").exists(), "no new key is put in its place");
    std::fs::copy(
        Path::new(&dir).join("governance.key"),
        Path::new(restored).join("governance.key"),
    )
    .unwrap();
    succeeded(run_plain(&["doctor", "--data-dir", restored]));
    let process = Process::start(
        Process::command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", restored])
            .env_remove("EVENHAND_GOVERNANCE__KEYS"),
    );
    let session: serde_json::Value =
        reqwest::get(process.url("/api/sessions/ada/s1")).await.unwrap().json().await.unwrap();
    assert_eq!(session["requests"].as_array().unwrap().len(), 20);
    let nowhere = folder.path().join("nowhere");
    let refused = run_plain(&[
        "backup",
        folder.path().join("x.db").to_str().unwrap(),
        "--data-dir",
        nowhere.to_str().unwrap(),
    ]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(!nowhere.exists(), "asking about an installation does not make one");
}

#[tokio::test]
async fn doctor_says_what_is_wrong() {
    let (_folder, dir) = folder();
    let doctor = || run_plain(&["doctor", "--data-dir", &dir]);
    let none = doctor();
    assert_eq!(none.status.code(), Some(1));
    assert!(out(&none).contains("there is no database"), "{}", out(&none));
    succeeded(run_plain(&["migrate", "--data-dir", &dir]));
    assert!(out(&succeeded(doctor())).contains("everything is well"));

    let key = Path::new(&dir).join("governance.key");
    let set_mode =
        |mode| std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o644);
    let readable = doctor();
    assert_eq!(readable.status.code(), Some(1));
    assert!(out(&readable).contains("chmod 600"), "{}", out(&readable));
    set_mode(0o600);

    let right = std::fs::read_to_string(&key).unwrap();
    std::fs::write(&key, format!("k1:{}\n", "00".repeat(32))).unwrap();
    let wrong = doctor();
    assert_eq!(wrong.status.code(), Some(1));
    assert!(out(&wrong).contains("governance_key/k1"), "{}", out(&wrong));
    std::fs::write(&key, format!("k2:{}\n{right}", "00".repeat(32))).unwrap();
    let before = doctor();
    assert_eq!(before.status.code(), Some(1));
    assert!(out(&before).contains("the first governance key must be k1"), "{}", out(&before));
    std::fs::remove_file(&key).unwrap();
    let missing = doctor();
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        out(&missing).contains("governance.key is missing") && !key.exists(),
        "{}",
        out(&missing)
    );
    std::fs::write(&key, right).unwrap();
    set_mode(0o600);

    sqlite(&dir, "DROP TRIGGER wall_requests_insert");
    let open = doctor();
    assert_eq!(open.status.code(), Some(1));
    assert!(out(&open).contains("no wall on requests"), "{}", out(&open));
    succeeded(run_plain(&["migrate", "--data-dir", &dir]));
    succeeded(doctor());
    // Keys given in the environment need no file.
    let (_folder, given) = folder();
    succeeded(Process::run(&["migrate", "--data-dir", &given]));
    succeeded(Process::run(&["doctor", "--data-dir", &given]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_a_sign_in_configuration_is_refused_and_doctor_asks_the_provider() {
    let (_folder, dir) = folder();
    let started = Process::command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", &dir])
        .env("EVENHAND_OIDC__CLIENT_ID", "evenhand")
        .output()
        .unwrap();
    assert_eq!(started.status.code(), Some(1));
    assert!(
        err(&started).contains("oidc.issuer: signing in with OpenID Connect is half configured")
    );
    succeeded(Process::run(&["migrate", "--data-dir", &dir]));
    let provider = Provider::start(&base::clock::Clock::System).await;
    let doctor = |change: fn(&mut std::process::Command)| {
        let mut command = Process::command(&["doctor", "--data-dir", &dir]);
        command
            .env("EVENHAND_OIDC__ISSUER", &provider.issuer)
            .env("EVENHAND_OIDC__CLIENT_ID", "evenhand")
            .env("EVENHAND_OIDC__CLIENT_SECRET", "not-to-be-printed")
            .env("EVENHAND_OIDC__REDIRECT_URL", "http://localhost/auth/oidc/callback")
            .env("EVENHAND_OIDC__VIEWERS", "[\"staff\"]");
        change(&mut command);
        command.output().unwrap()
    };
    let well = succeeded(doctor(|_| {}));
    assert!(out(&well).contains("answers as an OpenID Connect provider"), "{}", out(&well));
    let half = doctor(|command| {
        command.env_remove("EVENHAND_OIDC__VIEWERS");
    });
    assert_eq!(half.status.code(), Some(1));
    assert!(out(&half).contains("oidc.viewers"), "{}", out(&half));
    provider.with().is_down = true;
    let down = doctor(|_| {});
    assert_eq!(down.status.code(), Some(1));
    assert!(out(&down).contains("nobody can sign in with"), "{}", out(&down));
    assert!(!format!("{down:?}{well:?}").contains("not-to-be-printed"));
}

#[tokio::test]
async fn doctor_compares_the_sums_with_the_rows() {
    let (_folder, dir) = folder();
    succeeded(run_plain(&["migrate", "--data-dir", &dir]));
    let doctor = |more: &[&str]| {
        let args = [&["doctor", "--data-dir", &dir, "--rollups"][..], more].concat();
        run_plain(&args)
    };
    assert!(out(&succeeded(doctor(&[]))).contains("every sum of the overview agrees"));
    sqlite(&dir, "INSERT INTO shadow_turn_rollups VALUES ('o', 3600, 'v1', 0, 2, 1, 1, 0, 0)");
    let wrong = doctor(&[]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(out(&wrong).contains("1 lines of shadow_turn_rollups"), "{}", out(&wrong));
    assert!(out(&succeeded(doctor(&["--repair"]))).contains("were made anew"));
    succeeded(doctor(&[]));
    let names = service::evaluation::overview::trigger_names(storage::db::Engine::Sqlite);
    let name = names.into_iter().find(|name| name.ends_with("_cited_rules_delete")).unwrap();
    sqlite(&dir, &format!("DROP TRIGGER {name}"));
    assert!(out(&doctor(&[])).contains(&format!("no trigger {name}")));
    succeeded(run_plain(&["migrate", "--data-dir", &dir]));
    succeeded(doctor(&[]));
}

fn sqlite(dir: &str, statement: &str) {
    let mut conn = sqlite::SqliteOptions::new(format!("{dir}/evenhand.db")).open().unwrap();
    conn.run(statement).unwrap();
}

const FUTURE: &str =
    "INSERT INTO schema_migrations (version, name, checksum, applied_at, works_from)
    VALUES (9999, 'future', '', 1, 9999)";

#[tokio::test]
async fn a_schema_of_a_newer_version_is_refused() {
    let (_folder, dir) = folder();
    let migrated = succeeded(run_plain(&["migrate", "--data-dir", &dir]));
    assert!(out(&migrated).contains("the schema is at version"), "{}", out(&migrated));
    succeeded(run_plain(&["migrate", "--data-dir", &dir]));
    sqlite(&dir, FUTURE);
    for command in
        [&["serve", "--listen", "127.0.0.1:0"][..], &["migrate"], &["keys", "list"], &["work"]]
    {
        let mut args = command.to_vec();
        args.extend(["--data-dir", &dir]);
        let refused = run_plain(&args);
        assert_eq!(refused.status.code(), Some(1), "{command:?}");
        assert!(err(&refused).contains("schema version 9999"), "{}", err(&refused));
    }
    assert_eq!(run_plain(&["doctor", "--data-dir", &dir]).status.code(), Some(1));

    let url = new_schema().await;
    succeeded(Process::run(&["migrate", "--database-url", &url]));
    let mut conn = sqlx::PgConnection::connect(&url).await.unwrap();
    sqlx::query(FUTURE).execute(&mut conn).await.unwrap();
    let refused = Process::run(&["migrate", "--database-url", &url]);
    assert!(err(&refused).contains("schema version 9999"), "{}", err(&refused));
}

#[test]
fn shells_and_the_manual_know_every_command() {
    let help = out(&succeeded(run_plain(&["--help"])));
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.contains(&"serve") && commands.contains(&"health"), "{help}");
    for shell in ["bash", "zsh", "fish"] {
        let script = out(&succeeded(run_plain(&["completions", shell])));
        for command in &commands {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
    let (_folder, dir) = folder();
    succeeded(run_plain(&["man", &dir]));
    for command in &commands {
        let page = Path::new(&dir).join(format!("evenhand-{command}.1"));
        assert!(page.is_file(), "{command} has no page");
    }
}

#[test]
fn the_unit_that_is_printed_is_that_of_the_package() {
    let printed = out(&succeeded(run_plain(&["service"])));
    let binary = std::fs::canonicalize(env!("CARGO_BIN_EXE_evenhand")).unwrap();
    let packaged = include_str!("../../packaging/evenhand.service");
    assert_eq!(printed, packaged.replace("/usr/bin/evenhand", binary.to_str().unwrap()));
}

#[tokio::test]
async fn health_tells_a_server_that_is_ready_from_one_that_is_away() {
    let (_folder, dir) = folder();
    let mut process = Process::serve(&["--data-dir", &dir]);
    let url = process.url("");
    let ready = succeeded(run_plain(&["health", "--url", &url]));
    assert!(out(&ready).contains("storage: reads and writes"), "{}", out(&ready));
    let other = run_plain(&["health", "--url", &format!("{url}/elsewhere")]);
    assert_eq!(other.status.code(), Some(1));
    assert!(err(&other).contains("does not answer as Evenhand does"), "{}", err(&other));
    process.kill();
    let away = run_plain(&["health", "--url", &url]);
    assert_eq!((away.status.code(), out(&away).as_str()), (Some(1), ""));
    assert!(err(&away).contains("EVENHAND_URL"), "{}", err(&away));
}
