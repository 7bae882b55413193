//! `evenhand doctor`: looks at an installation the way its operator would.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use clap::Args;

use super::Installation;
use base::private_files;
use service::app::{App, Schema};
use service::credentials::people::Provider;
use service::evaluation::overview;
use service::governance::{self, ledger};
use service::placement::placement;
use service::user_tables::USER_TABLES;
use service::{credentials, learnings, sessions};
use storage::db::{Engine, citus};
use storage::jobs;
use storage::subjects::{audit, wall};

#[derive(Default)]
struct Findings {
    problems: usize,
}

impl Findings {
    fn ok(&self, what: &str) {
        say_line!("ok       {what}");
    }

    fn problem(&mut self, what: &str) {
        self.problems += 1;
        say_line!("PROBLEM  {what}");
    }
}

#[derive(Args)]
pub struct Doctor {
    #[command(flatten)]
    installation: Installation,
    /// Also recompute every sum of the overview from its rows and compare. Reads all verdicts.
    #[arg(long)]
    rollups: bool,
    /// Make the sums anew where they differ.
    #[arg(long, requires = "rollups")]
    repair: bool,
}

impl Doctor {
    pub async fn run(&self) -> Result<ExitCode> {
        run(&self.installation, self.rollups.then_some(self.repair)).await
    }
}

