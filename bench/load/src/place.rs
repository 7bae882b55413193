//! A database that a load program fills by itself, and the server that reads it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::ids::Ids;
use base::owner::UserId;
use service::app::{App, Schema};
use service::config::Settings;
use service::credentials::DEFAULT_ORG;
use storage::subjects::barrier;

use crate::{Client, Target};

/// The place of the data, and of the server that reads them.
pub struct Place {
    data_dir: PathBuf,
    database_url: String,
    /// Deleted with the place.
    _folder: Option<tempfile::TempDir>,
}

impl Place {
    /// Governance keys of every such database.
    pub const KEYS: &str = "k1:abababababababababababababababababababababababababababababababab";

    /// An empty folder, or the PostgreSQL of `scripts/with-postgres`.
    #[must_use]
    pub fn new(postgres: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database_url = if postgres {
            std::env::var("TEST_POSTGRES_URL").expect("run under scripts/with-postgres")
        } else {
            String::new()
        };
        Place { data_dir: folder.path().join("data"), database_url, _folder: Some(folder) }
    }

    /// A SQLite folder that stays.
    #[must_use]
    pub fn at(data_dir: PathBuf) -> Self {
        Place { data_dir, database_url: String::new(), _folder: None }
    }

    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The application on these data, without a server.
    pub async fn open(&self) -> Arc<App> {
        let mut settings = Settings::defaults().unwrap();
        settings.server.data_dir.clone_from(&self.data_dir);
        settings.server.database_url.clone_from(&self.database_url);
        settings.governance.keys = Self::KEYS.into();
        let ids = Ids::system(Clock::System);
        App::open(settings, Clock::System, ids, Schema::Migrate).await.unwrap()
    }

    #[must_use]
    pub fn serve(&self) -> Target {
        self.serve_with(&[])
    }

    /// [`Place::serve`] with more of an environment.
    #[must_use]
    pub fn serve_with(&self, environment: &[(&str, &str)]) -> Target {
        let data_dir = self.data_dir.display().to_string();
        let args = match self.database_url.as_str() {
            "" => ["--data-dir", &data_dir],
            url => ["--database-url", url],
        };
        let environment = [&[("EVENHAND_GOVERNANCE__KEYS", Self::KEYS)], environment].concat();
        Target::start_with(&args, &environment)
    }

    /// Size of the SQLite file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        std::fs::metadata(self.data_dir.join("evenhand.db")).map_or(0, |file| file.len())
    }
}

/// Makes people `user-0`, `user-1`, … known.
pub async fn add_users(app: &App, users: i64, now: i64) {
    let users: Vec<UserId> = (0..users).map(|n| format!("user-{n}").into()).collect();
    app.db
        .write("bench.users", (users, now), |tx, (users, now)| {
            Box::pin(async move {
                let users: Vec<&UserId> = users.iter().collect();
                barrier::open_new(tx, &DEFAULT_ORG.into(), &users, *now).await.map(drop)
            })
        })
        .await
        .unwrap();
}

/// Asks one request after the other: the median and the 95th percentile, in milliseconds.
pub fn ask(
    client: &mut Client,
    method: &str,
    path: &str,
    body: &str,
    requests: usize,
) -> (f64, f64) {
    let mut times: Vec<Duration> = (0..requests)
        .map(|_| {
            let begun = Instant::now();
            assert_eq!(client.send(method, path, body), 200);
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize].as_secs_f64() * 1000.0;
    (at(0.5), at(0.95))
}
