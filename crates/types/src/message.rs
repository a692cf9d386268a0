//! Messages between a person, an agent and a model.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::content::{Content, text_of};
use crate::tagged::Extra;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions to the model.
    System,
    /// The person, or the harness on their behalf.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

/// One message of the exchange with a model.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    #[serde(default)]
    pub content: Vec<Content>,
    /// Calls that an assistant's message makes.
    pub tool_calls: Option<Vec<ToolCall>>,
    /// The call that a tool's message answers.
    pub tool_call_id: Option<String>,
    /// The tool that answers.
    pub name: Option<String>,
    /// The model's reasoning, where it shows it.
    pub reasoning_content: Option<String>,
    /// Signed reasoning, to be sent back unaltered.
    #[serde(default)]
    pub thinking_blocks: Vec<ThinkingBlock>,
    /// A reasoning item of the Responses API, to be sent back unaltered.
    pub responses_reasoning_item: Option<ReasoningItem>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Message {
    /// A message that is only text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, vec![Content::text(text)])
    }

    /// A message of several parts.
    pub fn new(role: Role, content: Vec<Content>) -> Self {
        Self {
            role,
            content,
            tool_calls: None,
            tool_call_id: None,
            name: None,
            reasoning_content: None,
            thinking_blocks: Vec::new(),
            responses_reasoning_item: None,
            extra: Extra::new(),
        }
    }

    /// All its text.
    pub fn plain_text(&self) -> String {
        text_of(&self.content)
    }
}

/// A model's wish to call a tool. The arguments are the model's own text, which may not be valid JSON.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Chosen by the provider; the result must carry it.
    pub id: String,
    /// The item's own id in the Responses API.
    pub responses_item_id: Option<String>,
    /// The tool.
    pub name: String,
    /// Its arguments, as JSON text.
    pub arguments: String,
    /// The API it came by.
    pub origin: ToolCallOrigin,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// The API a tool call came by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallOrigin {
    /// Chat completions, and every API like it.
    #[default]
    Completion,
    /// The Responses API.
    Responses,
}

/// Reasoning that a provider signed. Never to be altered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ThinkingBlock {
    /// Readable reasoning.
    Thinking(SignedThinking),
    /// Reasoning the provider keeps to itself.
    RedactedThinking(RedactedThinkingBlock),
}

/// Readable reasoning with its signature.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignedThinking {
    /// The reasoning.
    pub thinking: String,
    /// Proves to the provider that it was not altered.
    pub signature: Option<String>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Encrypted reasoning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RedactedThinkingBlock {
    /// Opaque to us.
    pub data: String,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A reasoning item of the Responses API. Never to be altered.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReasoningItem {
    /// The item's id.
    pub id: Option<String>,
    /// Summaries for people.
    #[serde(default)]
    pub summary: Vec<String>,
    /// The reasoning, where it is shown.
    pub content: Option<Vec<String>>,
    /// The reasoning, where it is not.
    pub encrypted_content: Option<String>,
    /// How far the item is.
    pub status: Option<String>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}
