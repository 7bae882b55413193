//! Metrics: what callers make up does not become a label.

use crate::support::{Process, patient_client};

#[tokio::test]
async fn methods_that_clients_invent_do_not_grow_the_metrics() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let args = ["serve", "--listen", "127.0.0.1:0", "--data-dir", &place, "--no-workers"];
    let process =
        Process::start(Process::command(&args).env("EVENHAND_METRICS__LISTEN", free.to_string()));
    let client = patient_client();
    let call = async |method: &str, path: &str| {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        client.request(method, process.url(path)).send().await.unwrap().status().as_u16()
    };
    let series = async || -> Vec<String> {
        let text = client
            .get(format!("http://{free}/metrics"))
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        let lines = text.lines().filter(|line| line.starts_with("evenhand_http_request_seconds"));
        lines.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect()
    };
    for path in ["/api/whoami", "/nothing"] {
        call("GET", path).await;
        call("BREW", path).await;
    }
    let before = series().await;
    assert!(before.iter().any(|line| line.contains(r#"method="other""#)), "{before:?}");
    for n in 0..100 {
        assert_eq!(call(&format!("X{n}-{}", "Y".repeat(n % 40)), "/api/whoami").await, 405);
        assert_eq!(call(&format!("x{n}"), &format!("/nothing/{n}")).await, 404);
    }
    assert_eq!(series().await, before);
}
