//! A pgbouncer in transaction mode before a server of the test's own.

use std::path::Path;
use std::process::Child;

use tempfile::TempDir;

use super::cluster::{Cluster, as_postgres, folder_for_postgres, free_port};

/// Killed when dropped.
pub struct Pgbouncer {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Pgbouncer {
    /// None where it is not installed.
    pub async fn before(cluster: &Cluster) -> Option<Self> {
        let program = Path::new("/usr/sbin/pgbouncer");
        if !program.is_file() {
            return None;
        }
        let (folder, port) = (folder_for_postgres(), free_port());
        let settings = folder.path().join("pgbouncer.ini");
        let users = folder.path().join("users.txt");
        std::fs::write(&users, "\"postgres\" \"\"\n").unwrap();
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\n\
             pool_mode = transaction\ndefault_pool_size = 6\nmax_client_conn = 200\n",
            cluster.port,
            users.display(),
        );
        std::fs::write(&settings, text).unwrap();
        for file in [&settings, &users, &folder.path().to_owned()] {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let child = as_postgres(program).arg(&settings).spawn().unwrap();
        let address = format!("127.0.0.1:{port}");
        super::until("pgbouncer listens", async || {
            tokio::net::TcpStream::connect(&address).await.is_ok()
        })
        .await;
        Some(Pgbouncer { child, port, _folder: folder })
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Pgbouncer {
    fn drop(&mut self) {
        let id = self.child.id().to_string();
        let _ = std::process::Command::new("kill").args(["-TERM", &id]).status();
        let _ = self.child.wait();
    }
}
