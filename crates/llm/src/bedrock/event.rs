//! What a server sends: the payloads of a stream's events, each with the name that its frame gives it.

use deft_types::Tokens;
use serde::Deserialize;

use crate::Usage;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BlockStart {
    #[serde(default)]
    pub(super) content_block_index: u64,
    pub(super) start: Option<Start>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Start {
    pub(super) tool_use: Option<ToolUseStart>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolUseStart {
    #[serde(default)]
    pub(super) tool_use_id: String,
    pub(super) name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BlockDelta {
    #[serde(default)]
    pub(super) content_block_index: u64,
    pub(super) delta: Piece,
}

/// What a block grows by: one of these.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Piece {
    pub(super) text: Option<String>,
    pub(super) tool_use: Option<ToolUsePiece>,
    pub(super) reasoning_content: Option<ReasoningPiece>,
}

#[derive(Deserialize)]
pub(super) struct ToolUsePiece {
    #[serde(default)]
    pub(super) input: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReasoningPiece {
    pub(super) text: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) redacted_content: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BlockStop {
    #[serde(default)]
    pub(super) content_block_index: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageStop {
    pub(super) stop_reason: String,
}

#[derive(Deserialize)]
pub(super) struct Metadata {
    pub(super) usage: Option<WireUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    #[serde(rename = "inputTokens")]
    input: u64,
    #[serde(rename = "outputTokens")]
    output: u64,
    #[serde(rename = "cacheReadInputTokens")]
    cache_read: u64,
    #[serde(rename = "cacheWriteInputTokens")]
    cache_write: u64,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let cache_read = Tokens(wire.cache_read);
        let cache_write = Tokens(wire.cache_write);
        Self {
            // Theirs is only what the cache has nothing to do with.
            prompt: Tokens(wire.input) + cache_read + cache_write,
            completion: Tokens(wire.output),
            cache_read,
            cache_write,
            ..Self::default()
        }
    }
}
