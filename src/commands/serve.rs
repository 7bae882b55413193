//! `evenhand serve` and `evenhand work`.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use tokio::net::TcpListener;

use super::Installation;
use base::clock::Clock;
use base::ids::Ids;
use service::app::{App, Schema};
use service::governance::audit::agreement;
use service::http::connections::Limits;
use service::{credentials, http, telemetry, wiring};

#[derive(Args)]
pub struct Serve {
    #[command(flatten)]
    installation: Installation,
    /// Address to listen on [default: 127.0.0.1:8700]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Serve Prometheus metrics on this address
    #[arg(long, value_name = "HOST:PORT")]
    metrics_listen: Option<String>,
    /// Leave background jobs to other processes (`evenhand work`)
    #[arg(long)]
    no_workers: bool,
    /// `none` starts a server without storage, which answers 503
    #[arg(long, value_parser = ["auto", "none"])]
    storage: Option<String>,
}

#[derive(Args)]
pub struct WorkArgs {
    #[command(flatten)]
    installation: Installation,
    /// Serve Prometheus metrics on this address
    #[arg(long, value_name = "HOST:PORT")]
    metrics_listen: Option<String>,
}

impl Serve {
    pub async fn run(self) -> Result<ExitCode> {
        let given = [
            ("server.listen", self.listen),
            ("metrics.listen", self.metrics_listen),
            ("server.storage", self.storage),
        ];
        let app = open(&self.installation, given).await?;
        serve(app, !self.no_workers).await
    }
}

impl WorkArgs {
    pub async fn run(self) -> Result<ExitCode> {
        let app = open(&self.installation, [("metrics.listen", self.metrics_listen)]).await?;
        agreement::agree(&app).await?;
        wiring::spawn_workers(&app);
        say_line!("working on background jobs; stop with Ctrl-C");
        wait_for_signal().await?;
        app.stop().await;
        Ok(ExitCode::SUCCESS)
    }
}

async fn open<const N: usize>(
    installation: &Installation,
    given: [(&'static str, Option<String>); N],
) -> Result<Arc<App>> {
    let given: Vec<_> =
        given.into_iter().filter_map(|(key, value)| value.map(|value| (key, value))).collect();
    let settings = installation.settings(&given)?;
    telemetry::init_logs(&settings);
    let metrics = match settings.metrics.listen.as_str() {
        "" => None,
        address => {
            let handle = telemetry::init_metrics().map_err(anyhow::Error::msg)?;
            Some((address.parse()?, handle))
        }
    };
    let clock = Clock::System;
    let app = App::open(settings, clock.clone(), Ids::system(clock), Schema::Migrate).await?;
    tracing::info!(judge = app.judge.label(), "sessions are judged by");
    service::spending::count_spent_today(&app).await?;
    if let Some((address, handle)) = metrics {
        telemetry::serve_metrics(app.clone(), address, handle, wiring::record_gauges)
            .await
            .with_context(|| format!("cannot serve metrics on {address}"))?;
    }
    Ok(app)
}

/// Serves an opened app until a signal comes, then stops gracefully.
pub async fn serve(app: Arc<App>, workers: bool) -> Result<ExitCode> {
    let address = app.listen_address()?;
    if !address.ip().is_loopback() && !credentials::any_exist(&app).await? {
        bail!(
            "refusing to listen on {address} without credentials: anyone who can reach it could read and \
             write everything. Make one first, then start again:\n  \
             evenhand keys create --role dashboard --name operator\n\
             or configure signing in with a provider (docs/sign-in.md)"
        );
    }
    if app.db.engine().is_some() {
        // Before anybody is served: a restored backup may have brought erased people back.
        agreement::agree(&app).await?;
    }
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; is another server there?"))?;
    let address = listener.local_addr()?;
    let router = service::router::router(app.clone());
    let limits = Limits::of(&app.settings.server);
    let stopping = app.stopping.clone();
    app.spawn(async move { http::server::serve(listener, router, stopping, limits).await });
    if app.db.engine().is_some() {
        service::operations::queue_ages::watch(&app);
        if workers {
            wiring::spawn_workers(&app);
        }
    }
    say_line!("Evenhand is listening on http://{address}");
    if !credentials::any_exist(&app).await? {
        tracing::warn!(
            "local mode: there is no credential yet, so every program and every user of this machine that can reach \
             this address may do everything but govern. `evenhand keys create` ends that"
        );
    } else if !address.ip().is_loopback() && !app.settings.server.secure_cookies {
        tracing::warn!(
            "server.secure_cookies is off: set it when the dashboard is reached over TLS"
        );
    }
    wait_for_signal().await?;
    tracing::info!("stopping: finishing requests in flight");
    app.stop().await;
    Ok(ExitCode::SUCCESS)
}

async fn wait_for_signal() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
