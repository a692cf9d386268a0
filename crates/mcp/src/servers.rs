//! All servers of a conversation.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use deft_tools::Tool;
use deft_types::{McpApprovals, McpChange, McpServerState, McpServerStatus};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::config::ServerConfig;
use crate::limits::Limits;
use crate::link::Place;
use crate::listing::{Listed, unique_name};
use crate::pin::target_of;
use crate::server::{Server, State, States};
use crate::tool::McpTool;

/// Servers that are started side by side; none keeps another from working. Close them before dropping them: dropped
/// ones are killed without being asked.
pub struct McpServers {
    servers: Vec<Arc<Server>>,
    reserved: HashSet<String>,
    states: watch::Receiver<States>,
    stop: CancellationToken,
    keepers: Mutex<JoinSet<()>>,
}

impl McpServers {
    /// Begins to start all servers and returns at once. A server that was approved before is started only if its
    /// command line or address is the approved one; of one that was not, what it says first is held to.
    /// `reserved` are names that no tool may have: those of other tools.
    pub fn start(
        configs: Vec<ServerConfig>,
        place: &Place,
        limits: &Limits,
        approvals: &McpApprovals,
        reserved: impl IntoIterator<Item = String>,
    ) -> Self {
        let (sender, states) = watch::channel(vec![State::Connecting; configs.len()]);
        let stop = CancellationToken::new();
        let mut keepers = JoinSet::new();
        let mut servers = Vec::new();
        for (index, config) in configs.into_iter().enumerate() {
            let approved = approvals.get(&config.name).cloned();
            let is_approved = approved
                .as_ref()
                .is_none_or(|pin| pin.target == target_of(&config));
            let (server, keeper) =
                Server::new(config, place.clone(), limits.clone(), approved, &sender, index);
            if is_approved {
                keepers.spawn(keeper.run(stop.clone()));
            } else {
                sender.send_modify(|states| states[index] = State::Unapproved);
            }
            servers.push(server);
        }
        Self {
            servers,
            reserved: reserved.into_iter().collect(),
            states,
            stop,
            keepers: Mutex::new(keepers),
        }
    }

    /// Waits until no server is being started any more: at most the time limit for a start.
    pub async fn started(&self) {
        let mut states = self.states.clone();
        let settled = |states: &States| !states.iter().any(|state| matches!(state, State::Connecting));
        let _ = states.wait_for(settled).await; // nobody looks after them any more: there is nothing to wait for
    }

    /// Tells when a server is ready, has failed, or has other tools than before: look at [`Self::statuses`] then.
    pub fn changes(&self) -> Changes {
        Changes(self.states.clone())
    }

    /// How each server is doing, in the order of the configuration.
    pub fn statuses(&self) -> Vec<McpServerStatus> {
        self.offered().into_iter().map(|(status, _)| status).collect()
    }

    /// The tools that can be called now, in the order of the configuration.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.offered().into_iter().flat_map(|(_, tools)| tools).collect()
    }

    /// Ends all servers and everything they have started. There is no way back.
    pub async fn close(&self) {
        self.stop.cancel();
        let mut keepers = std::mem::take(&mut *self.keepers.lock().unwrap_or_else(PoisonError::into_inner));
        while keepers.join_next().await.is_some() {}
    }

    fn offered(&self) -> Vec<(McpServerStatus, Vec<Arc<dyn Tool>>)> {
        let states = self.states.borrow().clone();
        let mut taken = self.reserved.clone();
        let servers = self.servers.iter().zip(states);
        servers
            .map(|(server, state)| offer(server, state, &mut taken))
            .collect()
    }
}

/// What a server offers in this state: only what is as it was approved.
fn offer(
    server: &Arc<Server>,
    state: State,
    taken: &mut HashSet<String>,
) -> (McpServerStatus, Vec<Arc<dyn Tool>>) {
    let mut tools = Vec::new();
    let (state, pin, notes) = match state {
        State::Connecting => (McpServerState::Connecting, None, Vec::new()),
        State::Failed(reason) => (McpServerState::Failed { reason }, None, Vec::new()),
        State::Unapproved => {
            let (what, tools) = (vec![McpChange::Target], Vec::new());
            (McpServerState::Changed { what, tools }, None, Vec::new())
        }
        State::Ready(offer) => {
            let what = offer.what.clone();
            let is_new = |tool: &Listed| {
                what.iter().any(|change| match change {
                    McpChange::Added(name) | McpChange::Altered(name) => *name == tool.name,
                    McpChange::Target | McpChange::Removed(_) => false,
                })
            };
            for listed in &offer.tools {
                // Named even if it is not offered, so that approving one tool renames no other.
                let name = unique_name(&server.config.name, &listed.name, taken);
                if !is_new(listed) {
                    let (listed, server) = (listed.clone(), server.clone());
                    tools.push(Arc::new(McpTool { name, listed, server }));
                }
            }
            let specs = tools.iter().map(|tool| tool.spec()).collect();
            let state = if what.is_empty() {
                McpServerState::Ready { tools: specs }
            } else {
                McpServerState::Changed { what, tools: specs }
            };
            (state, Some(offer.pin.clone()), offer.notes.clone())
        }
    };
    let status = McpServerStatus {
        name: server.config.name.clone(),
        state,
        pin,
        notes,
    };
    let tools = tools.into_iter().map(|tool| tool as Arc<dyn Tool>);
    (status, tools.collect())
}

/// Follows what happens to servers.
pub struct Changes(watch::Receiver<States>);

impl Changes {
    /// Waits for the next change; false when the servers are closed.
    pub async fn next(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}
