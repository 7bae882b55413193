//! Sessions of people: begun with what the provider said, asked about again, switched between organizations, ended.

use std::sync::Arc;

use sqlx::types::Json;

use super::identity::Identity;
use super::provider::{Proven, Provider, Unproven};
use super::sql::{self, PersonSession};
use super::{Person, SignInProblem};
use crate::app::App;
use crate::credentials::Caller;
use crate::credentials::browser::{self, Browser, SIGNED_IN_SECONDS};
use base::owner::OrgId;
use storage::error::{Code, Error, Result};

const REFRESH: &str = "refresh";
/// The next request asks the provider after this time when it could not be reached.
const AGAIN_SECONDS: i64 = 30;

impl PersonSession {
    fn browser(self, csrf: String) -> Browser {
        let PersonSession { person_id, name, email, org_id, organizations, role, .. } = self;
        let role = (role.role(), role.governs());
        Browser {
            caller: Caller::of_person(person_id, org_id, role),
            csrf,
            person: Some(Person { name, email }),
            organizations: organizations.0,
        }
    }

    /// The provider vouched for the person just now.
    fn prolong(&mut self, app: &App) {
        let (now, settings) = (app.clock.now(), &app.settings.oidc);
        self.ends_at = self.latest_end.min(now + settings.session_seconds);
        self.check_at = match self.sealed_refresh_token {
            Some(_) => now + settings.recheck_seconds,
            None => self.ends_at,
        };
    }
}

/// Signs a person in and gives the cookie's value.
pub async fn begin(app: &Arc<App>, proven: Proven) -> Result<String, SignInError> {
    let Proven { identity: Some(identity), refresh_token } = proven else {
        return Err(SignInError::Problem(SignInProblem::Refused));
    };
    let now = app.clock.now();
    let sealed = refresh_token.map(|token| app.subject_keys.seal_text(&app.ids, REFRESH, &token));
    let mut new = PersonSession {
        person_id: format!("person-{}", app.ids.uuid()),
        subject: identity.subject.clone(),
        name: identity.person.name.clone(),
        email: identity.person.email.clone(),
        org_id: identity.organizations.first().cloned().unwrap_or_default(),
        organizations: Json(identity.organizations.clone()),
        role: identity.role,
        sealed_refresh_token: sealed.transpose()?,
        check_at: now,
        ends_at: now,
        latest_end: now + SIGNED_IN_SECONDS,
    };
    new.prolong(app);
    let value = app.ids.secret();
    let session = browser::stamp(app, "session", &value);
    let issuer = app.settings.oidc.issuer.clone();
    app.db
        .write(
            "credentials.person_sign_in",
            (new, identity, issuer, session, now),
            |tx, (new, identity, issuer, session, now)| {
                Box::pin(async move {
                    let id = sql::upsert_person(tx, &new.person_id, issuer, identity, *now).await?;
                    let new = PersonSession { person_id: id, ..new.clone() };
                    sql::insert_session(tx, session, &new, *now).await
                })
            },
        )
        .await?;
    Ok(value)
}

/// Failure to sign a person in: one to tell them, or one of the server.
pub enum SignInError {
    Problem(SignInProblem),
    Server(Error),
}

impl From<Error> for SignInError {
    fn from(error: Error) -> Self {
        SignInError::Server(error)
    }
}

/// The browser of a person behind a cookie's value, unless the session ended or the provider no longer knows them.
pub async fn signed_in(app: &Arc<App>, cookie: &str) -> Result<Option<Browser>> {
    if app.state::<Option<Provider>>().is_none() {
        return Ok(None);
    }
    let session = browser::stamp(app, "session", cookie);
    let found = app
        .db
        .lookup("credentials.person_session", session.clone(), |tx, session| {
            Box::pin(sql::session(tx, session))
        })
        .await?;
    let now = app.clock.now();
    let Some(mut found) = found.filter(|found| found.ends_at > now) else { return Ok(None) };
    if found.check_at <= now {
        // Beside the request: a new refresh token is kept also when the browser does not wait for it.
        let of = app.clone();
        let asking = app.spawn(async move { ask_again(&of, session, found).await });
        let asked = asking.await.map_err(|e| Error::Internal(format!("asking again: {e}")))?;
        match asked? {
            Some(still) => found = still,
            None => return Ok(None),
        }
    }
    Ok(Some(found.browser(browser::stamp(app, "csrf", cookie))))
}

