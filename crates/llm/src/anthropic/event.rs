//! What a server sends: one event of a stream, or the whole message.
//!
//! Servers that imitate the API leave fields out, so that nearly every one is optional.

use deft_types::Tokens;
use serde::Deserialize;
use serde_json::Value;

use crate::Usage;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    MessageStart {
        message: Message,
    },
    ContentBlockStart {
        #[serde(default)]
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        #[serde(default)]
        index: u64,
        delta: Piece,
    },
    ContentBlockStop {
        #[serde(default)]
        index: u64,
    },
    MessageDelta {
        delta: End,
        usage: Option<WireUsage>,
    },
    MessageStop,
    /// A failure within a stream that began well.
    Error,
    /// The whole reply, from a server that does not stream.
    Message(Message),
    /// `ping`, and whatever a later version adds.
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) id: Option<String>,
    pub(super) content: Option<Vec<Block>>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<WireUsage>,
}

#[derive(Deserialize)]
pub(super) struct End {
    pub(super) stop_reason: Option<String>,
}

/// A block as it begins, or as a whole.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        #[serde(default)]
        data: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Unknown,
}

/// What a block grows by.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Piece {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Unknown,
}

/// Counts so far; a later event may leave out what it has no news of.
#[derive(Clone, Copy, Default, Deserialize)]
pub(super) struct WireUsage {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
}

impl WireUsage {
    /// The counts after another event.
    pub(super) fn and(self, later: Self) -> Self {
        Self {
            input: self.input.max(later.input),
            output: self.output.max(later.output),
            cache_read: self.cache_read.max(later.cache_read),
            cache_write: self.cache_write.max(later.cache_write),
        }
    }
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let tokens = |count: Option<u64>| Tokens(count.unwrap_or_default());
        let cache_read = tokens(wire.cache_read);
        let cache_write = tokens(wire.cache_write);
        Self {
            // Theirs is only what the cache has nothing to do with.
            prompt: tokens(wire.input) + cache_read + cache_write,
            completion: tokens(wire.output),
            cache_read,
            cache_write,
            ..Self::default()
        }
    }
}
