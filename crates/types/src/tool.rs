//! What a tool says about itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use crate::tagged::Extra;

/// A tool as the system prompt event shows it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// What the model is told about it.
    pub description: String,
    /// The `kind` of its actions.
    pub action_type: String,
    /// The `kind` of its observations.
    pub observation_type: Option<String>,
    /// What it may do.
    pub annotations: Option<ToolAnnotations>,
    /// The tool's own kind, such as `TerminalTool`.
    pub kind: String,
    /// The name the model calls it by.
    pub title: String,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// What a tool may do.
#[allow(clippy::struct_excessive_bools)] // the wire's
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// A name for people.
    pub title: Option<String>,
    /// It changes nothing.
    #[serde(default)]
    pub read_only_hint: bool,
    /// It may destroy something.
    #[serde(default = "yes")]
    pub destructive_hint: bool,
    /// Calling it twice is as good as once.
    #[serde(default)]
    pub idempotent_hint: bool,
    /// It reaches beyond the workspace.
    #[serde(default = "yes")]
    pub open_world_hint: bool,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

fn yes() -> bool {
    true
}

/// A tool with the schema of its arguments: what an executor offers and a model is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// How it is shown.
    pub definition: ToolDefinition,
    /// JSON Schema of its arguments: an object that allows no other properties.
    pub parameters: Value,
}

impl ToolSpec {
    /// The name the model calls it by.
    pub fn name(&self) -> &str {
        &self.definition.title
    }

    /// Whether calling it twice is as good as once.
    pub fn is_idempotent(&self) -> bool {
        self.definition
            .annotations
            .as_ref()
            .is_some_and(|hints| hints.idempotent_hint)
    }

    /// Whether it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.definition
            .annotations
            .as_ref()
            .is_some_and(|hints| hints.read_only_hint)
    }
}
