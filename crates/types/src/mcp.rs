//! What is known of a server of tools that speaks MCP.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::tool::ToolSpec;

/// How a configured server is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpServerStatus {
    /// Its name in the configuration.
    pub name: String,
    /// How it is doing.
    pub state: McpServerState,
    /// What it is and offers now: what a person approves. There once it has answered.
    pub pin: Option<McpPin>,
    /// What it is held to: what was approved, or what it said first where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<McpPin>,
    /// What people should know besides, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// How a server is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum McpServerState {
    /// It is being started.
    Connecting,
    /// Its tools can be called.
    Ready {
        /// Its tools.
        tools: Vec<ToolSpec>,
    },
    /// It is not what was approved: only what has not changed is offered.
    Changed {
        /// What is different.
        what: Vec<McpChange>,
        /// The tools that are as they were approved.
        tools: Vec<ToolSpec>,
    },
    /// It cannot be used.
    Failed {
        /// Why, and what to do.
        reason: String,
    },
}

impl McpServerState {
    /// The tools to offer to a model.
    pub fn tools(&self) -> &[ToolSpec] {
        match self {
            Self::Ready { tools } | Self::Changed { tools, .. } => tools,
            Self::Connecting | Self::Failed { .. } => &[],
        }
    }
}

/// What was approved of a server, as digests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpPin {
    /// Its command line or address.
    pub target: String,
    /// Each tool's description, schema and hints, by the tool's name at the server.
    pub tools: BTreeMap<String, String>,
}

/// What was approved, by the server's name.
pub type McpApprovals = BTreeMap<String, McpPin>;

/// How a server differs from what was approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "tool", rename_all = "snake_case")]
pub enum McpChange {
    /// Its command line or address is another one.
    Target,
    /// It has a tool that it did not have.
    Added(String),
    /// A tool says something else of itself, or takes other arguments.
    Altered(String),
    /// A tool is gone.
    Removed(String),
}

impl fmt::Display for McpChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target => f.write_str("its command line or address is another one"),
            Self::Added(tool) => write!(f, "the tool {tool:?} is new"),
            Self::Altered(tool) => write!(f, "the tool {tool:?} has another description or other arguments"),
            Self::Removed(tool) => write!(f, "the tool {tool:?} is gone"),
        }
    }
}