/// `rollups`: whether they are compared, and then whether they are repaired.
async fn run(installation: &Installation, rollups: Option<bool>) -> Result<ExitCode> {
    let mut report = Findings::default();
    let settings = match installation.settings(&[]) {
        Ok(settings) => settings,
        Err(error) => {
            report.problem(&format!("{error:#}"));
            return Ok(ExitCode::FAILURE);
        }
    };
    report.ok("the settings are valid");
    let on_sqlite = settings.server.database_url.is_empty();
    let data_dir = settings.server.data_dir.clone();
    if on_sqlite && !data_dir.join("evenhand.db").is_file() {
        report.problem(&format!(
            "there is no database in {}; `evenhand serve` makes one",
            data_dir.display()
        ));
        return Ok(ExitCode::FAILURE);
    }
    let app = match installation.open(Schema::MustBeCurrent).await {
        Ok(app) => app,
        Err(error) => {
            report.problem(&format!("the database cannot be opened: {error:#}"));
            return Ok(ExitCode::FAILURE);
        }
    };
    report.ok("the database opens and its schema is current");
    check_engine(&app, &mut report).await?;
    match app.check_governance_keys().await {
        Ok(()) => report.ok(&format!(
            "the governance keys are the ones this database was used with; people's rows are found by {}",
            app.subject_keys.subject_key_id()
        )),
        Err(error) => report.problem(&error.to_string()),
    }
    if app.db.engine() == Some(Engine::Sqlite) {
        if app.settings.governance.keys.is_empty() {
            check_key_file(&data_dir, &mut report);
        }
        check_disk(&data_dir, &mut report);
    }
    check_invariants(&app, &mut report).await?;
    if app.db.is_spread() {
        check_placement(&app, &mut report).await?;
    }
    if let Some(repair) = rollups {
        check_rollups(&app, repair, &mut report).await?;
    }
    check_proofs(&app, &mut report).await?;
    check_queue(&app, &mut report).await?;
    if let Some(age) = governance::overdue_seconds(&app).await? {
        report.problem(&format!(
            "remains of somebody erased {age} s ago are still in the file; a running server cleans them out, \
             and `GET /api/jobs` shows its job scrub_files"
        ));
    }
    check_access(&app, &mut report).await?;
    app.stop().await;
    match report.problems {
        0 => say_line!("\neverything is well"),
        n => say_line!("\n{n} things need attention"),
    }
    Ok(if report.problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn check_engine(app: &App, report: &mut Findings) -> Result<()> {
    let problems = app.db.self_check().await?;
    if problems.is_empty() {
        report.ok("the storage engine finds nothing wrong with itself");
    }
    for (check, problem) in problems {
        report.problem(&format!("{check}: {problem}"));
    }
    Ok(())
}

fn check_key_file(data_dir: &Path, report: &mut Findings) {
    use std::os::unix::fs::PermissionsExt;
    let key = data_dir.join("governance.key");
    match fs::metadata(&key) {
        Ok(meta) if meta.permissions().mode() & 0o077 == 0 => {
            report.ok("governance.key is there and private");
        }
        Ok(_) => report.problem("governance.key can be read by others; chmod 600 it"),
        Err(_) => report.problem("governance.key is missing; restore it from where you keep it"),
    }
}

fn check_disk(data_dir: &Path, report: &mut Findings) {
    match fsyncs_per_second(data_dir) {
        Ok(rate) => report.ok(&format!("the disk syncs {rate:.0} times a second")),
        Err(error) => report.problem(&format!("the data folder cannot be written: {error}")),
    }
}

/// Small synced writes per second: the limit of durable publishing.
fn fsyncs_per_second(folder: &Path) -> std::io::Result<f64> {
    let path = folder.join(".doctor-sync-test");
    let mut file = private_files::options().create(true).truncate(true).open(&path)?;
    let started = Instant::now();
    let mut count = 0u32;
    while count < 200 && started.elapsed().as_millis() < 500 {
        file.write_all(&[0u8; 4096])?;
        file.sync_data()?;
        count += 1;
    }
    let rate = f64::from(count) / started.elapsed().as_secs_f64();
    fs::remove_file(&path)?;
    Ok(rate)
}

async fn check_invariants(app: &Arc<App>, report: &mut Findings) -> Result<()> {
    let (gaps, mismatches) = app
        .db
        .read("doctor.invariants", (), |tx, ()| {
            Box::pin(async move {
                Ok((wall::gaps(tx, USER_TABLES).await?, sessions::recount_mismatches(tx).await?))
            })
        })
        .await?;
    match gaps.as_slice() {
        [] => report.ok("every user-owned table has its wall"),
        tables => report
            .problem(&format!("no wall on {}; `evenhand migrate` makes it", tables.join(", "))),
    }
    let compared =
        app.db.write("doctor.index", (), |tx, ()| Box::pin(learnings::check_index(tx))).await;
    match compared {
        Ok(()) => report.ok("the full-text index agrees with its rows"),
        Err(error) => report.problem(&format!(
            "the full-text index does not agree with its rows ({error}); restore a backup or rebuild it"
        )),
    }
    match mismatches {
        0 => report.ok("every session agrees with its requests"),
        n => report.problem(&format!("{n} sessions or requests do not agree with each other")),
    }
    Ok(())
}

/// Where the tables are, and whether the walls on the shards held.
async fn check_placement(app: &Arc<App>, report: &mut Findings) -> Result<()> {
    let (placed, servers, strays) = app
        .db
        .read("doctor.placement", (), |tx, ()| {
            Box::pin(async move {
                let placed = citus::placed(tx).await?;
                let servers = citus::shards_by_server(tx).await?;
                Ok((placed, servers, wall::strays(tx, USER_TABLES).await?))
            })
        })
        .await?;
    let number = |kind| placed.iter().filter(|table| table.placement == kind).count();
    let servers: Vec<String> =
        servers.into_iter().map(|(server, shards)| format!("{server}: {shards} shards")).collect();
    report.ok(&format!(
        "Citus: {} tables are spread ({}), {} are on every server, the others on the coordinator",
        number("distributed"),
        servers.join(", "),
        number("reference")
    ));
    let placement = placement();
    let wanted = placement.spread.iter().map(|(table, _)| *table);
    let missing: Vec<&str> = wanted
        .chain(placement.copied.iter().copied())
        .filter(|wanted| !placed.iter().any(|table| table.table_name == *wanted))
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        report.problem(&format!("not placed: {missing}; `evenhand migrate` places them"));
    }
    match strays.as_slice() {
        [] => report.ok("no row is of somebody who was erased"),
        found => {
            for (table, rows) in found {
                report.problem(&format!("{rows} rows of {table} are of people who were erased"));
            }
        }
    }
    Ok(())
}

async fn check_rollups(app: &Arc<App>, repair: bool, report: &mut Findings) -> Result<()> {
    let (gaps, wrong) = app
        .db
        .read("doctor.rollups", (), |tx, ()| {
            Box::pin(
                async move { Ok((overview::gaps(tx).await?, overview::mismatches(tx).await?)) },
            )
        })
        .await?;
    if !gaps.is_empty() {
        let gaps = gaps.join(", ");
        report
            .problem(&format!("no trigger {gaps}: sums are not kept; `evenhand migrate` makes it"));
    }
    if wrong.is_empty() {
        report.ok("every sum of the overview agrees with its rows");
    } else if repair {
        let mark = overview::Mark::new(&app.ids);
        let rebuild =
            app.db.write("doctor.rebuild", mark, |tx, mark| Box::pin(overview::rebuild(tx, *mark)));
        rebuild.await?;
        report.ok("the sums of the overview did not agree with their rows and were made anew");
    } else {
        for (table, lines) in wrong {
            report.problem(&format!(
                "{lines} lines of {table} do not agree with the rows; `evenhand doctor --rollups --repair`"
            ));
        }
    }
    Ok(())
}

async fn check_proofs(app: &App, report: &mut Findings) -> Result<()> {
    match audit::verify(&app.db, &app.subject_keys).await?.broken_at {
        None => report.ok("the audit chain is unbroken"),
        Some((sequence, problem)) => {
            report.problem(&format!("the audit chain is broken at event {sequence}: {problem}"));
        }
    }
    match ledger::entries(app) {
        Ok(_) => report.ok("the erasure ledger can be read"),
        Err(error) => report.problem(&error.to_string()),
    }
    Ok(())
}

async fn check_queue(app: &App, report: &mut Findings) -> Result<()> {
    let (counts, oldest) = jobs::summary(app, None).await?;
    let dead: i64 =
        counts.iter().filter(|c| c.state == jobs::QueueState::Dead).map(|c| c.count).sum();
    if dead > 0 {
        report.problem(&format!("{dead} jobs gave up; GET /api/jobs/dead says why"));
    }
    match oldest {
        0..=300 => report.ok(&format!("the job queue keeps up (oldest due job: {oldest} s)")),
        _ => report.problem(&format!(
            "the oldest due job waits for {oldest} s; is `evenhand serve` or `evenhand work` running?"
        )),
    }
    Ok(())
}

async fn check_access(app: &App, report: &mut Findings) -> Result<()> {
    let loopback = app.listen_address()?.ip().is_loopback();
    match (credentials::any_exist(app).await?, loopback) {
        (true, _) => report.ok("credentials exist"),
        (false, true) => report.ok("local mode: no credentials, loopback only"),
        (false, false) => report.problem(
            "no credentials: `evenhand serve` refuses to listen beyond loopback; keys create",
        ),
    }
    if let Some(provider) = app.state::<Option<Provider>>() {
        let issuer = &app.settings.oidc.issuer;
        match provider.check(app.clock.now()).await {
            Ok(()) => report.ok(&format!("{issuer} answers as an OpenID Connect provider")),
            Err(why) => report.problem(&format!("nobody can sign in with {issuer}: {why}")),
        }
    }
    Ok(())
}
