//! Databases of tests: copies of one that has the schema already, on PostgreSQL, or on every server of a Citus cluster.

use base::clock::Clock;
use service::config::Settings;
use sqlx::Connection;

use super::{NOW, TEST_KEYS, next, open};

/// The servers that tests run on: a PostgreSQL, or the coordinator of a Citus cluster with its workers.
struct Servers {
    urls: Vec<String>,
}

/// The tests' PostgreSQL, or a message that says how to get one.
fn postgres_url() -> String {
    Servers::find().urls.swap_remove(0)
}

/// A database that all databases of tests are copied from, with the schema in it.
const TEMPLATE: &str = "evenhand_template";

impl Servers {
    fn find() -> Self {
        if let (Ok(coordinator), Ok(workers)) =
            (std::env::var("TEST_CITUS_URL"), std::env::var("TEST_CITUS_WORKERS"))
        {
            let workers = workers.split_whitespace().map(str::to_owned);
            return Servers { urls: std::iter::once(coordinator).chain(workers).collect() };
        }
        let url = std::env::var("TEST_POSTGRES_URL").expect(
            "TEST_POSTGRES_URL is not set: run `make test`, or `scripts/with-postgres cargo nextest run`",
        );
        Servers { urls: vec![url] }
    }

    /// Runs a statement in a database of every server; without a name, in the one that the URL names.
    async fn everywhere(&self, database: Option<&str>, statement: &str) {
        for url in &self.urls {
            let url = database.map_or_else(|| url.clone(), |name| sibling(url, name));
            let mut conn = sqlx::PgConnection::connect(&url).await.unwrap();
            administer(&mut conn, statement.to_owned()).await;
            conn.close().await.unwrap();
        }
    }

    /// Makes the template under a name of its own first: whoever looks finds it whole.
    async fn make_template(&self) {
        let new = format!("{TEMPLATE}_new");
        self.everywhere(None, &format!("CREATE DATABASE {new}")).await;
        let url = sibling(&self.urls[0], &new);
        if self.urls.len() > 1 {
            // As few shards as tell the servers apart: every test's database is copied with all of them.
            let few = format!("ALTER DATABASE {new} SET citus.shard_count = 2");
            self.everywhere(None, &few).await;
            self.everywhere(Some(&new), "CREATE EXTENSION citus").await;
            let mut conn = sqlx::PgConnection::connect(&url).await.unwrap();
            for (place, server) in self.urls.iter().enumerate() {
                let (host, port) = host_and_port(server);
                let call = if place == 0 { "citus_set_coordinator_host" } else { "citus_add_node" };
                administer(&mut conn, format!("SELECT {call}('{host}', {port})")).await;
            }
            conn.close().await.unwrap();
        }
        let mut settings = Settings::defaults().unwrap();
        settings.server.database_url = url;
        settings.governance.keys = TEST_KEYS.to_owned();
        open(&settings, &Clock::manual(NOW), 1).await.stop().await;
        // A database is not copied while somebody is connected, as Citus itself is.
        self.everywhere(None, &format!("ALTER DATABASE {new} ALLOW_CONNECTIONS false")).await;
        let end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname =";
        self.everywhere(None, &format!("{end} '{new}'")).await;
        // The coordinator last: that is where others look.
        for url in self.urls.iter().rev() {
            let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
            administer(&mut conn, format!("ALTER DATABASE {new} RENAME TO {TEMPLATE}")).await;
        }
    }
}

/// Makes a database that has the schema already, which takes a fifth of the time of the migrations, and gives its URL.
pub async fn new_database() -> String {
    let servers = Servers::find();
    let mut conn = sqlx::PgConnection::connect(&servers.urls[0]).await.unwrap();
    // The first test makes the template; others wait for it.
    administer(&mut conn, "SELECT pg_advisory_lock(1)".to_owned()).await;
    #[allow(clippy::disallowed_methods)]
    let made = sqlx::query("SELECT 1 FROM pg_database WHERE datname = $1").bind(TEMPLATE);
    if made.fetch_optional(&mut conn).await.unwrap().is_none() {
        servers.make_template().await;
    }
    administer(&mut conn, "SELECT pg_advisory_unlock(1)".to_owned()).await;
    let name = format!("t_{}_{}", std::process::id(), next());
    servers.everywhere(None, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    servers.everywhere(None, &format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE}")).await;
    sibling(&servers.urls[0], &name)
}

/// The URL of another database on the same server.
fn sibling(url: &str, name: &str) -> String {
    let (server, _) = url.rsplit_once('/').expect("a URL with a database");
    format!("{server}/{name}")
}

fn host_and_port(url: &str) -> (String, u16) {
    let (server, _) = url.rsplit_once('/').expect("a URL with a database");
    let (_, place) = server.rsplit_once('@').expect("a URL with a user");
    let (host, port) = place.rsplit_once(':').expect("a URL with a port");
    (host.to_owned(), port.parse().expect("a port"))
}

/// Makes a schema with nothing in it and gives the URL that leads there.
pub async fn new_schema() -> String {
    let url = postgres_url();
    let name = format!("t_{}_{}", std::process::id(), next());
    let mut conn = sqlx::PgConnection::connect(&url).await.unwrap();
    administer(&mut conn, format!("DROP SCHEMA IF EXISTS {name} CASCADE")).await;
    administer(&mut conn, format!("CREATE SCHEMA {name}")).await;
    format!("{url}?options[search_path]={name}")
}

async fn administer(conn: &mut sqlx::PgConnection, statement: String) {
    #[allow(clippy::disallowed_types)]
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(conn).await.unwrap();
}
