//! Making, finding and revoking credentials.

use super::{Credential, Role, sql, token_digest};
use crate::app::App;
use crate::error::{Code, Error, Result};

/// Makes a credential and gives its token, which is shown once and not kept.
pub async fn create(
    app: &App,
    org_id: &str,
    role: Role,
    governance_grant: bool,
    name: &str,
) -> Result<(Credential, String)> {
    if governance_grant && role == Role::Agent {
        return Err(Error::refused(
            Code::BadRequest,
            "An agent key cannot carry the governance grant; use --role dashboard or governance.",
        ));
    }
    let token = format!("eh_{}_{}", role.as_str(), app.ids.secret());
    let credential = Credential {
        credential_id: app.ids.uuid(),
        org_id: org_id.to_owned(),
        role,
        governance: governance_grant || role == Role::Governance,
        name: name.to_owned(),
        created_at: app.clock.now(),
        revoked_at: None,
    };
    let input = (credential.clone(), token_digest(&token));
    app.db
        .write("credentials.create", input, |tx, (credential, digest)| {
            Box::pin(sql::insert(tx, credential, digest))
        })
        .await?;
    Ok((credential, token))
}

/// The credential behind a token, unless it is unknown or revoked.
pub async fn find(app: &App, token: &str) -> Result<Option<Credential>> {
    let digest = token_digest(token);
    if let Some(given) = app.given.find(&digest) {
        return Ok(Some(given));
    }
    app.db
        .lookup("credentials.find", digest, |tx, digest| Box::pin(sql::find_live(tx, digest)))
        .await
}

/// Whether any credential was ever made: local mode ends with the first one.
pub async fn any_exist(app: &App) -> Result<bool> {
    if !app.given.is_empty() {
        return Ok(true);
    }
    if app.db.engine().is_none() {
        return Ok(false);
    }
    app.db.lookup("credentials.any", (), |tx, ()| Box::pin(sql::any(tx))).await
}

/// All credentials, revoked ones included, newest first.
pub async fn list(app: &App, org_id: Option<&str>) -> Result<Vec<Credential>> {
    let org_id = org_id.map(str::to_owned);
    app.db
        .read("credentials.list", org_id, |tx, org_id| Box::pin(sql::list(tx, org_id.as_deref())))
        .await
}

/// Ends a credential, of any organization or of the given one. Revoking twice is the same as once.
pub async fn revoke(app: &App, org_id: Option<&str>, credential_id: &str) -> Result<()> {
    let input = (org_id.map(str::to_owned), credential_id.to_owned(), app.clock.now());
    app.db
        .write("credentials.revoke", input, |tx, (org_id, id, now)| {
            Box::pin(async move {
                if sql::revoke(tx, org_id.as_deref(), id, *now).await? {
                    return Ok(());
                }
                Err(Error::refused(
                    Code::NotFound,
                    "No such credential; `evenhand keys list` shows their ids.",
                ))
            })
        })
        .await
}
