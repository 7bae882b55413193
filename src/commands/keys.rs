//! `evenhand keys create|list|revoke`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use super::Installation;
use base::owner::OrgId;
use service::app::Schema;
use service::credentials::{self, DEFAULT_ORG, NewCredential, Role};
use service::http::fields::{ID_LENGTH, check_id};

#[derive(Subcommand)]
pub enum Keys {
    /// Make a credential and print its token, which is shown once and cannot be shown again.
    Create(Create),
    /// List credentials (never their tokens).
    List(ListArgs),
    /// End a credential; it is refused from the next request on.
    Revoke(Revoke),
}

#[derive(Args)]
pub struct Create {
    #[command(flatten)]
    installation: Installation,
    /// The organization whose data the credential reaches
    #[arg(long, default_value = DEFAULT_ORG)]
    org: OrgId,
    /// agent: publishes, searches, reads. publish: publishes and searches. dashboard: runs the installation. auditor:
    /// reads. governance: exports and erases
    #[arg(long, value_enum)]
    role: Role,
    /// `governance` lets a dashboard credential export and erase too
    #[arg(long, value_parser = ["governance"])]
    grant: Option<String>,
    /// An agent key that publishes and searches, and cannot read what was stored
    #[arg(long)]
    no_reads: bool,
    /// Refuse it after so many days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(i64).range(1..=3650))]
    expires_in_days: Option<i64>,
    /// Its purpose, to recognise it in the list
    #[arg(long, default_value = "")]
    name: String,
}

#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    installation: Installation,
    /// Only this organization
    #[arg(long)]
    org: Option<OrgId>,
}

#[derive(Args)]
pub struct Revoke {
    #[command(flatten)]
    installation: Installation,
    /// The credential's id, as `keys list` shows it
    credential_id: String,
}

impl Keys {
    pub async fn run(self) -> Result<ExitCode> {
        match self {
            Keys::Create(command) => command.run().await?,
            Keys::List(command) => command.run().await?,
            Keys::Revoke(command) => command.run().await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Create {
    async fn run(self) -> Result<()> {
        let org = match check_id(&self.org, ID_LENGTH) {
            Ok(org) => OrgId::from(org),
            Err((_, problem)) => bail!("--org {problem}"),
        };
        let app = self.installation.open(Schema::Migrate).await?;
        let new = NewCredential {
            role: self.role,
            governance_grant: self.grant.is_some(),
            reads: !self.no_reads,
            name: self.name,
            lasts: self.expires_in_days.map(|days| days * 86_400),
        };
        let (credential, token) = credentials::create(&app, &org, new).await?;
        eprintln!(
            "{} credential {} for organization {org}; keep the token, it is not shown again:",
            credential.role.as_str(),
            credential.credential_id
        );
        say_line!("{token}");
        app.stop().await;
        Ok(())
    }
}

impl ListArgs {
    async fn run(self) -> Result<()> {
        let app = self.installation.open(Schema::MustBeCurrent).await?;
        let date = |at: Option<i64>| match at.and_then(|at| jiff::Timestamp::from_second(at).ok()) {
            Some(at) => at.strftime("%Y-%m-%d").to_string(),
            None => "-".to_owned(),
        };
        let now = app.clock.now();
        say_line!(
            "{:36}  {:14}  {:20}  {:8}  {:10}  {:10}  name",
            "id",
            "role",
            "organization",
            "state",
            "expires",
            "last used"
        );
        for c in credentials::list(&app, self.org.as_ref()).await? {
            let role = match (c.role, c.governance) {
                (Role::Dashboard, true) => "dashboard+",
                (Role::Agent, _) if !c.reads => "agent no-reads",
                (role, _) => role.as_str(),
            };
            let state = match (c.revoked_at, c.is_expired(now)) {
                (Some(_), _) => "revoked",
                (None, true) => "expired",
                (None, false) => "live",
            };
            let (expires, used) = (date(c.expires_at), date(c.last_used_at));
            say_line!(
                "{:36}  {role:14}  {:20}  {state:8}  {expires:10}  {used:10}  {}",
                c.credential_id,
                c.org_id,
                c.name
            );
        }
        app.stop().await;
        Ok(())
    }
}

impl Revoke {
    async fn run(self) -> Result<()> {
        let app = self.installation.open(Schema::MustBeCurrent).await?;
        credentials::revoke(&app, &self.credential_id).await?;
        say_line!("revoked {}", self.credential_id);
        app.stop().await;
        Ok(())
    }
}
