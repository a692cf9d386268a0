//! Tools that come from servers which are started on request.

use std::sync::Arc;

use deft_types::{McpApprovals, McpServerStatus};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::Value;

use crate::Tool;

/// Starts servers of tools beside the files.
pub trait ToolServers: Send + Sync {
    /// Starts the servers of a configuration and waits until each is ready or has failed. The servers of an earlier one
    /// are ended, but the same one again only holds them to other approvals and tells how they are doing now. The tools
    /// get none of the `reserved` names.
    fn start(
        &self,
        config: Value,
        approvals: McpApprovals,
        reserved: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<McpServerStatus>, String>>;

    /// Tells how all servers are doing when they have started, and whenever that changes.
    fn follow(&self) -> BoxStream<'static, Vec<McpServerStatus>>;

    /// The tool of that name. One that its server has no more, or has made another one of, refuses to run.
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// Ends all servers. There is no way back.
    fn close(&self) -> BoxFuture<'_, ()>;
}
