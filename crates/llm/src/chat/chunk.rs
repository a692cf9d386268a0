//! What a server sends: one chunk of a stream, or the whole reply, which has almost the same form.
//!
//! Servers differ in what they leave out and what they add, so every field is optional.

use deft_types::{Money, Tokens};
use serde::Deserialize;
use serde_json::Value;

use crate::{FinishReason, Usage};

#[derive(Deserialize)]
pub(super) struct Chunk {
    pub(super) id: Option<String>,
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Option<WireUsage>,
    /// A failure within a stream that began well.
    pub(super) error: Option<Value>,
    /// `error`: the chunk itself is the failure.
    pub(super) object: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Choice {
    /// The next piece of a stream.
    pub(super) delta: Option<Piece>,
    /// The whole reply, where it is not streamed.
    pub(super) message: Option<Piece>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct Piece {
    /// Text, or a list of parts.
    content: Option<Value>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    /// Another server's word for it.
    reasoning: Option<String>,
    /// Reasoning with its signatures.
    pub(super) reasoning_details: Option<Value>,
    pub(super) tool_calls: Option<Vec<CallPiece>>,
}

impl Piece {
    /// Its text, and its reasoning.
    pub(super) fn words(&self) -> (String, String) {
        let mut text = String::new();
        let mut reasoning = String::new();
        match &self.content {
            Some(Value::String(content)) => text.push_str(content),
            Some(Value::Array(parts)) => {
                for part in parts {
                    let (into, inner) = match part.get("thinking") {
                        Some(Value::Array(thoughts)) => (&mut reasoning, thoughts.as_slice()),
                        _ => (&mut text, std::slice::from_ref(part)),
                    };
                    for item in inner {
                        into.push_str(item.get("text").and_then(Value::as_str).unwrap_or_default());
                    }
                }
            }
            _ => {}
        }
        text.push_str(self.refusal.as_deref().unwrap_or_default());
        let shown = self.reasoning_content.as_ref().or(self.reasoning.as_ref());
        reasoning.push_str(shown.map_or("", String::as_str));
        (text, reasoning)
    }
}

#[derive(Deserialize)]
pub(super) struct CallPiece {
    pub(super) index: Option<usize>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionPiece>,
    /// Where Google puts the signature.
    pub(super) extra_content: Option<Value>,
}

#[derive(Default, Deserialize)]
pub(super) struct FunctionPiece {
    pub(super) name: Option<String>,
    /// JSON text; a few servers send the JSON itself.
    arguments: Option<Value>,
}

impl FunctionPiece {
    pub(super) fn arguments(&self) -> String {
        match &self.arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(json) => json.to_string(),
        }
    }
}

/// Why the reply ended, by the words of several servers.
pub(super) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" | "safety" => FinishReason::ContentFilter,
        _ => FinishReason::Stop,
    }
}

#[derive(Deserialize)]
pub(super) struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// One provider's place for it.
    cached_tokens: Option<u64>,
    /// Another provider's.
    prompt_cache_hit_tokens: Option<u64>,
    /// What proxies make of Anthropic's.
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    /// Dollars, where a provider names them.
    cost: Option<Value>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let prompt = wire.prompt_tokens_details.as_ref();
        let tokens = |count: Option<u64>| Tokens(count.unwrap_or_default());
        Self {
            prompt: tokens(wire.prompt_tokens),
            completion: tokens(wire.completion_tokens),
            cache_read: tokens(
                prompt
                    .and_then(|details| details.cached_tokens)
                    .or(wire.cached_tokens)
                    .or(wire.prompt_cache_hit_tokens)
                    .or(wire.cache_read_input_tokens),
            ),
            cache_write: tokens(
                prompt
                    .and_then(|details| details.cache_write_tokens)
                    .or(wire.cache_creation_input_tokens),
            ),
            reasoning: tokens(
                wire.completion_tokens_details
                    .and_then(|details| details.reasoning_tokens),
            ),
            cost: wire.cost.and_then(|cost| Money::try_from(cost.as_f64()?).ok()),
        }
    }
}
