//! Logs and metrics. Neither carries personal data: user ids appear as references, content never.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::app::App;
use crate::config::Settings;
use crate::http::connections::Limits;

const UPKEEP: std::time::Duration = std::time::Duration::from_secs(5);

/// Sets up the log on standard error. Later calls in the same process change nothing.
pub fn init_logs(settings: &Settings) {
    let mut filter =
        EnvFilter::try_new(&settings.log.level).unwrap_or_else(|_| EnvFilter::new("info"));
    // Whatever log.level says: these crates log what providers answered, and what tools were called with.
    for quiet in ["genai=warn", "rmcp=off"].into_iter().filter_map(|quiet| quiet.parse().ok()) {
        filter = filter.add_directive(quiet);
    }
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let _ = if settings.log.format == "json" {
        builder.json().flatten_event(true).try_init()
    } else {
        builder.with_target(false).try_init()
    };
}

/// Installs the process-wide recorder. Without it, counting costs next to nothing and keeps nothing.
pub fn init_metrics() -> Result<PrometheusHandle, String> {
    const SECONDS: &[f64] =
        &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0];
    const COUNTS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)
        .and_then(|b| b.set_buckets_for_metric(Matcher::Suffix("_writes".to_owned()), COUNTS))
        .map_err(|e| e.to_string())?
        .install_recorder()
        .map_err(|e| format!("metrics cannot be collected: {e}"))
}

/// Puts the present state into the metrics before they are shown.
pub type RecordGauges = for<'a> fn(&'a Arc<App>) -> BoxFuture<'a, ()>;

/// Serves `/metrics` on its own listener until the app stops.
pub async fn serve_metrics(
    app: Arc<App>,
    address: SocketAddr,
    handle: PrometheusHandle,
    record_gauges: RecordGauges,
) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    tracing::info!(address = %listener.local_addr()?, "metrics at /metrics");
    let (upkeep, stopping) = (handle.clone(), app.stopping.clone());
    // Measurements pile up until they are read or folded, and nobody may be reading.
    app.spawn(async move {
        while tokio::time::timeout(UPKEEP, stopping.cancelled()).await.is_err() {
            upkeep.run_upkeep();
        }
    });
    let scraped = app.clone();
    let router = axum::Router::new().route(
        "/metrics",
        axum::routing::get(move || {
            let (handle, app) = (handle.clone(), scraped.clone());
            async move {
                record_gauges(&app).await;
                handle.render()
            }
        }),
    );
    let stopping = app.stopping.clone();
    app.spawn(async move {
        crate::http::server::serve(listener, router, stopping, Limits::small(10)).await
    });
    Ok(())
}
