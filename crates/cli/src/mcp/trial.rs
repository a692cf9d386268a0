//! Tries a server for a client of `deft serve`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use deft_executor::Client;
use deft_mcp::{Login, ServerConfig, TokenStore};
use deft_types::{ConversationId, McpApprovals, McpServerStatus};
use deft_workspace::Workspace;
use serde_json::Value;
use tokio::time::timeout;
use uuid::Uuid;

use super::{network, start};
use crate::compose;
use crate::settings::Settings;
use crate::workspace;

/// How a server is doing that is started for this alone: a program in a sandbox as in a conversation. None: it took
/// longer than the limit.
pub(crate) async fn one(
    settings: &Settings,
    root: &Path,
    servers: &Value,
    limit: Duration,
    tokens: Arc<dyn TokenStore>,
) -> anyhow::Result<Option<McpServerStatus>> {
    let servers = ServerConfig::parse(servers)?;
    if servers.is_empty() {
        bail!("it is switched off");
    }
    let statuses = if servers.iter().all(ServerConfig::is_local) {
        let id = ConversationId(Uuid::new_v4());
        let (workspace, _) = compose::place(settings, id, root)?;
        let statuses = programs(workspace.as_ref(), &servers, limit).await;
        workspace::remove(settings, id)?;
        statuses?
    } else {
        let approvals = McpApprovals::new();
        let reach = start::addresses(settings, servers, &approvals, tokens);
        timeout(limit, reach).await.unwrap_or_else(|_| Ok(Vec::new()))?
    };
    Ok(statuses.into_iter().next())
}

/// Begins a login to the one server of a client's map.
pub(crate) async fn login(
    settings: &Settings,
    servers: &Value,
    redirect: &str,
    tokens: Arc<dyn TokenStore>,
) -> anyhow::Result<Login> {
    let servers = ServerConfig::parse(servers)?;
    let server = servers.first().context("it is switched off")?;
    Ok(Login::begin(server, redirect, &network(settings), tokens).await?)
}

async fn programs(
    workspace: &dyn Workspace,
    servers: &[ServerConfig],
    limit: Duration,
) -> anyhow::Result<Vec<McpServerStatus>> {
    let client = Client::connect(workspace.open().await?).await?;
    let start = client.start_mcp(ServerConfig::write(servers), McpApprovals::new());
    let statuses = timeout(limit, start).await.unwrap_or_else(|_| Ok(Vec::new()));
    client.shutdown().await;
    statuses.map_err(anyhow::Error::msg)
}
