//! The address of a webhook: what may be one, and how it is stored.

use super::post::refusal;
use super::{Webhook, WebhookFormat, email};
use crate::app::App;
use storage::error::{Error, InputProblem, Result};

/// Label of the key that seals addresses.
const PURPOSE: &str = "webhook/url";

/// An address as it is stored.
pub struct Target {
    /// As it is shown: of a chat without its end, because whoever knows it may write there.
    pub url: String,
    /// The whole address of a chat.
    pub sealed_url: Option<String>,
}

/// Seals an address, or refuses one that does not fit its format or leads where nothing may be sent.
pub fn accept(app: &App, url: &str, format: WebhookFormat) -> Result<Target> {
    if let Some(problem) = problem(app, url, format) {
        return Err(Error::invalid(vec![InputProblem {
            pointer: "/url".to_owned(),
            code: "not_allowed".to_owned(),
            detail: problem.to_owned(),
        }]));
    }
    Ok(match format {
        WebhookFormat::Slack => Target {
            url: without_end(url),
            sealed_url: Some(app.subject_keys.seal_text(&app.ids, PURPOSE, url)?),
        },
        WebhookFormat::Standard | WebhookFormat::Email => {
            Target { url: url.to_owned(), sealed_url: None }
        }
    })
}

/// The address as people may see it. One that was stored before addresses were sealed is whole in the database.
pub fn shown(webhook: &Webhook) -> String {
    match webhook.format {
        WebhookFormat::Slack => without_end(&webhook.url),
        WebhookFormat::Standard | WebhookFormat::Email => webhook.url.clone(),
    }
}

/// The address that messages go to.
pub fn address(app: &App, webhook: &Webhook) -> Result<String> {
    match &webhook.sealed_url {
        Some(sealed) => app.subject_keys.unseal_text(PURPOSE, sealed),
        None => Ok(webhook.url.clone()),
    }
}

fn problem(app: &App, url: &str, format: WebhookFormat) -> Option<&'static str> {
    match format {
        WebhookFormat::Email if email::address(url).is_none() => {
            Some("must be mailto: and one address, for example mailto:ops@example.org")
        }
        WebhookFormat::Email if !app.settings.smtp.is_configured() => Some(
            "needs an SMTP server: set smtp.host and smtp.from in the configuration and start the server again",
        ),
        WebhookFormat::Email => None,
        WebhookFormat::Standard | WebhookFormat::Slack => {
            refusal(url, app.settings.webhooks.allow_private_addresses)
        }
    }
}

/// Scheme and host, and that there is more.
fn without_end(url: &str) -> String {
    let host = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    format!("{host}/…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_chat_s_address_is_not_shown() {
        assert_eq!(
            without_end("https://hooks.slack.example/services/T0/B0/secret"),
            "https://hooks.slack.example/…"
        );
        assert_eq!(without_end("https://hooks.slack.example/…"), "https://hooks.slack.example/…");
    }
}
