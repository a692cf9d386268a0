//! Starts servers as a run would: programs beside the files by an executor, addresses from here.

use std::sync::Arc;
use std::time::Duration;

use deft_executor::Client;
use deft_mcp::{Limits, McpServers, Place, ServerConfig, TokenStore};
use deft_tools::ToolContext;
use deft_types::{ConversationId, McpApprovals, McpServerStatus};
use deft_workspace::WorkspaceName;
use uuid::Uuid;

use super::{kept, network};
use crate::output::one_line;
use crate::settings::Settings;
use crate::workspace;

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
        programs(settings, &local, approvals),
        addresses(settings, remote, approvals, tokens)
    );
    let mut statuses = local?;
    statuses.extend(remote?);
    statuses.sort_by_key(|status| order.iter().position(|name| *name == status.name));
    Ok(statuses)
}

/// Starts programs by an executor that is started for this alone, shut in as that of a run is.
async fn programs(
    settings: &Settings,
    servers: &[ServerConfig],
    approvals: &McpApprovals,
) -> anyhow::Result<Vec<McpServerStatus>> {
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let id = ConversationId(Uuid::new_v4());
    let mut briefly = settings.clone();
    briefly.executor_linger.value = LINGER;
    let tried = tried_in(&place(settings)?, &briefly, id, servers, approvals).await;
    workspace::remove(settings, id)?;
    tried
}

async fn tried_in(
    place: &str,
    settings: &Settings,
    id: ConversationId,
    servers: &[ServerConfig],
    approvals: &McpApprovals,
) -> anyhow::Result<Vec<McpServerStatus>> {
    let workspace = workspace::open(place, settings, id)?.workspace;
    let client = Client::connect(workspace.open().await?).await?;
    let statuses = client
        .start_mcp(ServerConfig::write(servers), approvals.clone())
        .await;
    workspace::end(workspace.as_ref(), &client).await;
    statuses.map_err(anyhow::Error::msg)
}

/// Where a run from here would start them, if that is on this machine; otherwise the sandbox comes nearest.
fn place(settings: &Settings) -> anyhow::Result<String> {
    let here = || Ok(std::env::current_dir()?.display().to_string());
    match settings.workspace.value.clone() {
        None => here(),
        Some(name @ (WorkspaceName::Local(_) | WorkspaceName::Sandbox(_))) => {
            Ok(workspace::kept(&workspace::resolve(name)?))
        }
        Some(elsewhere) => {
            anstream::eprintln!(
                "deft: note: runs start these programs in {}; they are tried in a sandbox on this machine",
                one_line(&elsewhere.to_string())
            );
            here()
        }
    }
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
