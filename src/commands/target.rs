//! The installation itself or a running server, for commands that work on either.

use anyhow::{Result, bail};
use clap::Args;

use super::Installation;
use super::remote::{Remote, RemoteClient};
use base::owner::OrgId;
use service::credentials::DEFAULT_ORG;

const URL: &str = "EVENHAND_URL";

/// A server if one is named, else the installation.
#[derive(Args, Clone)]
pub struct Target {
    #[command(flatten)]
    pub installation: Installation,
    /// Organization, on the installation itself; a server knows it by the key
    #[arg(long, default_value = DEFAULT_ORG)]
    pub org: OrgId,
    /// Ask this running server instead of opening the installation
    #[arg(long, env = URL)]
    url: Option<String>,
    /// A key of a role that may do this, on a server (`evenhand keys create`)
    #[arg(long, env = "EVENHAND_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

impl Target {
    /// The server, if one is named.
    pub fn server(&self) -> Result<Option<RemoteClient>> {
        let Some(url) = &self.url else { return Ok(None) };
        if self.installation.data_dir.is_some() || self.installation.database_url.is_some() {
            if std::env::var(URL).as_ref() != Ok(url) {
                bail!(
                    "give either --url, for a server, or the folder or database of an installation"
                );
            }
            return Ok(None);
        }
        Remote { url: url.clone(), token: self.token.clone() }.client().map(Some)
    }
}
