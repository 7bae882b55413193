//! Local mode behind a real nginx with one `proxy_pass` line: whoever comes through it is nobody.

use std::process::{Child, Command};

use serde_json::{Value, json};

use crate::conformance::{body_schema, operations, specification};
use crate::support::{Process, not_run, patient_client, until};

struct Nginx {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Nginx {
    fn start(server: &Process, line: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let user = match Command::new("id").arg("-u").output().unwrap().stdout.as_slice() {
            b"0\n" => "user root;",
            _ => "",
        };
        let dir = folder.path().display();
        let configuration = format!(
            "{user} worker_processes 1; pid {dir}/pid; error_log {dir}/error.log; daemon off;
             events {{ worker_connections 64; }}
             http {{
                 access_log off;
                 client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;
                 fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
                 server {{ listen {address}; location / {{ proxy_pass http://{}; {line} }} }}
             }}",
            server.address
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, configuration).unwrap();
        let child = Command::new("nginx")
            .args(["-p", folder.path().to_str().unwrap(), "-c", file.to_str().unwrap()])
            .spawn()
            .unwrap();
        Nginx { child, address, _folder: folder }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).status();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_behind_a_plain_proxy_is_on_this_machine() {
    if Command::new("nginx").arg("-v").output().is_err() {
        not_run("proxy::", "nginx is not installed; 'make deps' installs it");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Process::serve(&["--data-dir", folder.path().to_str().unwrap()]);
    let client = patient_client();
    // The same machine without a proxy in between is the operator.
    assert_eq!(client.get(server.url("/api/whoami")).send().await.unwrap().status(), 200);
    for line in ["", "proxy_http_version 1.1; proxy_set_header X-Forwarded-For $remote_addr;"] {
        let nginx = Nginx::start(&server, line);
        let url = |path: &str| format!("http://{}{path}", nginx.address);
        until("nginx passes on", async || {
            client.get(url("/health/live")).send().await.is_ok_and(|answer| answer.status() == 200)
        })
        .await;
        let spec = specification();
        for (method, path, operation) in operations(&spec) {
            let open = operation["security"].as_array().is_some_and(|needs| !needs.is_empty());
            if open {
                continue;
            }
            let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
            let mut request = client.request(method.clone(), url(&path));
            if body_schema(&spec, &operation).is_some() {
                request = request.json(&json!({}));
            }
            assert_eq!(request.send().await.unwrap().status(), 401, "{method} {path}");
        }
        for role in ["governance", "dashboard"] {
            let made = client.post(url("/api/keys")).json(&json!({"role": role})).send().await;
            assert_eq!(made.unwrap().status(), 401, "{role}");
        }
        let session: Value =
            client.get(url("/auth/session")).send().await.unwrap().json().await.unwrap();
        assert_eq!(session["state"], "signed_out");
    }
}
