//! Runs commands.
use crate::spec::{Reach, spec};
use crate::{Call, Tool, ToolContext, ToolError};
use deft_types::{Observation, ToolSpec};
use futures::future::BoxFuture;
use serde_json::json;
use std::time::Duration;

/// How a terminal behaves.
#[derive(Clone, Debug)]
pub struct TerminalOptions {
    /// How long a command without `timeout` may be silent before the call returns.
    pub quiet_limit: Duration,
}
impl Default for TerminalOptions {
    fn default() -> Self {
        Self {
            quiet_limit: Duration::from_secs(30),
        }
    }
}
/// A persistent shell.
pub struct Terminal {}
impl Terminal {
    /// A terminal whose shell starts with the first command.
    pub fn new(_context: ToolContext, _options: TerminalOptions) -> Self {
        Self {}
    }
    pub(crate) async fn close(&self) {}
}
impl Tool for Terminal {
    fn spec(&self) -> ToolSpec {
        spec("terminal", "Terminal", Reach::World, "", &json!({}), &["command"])
    }
    fn run(&self, _call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        Box::pin(async { Err(ToolError::Closed) })
    }
}
