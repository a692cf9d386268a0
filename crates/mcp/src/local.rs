//! The servers of a workspace, started when an executor is asked to.

use std::sync::Arc;

use deft_tools::{Tool, ToolContext, ToolServers};
use deft_types::{McpApprovals, McpServerState, McpServerStatus, Secret};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::config::ServerConfig;
use crate::http::Network;
use crate::limits::{Limits, START_PATIENCE};
use crate::link::Place;
use crate::oauth::{NoTokens, TokenStore};
use crate::servers::McpServers;

/// Starts programs beside the files. Addresses are refused: from there, requests with keys would be made where an agent
/// can watch them.
pub struct LocalServers {
    place: Place,
    limits: Limits,
    running: watch::Sender<Slot>,
}

#[derive(Clone)]
enum Slot {
    Empty,
    Running(Arc<Running>),
    Closed,
}

struct Running {
    config: Secret<Value>,
    servers: McpServers,
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
            running: watch::Sender::new(Slot::Empty),
        }
    }

    /// The servers of this request, which run by then or begin to; and those that have to end.
    fn replace(
        &self,
        config: Value,
        approvals: &McpApprovals,
        reserved: Vec<String>,
    ) -> Result<(Arc<Running>, Slot), String> {
        let configs = ServerConfig::parse(&config).map_err(|error| error.to_string())?;
        if let Some(remote) = configs.iter().find(|server| !server.is_local()) {
            return Err(format!(
                "the MCP server {:?} is no program and cannot be started here",
                remote.name
            ));
        }
        let mut answer = Err("the workspace is closed".to_owned());
        self.running.send_if_modified(|slot| {
            match slot {
                Slot::Closed => return false,
                Slot::Running(running)
                    if *running.config.expose() == config && running.servers.approve(approvals) =>
                {
                    answer = Ok((running.clone(), Slot::Empty));
                    return false;
                }
                Slot::Running(_) | Slot::Empty => {}
            }
            let running = Arc::new(Running {
                servers: McpServers::start(configs, &self.place, &self.limits, approvals, reserved),
                config: Secret::new(config),
            });
            let old = std::mem::replace(slot, Slot::Running(running.clone()));
            answer = Ok((running, old));
            true
        });
        answer
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
            let (running, old) = self.replace(config, &approvals, reserved)?;
            old.close().await;
            running.servers.started().await;
            Ok(running.servers.statuses())
        }
        .boxed()
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        match &*self.running.borrow() {
            Slot::Running(running) => running.servers.tool(name),
            Slot::Empty | Slot::Closed => None,
        }
    }

    fn follow(&self) -> BoxStream<'static, Vec<McpServerStatus>> {
        let told = Vec::new();
        stream::unfold((self.running.subscribe(), told), |(mut slots, told)| async move {
            let now = next_after(&told, &mut slots).await?;
            Some((now.clone(), (slots, now)))
        })
        .fuse()
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.running.send_replace(Slot::Closed).close().boxed()
    }
}

/// Waits until all servers have started and are doing otherwise than was told; nothing when the workspace is closed.
/// Who was told nothing yet is told after a while, too, which servers are waited for.
async fn next_after(
    told: &[McpServerStatus],
    slots: &mut watch::Receiver<Slot>,
) -> Option<Vec<McpServerStatus>> {
    loop {
        let slot = slots.borrow_and_update().clone();
        match slot {
            Slot::Running(running) => {
                let mut changes = running.servers.changes();
                loop {
                    let now = running.servers.statuses();
                    let is_settled = |one: &McpServerStatus| one.state != McpServerState::Connecting;
                    if now != told && now.iter().all(is_settled) {
                        return Some(now);
                    }
                    tokio::select! {
                        true = changes.next() => {}
                        others = slots.changed() => break others.ok()?,
                        () = sleep(START_PATIENCE), if told.is_empty() && !now.is_empty() => return Some(now),
                    }
                }
            }
            Slot::Empty => slots.changed().await.ok()?,
            Slot::Closed => return None,
        }
    }
}
