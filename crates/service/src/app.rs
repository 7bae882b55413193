//! `App`: what a running installation consists of, passed everywhere. It names no area; `wiring.rs` builds it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use judge::Grader;
use judge::embedder::Embedder;
use storage::db::Engine;
use storage::error::{Error, Result};
use storage::run;
use storage::runtime::Runtime;

use crate::config::Settings;

pub struct App {
    pub settings: Settings,
    pub(crate) runtime: Runtime,
    pub embedder: Arc<Embedder>,
    pub judge: Arc<Grader>,
    /// Rules, whatever else judges.
    pub rules: Arc<Grader>,
    /// Proposes learnings: the judge, or rules.
    pub extractor: Arc<Grader>,
    pub(crate) area_state: AreaState,
}

impl Deref for App {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        &self.runtime
    }
}

/// The areas' own state of the whole process, each under its own type.
#[derive(Default)]
pub struct AreaState(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl AreaState {
    pub fn with<T: Send + Sync + 'static>(mut self, state: T) -> Self {
        self.0.insert(TypeId::of::<T>(), Box::new(state));
        self
    }
}

/// Schema migration policy when an installation is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// Bring it up to date.
    Migrate,
    /// Refuse one that is not.
    MustBeCurrent,
    /// The same, with people's rows on their way from one governance key to another: for what moves them.
    BetweenKeys,
}

/// A write committed within this time shows that the storage takes writes.
const RECENT_COMMIT: Duration = Duration::from_secs(5);

impl App {
    /// An area's own state of the type `T`.
    ///
    /// # Panics
    /// When `wiring.rs` does not put a `T` into the app, which every start would show.
    #[expect(clippy::panic)]
    pub fn state<T: Send + Sync + 'static>(&self) -> &T {
        let state = self.area_state.0.get(&TypeId::of::<T>());
        let state = state.and_then(|state| state.downcast_ref());
        state.unwrap_or_else(|| panic!("{} is not wired", std::any::type_name::<T>()))
    }

    /// Fails when writes do not reach the disk. A recent commit is proof enough; otherwise one is made.
    pub async fn check_writes(&self) -> Result<()> {
        self.db.check_file()?;
        if self.db.committed_within(RECENT_COMMIT) {
            return Ok(());
        }
        self.db.check_space().await?;
        self.db
            .write("health.check_writes", self.clock.now().to_string(), |tx, now| {
                Box::pin(async move {
                    run!(
                        tx,
                        "INSERT INTO installation (key, value) VALUES ('last_write_check', $1)
                         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                        now
                    )?;
                    Ok(())
                })
            })
            .await
    }

    /// The place of the data, for people: without credentials.
    pub fn storage_label(&self) -> Option<String> {
        match self.db.engine()? {
            Engine::Sqlite => Some("evenhand.db in the data folder".to_owned()),
            Engine::Postgres => {
                // postgres://user:password@host/database → host/database
                let url = &self.settings.server.database_url;
                let place = url.rsplit_once('@').map_or(url.as_str(), |(_, place)| place);
                let place = place.split('?').next().unwrap_or(place);
                Some(
                    place
                        .trim_start_matches("postgresql://")
                        .trim_start_matches("postgres://")
                        .to_owned(),
                )
            }
        }
    }

    /// The address to listen on, parsed.
    pub fn listen_address(&self) -> Result<SocketAddr> {
        self.settings
            .server
            .listen
            .replace("localhost", "127.0.0.1")
            .parse()
            .map_err(|_| Error::Internal("server.listen is not HOST:PORT".to_owned()))
    }
}
