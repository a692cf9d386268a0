//! All servers of a conversation.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use deft_tools::Tool;
use deft_types::{McpApprovals, McpChange, McpServerState, McpServerStatus};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::config::ServerConfig;
use crate::known::{Known, State, States};
use crate::limits::{Limits, START_PATIENCE};
use crate::link::Place;
use crate::listing::unique_name;
use crate::pin::target_of;
use crate::server::Server;
use crate::tool::{McpTool, Withheld};

/// Servers that are started side by side; none keeps another from working. Close them before dropping them: dropped
/// ones are killed without being asked.
pub struct McpServers {
    servers: Vec<Arc<Server>>,
    reserved: HashSet<String>,
    states: watch::Sender<States>,
    stop: CancellationToken,
    keepers: Mutex<JoinSet<()>>,
}

impl McpServers {
    /// Begins to start all servers and returns at once. A server that was approved before is started only if its
    /// command line or address is the approved one; of one that was not, what it says first of each tool is held to.
    /// `reserved` are names that no tool may have: those of other tools.
    pub fn start(
        configs: Vec<ServerConfig>,
        place: &Place,
        limits: &Limits,
        approvals: &McpApprovals,
        reserved: impl IntoIterator<Item = String>,
    ) -> Self {
        let known = configs
            .iter()
            .map(|config| Known::new(approvals.get(&config.name).cloned(), target_of(config)));
        let states = watch::Sender::new(known.collect::<States>());
        let stop = CancellationToken::new();
        let mut keepers = JoinSet::new();
        let mut servers = Vec::new();
        for (index, config) in configs.into_iter().enumerate() {
            let (server, keeper) = Server::new(config, place.clone(), limits.clone(), &states, index);
            if !matches!(states.borrow()[index].state, State::Unapproved) {
                keepers.spawn(keeper.run(stop.clone()));
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
        let mut states = self.states.subscribe();
        let settled = |states: &States| {
            !states
                .iter()
                .any(|known| matches!(known.state, State::Connecting))
        };
        tokio::select! {
            _ = states.wait_for(settled) => {}
            () = self.stop.cancelled() => {} // nobody looks after them any more: there is nothing to wait for
        }
    }

    /// The same for as long as nobody wonders yet what is waited for.
    pub async fn started_soon(&self) {
        let _ = tokio::time::timeout(START_PATIENCE, self.started()).await; // their states tell
    }

    /// Holds servers to what was approved from now on. False: that would start one, or end it, which needs new ones.
    pub fn approve(&self, approvals: &McpApprovals) -> bool {
        let named = || {
            let servers = self.servers.iter().enumerate();
            servers.filter_map(|(index, server)| Some((index, approvals.get(&server.config.name)?)))
        };
        let states = self.states.borrow();
        if !named().all(|(index, pin)| states[index].may_be_held_to(pin)) {
            return false;
        }
        drop(states);
        self.states.send_if_modified(|states| {
            let held = named().map(|(index, pin)| states[index].hold_to(pin));
            held.fold(false, |news, one| news | one)
        });
        true
    }

    /// Tells when a server is ready, has failed, or has other tools than before: look at [`Self::statuses`] then.
    pub fn changes(&self) -> Changes {
        Changes {
            states: self.states.subscribe(),
            stop: self.stop.clone(),
        }
    }

    /// How each server is doing, in the order of the configuration.
    pub fn statuses(&self) -> Vec<McpServerStatus> {
        let offers = self.offers().into_iter();
        offers.map(Offered::into_status).collect()
    }

    /// The tools that can be called now, in the order of the configuration.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tools = self.offers().into_iter().flat_map(|offered| offered.tools);
        tools.map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
    }

    /// The tool of that name. One that is gone or not as it was approved is found too, and refuses to run.
    pub fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.offers().into_iter().find_map(|offered| {
            if let Some(tool) = offered.tools.into_iter().find(|tool| tool.name == name) {
                return Some(Arc::new(tool) as Arc<dyn Tool>);
            }
            let withheld = offered.withheld.into_iter().find(|withheld| withheld == name)?;
            let server = offered.server;
            Some(Arc::new(Withheld {
                name: withheld,
                server,
            }) as Arc<dyn Tool>)
        })
    }

    /// Ends all servers and everything they have started. There is no way back.
    pub async fn close(&self) {
        self.stop.cancel();
        let mut keepers = std::mem::take(&mut *self.keepers.lock().unwrap_or_else(PoisonError::into_inner));
        while keepers.join_next().await.is_some() {}
    }

    fn offers(&self) -> Vec<Offered> {
        let states = self.states.borrow().clone();
        let mut taken = self.reserved.clone();
        let servers = self.servers.iter().zip(states);
        servers
            .map(|(server, known)| Offered::of(server.clone(), known, &mut taken))
            .collect()
    }
}

/// What one server offers.
struct Offered {
    server: Arc<Server>,
    known: Known,
    what: Vec<McpChange>,
    /// Those that are as they were approved.
    tools: Vec<McpTool>,
    /// The names of those that are not, or are gone.
    withheld: Vec<String>,
}

impl Offered {
    fn of(server: Arc<Server>, known: Known, taken: &mut HashSet<String>) -> Self {
        let what = known.what();
        let (mut tools, mut withheld) = (Vec::new(), Vec::new());
        if let State::Ready(offer) = &known.state {
            let is_other = |name: &str| {
                what.iter().any(|change| match change {
                    McpChange::Added(tool) | McpChange::Altered(tool) => tool == name,
                    McpChange::Target | McpChange::Removed(_) => false,
                })
            };
            for listed in &offer.tools {
                // Named even if it is not offered, so that approving one tool renames no other.
                let name = unique_name(&server.config.name, &listed.name, taken);
                if is_other(&listed.name) {
                    withheld.push(name);
                } else {
                    let (listed, server) = (listed.clone(), server.clone());
                    tools.push(McpTool { name, listed, server });
                }
            }
            let gone = what.iter().filter_map(|change| match change {
                McpChange::Removed(tool) => Some(tool),
                McpChange::Target | McpChange::Added(_) | McpChange::Altered(_) => None,
            });
            let mut others = taken.clone();
            withheld.extend(gone.map(|tool| unique_name(&server.config.name, tool, &mut others)));
        }
        Self {
            server,
            known,
            what,
            tools,
            withheld,
        }
    }

    fn into_status(self) -> McpServerStatus {
        let tools = self.tools.iter().map(Tool::spec).collect();
        let pin = self.known.pin();
        let notes = match &self.known.state {
            State::Ready(offer) => offer.notes.clone(),
            State::Connecting | State::Failed(_) | State::Unapproved => Vec::new(),
        };
        let what = self.what;
        let state = match self.known.state {
            State::Connecting => McpServerState::Connecting,
            State::Failed(reason) => McpServerState::Failed { reason },
            State::Ready(_) if what.is_empty() => McpServerState::Ready { tools },
            State::Ready(_) | State::Unapproved => McpServerState::Changed { what, tools },
        };
        McpServerStatus {
            name: self.server.config.name.clone(),
            state,
            pin,
            approved: self.known.approved,
            notes,
        }
    }
}

/// Follows what happens to servers.
pub struct Changes {
    states: watch::Receiver<States>,
    stop: CancellationToken,
}

impl Changes {
    /// Waits for the next change; false when the servers are closed.
    pub async fn next(&mut self) -> bool {
        tokio::select! {
            changed = self.states.changed() => changed.is_ok(),
            () = self.stop.cancelled() => false,
        }
    }
}
