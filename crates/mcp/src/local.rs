//! The servers of a workspace, started when an executor is asked to.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use deft_tools::{Tool, ToolContext, ToolServers};
use deft_types::{McpApprovals, McpServerStatus, Secret};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::config::ServerConfig;
use crate::http::Network;
use crate::limits::Limits;
use crate::link::Place;
use crate::oauth::{NoTokens, TokenStore};
use crate::servers::McpServers;

/// Starts programs beside the files. Addresses are refused: from there, requests with keys would be made where an agent
/// can watch them.
pub struct LocalServers {
    place: Place,
    limits: Limits,
    running: Mutex<Slot>,
}

enum Slot {
    Empty,
    Running(Arc<Running>),
    Closed,
}

struct Running {
    config: Secret<Value>,
    approvals: McpApprovals,
    servers: McpServers,
    /// The tools as they were when all had started: one that changes later is still found, and refuses to run.
    tools: OnceLock<Vec<(String, Arc<dyn Tool>)>>,
}

impl LocalServers {
    /// For the workspace of these tools.
    pub fn new(tools: ToolContext, limits: Limits) -> Self {
        let place = Place {
            tools,
            network: Network::default(),
            tokens: Arc::new(NoTokens) as Arc<dyn TokenStore>,
        };
        Self {
            place,
            limits,
            running: Mutex::new(Slot::Empty),
        }
    }

    /// The servers of this request, which run by then or begin to; and those that have to end.
    fn replace(
        &self,
        config: Value,
        approvals: McpApprovals,
        reserved: Vec<String>,
    ) -> Result<(Arc<Running>, Slot), String> {
        let configs = ServerConfig::parse(&config).map_err(|error| error.to_string())?;
        if let Some(remote) = configs.iter().find(|server| !server.is_local()) {
            return Err(format!(
                "the MCP server {:?} is no program and cannot be started here",
                remote.name
            ));
        }
        let mut slot = self.lock();
        match &*slot {
            Slot::Closed => return Err("the workspace is closed".to_owned()),
            Slot::Running(running)
                if *running.config.expose() == config && running.approvals == approvals =>
            {
                return Ok((running.clone(), Slot::Empty));
            }
            Slot::Running(_) | Slot::Empty => {}
        }
        let servers = McpServers::start(configs, &self.place, &self.limits, &approvals, reserved);
        let running = Arc::new(Running {
            config: Secret::new(config),
            approvals,
            servers,
            tools: OnceLock::new(),
        });
        let old = std::mem::replace(&mut *slot, Slot::Running(running.clone()));
        Ok((running, old))
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    async fn close(self) {
        match self {
            Self::Running(running) => running.servers.close().await,
            Self::Empty | Self::Closed => {}
        }
    }
}

impl ToolServers for LocalServers {
    fn start(
        &self,
        config: Value,
        approvals: McpApprovals,
        reserved: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<McpServerStatus>, String>> {
        async move {
            let (running, old) = self.replace(config, approvals, reserved)?;
            old.close().await;
            running.servers.started().await;
            running.tools.get_or_init(|| {
                let tools = running.servers.tools().into_iter();
                tools.map(|tool| (tool.spec().name().to_owned(), tool)).collect()
            });
            Ok(running.servers.statuses())
        }
        .boxed()
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let running = match &*self.lock() {
            Slot::Running(running) => running.clone(),
            Slot::Empty | Slot::Closed => return None,
        };
        let mut tools = running.tools.get()?.iter();
        tools
            .find(|(known, _)| known == name)
            .map(|(_, tool)| tool.clone())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let old = std::mem::replace(&mut *self.lock(), Slot::Closed);
        old.close().boxed()
    }
}
