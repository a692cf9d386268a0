//! MCP servers of a conversation.

use std::sync::Arc;

use deft_tools::Tool;
use deft_types::{McpApprovals, McpServerStatus};
use futures::future::BoxFuture;
use serde_json::Value;

/// MCP servers that run beside the files.
#[derive(Clone)]
pub struct Servers {
    /// As people write them, by name.
    pub config: Value,
    /// What was approved of them.
    pub approvals: McpApprovals,
}

/// MCP servers that are reached from beside the engine, when the model is asked for the first time.
pub trait ServersElsewhere: Send + Sync {
    /// Waits until each of them is ready or has failed. `taken` are the names that other tools have. The servers are
    /// there as long as the tools are.
    fn reach(&self, taken: Vec<String>) -> BoxFuture<'static, Reached>;
}

/// What servers elsewhere offer, and how they are doing.
#[derive(Default)]
pub struct Reached {
    /// Their tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Each of them.
    pub statuses: Vec<McpServerStatus>,
}
