//! Starts servers as a run would: programs beside the files by an executor, addresses from here.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deft_executor::Client;
use deft_mcp::{Limits, McpServers, Place, ServerConfig, TokenStore};
use deft_tools::ToolContext;
use deft_types::{McpApprovals, McpServerStatus};
use deft_workspace::{LocalWorkspace, Workspace};

use super::{kept, network};
use crate::settings::Settings;

/// How long the executor outlives us if we are killed.
const LINGER: Duration = Duration::from_secs(1);

/// Starts all, tells how they are doing, and ends them.
pub(super) async fn all(
    settings: &Settings,
    servers: Vec<ServerConfig>,
    approvals: &McpApprovals,
) -> anyhow::Result<Vec<McpServerStatus>> {
    let order: Vec<_> = servers.iter().map(|server| server.name.clone()).collect();
    let (local, remote): (Vec<_>, Vec<_>) = servers.into_iter().partition(ServerConfig::is_local);
    let tokens = Arc::new(kept::Tokens::of(&settings.data_dir.value));
    let (local, remote) = tokio::join!(
        programs(&local, approvals),
        addresses(settings, remote, approvals, tokens)
    );
    let mut statuses = local?;
    statuses.extend(remote?);
    statuses.sort_by_key(|status| order.iter().position(|name| *name == status.name));
    Ok(statuses)
}

/// Starts programs in the current directory, by an executor that is started for this alone.
async fn programs(
    servers: &[ServerConfig],
    approvals: &McpApprovals,
) -> anyhow::Result<Vec<McpServerStatus>> {
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let directory = tempfile::tempdir()?;
    let workspace = LocalWorkspace {
        program: PathBuf::from("/proc/self/exe"),
        root: std::env::current_dir()?,
        directory: directory.path().join("executor"), // made for us alone
        linger: LINGER,
        web_addresses: None,
        quiet_limit: LINGER,
        sandbox: None, // whoever asks for a test has agreed to run them
    };
    let client = Client::connect(workspace.open().await?).await?;
    let statuses = client
        .start_mcp(ServerConfig::write(servers), approvals.clone())
        .await;
    client.shutdown().await;
    statuses.map_err(anyhow::Error::msg)
}

/// Reaches servers elsewhere, tells how they are doing, and leaves them.
async fn addresses(
    settings: &Settings,
    servers: Vec<ServerConfig>,
    approvals: &McpApprovals,
    tokens: Arc<dyn TokenStore>,
) -> anyhow::Result<Vec<McpServerStatus>> {
    let servers = reached(settings, servers, approvals, tokens)?;
    servers.started().await;
    let statuses = servers.statuses();
    servers.close().await;
    Ok(statuses)
}

/// Begins to reach servers elsewhere.
pub(super) fn reached(
    settings: &Settings,
    servers: Vec<ServerConfig>,
    approvals: &McpApprovals,
    tokens: Arc<dyn TokenStore>,
) -> anyhow::Result<McpServers> {
    let place = Place {
        tools: ToolContext {
            workspace: std::env::current_dir()?,
            private_dir: settings.data_dir.value.clone(),
            env: Vec::new(),
        },
        network: network(settings),
        tokens,
    };
    Ok(McpServers::start(
        servers,
        &place,
        &Limits::default(),
        approvals,
        [],
    ))
}
