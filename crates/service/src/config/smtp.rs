//! Settings of the server that takes e-mails.

use lettre::message::Mailbox;
use secrecy::SecretString;
use serde::Deserialize;

/// Off without a host.
#[derive(Clone, Debug, Deserialize)]
pub struct Smtp {
    pub host: String,
    pub port: u16,
    pub encryption: Encryption,
    pub username: String,
    pub password: SecretString,
    pub from: String,
}

base::vocabulary! {
    /// Encryption of the connection to an SMTP server.
    pub enum Encryption {
        /// From the first byte, usually on port 465.
        Tls = "tls",
        /// From STARTTLS on, usually on port 587.
        Starttls = "starttls",
        None = "none",
    }
}

impl Smtp {
    pub fn is_configured(&self) -> bool {
        !self.host.is_empty()
    }

    /// The problem with them, with the name of its setting.
    pub fn problem(&self) -> Option<String> {
        let is_wrong = self.is_configured() && self.from.parse::<Mailbox>().is_err();
        let example = "Evenhand <evenhand@example.org>";
        is_wrong.then(|| format!("smtp.from: the sender's address, for example {example}"))
    }
}
