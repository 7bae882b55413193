//! `evenhand keys create|list|revoke`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use super::Installation;
use base::owner::OrgId;
use service::app::Schema;
use service::credentials::{self, DEFAULT_ORG, Role};
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
    /// agent: publishes, searches, reads. dashboard: runs the installation. governance: exports and erases
    #[arg(long, value_enum)]
    role: Role,
    /// `governance` lets a dashboard credential export and erase too
    #[arg(long, value_parser = ["governance"])]
    grant: Option<String>,
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
        let (credential, token) =
            credentials::create(&app, &org, self.role, self.grant.is_some(), &self.name).await?;
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
        say_line!("{:36}  {:10}  {:20}  {:8}  name", "id", "role", "organization", "state");
        for c in credentials::list(&app, self.org.as_ref()).await? {
            let role = match (c.role, c.governance) {
                (Role::Dashboard, true) => "dashboard+",
                (role, _) => role.as_str(),
            };
            let state = if c.revoked_at.is_some() { "revoked" } else { "live" };
            say_line!("{:36}  {role:10}  {:20}  {state:8}  {}", c.credential_id, c.org_id, c.name);
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
