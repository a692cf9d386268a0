//! The tools of MCP servers, for a conversation.

use std::path::PathBuf;
use std::sync::Arc;

use deft_engine::{OfProject, Reached, Servers, ServersElsewhere};
use deft_mcp::{Changes, Limits, McpServers, Place, ServerConfig, TokenStore, put_variables};
use deft_server::McpOutfit;
use deft_store::Store;
use deft_tools::{Call, Tool, ToolContext, ToolError, Touches};
use deft_types::{Action, ConversationId, McpApprovals, McpServerStatus, Observation, ToolSpec};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use serde_json::Value;

use super::{configured, kept, network};
use crate::settings::Settings;

/// The servers that the executor starts beside the files.
fn beside_the_files(settings: &Settings) -> anyhow::Result<Option<Servers>> {
    let servers = configured(settings)?;
    let mut approvals = kept::approvals(&settings.data_dir.value)?;
    // Those of a plugin may have any name, and are held to what the conversation has seen.
    approvals.retain(|name, _| servers.iter().any(|server| server.name == *name));
    Ok(programs(servers).map(|config| Servers { config, approvals }))
}

/// Those that are programs, if there are some.
fn programs(mut servers: Vec<ServerConfig>) -> Option<Value> {
    servers.retain(ServerConfig::is_local);
    (!servers.is_empty()).then(|| ServerConfig::write(&servers))
}

/// Keeps what the user's servers were in a conversation, if they were never seen before; tells how they are doing.
pub(crate) async fn remember(
    settings: &Settings,
    store: &dyn Store,
    id: ConversationId,
) -> anyhow::Result<Vec<McpServerStatus>> {
    let own = configured(settings)?;
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let mut servers = deft_engine::load(store, id).await?.servers;
    servers.retain(|status| own.iter().any(|server| server.name == status.name));
    if own.iter().any(ServerConfig::is_local) {
        kept::remember(&settings.data_dir.value, &servers, kept::Approval::Checked)?;
    }
    Ok(servers)
}

/// The servers that have addresses, and are reached from here.
fn from_elsewhere(
    settings: &Settings,
    context: &ToolContext,
) -> anyhow::Result<Option<Arc<dyn ServersElsewhere>>> {
    let data_dir = &settings.data_dir.value;
    let approvals = kept::approvals(data_dir)?;
    let tokens = Arc::new(kept::Tokens::of(data_dir));
    let elsewhere = Elsewhere::of(settings, context, configured(settings)?, approvals, tokens);
    Ok(elsewhere.map(|elsewhere| -> Arc<dyn ServersElsewhere> {
        Arc::new(Elsewhere {
            remembered_in: Some(data_dir.clone()),
            ..elsewhere
        })
    }))
}

/// What the user has set up.
pub(crate) fn of_user(settings: &Settings, context: &ToolContext) -> anyhow::Result<McpOutfit> {
    Ok(McpOutfit {
        beside: beside_the_files(settings)?,
        elsewhere: from_elsewhere(settings, context)?,
        filter: None,
        of_project: OfProject::Used,
    })
}

/// What a client of `deft serve` names for a conversation. It agrees to them by naming them; what they are when they are
/// seen first is kept in the conversation's log.
pub(crate) fn of_client(
    settings: &Settings,
    context: &ToolContext,
    servers: &Value,
    variable: &dyn Fn(&str) -> Option<String>,
    tokens: Arc<dyn TokenStore>,
) -> anyhow::Result<McpOutfit> {
    let mut servers = servers.as_object().cloned().unwrap_or_default();
    put_variables(&mut servers, variable)?;
    let servers = ServerConfig::parse(&Value::Object(servers))?;
    let elsewhere = Elsewhere::of(settings, context, servers.clone(), McpApprovals::new(), tokens);
    Ok(McpOutfit {
        beside: programs(servers).map(|config| Servers {
            config,
            approvals: McpApprovals::new(),
        }),
        elsewhere: elsewhere.map(|elsewhere| -> Arc<dyn ServersElsewhere> { Arc::new(elsewhere) }),
        ..McpOutfit::default()
    })
}

/// Servers with addresses.
struct Elsewhere {
    configs: Vec<ServerConfig>,
    place: Place,
    approvals: McpApprovals,
    /// The data directory that keeps what they were when they were seen first.
    remembered_in: Option<PathBuf>,
}

impl Elsewhere {
    fn of(
        settings: &Settings,
        context: &ToolContext,
        mut configs: Vec<ServerConfig>,
        approvals: McpApprovals,
        tokens: Arc<dyn TokenStore>,
    ) -> Option<Self> {
        configs.retain(|server| !server.is_local());
        let place = Place {
            tools: context.clone(),
            network: network(settings),
            tokens,
        };
        (!configs.is_empty()).then_some(Self {
            configs,
            place,
            approvals,
            remembered_in: None,
        })
    }
}

impl ServersElsewhere for Elsewhere {
    fn reach(&self, taken: Vec<String>, seen: McpApprovals) -> BoxStream<'static, Reached> {
        let mut approvals = seen;
        approvals.extend(self.approvals.clone());
        let (configs, place) = (self.configs.clone(), &self.place);
        let servers = McpServers::start(configs, place, &Limits::default(), &approvals, taken);
        let first = Following {
            changes: servers.changes(),
            servers: Arc::new(servers),
            remembered_in: self.remembered_in.clone(),
            told: None,
        };
        stream::unfold(first, Following::next).boxed()
    }
}

/// Servers, and what was told of them last.
struct Following {
    servers: Arc<McpServers>,
    changes: Changes,
    remembered_in: Option<PathBuf>,
    told: Option<Vec<McpServerStatus>>,
}

impl Following {
    async fn next(mut self) -> Option<(Reached, Self)> {
        match self.told {
            None => self.servers.started_soon().await,
            Some(_) => self.servers.started().await,
        }
        let statuses = loop {
            let now = self.servers.statuses();
            if self.told.as_ref() != Some(&now) {
                break now;
            }
            if !self.changes.next().await {
                return None;
            }
        };
        if let Some(data_dir) = &self.remembered_in
            && let Err(error) = kept::remember(data_dir, &statuses, kept::Approval::Checked)
        {
            tracing::warn!(%error, "what MCP servers were is not kept");
        }
        let held = |tool| -> Arc<dyn Tool> {
            Arc::new(Held {
                tool,
                _servers: self.servers.clone(),
            })
        };
        let reached = Reached {
            tools: self.servers.tools().into_iter().map(held).collect(),
            statuses: statuses.clone(),
        };
        self.told = Some(statuses);
        Some((reached, self))
    }
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
