//! `evenhand governance …`: what the endpoints do, for operators. On the installation itself by the same code, or by
//! asking a server.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::Installation;
use super::remote::{RemoteClient, path};
use super::target::Target;
use base::clock::Clock;
use base::ids::Ids;
use base::owner::UserId;
use base::private_files;
use service::app::{App, Schema};
use service::governance::audit::agreement;
use service::governance::audit::verification::{self, Expected};
use service::governance::export_format::ExportFormat;
use service::governance::purge::{self, EraseRequest, PurgeStatus};
use service::governance::{certificate, drill, export, people, rekey};
use service::http::fields::{ID_LENGTH, check_id};
use service::telemetry;
use storage::subjects::{COMMAND_LINE, KeyPurpose};

#[derive(Subcommand)]
pub enum Governance {
    /// Write everything stored of a person into a file.
    Export(ExportArgs),
    /// Erase a person: everything stored for them, everywhere. Asks first, at a terminal. Repeating the same request
    /// changes nothing.
    Erase(EraseArgs),
    /// Show how far an erasure is, or its signed certificate.
    Status(Status),
    /// Count what an export or an erasure of a person would touch.
    Preview(Preview),
    /// Let an erased person come back; what is dated before their erasure stays refused.
    Readmit(PersonArgs),
    /// Compare the audit chain with its signed end, the erasures, the exports, the ledger, and what is kept elsewhere.
    VerifyAudit(VerifyAudit),
    /// Take a restored database as it is, so that the server starts again; an audit event says so.
    AcceptRestored(Installation),
    /// Print the public key that this installation signs certificates with.
    PublicKey(Installation),
    /// Check the signature of a certificate. Exit code 2 when nothing says whose it is.
    VerifyCertificate(VerifyCertificate),
    /// Give everybody's rows subjects under another governance key, after the present one has leaked.
    ///
    /// People's rows are found by a hash of their user id, under one of the governance keys. Append a new key to the
    /// others, stop every server and worker, run this, start them again. It can be interrupted and run again: until it is
    /// through, nothing else opens the database. Who was erased stays kept out by the key that was in use then, which has
    /// to stay among the keys; this prints which keys that are (docs/operations.md).
    Rekey(Rekey),
    /// Plant a synthetic person, erase them, look for what is left in the files, print the signed result.
    Drill(Installation),
}

#[derive(Args)]
pub struct PersonArgs {
    #[command(flatten)]
    target: Target,
    /// The user's id, as it is published
    #[arg(long)]
    user: UserId,
    /// Your own id for this request: the same one is the same operation
    #[arg(long, value_name = "ID")]
    request: String,
}

#[derive(Args)]
pub struct EraseArgs {
    #[command(flatten)]
    person: PersonArgs,
    /// Erase without a question
    #[arg(long)]
    yes: bool,
}

#[derive(Args)]
pub struct ExportArgs {
    #[command(flatten)]
    person: PersonArgs,
    /// File to write; must not exist yet. With the ending .zip an archive for people, else JSON
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    target: Target,
    purge_id: String,
    /// Print the certificate of a complete erasure
    #[arg(long)]
    certificate: bool,
}

#[derive(Args)]
pub struct Preview {
    #[command(flatten)]
    target: Target,
    #[arg(long)]
    user: UserId,
}

#[derive(Args)]
pub struct VerifyAudit {
    #[command(flatten)]
    installation: Installation,
    /// An event that must be there, as an anchor or an earlier run named it; can be repeated
    #[arg(long, value_name = "NUMBER:HASH")]
    expect: Vec<String>,
    /// The certificate of an erasure that must be there; can be repeated
    #[arg(long, value_name = "FILE")]
    certificate: Vec<PathBuf>,
}

#[derive(Args)]
pub struct Rekey {
    #[command(flatten)]
    installation: Installation,
    /// The governance key to go over to [default: the newest, the last one given]
    #[arg(long, value_name = "ID")]
    key: Option<String>,
}

#[derive(Args)]
pub struct VerifyCertificate {
    file: PathBuf,
    /// The installation's public key in hex, from a source you trust
    #[arg(long, value_name = "HEX")]
    public_key: Option<String>,
}

