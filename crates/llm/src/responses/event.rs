//! What a server sends: one event of a stream, and the response that some of them carry.
//!
//! Every field is optional: servers that imitate the API leave some out.

use deft_types::{Money, Tokens};
use serde::Deserialize;
use serde_json::Value;

use crate::Usage;

#[derive(Deserialize)]
pub(super) struct Event {
    pub(super) r#type: Option<String>,
    /// The place of the item that it is about.
    pub(super) output_index: Option<usize>,
    /// The id of that item.
    pub(super) item_id: Option<String>,
    /// Which of several summaries.
    pub(super) summary_index: Option<usize>,
    pub(super) item: Option<Value>,
    /// More text or arguments.
    delta: Option<Value>,
    /// All arguments.
    pub(super) arguments: Option<String>,
    pub(super) response: Option<Response>,
}

impl Event {
    pub(super) fn delta(&self) -> &str {
        self.delta.as_ref().and_then(Value::as_str).unwrap_or_default()
    }
}

/// The reply as a whole; as far as it is.
#[derive(Deserialize)]
pub(super) struct Response {
    pub(super) id: Option<String>,
    pub(super) status: Option<String>,
    pub(super) output: Option<Vec<Value>>,
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<Value>,
    incomplete_details: Option<IncompleteDetails>,
}

impl Response {
    /// Why it is not whole, in the server's word.
    pub(super) fn incomplete_reason(&self) -> &str {
        self.incomplete_details
            .as_ref()
            .and_then(|details| details.reason.as_deref())
            .unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
    /// Dollars, where a provider names them.
    cost: Option<Value>,
}

#[derive(Default, Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let input = wire.input_tokens_details.unwrap_or_default();
        let output = wire.output_tokens_details.unwrap_or_default();
        let tokens = |count: Option<u64>| Tokens(count.unwrap_or_default());
        Self {
            prompt: tokens(wire.input_tokens),
            completion: tokens(wire.output_tokens),
            cache_read: tokens(input.cached_tokens),
            cache_write: tokens(input.cache_write_tokens),
            reasoning: tokens(output.reasoning_tokens),
            cost: wire.cost.and_then(|cost| Money::try_from(cost.as_f64()?).ok()),
        }
    }
}
