//! From what a record says to publications that the service takes.

use serde_json::Value;

use super::{Format, Options, Position, Wrong, fields};
use crate::{Publication, Turn};

/// Limits of `POST /api/publish_interaction`.
const TURNS: usize = 1000;
const ID_CHARACTERS: usize = 255;
const ID_BYTES: usize = 3 * ID_CHARACTERS;
const SOURCE_CHARACTERS: usize = 128;
const CONTENT_CHARACTERS: usize = 1_000_000;
/// Room for the number of a part.
const RECORD_ID_CHARACTERS: usize = 200;

/// As much as a record says about whose conversation it belongs to.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    pub user: Option<String>,
    pub session: Option<String>,
    pub agent_version: Option<String>,
}

impl Identity {
    /// Takes over what is missing here.
    pub fn fill(&mut self, other: &Identity) {
        fn fill(mine: &mut Option<String>, other: &Option<String>) {
            if mine.is_none() {
                mine.clone_from(other);
            }
        }
        fill(&mut self.user, &other.user);
        fill(&mut self.session, &other.session);
        fill(&mut self.agent_version, &other.agent_version);
    }

    pub fn is_complete(&self) -> bool {
        self.user.is_some() && self.session.is_some()
    }
}

/// A publication whose session and user may not be known yet.
#[derive(Clone, Debug)]
pub struct Draft {
    pub position: Position,
    pub request_id: String,
    pub identity: Identity,
    /// The session if nothing names another one.
    pub lone_session: Option<String>,
    pub source: Option<String>,
    pub created_at: i64,
    pub finished: bool,
    pub turns: Vec<Turn>,
}

impl Draft {
    /// The request id is a function of the format and the record's id, or of all of the record if it has none.
    pub fn new(format: Format, position: Position, record: &Value, id: Option<&str>) -> Self {
        let request_id = match id {
            Some(id) if is_id(id) && id.chars().count() <= RECORD_ID_CHARACTERS => {
                format!("{format}-{id}")
            }
            Some(id) => format!("{format}-{}", fields::digest_of_text(id)),
            None => format!("{format}-{}", fields::digest(record)),
        };
        Draft {
            position,
            request_id,
            identity: Identity::default(),
            lone_session: None,
            source: None,
            created_at: 0,
            finished: false,
            turns: Vec::new(),
        }
    }

    /// Memory that it takes, roughly.
    pub fn bytes(&self) -> usize {
        let turns = self.turns.iter().map(|turn| {
            let tools = turn.tools_used.iter().map(|tool| 128 + size(&tool.tool_data));
            64 + turn.content.len() + tools.sum::<usize>()
        });
        256 + turns.sum::<usize>()
    }

    /// One publication, or several if it has more turns than one may have.
    pub fn publications(
        self,
        format: Format,
        options: &Options,
    ) -> Result<Vec<Publication>, Wrong> {
        let session = self.identity.session.or(self.lone_session).ok_or(Wrong::NoSession)?;
        let template = options.default_user.as_deref();
        let user = self
            .identity
            .user
            .or_else(|| template.map(|template| template.replace("{session}", &session)))
            .ok_or(Wrong::NoUser)?;
        let source = self.source.or_else(|| options.source.clone());
        let source = source.unwrap_or_else(|| format.word().to_owned());
        for (field, id) in
            [("user_id", &user), ("session_id", &session), ("request_id", &self.request_id)]
        {
            if !is_id(id) {
                return Err(Wrong::BadId(field));
            }
        }
        if !is_source(&source) {
            return Err(Wrong::BadId("source"));
        }
        let too_long = |turn: &Turn| {
            turn.content.len() > CONTENT_CHARACTERS
                && turn.content.chars().count() > CONTENT_CHARACTERS
        };
        if self.turns.iter().any(too_long) {
            return Err(Wrong::ContentTooLong);
        }
        let agent_version = self.identity.agent_version.filter(|version| is_id(version));
        let parts = self.turns.len().div_ceil(TURNS);
        let mut turns = self.turns.into_iter();
        let publications = (1..=parts).map(|part| Publication {
            unless_stored: None,
            request_id: match part {
                1 => self.request_id.clone(),
                part => format!("{}-part-{part}", self.request_id),
            },
            user_id: user.clone(),
            session_id: session.clone(),
            source: source.clone(),
            agent_version: agent_version.clone(),
            created_at: self.created_at,
            session_finished: self.finished && part == parts,
            interaction_data_list: turns.by_ref().take(TURNS).collect(),
        });
        Ok(publications.collect())
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => 32 + text.len(),
        Value::Array(items) => 32 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => {
            32 + map.iter().map(|(name, value)| 64 + name.len() + size(value)).sum::<usize>()
        }
        _ => 32,
    }
}

pub fn is_id(text: &str) -> bool {
    let id = text.trim();
    !id.is_empty()
        && id.len() <= ID_BYTES
        && id.chars().count() <= ID_CHARACTERS
        && !id.chars().any(char::is_control)
}

fn is_source(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let mut bytes = text.bytes();
    text.len() <= SOURCE_CHARACTERS
        && bytes.next().is_none_or(plain)
        && bytes.all(|b| plain(b) || b"._:-".contains(&b))
}