/// Asks the provider about the person of a session. One request asks at a time, on whatever replica: a refresh token is
/// good for one use. The others go on with what is known.
async fn ask_again(
    app: &Arc<App>,
    session: String,
    mut found: PersonSession,
) -> Result<Option<PersonSession>> {
    let (Some(provider), Some(sealed)) =
        (app.state::<Option<Provider>>(), found.sealed_refresh_token.clone())
    else {
        return Ok(Some(found));
    };
    let now = app.clock.now();
    let is_mine = app
        .db
        .write(
            "credentials.claim_check",
            (session.clone(), now, now + AGAIN_SECONDS),
            |tx, (session, now, until)| Box::pin(sql::claim_check(tx, session, *now, *until)),
        )
        .await?;
    if !is_mine {
        return Ok(Some(found));
    }
    let token = app.subject_keys.unseal_text(REFRESH, &sealed)?;
    let proven = match provider.refresh(now, token, &found.subject).await {
        Ok(proven) => proven,
        Err(Unproven::Unreachable(why)) => {
            tracing::warn!(
                why,
                "the sign-in provider could not be asked whether a person is still there"
            );
            return Ok(Some(found));
        }
        Err(Unproven::Refused(_, why)) => {
            tracing::info!(why, "the sign-in provider no longer vouches for a person");
            end(app, &session).await?;
            return Ok(None);
        }
    };
    if let Some(token) = proven.refresh_token {
        found.sealed_refresh_token = Some(app.subject_keys.seal_text(&app.ids, REFRESH, &token)?);
    }
    if let Some(Identity { person, role, organizations, .. }) = proven.identity.clone() {
        (found.name, found.email) = (person.name, person.email);
        (found.role, found.organizations) = (role, Json(organizations));
    }
    if !found.organizations.contains(&found.org_id) {
        tracing::info!("a person's organization was taken from them");
        end(app, &session).await?;
        return Ok(None);
    }
    found.prolong(app);
    let input = (session, found.clone(), proven.identity);
    let goes_on = app
        .db
        .write("credentials.person_goes_on", input, |tx, (session, found, identity)| {
            Box::pin(async move {
                if let Some(identity) = identity {
                    sql::rename(tx, &found.person_id, identity).await?;
                }
                sql::go_on(tx, session, found).await
            })
        })
        .await?;
    Ok(goes_on.then_some(found))
}

/// Goes on in another of the person's organizations, and gives the new cookie's value. Pages that still show the former
/// one hold the former proof, and can change nothing with it.
pub async fn switch(app: &App, cookie: &str, org_id: &OrgId) -> Result<String> {
    let value = app.ids.secret();
    let stamp = |value: &str| browser::stamp(app, "session", value);
    let input = (stamp(cookie), stamp(&value), org_id.clone());
    let goes_on = app
        .db
        .write("credentials.switch", input, |tx, (session, anew, org_id)| {
            Box::pin(sql::switch(tx, session, anew, org_id))
        })
        .await?;
    match goes_on {
        true => Ok(value),
        false => Err(Error::refused(Code::Unauthenticated, "This session ended; sign in again.")),
    }
}

/// Ends a session by its stamp.
pub async fn end(app: &App, session: &str) -> Result<()> {
    app.db
        .write("credentials.person_sign_out", session.to_owned(), |tx, session| {
            Box::pin(sql::delete_session(tx, session))
        })
        .await
}