impl Governance {
    pub async fn run(self) -> Result<ExitCode> {
        match self {
            Governance::Export(command) => command.run().await,
            Governance::Erase(command) => erase(command).await,
            Governance::Status(command) => command.run().await,
            Governance::Preview(command) => command.run().await,
            Governance::Readmit(person) => readmit(person).await,
            Governance::VerifyAudit(command) => command.run().await,
            Governance::AcceptRestored(installation) => accept_restored(&installation).await,
            Governance::PublicKey(installation) => public_key(&installation).await,
            Governance::VerifyCertificate(command) => command.run(),
            Governance::Rekey(command) => command.run().await,
            Governance::Drill(installation) => run_drill(&installation).await,
        }
    }
}

fn checked<T: From<String>>(name: &str, id: &str) -> Result<T> {
    match check_id(id, ID_LENGTH) {
        Ok(id) => Ok(id.into()),
        Err((_, problem)) => bail!("--{name} {problem}"),
    }
}

impl PersonArgs {
    async fn open(&self) -> Result<(Arc<App>, EraseRequest)> {
        let request = EraseRequest {
            org_id: checked("org", &self.target.org)?,
            user_id: checked("user", &self.user)?,
            request_id: checked("request", &self.request)?,
            actor: COMMAND_LINE.to_owned(),
        };
        Ok((self.target.installation.open(Schema::MustBeCurrent).await?, request))
    }

    /// The same request, to a server.
    fn body(&self) -> Value {
        json!({"user_id": self.user, "request_id": self.request})
    }
}

fn show(value: &Value) {
    say_line!("{value:#}");
}

fn bar(total: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} ({eta})");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total).with_style(style).with_message(what.to_owned())
}

impl ExportArgs {
    async fn run(self) -> Result<ExitCode> {
        let is_zip = self.output.extension().is_some_and(|ending| ending == "zip");
        let format = if is_zip { ExportFormat::Zip } else { ExportFormat::Json };
        if let Some(server) = self.person.target.server()? {
            let path = format!("/api/governance/export-user?format={format}");
            let request = server.request(Method::POST, &path).json(&self.person.body());
            let written = server.download(request, &self.output).await?;
            show(&json!({"bytes": written}));
            return Ok(ExitCode::SUCCESS);
        }
        let file = private_files::options().create_new(true).open(&self.output);
        let file = file.with_context(|| format!("cannot write {}", self.output.display()))?;
        let mut file = tokio::fs::File::from_std(file);
        let (app, request) = self.person.open().await?;
        let spinner = ProgressBar::new_spinner().with_message("exporting");
        let (export, mut chunks) = export::export(&app, request, format).await?;
        let mut written = 0;
        while let Some(chunk) = chunks.recv().await {
            let chunk = chunk?;
            file.write_all(&chunk).await?;
            written += chunk.len() as u64;
            spinner.set_message(format!("exporting: {} MiB", written >> 20));
            spinner.tick();
        }
        file.sync_all().await?;
        spinner.finish_and_clear();
        show(
            &json!({"export_id": export.export_id, "subject_ref": export.subject_ref, "bytes": written}),
        );
        app.stop().await;
        Ok(ExitCode::SUCCESS)
    }
}

/// Says when there is nothing to erase: a typing error would otherwise look like success.
fn say_if_unknown(total: u64) {
    if total == 0 {
        eprintln!(
            "nothing is stored of this user: the id was never seen here, or all of it was erased before"
        );
    }
}

impl EraseArgs {
    /// Asks somebody at a terminal; a program that calls has decided already.
    fn confirm(&self, total: u64) -> Result<()> {
        say_if_unknown(total);
        let is_asked = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if self.yes || !is_asked {
            return Ok(());
        }
        eprint!(
            "erase {total} rows of {} for good? type the user id to confirm: ",
            self.person.user
        );
        let mut typed = String::new();
        std::io::stdin().read_line(&mut typed)?;
        if typed.trim() != self.person.user.as_str() {
            bail!("not confirmed: nothing was erased");
        }
        Ok(())
    }
}

