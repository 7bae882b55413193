//! A PostgreSQL server of one test: to be stopped, killed, followed by a standby, or reached through a pooler.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sqlx::Connection;
use tempfile::TempDir;

/// A running server. One of its own is stopped, and its folder removed, when dropped.
pub struct Cluster {
    pub data: PathBuf,
    pub port: u16,
    /// None of one that was found running.
    pub folder: Option<TempDir>,
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.starts_with(b"0\n")
}

/// A program as a user who may run PostgreSQL: it refuses to run as root.
pub fn as_postgres(program: &Path) -> Command {
    let mut command = match is_root() {
        true => {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        }
        false => Command::new(program),
    };
    command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A folder that the user who runs PostgreSQL may write to.
pub fn folder_for_postgres() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    if is_root() {
        assert!(
            Command::new("chown").arg("postgres").arg(folder.path()).status().unwrap().success()
        );
    }
    folder
}

fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL: make deps");
    let mut found: Vec<_> = versions.map(|v| v.unwrap().path().join("bin").join(name)).collect();
    found.sort();
    found.pop().expect("PostgreSQL: make deps")
}

impl Cluster {
    fn in_new_folder() -> Self {
        let folder = folder_for_postgres();
        Cluster { data: folder.path().join("data"), port: free_port(), folder: Some(folder) }
    }

    pub fn start() -> Self {
        let cluster = Cluster::in_new_folder();
        let mut initdb = as_postgres(&program("initdb"));
        initdb.arg("-D").arg(&cluster.data);
        initdb.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]);
        assert!(initdb.status().unwrap().success());
        cluster.resume();
        cluster
    }

    /// A standby of this server that streams from it.
    pub fn standby(&self) -> Self {
        let standby = Cluster::in_new_folder();
        let mut copy = as_postgres(&program("pg_basebackup"));
        copy.arg("-D").arg(&standby.data).args(["-R", "-X", "stream", "-c", "fast", "-d"]);
        assert!(copy.arg(self.url()).status().unwrap().success());
        standby.resume();
        standby
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    fn control(&self, words: &[&str]) -> bool {
        let mut command = as_postgres(&program("pg_ctl"));
        command.arg("-D").arg(&self.data).args(words).status().unwrap().success()
    }

    /// Starts it, for the first time or again.
    pub fn resume(&self) {
        let folder = self.data.parent().expect("a folder").display();
        // One that was found has its settings in its own file.
        let options = match self.folder {
            Some(_) => format!(
                "-p {} -h 127.0.0.1 -k {folder} -c max_connections=200 -c shared_buffers=64MB -c hot_standby=on",
                self.port
            ),
            None => String::new(),
        };
        let log = format!("{folder}/log-{}", self.port);
        assert!(self.control(&["-w", "-o", &options, "-l", &log, "start"]));
    }

    /// Ends it as a power cut does.
    pub fn stop(&self) {
        self.control(&["-m", "immediate", "stop"]);
    }

    pub fn promote(&self) {
        assert!(self.control(&["-w", "promote"]));
    }

    /// The one number that a query gives.
    pub async fn number(&self, query: &'static str) -> i64 {
        self.numbers(query).await[0]
    }

    /// The numbers that a query gives.
    pub async fn numbers(&self, query: &'static str) -> Vec<i64> {
        let mut conn = sqlx::PgConnection::connect(&self.url()).await.unwrap();
        let rows: Vec<(i64,)> = sqlx::query_as(query).fetch_all(&mut conn).await.unwrap();
        rows.into_iter().map(|(number,)| number).collect()
    }

    pub async fn execute(&self, statement: &'static str) {
        let mut conn = sqlx::PgConnection::connect(&self.url()).await.unwrap();
        sqlx::raw_sql(statement).execute(&mut conn).await.unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.folder.is_some() {
            self.stop();
        }
    }
}
