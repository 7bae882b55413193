//! Settings: the documented defaults, a file, the environment and flags, in that order.
//!
//! `config.default.toml` is compiled in and is the list of what exists: a key that is not in it is refused with
//! the nearest one that is.

pub mod oidc;
pub mod smtp;

use std::path::{Path, PathBuf};

use figment::Figment;
use figment::providers::{Env, Format, Toml};
use figment::value::{Dict, Value};
use judge::embedder::EmbedderSettings;
use judge::settings::JudgeSettings;
pub use oidc::Oidc;
use serde::Deserialize;
pub use smtp::Smtp;
use storage::db::{Pooler, PostgresSettings};
use storage::jobs::JobSettings;

/// The documented defaults, as `evenhand config default` prints them.
pub const DEFAULTS: &str = include_str!("../config.default.toml");

#[derive(Clone, Debug, Deserialize)]
pub struct Settings {
    pub server: Server,
    pub metrics: Metrics,
    pub log: Log,
    pub database: Database,
    pub rate_limit: RateLimit,
    pub oidc: Oidc,
    pub sessions: Sessions,
    pub otlp: Otlp,
    pub embedder: EmbedderSettings,
    pub jobs: JobSettings,
    pub evaluation: Evaluation,
    pub learning: Learning,
    pub governance: Governance,
    pub audit: Audit,
    pub judge: JudgeSettings,
    pub webhooks: Webhooks,
    pub smtp: Smtp,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Server {
    pub listen: String,
    pub data_dir: PathBuf,
    pub database_url: String,
    pub storage: String,
    pub body_limit_bytes: usize,
    pub body_budget_bytes: usize,
    pub max_connections: usize,
    pub max_connections_per_address: usize,
    pub header_timeout_seconds: u64,
    pub write_timeout_seconds: u64,
    pub body_timeout_seconds: u64,
    pub request_timeout_seconds: u64,
    pub stop_seconds: u64,
    pub cors_origins: Vec<String>,
    pub secure_cookies: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Metrics {
    pub listen: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Log {
    pub level: String,
    pub format: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Database {
    pub readers: u32,
    pub connections: u32,
    pub pooler: Pooler,
    pub direct_url: String,
    pub read_url: String,
}

impl Settings {
    /// The way to PostgreSQL; none without `server.database_url`.
    pub fn postgres(&self) -> Option<PostgresSettings> {
        let given = |url: &String| (!url.is_empty()).then(|| url.clone());
        Some(PostgresSettings {
            url: given(&self.server.database_url)?,
            connections: self.database.connections,
            pooler: self.database.pooler,
            direct_url: given(&self.database.direct_url),
            read_url: given(&self.database.read_url),
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct RateLimit {
    pub requests_per_second: u32,
    pub burst: u32,
    pub strangers_per_second: u32,
    pub strangers_burst: u32,
    pub on_loopback: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Sessions {
    pub default_agent_version: String,
    pub list_milliseconds: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Otlp {
    pub anonymous_users: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Evaluation {
    pub quiet_seconds: i64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Learning {
    pub extractor: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Audit {
    pub anchor_file: PathBuf,
    pub anchor_command: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Webhooks {
    pub allow_private_addresses: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Governance {
    pub keys: String,
    pub return_policy: String,
    pub ledger_file: PathBuf,
    pub physical_seconds: u64,
    pub vacuum_up_to_mib: u64,
    pub rewrite_days: i64,
    pub wal_days: i64,
    pub backup_days: i64,
    pub retention_days: i64,
}

/// Variables of the environment that are no settings: credentials (`credentials/given.rs`), faults (`faults.rs`), and
/// those of the client libraries, beside whose agent a server may be started.
const NOT_SETTINGS: &[&str] = &[
    "agent_key",
    "dashboard_key",
    "governance_bearer",
    "org",
    "config",
    "fault",
    "url",
    "api_key",
    "spool",
];

impl Settings {
    /// The defaults alone: what tests start from.
    pub fn defaults() -> Result<Self, Vec<String>> {
        Self::from_figment(&Figment::from(Toml::string(DEFAULTS)))
    }

    /// Defaults, then `file`, then the environment, then `overrides` (`("server.listen", "…")`). All problems
    /// are reported together.
    pub fn load(file: Option<&Path>, overrides: &[(&str, String)]) -> Result<Self, Vec<String>> {
        let mut figment = Figment::from(Toml::string(DEFAULTS));
        if let Some(file) = file {
            if !file.is_file() {
                return Err(vec![format!("there is no configuration file {}", file.display())]);
            }
            figment = figment.merge(Toml::file_exact(file));
        }
        figment = figment.merge(Env::prefixed("EVENHAND_").ignore(NOT_SETTINGS).split("__"));
        for (key, value) in overrides {
            figment = figment.merge((*key, value.clone()));
        }
        Self::from_figment(&figment)
    }

    fn from_figment(figment: &Figment) -> Result<Self, Vec<String>> {
        let given: Dict = figment.extract().map_err(|e| vec![e.to_string()])?;
        let known: Dict =
            Figment::from(Toml::string(DEFAULTS)).extract().map_err(|e| vec![e.to_string()])?;
        let known = keys(&known);
        let mut problems: Vec<String> = keys(&given)
            .into_iter()
            .filter(|key| !known.contains(key))
            .map(|key| format!("{key}: no such setting; did you mean {}?", nearest(&key, &known)))
            .collect();
        match figment.extract::<Settings>() {
            Ok(settings) => {
                problems.extend(settings.problems());
                if problems.is_empty() { Ok(settings) } else { Err(problems) }
            }
            Err(errors) => {
                problems.extend(errors.into_iter().map(|e| {
                    let path = e.path.join(".");
                    format!("{path}: {}", e.kind)
                }));
                Err(problems)
            }
        }
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut check = |ok: bool, problem: &str| {
            if !ok {
                problems.push(problem.to_owned());
            }
        };
        let address = |text: &str| text.parse::<std::net::SocketAddr>().is_ok();
        check(
            address(&self.server.listen.replace("localhost", "127.0.0.1")),
            "server.listen: write HOST:PORT with a numeric host, for example 127.0.0.1:8700",
        );
        check(
            self.metrics.listen.is_empty() || address(&self.metrics.listen),
            "metrics.listen: write HOST:PORT with a numeric host, or leave it empty",
        );
        check(
            matches!(self.server.storage.as_str(), "auto" | "none"),
            "server.storage: auto or none",
        );
        let is_postgres = |url: &str| {
            url.is_empty() || url.starts_with("postgres://") || url.starts_with("postgresql://")
        };
        check(
            is_postgres(&self.server.database_url),
            "server.database_url: starts with postgres:// (leave it empty for SQLite)",
        );
        check(
            is_postgres(&self.database.direct_url),
            "database.direct_url: starts with postgres://, or is empty",
        );
        check(
            is_postgres(&self.database.read_url),
            "database.read_url: starts with postgres://, or is empty",
        );
        check(self.server.body_limit_bytes >= 1024, "server.body_limit_bytes: at least 1024");
        check(
            (self.server.body_limit_bytes..=u32::MAX as usize)
                .contains(&self.server.body_budget_bytes),
            "server.body_budget_bytes: at least server.body_limit_bytes",
        );
        check(self.server.write_timeout_seconds > 0, "server.write_timeout_seconds: at least 1");
        check(self.server.header_timeout_seconds > 0, "server.header_timeout_seconds: at least 1");
        check(self.server.body_timeout_seconds > 0, "server.body_timeout_seconds: at least 1");
        check(
            self.server.request_timeout_seconds > 0,
            "server.request_timeout_seconds: at least 1",
        );
        check(matches!(self.log.format.as_str(), "text" | "json"), "log.format: text or json");
        check(self.database.readers > 0, "database.readers: at least 1");
        check(self.database.connections > 1, "database.connections: at least 2");
        check(self.jobs.lease_seconds >= 5, "jobs.lease_seconds: at least 5");
        check(self.jobs.poll_seconds >= 1, "jobs.poll_seconds: at least 1");
        check(self.jobs.keep_finished_days >= 1, "jobs.keep_finished_days: at least 1");
        check(
            (0..=30 * 86_400).contains(&self.evaluation.quiet_seconds),
            "evaluation.quiet_seconds: 0 to 2592000",
        );
        check(
            matches!(self.learning.extractor.as_str(), "judge" | "rules" | "off"),
            "learning.extractor: judge, rules or off",
        );
        let version = self.sessions.default_agent_version.trim();
        check(
            !version.is_empty() && version.chars().count() <= 255,
            "sessions.default_agent_version: 1 to 255 characters",
        );
        let embedder = &self.embedder;
        check(
            matches!(embedder.kind.as_str(), "none" | "endpoint" | "local" | "hash"),
            "embedder.kind: none, endpoint, local or hash",
        );
        let is_http = |url: &str| url.starts_with("http://") || url.starts_with("https://");
        check(
            embedder.kind != "endpoint" || (is_http(&embedder.url) && !embedder.model.is_empty()),
            "embedder.url and embedder.model: an endpoint needs both, the URL with http:// or https://",
        );
        check(
            embedder.kind != "local" || !embedder.directory.as_os_str().is_empty(),
            "embedder.directory: a local model needs its folder",
        );
        check(
            embedder.query_timeout_milliseconds > 0,
            "embedder.query_timeout_milliseconds: at least 1",
        );
        check(
            (-1.0..=1.0).contains(&embedder.min_similarity),
            "embedder.min_similarity: from -1 to 1",
        );
        let governance = &self.governance;
        check(
            matches!(governance.return_policy.as_str(), "blocked" | "fenced"),
            "governance.return_policy: blocked or fenced",
        );
        for (days, problem) in [
            (governance.rewrite_days, "governance.rewrite_days: 0 to 36500"),
            (governance.wal_days, "governance.wal_days: 0 to 36500"),
            (governance.backup_days, "governance.backup_days: 0 to 36500"),
            (governance.retention_days, "governance.retention_days: 0 (off) to 36500"),
        ] {
            check((0..=36_500).contains(&days), problem);
        }
        if !self.governance.keys.is_empty()
            && let Err(problem) = storage::subjects::SubjectKeys::parse(&self.governance.keys)
        {
            problems.push(format!("governance.keys: {problem}"));
        }
        problems.extend(self.oidc.problems(self.server.secure_cookies));
        problems.extend(self.smtp.problem());
        problems.extend(self.judge.problems());
        problems
    }
}

/// The dotted names of all settings in `dict`.
fn keys(dict: &Dict) -> Vec<String> {
    dict.iter()
        .flat_map(|(key, value)| match value {
            Value::Dict(_, inner) => keys(inner).iter().map(|k| format!("{key}.{k}")).collect(),
            _ => vec![key.clone()],
        })
        .collect()
}

/// The known name that takes the fewest edits to reach.
pub fn nearest<'a>(word: &str, known: &'a [String]) -> &'a str {
    known.iter().min_by_key(|k| strsim::levenshtein(word, k)).map_or("", |k| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_defaults_are_valid() {
        let settings = Settings::defaults().unwrap();
        assert_eq!(settings.server.listen, "127.0.0.1:8700");
        assert_eq!(settings.judge.budget(true), 5.0, "a model with a price has a budget");
        assert_eq!(settings.judge.budget(false), 0.0);
    }

    #[test]
    fn every_problem_is_named_and_typos_get_a_suggestion() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text =
            "[server]\nlissten = \"1.2.3.4:1\"\nstorage = \"disk\"\n[log]\nformat = \"xml\"\n";
        std::fs::write(file.path(), text).unwrap();
        let problems = Settings::load(Some(file.path()), &[]).unwrap_err();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("server.lissten") && problems[0].contains("server.listen"));
    }

    #[test]
    fn overrides_win_and_wrong_types_name_their_path() {
        let settings =
            Settings::load(None, &[("server.listen", "127.0.0.1:1".to_owned())]).unwrap();
        assert_eq!(settings.server.listen, "127.0.0.1:1");
        let problems =
            Settings::load(None, &[("jobs.lease_seconds", "soon".to_owned())]).unwrap_err();
        assert!(problems[0].starts_with("jobs.lease_seconds: "), "{problems:?}");
    }
}
