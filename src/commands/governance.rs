//! `evenhand governance …`: what the endpoints do, for operators, by the same code.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::Installation;
use base::owner::{OrgId, UserId};
use base::private_files;
use service::app::{App, Schema};
use service::credentials::DEFAULT_ORG;
use service::governance::export_format::ExportFormat;
use service::governance::purge::{self, EraseRequest, PurgeStatus};
use service::governance::{certificate, drill, export, people};
use service::http::fields::{ID_LENGTH, check_id};
use storage::subjects::{COMMAND_LINE, audit};

#[derive(Subcommand)]
pub enum Governance {
    /// Write everything stored of a person into a file.
    Export(ExportArgs),
    /// Erase a person: everything stored for them, everywhere. Repeating the same request changes nothing.
    Erase(PersonArgs),
    /// Show how far an erasure is, or its signed certificate.
    Status(Status),
    /// Count what an export or an erasure of a person would touch.
    Preview(Preview),
    /// Let an erased person come back; what is dated before their erasure stays refused.
    Readmit(PersonArgs),
    /// Walk the audit chain and say whether anything in it was changed, left out or put in.
    VerifyAudit(Installation),
    /// Check the signature of a certificate. Needs nothing but the file.
    VerifyCertificate(VerifyCertificate),
    /// Plant a synthetic person, erase them, look for what is left in the files, print the signed result.
    Drill(Installation),
}

#[derive(Args)]
pub struct PersonArgs {
    #[command(flatten)]
    installation: Installation,
    #[arg(long, default_value = DEFAULT_ORG)]
    org: OrgId,
    /// The user's id, as it is published
    #[arg(long)]
    user: UserId,
    /// Your own id for this request: the same one is the same operation
    #[arg(long, value_name = "ID")]
    request: String,
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
    installation: Installation,
    #[arg(long, default_value = DEFAULT_ORG)]
    org: OrgId,
    purge_id: String,
    /// Print the certificate of a complete erasure
    #[arg(long)]
    certificate: bool,
}

#[derive(Args)]
pub struct Preview {
    #[command(flatten)]
    installation: Installation,
    #[arg(long, default_value = DEFAULT_ORG)]
    org: OrgId,
    #[arg(long)]
    user: UserId,
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
            Governance::Erase(person) => erase(person).await,
            Governance::Status(command) => command.run().await,
            Governance::Preview(command) => command.run().await,
            Governance::Readmit(person) => readmit(person).await,
            Governance::VerifyAudit(installation) => verify_audit(&installation).await,
            Governance::VerifyCertificate(command) => command.run(),
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
            org_id: checked("org", &self.org)?,
            user_id: checked("user", &self.user)?,
            request_id: checked("request", &self.request)?,
            actor: COMMAND_LINE.to_owned(),
        };
        Ok((self.installation.open(Schema::MustBeCurrent).await?, request))
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

async fn erase(person: PersonArgs) -> Result<ExitCode> {
    let (app, request) = person.open().await?;
    let total: u64 = people::preview(&app, &request.org_id, &request.user_id).await?.values().sum();
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

impl Status {
    async fn run(self) -> Result<ExitCode> {
        let app = self.installation.open(Schema::MustBeCurrent).await?;
        let purge = purge::find(&app, &self.org, &self.purge_id).await?;
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
        let (org, user) = (checked("org", &self.org)?, checked("user", &self.user)?);
        let app = self.installation.open(Schema::MustBeCurrent).await?;
        let counts = people::preview(&app, &org, &user).await?;
        let total: u64 = counts.values().sum();
        let subject_ref = app.subject_keys.subject_ref(&org, &user);
        show(&json!({"subject_ref": subject_ref, "counts": counts, "total": total}));
        app.stop().await;
        Ok(ExitCode::SUCCESS)
    }
}

async fn readmit(person: PersonArgs) -> Result<ExitCode> {
    let (app, request) = person.open().await?;
    let readmitted = people::readmit(&app, request).await?;
    show(&json!({"readmitted": readmitted}));
    app.stop().await;
    Ok(ExitCode::SUCCESS)
}

async fn verify_audit(installation: &Installation) -> Result<ExitCode> {
    let app = installation.open(Schema::MustBeCurrent).await?;
    let verified = audit::verify(&app.db).await?;
    app.stop().await;
    if let Some((sequence, problem)) = verified.broken_at {
        say_line!("BROKEN at event {sequence}: {problem}");
        return Ok(ExitCode::FAILURE);
    }
    say_line!("{} events, unbroken; the newest has the hash {}", verified.events, verified.head);
    Ok(ExitCode::SUCCESS)
}

impl VerifyCertificate {
    fn run(self) -> Result<ExitCode> {
        let text = std::fs::read_to_string(&self.file)
            .with_context(|| format!("cannot read {}", self.file.display()))?;
        let signed: Value = serde_json::from_str(&text).context("this is not JSON")?;
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
                "unchanged since it was signed with {public_key}; compare that key with the installation's"
            ),
        }
        show(&signed["certificate"]);
        Ok(ExitCode::SUCCESS)
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
