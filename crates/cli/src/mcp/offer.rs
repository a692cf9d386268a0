//! The tools of MCP servers, for a conversation.

use std::sync::Arc;

use deft_engine::Servers;
use deft_mcp::{Limits, McpServers, Place, ServerConfig, TokenStore};
use deft_server::McpOffer;
use deft_store::Store;
use deft_tools::{Call, Tool, ToolContext, ToolError, Touches};
use deft_types::{Action, ConversationId, McpApprovals, McpServerState, Observation, ToolSpec};
use futures::future::BoxFuture;
use serde_json::Value;

use super::{configured, kept, network};
use crate::settings::Settings;

/// The servers that the executor starts beside the files.
pub(crate) fn beside_the_files(settings: &Settings) -> anyhow::Result<Option<Servers>> {
    let mut servers = configured(settings)?;
    servers.retain(ServerConfig::is_local);
    if servers.is_empty() {
        return Ok(None);
    }
    Ok(Some(Servers {
        config: ServerConfig::write(&servers),
        approvals: kept::approvals(&settings.data_dir.value)?,
    }))
}

/// Keeps what the servers beside the files were, if they were never seen before.
pub(crate) async fn remember(
    settings: &Settings,
    store: &dyn Store,
    id: ConversationId,
) -> anyhow::Result<()> {
    if beside_the_files(settings)?.is_none() {
        return Ok(());
    }
    let servers = deft_engine::load(store, id).await?.servers;
    kept::remember(&settings.data_dir.value, &servers, kept::Approval::Checked)
}

/// The tools of servers elsewhere. One that cannot be reached offers none, and `deft mcp test` says why.
pub(crate) async fn from_elsewhere(
    settings: &Settings,
    context: &ToolContext,
    reserved: Vec<String>,
) -> anyhow::Result<Vec<Arc<dyn Tool>>> {
    let mut configs = configured(settings)?;
    configs.retain(|server| !server.is_local());
    if configs.is_empty() {
        return Ok(Vec::new());
    }
    let data_dir = &settings.data_dir.value;
    let place = Place {
        tools: context.clone(),
        network: network(settings),
        tokens: Arc::new(kept::Tokens::of(data_dir)),
    };
    let approvals = kept::approvals(data_dir)?;
    let servers = McpServers::start(configs, &place, &Limits::default(), &approvals, reserved);
    servers.started().await;
    kept::remember(data_dir, &servers.statuses(), kept::Approval::Checked)?;
    Ok(tools_of(servers))
}

/// What the servers offer that a client of `deft serve` names. Nothing is kept of them: the next client may name others
/// the same.
pub(crate) async fn of_client(
    settings: &Settings,
    context: &ToolContext,
    config: &Value,
    tokens: Arc<dyn TokenStore>,
    taken: Vec<String>,
) -> anyhow::Result<McpOffer> {
    let servers = ServerConfig::parse(config)?;
    let (local, remote): (Vec<_>, Vec<_>) = servers.into_iter().partition(ServerConfig::is_local);
    let mut offer = McpOffer::default();
    if !local.is_empty() {
        offer.beside = Some(Servers {
            config: ServerConfig::write(&local),
            approvals: McpApprovals::new(),
        });
    }
    if !remote.is_empty() {
        let place = Place {
            tools: context.clone(),
            network: network(settings),
            tokens,
        };
        let servers = McpServers::start(remote, &place, &Limits::default(), &McpApprovals::new(), taken);
        servers.started().await;
        for status in servers.statuses() {
            if let McpServerState::Failed { reason } = &status.state {
                tracing::warn!(
                    server = status.name,
                    reason,
                    "an MCP server of a client offers nothing"
                );
            }
        }
        offer.elsewhere = tools_of(servers);
    }
    Ok(offer)
}

fn tools_of(servers: McpServers) -> Vec<Arc<dyn Tool>> {
    let tools = servers.tools();
    let servers = Arc::new(servers);
    let held = |tool| -> Arc<dyn Tool> {
        Arc::new(Held {
            tool,
            _servers: servers.clone(),
        })
    };
    tools.into_iter().map(held).collect()
}

/// A tool whose server is there as long as the tool is.
struct Held {
    tool: Arc<dyn Tool>,
    _servers: Arc<McpServers>,
}

impl Tool for Held {
    fn spec(&self) -> ToolSpec {
        self.tool.spec()
    }

    fn touches(&self, action: &Action) -> Touches {
        self.tool.touches(action)
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        self.tool.run(call)
    }
}
