//! One message by e-mail, through the SMTP server of the settings.

use std::time::Duration;

use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrecy::ExposeSecret;

use super::post::NotSent;
use crate::config::smtp::{Encryption, Smtp};

/// The longest wait for an answer of the server.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest time of one attempt.
const PATIENCE_IN_ALL: Duration = Duration::from_secs(30);

/// The address of a `mailto:` URL, if it is one.
pub fn address(url: &str) -> Option<&str> {
    let address = url.strip_prefix("mailto:")?;
    address.parse::<Address>().is_ok().then_some(address)
}

/// Sends a text. The server's status is 250 or near it when it took the message.
pub async fn send(
    smtp: &Smtp,
    to: &str,
    id: &str,
    subject: String,
    text: String,
) -> Result<u16, NotSent> {
    if !smtp.is_configured() {
        return Err(NotSent::because("smtp.host is no longer set"));
    }
    let from: Mailbox = smtp.from.parse().map_err(NotSent::because)?;
    let id = format!("<{id}@{}>", from.email.domain());
    let message = Message::builder()
        .from(from)
        .to(to.parse().map_err(NotSent::because)?)
        .message_id(Some(id))
        .subject(subject)
        .header(ContentType::TEXT_PLAIN)
        .body(text)
        .map_err(NotSent::because)?;
    let transport = match smtp.encryption {
        Encryption::Tls => AsyncSmtpTransport::<Tokio1Executor>::relay(&smtp.host),
        Encryption::Starttls => AsyncSmtpTransport::<Tokio1Executor>::starttls_relay(&smtp.host),
        Encryption::None => Ok(AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&smtp.host)),
    };
    let mut transport =
        transport.map_err(NotSent::because)?.port(smtp.port).timeout(Some(PATIENCE));
    if !smtp.username.is_empty() {
        let password = smtp.password.expose_secret().to_owned();
        transport = transport.credentials(Credentials::new(smtp.username.clone(), password));
    }
    let transport = transport.build::<Tokio1Executor>();
    match tokio::time::timeout(PATIENCE_IN_ALL, transport.send(message)).await {
        Ok(Ok(answer)) => Ok(u16::from(answer.code())),
        Ok(Err(error)) => {
            let status = error.status().map(u16::from);
            Err(NotSent { status, ..NotSent::because(error) })
        }
        Err(_) => Err(NotSent::because("no answer of the SMTP server in time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mailto_of_one_address_is_one() {
        assert_eq!(address("mailto:ops@example.org"), Some("ops@example.org"));
        for url in
            ["ops@example.org", "mailto:", "mailto:a@b@c", "mailto:a@example.org,b@example.org"]
        {
            assert_eq!(address(url), None, "{url}");
        }
    }
}