async fn erase(command: EraseArgs) -> Result<ExitCode> {
    let person = &command.person;
    if let Some(server) = person.target.server()? {
        return erase_on_server(&server, &command).await;
    }
    let (app, request) = person.open().await?;
    let total: u64 = people::preview(&app, &request.org_id, &request.user_id).await?.values().sum();
    command.confirm(total)?;
    let progress = bar(total, "erasing");
    let purge = loop {
        let purge = purge::erase(&app, request.clone(), Duration::from_secs(1)).await?;
        progress.set_position(purge.deleted().values().sum());
        if purge.is_complete() || purge.status == PurgeStatus::Failed {
            break purge;
        }
    };
    progress.finish_and_clear();
    let complete = purge.is_complete();
    show(&json!({
        "purge_id": purge.purge_id, "subject_ref": purge.subject_ref, "request_ref": purge.request_ref,
        "status": purge.status, "deleted_counts": purge.deleted(),
        "shared_texts_masked": purge.shared_texts_masked(), "error_code": purge.error_code,
        "error_detail": purge.error_detail, "completed_at": purge.completed_at,
    }));
    app.stop().await;
    Ok(if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Repeats the request, which changes nothing, until the erasure is through.
async fn erase_on_server(server: &RemoteClient, command: &EraseArgs) -> Result<ExitCode> {
    let person = &command.person;
    let body = person.body();
    let counts =
        server.post("/api/governance/preview-user", &json!({"user_id": person.user})).await?;
    let total = counts["total"].as_u64().unwrap_or(0);
    command.confirm(total)?;
    let progress = bar(total, "erasing");
    let erased = loop {
        let erased = server.post("/api/governance/erase-user", &body).await?;
        let deleted = erased["deleted_counts"].as_object().into_iter().flat_map(|c| c.values());
        progress.set_position(deleted.filter_map(Value::as_u64).sum());
        if [PurgeStatus::Complete.as_str(), PurgeStatus::Failed.as_str()]
            .iter()
            .any(|end| erased["status"] == *end)
        {
            break erased;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    progress.finish_and_clear();
    show(&erased);
    let is_complete = erased["status"] == PurgeStatus::Complete.as_str();
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Status {
    async fn run(self) -> Result<ExitCode> {
        if let Some(server) = self.target.server()? {
            let mut segments = vec!["api", "governance", "purge-operations", &self.purge_id];
            segments.extend(self.certificate.then_some("certificate"));
            show(&server.get(&path(&segments)?, &[]).await?);
            return Ok(ExitCode::SUCCESS);
        }
        let app = self.target.installation.open(Schema::MustBeCurrent).await?;
        let purge = purge::find(&app, &self.target.org, &self.purge_id).await?;
        if self.certificate {
            show(&serde_json::to_value(certificate::of(&app, &purge)?)?);
        } else {
            show(&json!({
                "purge_id": purge.purge_id, "subject_ref": purge.subject_ref, "request_ref": purge.request_ref,
                "status": purge.status, "error_code": purge.error_code, "error_detail": purge.error_detail,
                "created_at": purge.created_at, "updated_at": purge.updated_at, "completed_at": purge.completed_at,
            }));
        }
        app.stop().await;
        Ok(ExitCode::SUCCESS)
    }
}

impl Preview {
    async fn run(self) -> Result<ExitCode> {
        if let Some(server) = self.target.server()? {
            let body = json!({"user_id": self.user});
            let preview = server.post("/api/governance/preview-user", &body).await?;
            say_if_unknown(preview["total"].as_u64().unwrap_or(0));
            show(&preview);
            return Ok(ExitCode::SUCCESS);
        }
        let (org, user) = (checked("org", &self.target.org)?, checked("user", &self.user)?);
        let app = self.target.installation.open(Schema::MustBeCurrent).await?;
        let counts = people::preview(&app, &org, &user).await?;
        let total: u64 = counts.values().sum();
        let subject_ref = app.subject_keys.subject_ref(&org, &user);
        say_if_unknown(total);
        show(&json!({"subject_ref": subject_ref, "counts": counts, "total": total}));
        app.stop().await;
        Ok(ExitCode::SUCCESS)
    }
}

async fn readmit(person: PersonArgs) -> Result<ExitCode> {
    if let Some(server) = person.target.server()? {
        show(&server.post("/api/governance/readmit-user", &person.body()).await?);
        return Ok(ExitCode::SUCCESS);
    }
    let (app, request) = person.open().await?;
    let readmitted = people::readmit(&app, request).await?;
    show(&json!({"readmitted": readmitted}));
    app.stop().await;
    Ok(ExitCode::SUCCESS)
}

fn read_json(file: &Path) -> Result<Value> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))
}

impl VerifyAudit {
    async fn run(self) -> Result<ExitCode> {
        let mut expected = Expected::default();
        for event in &self.expect {
            let (sequence, hash) = event.split_once(':').unwrap_or_default();
            let sequence = sequence.parse().context("--expect is written NUMBER:HASH")?;
            expected.events.push((sequence, hash.to_owned()));
        }
        for file in &self.certificate {
            expected.certificates.push(read_json(file)?);
        }
        let app = self.installation.open(Schema::MustBeCurrent).await?;
        let report = verification::verify(&app, &expected).await?;
        app.stop().await;
        for note in &report.notes {
            say_line!("note: {note}");
        }
        for problem in &report.problems {
            say_line!("BROKEN: {problem}");
        }
        if !report.problems.is_empty() {
            return Ok(ExitCode::FAILURE);
        }
        say_line!(
            "{} events, unbroken; the newest is {}:{}",
            report.events,
            report.events,
            report.head
        );
        Ok(ExitCode::SUCCESS)
    }
}

async fn accept_restored(installation: &Installation) -> Result<ExitCode> {
    let app = installation.open(Schema::MustBeCurrent).await?;
    let written = agreement::accept(&app).await?;
    app.stop().await;
    say_line!("accepted; {written} lines were written into the erasure ledger");
    Ok(ExitCode::SUCCESS)
}

async fn public_key(installation: &Installation) -> Result<ExitCode> {
    let app = installation.open(Schema::MustBeCurrent).await?;
    let key = app.subject_keys.public_keys(KeyPurpose::Signing).pop();
    app.stop().await;
    let (_, key) = key.context("there is no governance key")?;
    say_line!("{key}");
    Ok(ExitCode::SUCCESS)
}

impl Rekey {
    async fn run(self) -> Result<ExitCode> {
        let settings = self.installation.settings(&[])?;
        telemetry::init_logs(&settings);
        let (clock, schema) = (Clock::System, Schema::BetweenKeys);
        let ids = Ids::system(clock.clone());
        let app = App::open(rekey::settings(settings), clock, ids, schema).await?;
        let progress = bar(0, "people");
        let watch = |at: rekey::Progress| {
            progress.set_length(at.of.max(at.people));
            progress.set_position(at.people);
            Ok(())
        };
        let rekeyed = rekey::run(&app, self.key.as_deref(), watch).await;
        progress.finish_and_clear();
        app.stop().await;
        let rekeyed = rekeyed?;
        show(&json!({
            "key": rekeyed.key_id, "went_on": rekeyed.went_on, "people": rekeyed.people, "moved": rekeyed.moved,
            "erased_under_earlier_keys": rekeyed.behind, "rows_checked": rekeyed.rows,
        }));
        for (key_id, people) in &rekeyed.behind {
            eprintln!(
                "{people} people who were erased are kept out by {key_id}: it must stay among the keys"
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl VerifyCertificate {
    fn run(self) -> Result<ExitCode> {
        let signed = read_json(&self.file)?;
        let public_key = match certificate::check(&signed) {
            Ok(public_key) => public_key,
            Err(problem) => {
                say_line!("NOT VALID: {problem}");
                return Ok(ExitCode::FAILURE);
            }
        };
        match &self.public_key {
            Some(expected) if *expected != public_key => {
                say_line!("NOT VALID: signed with another key, {public_key}");
                return Ok(ExitCode::FAILURE);
            }
            Some(_) => say_line!("valid, signed with the given key"),
            None => say_line!(
                "signature consistent, signer unknown: anybody can sign with a key of their own. Give the key of the \
                 installation, which `evenhand governance public-key` prints there, with --public-key; this one is \
                 signed with {public_key}"
            ),
        }
        show(&signed["certificate"]);
        let is_known = self.public_key.is_some();
        Ok(if is_known { ExitCode::SUCCESS } else { ExitCode::from(2) })
    }
}

async fn run_drill(installation: &Installation) -> Result<ExitCode> {
    let app = installation.open(Schema::MustBeCurrent).await?;
    let signed = drill::run(&app, service::router::router(app.clone())).await?;
    show(&signed);
    app.stop().await;
    let passed = signed["certificate"]["passed"] == true;
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
