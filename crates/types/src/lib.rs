//! The words of the system: events, messages, actions, observations, ids, statuses, and their JSON.
//!
//! Pure data. Nothing here does I/O, knows of async, or depends on another crate of ours. Every type
//! reads and writes the wire format of the OpenHands agent server, and what it does not know (a new
//! field, a new kind) survives a round trip.
//!
//! Begin reading at [`Event`]: a conversation is an append-only log of them.

mod action;
mod address;
mod amount;
mod bash;
mod content;
mod event;
mod frame;
mod id;
mod mcp;
mod message;
mod observation;
mod secret;
mod security;
mod stats;
mod status;
mod tagged;
mod timestamp;
mod tool;

pub use action::*;
pub use address::{Network, is_public};
pub use amount::{BadMoney, Money, Tokens};
pub use bash::{BashCommand, BashError, BashEvent, BashOutput};
pub use content::{Content, ImageContent, TextContent, text_of};
pub use event::*;
pub use frame::{DeltaKind, SessionFrame};
pub use id::{ActionId, ConversationId, EventId, Seq, UserId};
pub use mcp::{McpApprovals, McpChange, McpPin, McpServerState, McpServerStatus};
pub use message::{
    Message, ReasoningItem, RedactedThinkingBlock, Role, SignedThinking, ThinkingBlock, ToolCall,
    ToolCallOrigin,
};
pub use observation::*;
pub use secret::Secret;
pub use security::{ConfirmationPolicy, SecurityAnalyzer};
pub use stats::{Cost, Latency, Metrics, OF_TASKS, Stats, TokenUsage};
pub use status::{SecurityRisk, Status};
pub use tagged::{Extra, Unknown};
pub use timestamp::Timestamp;
pub use tool::{ToolAnnotations, ToolDefinition, ToolSpec};
