//! Making, finding and revoking credentials.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Credential, GivenCredentials, RecentCredentials, Role, sql, token_digest};
use crate::app::App;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::{Code, Error, Result};
use storage::subjects::COMMAND_LINE;
use storage::subjects::audit::{self, NewEvent, Operation};

/// A credential to be made.
#[derive(Clone, Debug)]
pub struct NewCredential {
    pub role: Role,
    /// Lets a dashboard credential export and erase too.
    pub governance_grant: bool,
    /// False for an agent key that publishes and searches only.
    pub reads: bool,
    pub name: String,
    /// Seconds from now after which it is refused.
    pub lasts: Option<i64>,
}

impl NewCredential {
    pub fn of(role: Role, name: &str) -> Self {
        let name = name.to_owned();
        NewCredential { role, governance_grant: false, reads: true, name, lasts: None }
    }

    pub fn with_grant(self, governance_grant: bool) -> Self {
        NewCredential { governance_grant, ..self }
    }

    /// Reason that there can be no such credential, if there cannot.
    pub fn contradiction(&self) -> Option<(&'static str, &'static str)> {
        let may_govern = matches!(self.role, Role::Dashboard | Role::Governance);
        if self.governance_grant && !may_govern {
            return Some(("governance_grant", "only a dashboard credential can carry it"));
        }
        if !self.reads && self.role != Role::Agent {
            return Some(("reads", "only an agent key can be without reads"));
        }
        None
    }
}

/// Makes a credential from the command line and gives its token, which is shown once and not kept.
pub async fn create(
    app: &Arc<App>,
    org_id: &OrgId,
    new: NewCredential,
) -> Result<(Credential, String)> {
    create_by(app, COMMAND_LINE, org_id, new).await
}

/// [`create`], by another credential.
pub async fn create_by(
    app: &Arc<App>,
    actor: &str,
    org_id: &OrgId,
    new: NewCredential,
) -> Result<(Credential, String)> {
    if let Some((field, problem)) = new.contradiction() {
        return Err(Error::refused(Code::BadRequest, format!("{field}: {problem}.")));
    }
    let NewCredential { role, governance_grant, reads, name, lasts } = new;
    let token = format!("eh_{}_{}", role.as_str(), app.ids.secret());
    let now = app.clock.now();
    let credential = Credential {
        credential_id: app.ids.uuid(),
        org_id: org_id.to_owned(),
        role,
        governance: governance_grant || role == Role::Governance,
        reads,
        name,
        created_at: now,
        expires_at: lasts.map(|seconds| now + seconds),
        last_used_at: None,
        revoked_at: None,
    };
    let event = event(app, actor, &credential);
    let change = app.state::<RecentCredentials>().change().await?;
    let input = (app.clone(), credential.clone(), token_digest(&token), event, change);
    app.db
        .write("credentials.create", input, |tx, (app, credential, digest, event, _)| {
            Box::pin(async move {
                sql::insert(tx, credential, digest).await?;
                event.append(tx, app, Operation::KeyCreate).await
            })
        })
        .await?;
    app.sign_audit_head().await;
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
    async fn append(&self, tx: &mut Tx, app: &App, operation: Operation) -> Result<()> {
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
        audit::append(tx, &app.subject_keys, event).await.map(drop)
    }
}

/// The credential behind a token, unless it is unknown, revoked or expired.
pub async fn find(app: &App, token: &str) -> Result<Option<Credential>> {
    let digest = token_digest(token);
    if let Some(given) = app.state::<GivenCredentials>().find(&digest) {
        return Ok(Some(given));
    }
    let recent = app.state::<RecentCredentials>();
    let state = recent.state();
    let mut found = recent.find(state, &digest);
    if found.is_none() {
        found = app
            .db
            .lookup("credentials.find", digest.clone(), |tx, digest| {
                Box::pin(sql::find_live(tx, digest))
            })
            .await?;
        if let Some(credential) = &found {
            recent.keep(state, digest, credential);
        }
    }
    Ok(found.filter(|credential| !credential.is_expired(app.clock.now())))
}

/// True if any credential was ever made, or people sign in with a provider: local mode ends with either.
pub async fn any_exist(app: &App) -> Result<bool> {
    if !app.state::<GivenCredentials>().is_empty() || app.settings.oidc.is_configured() {
        return Ok(true);
    }
    if app.db.engine().is_none() {
        return Ok(false);
    }
    let recent = app.state::<RecentCredentials>();
    let state = recent.state();
    if let Some(any_exist) = recent.any_exist(state) {
        return Ok(any_exist);
    }
    let any_exist = app.db.lookup("credentials.any", (), |tx, ()| Box::pin(sql::any(tx))).await?;
    recent.keep_any_exist(state, any_exist);
    Ok(any_exist)
}

/// All credentials, revoked ones included, newest first.
pub async fn list(app: &App, org_id: Option<&OrgId>) -> Result<Vec<Credential>> {
    let org_id = org_id.cloned();
    app.db
        .read("credentials.list", org_id, |tx, org_id| Box::pin(sql::list(tx, org_id.as_ref())))
        .await
}

/// Ends a credential of any organization from the command line. Revoking twice is the same as once.
pub async fn revoke(app: &Arc<App>, credential_id: &str) -> Result<()> {
    let found = found(list(app, None).await?, credential_id)?;
    end(app, COMMAND_LINE, found).await
}

/// [`revoke`], by another credential of the same organization: of its own level or below.
pub async fn revoke_by(
    app: &Arc<App>,
    actor: &str,
    governs: bool,
    org_id: &OrgId,
    credential_id: &str,
) -> Result<()> {
    let found = found(list(app, Some(org_id)).await?, credential_id)?;
    if found.governance && !governs {
        return Err(Error::refused(
            Code::Forbidden,
            "Only a credential with the governance grant, or `evenhand keys revoke`, ends one that has it.",
        ));
    }
    end(app, actor, found).await
}

fn found(all: Vec<Credential>, credential_id: &str) -> Result<Credential> {
    all.into_iter().find(|c| c.credential_id == credential_id).ok_or_else(|| {
        Error::refused(Code::NotFound, "No such credential; `evenhand keys list` shows their ids.")
    })
}

async fn end(app: &Arc<App>, actor: &str, credential: Credential) -> Result<()> {
    let event = event(app, actor, &credential);
    let change = app.state::<RecentCredentials>().change().await?;
    let input = (app.clone(), credential.credential_id, event, change);
    app.db
        .write("credentials.revoke", input, |tx, (app, id, event, _)| {
            Box::pin(async move {
                if sql::revoke(tx, id, event.now).await? {
                    event.append(tx, app, Operation::KeyRevoke).await?;
                }
                Ok(())
            })
        })
        .await?;
    app.sign_audit_head().await;
    Ok(())
}
