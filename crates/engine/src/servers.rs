//! MCP servers of a conversation.

use std::sync::Arc;

use deft_tools::Tool;
use deft_types::{McpApprovals, McpServerState, McpServerStatus};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::Value;

/// MCP servers that run beside the files.
#[derive(Clone)]
pub struct Servers {
    /// As people write them, by name.
    pub config: Value,
    /// What was approved of them. Of others, what the conversation's log says that they were.
    pub approvals: McpApprovals,
}

/// MCP servers that are reached from beside the engine, when the model is asked for the first time.
pub trait ServersElsewhere: Send + Sync {
    /// Tells what they offer once each of them is ready or has failed, and whenever that changes; where it takes long,
    /// first which are still waited for. `taken` are the names that other tools have; `seen` is what the conversation's log says that servers were. The servers are there as
    /// long as this stream or one of the tools is.
    fn reach(&self, taken: Vec<String>, seen: McpApprovals) -> BoxStream<'static, Reached>;
}

/// Tells by its name whether a tool is offered.
pub type ToolFilter = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What servers elsewhere offer, and how they are doing.
#[derive(Default)]
pub struct Reached {
    /// Their tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Each of them.
    pub statuses: Vec<McpServerStatus>,
}

/// The servers that are still waited for, as people are told of them, if there are some.
pub(crate) fn waited_for(servers: &[McpServerStatus]) -> Option<String> {
    let waited = servers
        .iter()
        .filter(|server| server.state == McpServerState::Connecting);
    let names: Vec<_> = waited.map(|server| server.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("waiting for MCP servers: {}", names.join(", ")))
}

/// What servers tell while a conversation is loaded.
pub(crate) struct ServerNews {
    /// How those elsewhere are doing, once they were reached.
    pub(crate) reached: Option<Vec<McpServerStatus>>,
    /// Whether those beside the files are to hear what was approved of them.
    pub(crate) beside_again: bool,
    /// Whether those elsewhere are.
    pub(crate) elsewhere_again: bool,
    pub(crate) beside: BoxStream<'static, Vec<McpServerStatus>>,
    pub(crate) elsewhere: BoxStream<'static, Reached>,
}

/// A piece of it.
pub(crate) enum News {
    Beside(Vec<McpServerStatus>),
    Elsewhere(Reached),
}

impl Default for ServerNews {
    fn default() -> Self {
        Self {
            reached: None,
            beside_again: false,
            elsewhere_again: false,
            beside: stream::pending().boxed(),
            elsewhere: stream::pending().boxed(),
        }
    }
}

impl ServerNews {
    /// Something was approved: what servers tell until they have heard of it is old.
    pub(crate) fn approved(&mut self) {
        *self = Self {
            reached: self.reached.take(),
            beside_again: true,
            elsewhere_again: true,
            ..Self::default()
        };
    }

    /// Waits for the next piece, for ever where nothing is told any more.
    pub(crate) async fn next(&mut self) -> News {
        loop {
            tokio::select! {
                news = self.beside.next() => match news {
                    Some(statuses) if waited_for(&statuses).is_some() => {} // told while it was waited for
                    Some(statuses) => return News::Beside(statuses),
                    None => self.beside = stream::pending().boxed(),
                },
                news = self.elsewhere.next() => match news {
                    Some(reached) => return News::Elsewhere(reached),
                    None => self.elsewhere = stream::pending().boxed(),
                },
            }
        }
    }
}
