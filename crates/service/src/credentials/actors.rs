//! The names behind the references of the audit: keys, people, the command line.

use std::collections::HashMap;

use base::owner::OrgId;
use base::vocabulary::Vocabulary;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Role, people, sql};
use crate::app::App;
use storage::error::Result;
use storage::subjects::COMMAND_LINE;

base::vocabulary! {
    pub enum ActorKind {
        /// A credential.
        Key = "key",
        /// Somebody who signed in with the provider.
        Person = "person",
        CommandLine = "command_line",
        /// A program on the server's machine, before there was a credential.
        Local = "local",
        /// The server itself, by schedule.
        Server = "server",
        Unknown = "unknown",
    }
}

/// The one who did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Actor {
    pub kind: ActorKind,
    /// Of the key, or of the person as the provider gave it.
    pub name: Option<String>,
    pub email: Option<String>,
    /// The provider's own id of the person.
    pub subject: Option<String>,
}

impl Actor {
    pub fn of(kind: ActorKind) -> Self {
        Actor { kind, name: None, email: None, subject: None }
    }

    fn key(name: String) -> Self {
        Actor { name: Some(name), ..Actor::of(ActorKind::Key) }
    }
}

/// Everybody who can have done something in an organization, by reference.
pub async fn actors(app: &App, org_id: &OrgId) -> Result<HashMap<String, Actor>> {
    let (keys, people) = app
        .db
        .read("credentials.actors", org_id.clone(), |tx, org_id| {
            Box::pin(async move {
                Ok((sql::list(tx, Some(org_id)).await?, people::everybody(tx).await?))
            })
        })
        .await?;
    let mut known = vec![
        (COMMAND_LINE.to_owned(), Actor::of(ActorKind::CommandLine)),
        ("local".to_owned(), Actor::of(ActorKind::Local)),
    ];
    known.extend(keys.into_iter().map(|key| (key.credential_id, Actor::key(key.name))));
    let given = |role: &Role| (format!("given-{role}"), Actor::key(format!("given-{role}")));
    known.extend(Role::ALL.iter().map(given));
    known.extend(people.into_iter().map(|person| {
        let (name, subject) = (Some(person.name), Some(person.subject));
        let actor = Actor { kind: ActorKind::Person, name, email: person.email, subject };
        (person.person_id, actor)
    }));
    let by_reference = |(id, actor): (String, Actor)| {
        let references = app.subject_keys.all_actor_refs(org_id, &id);
        references.into_iter().map(move |reference| (reference, actor.clone()))
    };
    Ok(known.into_iter().flat_map(by_reference).collect())
}
