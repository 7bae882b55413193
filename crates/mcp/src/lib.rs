//! Evenhand as a server of the Model Context Protocol.
//!
//! A tool is one request, or a few, to Evenhand's own HTTP interface, so that permissions, limits and the words of a
//! refusal are the interface's. [`Api`] is the way there: within the process for `/mcp` ([`http_service`]), over
//! HTTP for a client that starts `evenhand mcp` ([`serve_stdio`]).

mod api;
mod playbooks;
mod server;
mod text;
mod tools;

use std::sync::Arc;

use base::clock::Clock;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

pub use api::{Answer, Api, Call};
pub use server::McpServer;

/// The longest message over HTTP. Models write far less; longer histories go to the interface itself.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// The service behind `/mcp`. It keeps no sessions: every request carries its credential and is answered with JSON, so
/// that any replica can answer it.
///
/// rmcp's lists of allowed hosts and origins stay empty. A credential is good under any name of the server, which a
/// proxy may change; and without one, in local mode, each call of a tool is refused by the interface if `Host` or
/// `Origin` is foreign ([`Call::into_request`] passes both on). What is left without a credential is the list of tools.
pub fn http_service<A: Api>(
    api: A,
    clock: Clock,
) -> StreamableHttpService<McpServer<A>, NeverSessionManager> {
    let server = McpServer::new(api, clock);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    )
}

/// Serves one client on standard input and output until it leaves.
pub async fn serve_stdio<A: Api>(api: A, clock: Clock) -> anyhow::Result<()> {
    let running = McpServer::new(api, clock).serve(rmcp::transport::stdio()).await?;
    running.waiting().await?;
    Ok(())
}
