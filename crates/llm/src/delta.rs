//! The pieces a reply arrives in.

use std::time::Duration;

use deft_types::{Money, ReasoningItem, ThinkingBlock, Tokens};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{OtherUse, PrefixChange};

/// One piece of a reply.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// The reply begins; left out where the provider gives it no id.
    Started {
        /// The provider's id of the reply.
        response_id: String,
    },
    /// More text for the person.
    Text(String),
    /// More of the model's reasoning.
    Reasoning(String),
    /// More of a tool call. The first piece of a call carries its id and name.
    ToolCall {
        /// Which of the reply's calls, from 0.
        index: usize,
        /// The provider's id of the call.
        id: Option<String>,
        /// The tool.
        name: Option<String>,
        /// The next part of the arguments' JSON text.
        arguments: String,
        /// The id of the item in the Responses API, which names items and calls apart.
        item_id: Option<String>,
    },
    /// A whole block of signed reasoning, to be sent back unaltered. Its text came as [`Delta::Reasoning`].
    Thinking(ThinkingBlock),
    /// A whole reasoning item of the Responses API, to be sent back unaltered.
    ReasoningItem(ReasoningItem),
    /// What the call used, with its cost; the last one of each attempt counts.
    Usage(Usage),
    /// The attempt failed and another follows: forget every piece so far. Whoever watches is told how long it
    /// takes until then.
    Retry {
        /// Which attempt follows, from 2.
        attempt: u32,
        /// How long it is waited for.
        wait: Duration,
        /// Why the last one failed.
        reason: String,
    },
    /// What another model used on the way. A failed attempt does not void it.
    OtherUse(OtherUse),
    /// The provider's cache helped less than for the last request, for this reason.
    Prefix(PrefixChange),
    /// The reply is whole. Nothing follows.
    Finished(FinishReason),
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model had nothing more to say.
    Stop,
    /// It wants tools to be called.
    ToolCalls,
    /// It ran into the limit of its output: the reply is cut off.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
}

/// Tokens that one call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// What went in, cached or not.
    pub prompt: Tokens,
    /// What came out, reasoning included.
    pub completion: Tokens,
    /// The share of the prompt that came from the provider's cache.
    pub cache_read: Tokens,
    /// The share of the prompt that was put into it.
    pub cache_write: Tokens,
    /// The share of the completion that was reasoning.
    pub reasoning: Tokens,
    /// What it cost, where the provider says so or whoever answered has a price. `None`: nobody knows.
    pub cost: Option<Money>,
}
