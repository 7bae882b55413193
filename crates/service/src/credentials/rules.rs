//! Making, finding and revoking credentials.

use std::collections::BTreeMap;

use super::{Credential, GivenCredentials, Role, sql, token_digest};
use crate::app::App;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::{Code, Error, Result};
use storage::subjects::COMMAND_LINE;
use storage::subjects::audit::{self, NewEvent, Operation};

/// Makes a credential from the command line and gives its token, which is shown once and not kept.
pub async fn create(
    app: &App,
    org_id: &OrgId,
    role: Role,
    governance_grant: bool,
    name: &str,
) -> Result<(Credential, String)> {
    create_by(app, COMMAND_LINE, org_id, role, governance_grant, name).await
}

/// [`create`], by another credential.
pub async fn create_by(
    app: &App,
    actor: &str,
    org_id: &OrgId,
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
    let input = (credential.clone(), token_digest(&token), event(app, actor, &credential));
    app.db
        .write("credentials.create", input, |tx, (credential, digest, event)| {
            Box::pin(async move {
                sql::insert(tx, credential, digest).await?;
                event.append(tx, Operation::KeyCreate).await
            })
        })
        .await?;
    Ok((credential, token))
}

/// Audit record of a credential's creation or revocation: references, and its role as a count.
struct KeyEvent {
    org_id: OrgId,
    actor_ref: String,
    credential_ref: String,
    role: Role,
    now: i64,
}

fn event(app: &App, actor: &str, credential: &Credential) -> KeyEvent {
    let (keys, org_id) = (&app.subject_keys, &credential.org_id);
    KeyEvent {
        actor_ref: keys.actor_ref(org_id, actor),
        credential_ref: keys.actor_ref(org_id, &credential.credential_id),
        org_id: org_id.clone(),
        role: credential.role,
        now: app.clock.now(),
    }
}

impl KeyEvent {
    async fn append(&self, tx: &mut Tx, operation: Operation) -> Result<()> {
        let event = NewEvent {
            org_id: &self.org_id,
            operation,
            ok: true,
            actor_ref: &self.actor_ref,
            subject_ref: None,
            request_ref: Some(&self.credential_ref),
            counts: BTreeMap::from([(self.role.as_str().to_owned(), 1)]),
            now: self.now,
        };
        audit::append(tx, event).await.map(drop)
    }
}

/// The credential behind a token, unless it is unknown or revoked.
pub async fn find(app: &App, token: &str) -> Result<Option<Credential>> {
    let digest = token_digest(token);
    if let Some(given) = app.state::<GivenCredentials>().find(&digest) {
        return Ok(Some(given));
    }
    app.db
        .lookup("credentials.find", digest, |tx, digest| Box::pin(sql::find_live(tx, digest)))
        .await
}

/// True if any credential was ever made: local mode ends with the first one.
pub async fn any_exist(app: &App) -> Result<bool> {
    if !app.state::<GivenCredentials>().is_empty() {
        return Ok(true);
    }
    if app.db.engine().is_none() {
        return Ok(false);
    }
    app.db.lookup("credentials.any", (), |tx, ()| Box::pin(sql::any(tx))).await
}

/// All credentials, revoked ones included, newest first.
pub async fn list(app: &App, org_id: Option<&OrgId>) -> Result<Vec<Credential>> {
    let org_id = org_id.cloned();
    app.db
        .read("credentials.list", org_id, |tx, org_id| Box::pin(sql::list(tx, org_id.as_ref())))
        .await
}

/// Ends a credential of any organization from the command line. Revoking twice is the same as once.
pub async fn revoke(app: &App, credential_id: &str) -> Result<()> {
    end(app, COMMAND_LINE, None, credential_id).await
}

/// [`revoke`], by another credential of the same organization.
pub async fn revoke_by(app: &App, actor: &str, org_id: &OrgId, credential_id: &str) -> Result<()> {
    end(app, actor, Some(org_id), credential_id).await
}

async fn end(app: &App, actor: &str, org_id: Option<&OrgId>, credential_id: &str) -> Result<()> {
    let all = list(app, org_id).await?;
    let Some(credential) = all.into_iter().find(|c| c.credential_id == credential_id) else {
        return Err(Error::refused(
            Code::NotFound,
            "No such credential; `evenhand keys list` shows their ids.",
        ));
    };
    let input = (credential_id.to_owned(), event(app, actor, &credential));
    app.db
        .write("credentials.revoke", input, |tx, (id, event)| {
            Box::pin(async move {
                if sql::revoke(tx, id, event.now).await? {
                    event.append(tx, Operation::KeyRevoke).await?;
                }
                Ok(())
            })
        })
        .await
}
