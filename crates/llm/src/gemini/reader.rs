//! Makes deltas of the bytes of an answer.

#[cfg(test)]
mod tests;

use deft_types::Tokens;
use serde::Deserialize;
use serde_json::Value;

use super::{call_id, signed_part};
use crate::api::broken_off;
use crate::http::{excerpt, failure_of};
use crate::json_events::{JsonAnswer, JsonReader};
use crate::{Delta, FinishReason, ModelError, Usage};

/// Reads an answer cut anywhere.
pub(super) type ReplyReader = JsonAnswer<Reader>;

/// Reads the texts of an answer.
#[derive(Default)]
pub(super) struct Reader {
    started: bool,
    /// How many calls have come.
    calls: usize,
    /// How many bytes of text have come.
    text: usize,
    usage: Option<Usage>,
    /// The server's word for why the reply ended, and what it says about it.
    end: Option<(String, String)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    response_id: Option<String>,
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<WireContent>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct WireContent {
    parts: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
#[allow(clippy::struct_field_names)] // the wire's
struct WireUsage {
    prompt_token_count: u64,
    tool_use_prompt_token_count: u64,
    cached_content_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        Self {
            prompt: Tokens(wire.prompt_token_count + wire.tool_use_prompt_token_count),
            completion: Tokens(wire.candidates_token_count + wire.thoughts_token_count),
            cache_read: Tokens(wire.cached_content_token_count),
            cache_write: Tokens::ZERO,
            reasoning: Tokens(wire.thoughts_token_count),
            cost: None,
        }
    }
}

impl JsonReader for Reader {
    fn event(&mut self, data: &str, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if data.trim().is_empty() {
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| ModelError::Protocol {
            detail: format!("expected a part of a reply ({error}), got: {}", excerpt(data)),
        })?;
        if chunk.error.is_some_and(|error| !error.is_null()) {
            return Err(failure_of(None, None, data));
        }
        if let Some(feedback) = chunk.prompt_feedback
            && let Some(reason) = feedback.block_reason
        {
            let message = feedback.block_reason_message.unwrap_or_default();
            return Err(ModelError::ContentPolicy {
                detail: format!("the prompt was blocked ({reason}) {message}")
                    .trim()
                    .to_owned(),
            });
        }
        if !self.started
            && let Some(response_id) = chunk.response_id.filter(|id| !id.is_empty())
        {
            self.started = true;
            deltas.push(Delta::Started { response_id });
        }
        if let Some(usage) = chunk.usage_metadata {
            self.usage = Some(usage.into());
        }
        // We ask for one candidate; there is no other.
        let Some(candidate) = chunk.candidates.into_iter().flatten().next() else {
            return Ok(());
        };
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.into_iter().flatten() {
            self.part(part, deltas);
        }
        if let Some(word) = candidate.finish_reason.filter(|word| !word.is_empty()) {
            self.end = Some((word, candidate.finish_message.unwrap_or_default()));
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Vec<Delta>) -> Result<FinishReason, ModelError> {
        match &self.end {
            Some((word, message)) => self.finish_reason(word, message),
            None => Err(broken_off()),
        }
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn is_whole(&self) -> bool {
        self.end.is_some()
    }

    /// Nothing marks the end but the end of the answer itself.
    fn is_done(&self) -> bool {
        false
    }
}

impl Reader {
    fn part(&mut self, part: Value, deltas: &mut Vec<Delta>) {
        let signature = part["thoughtSignature"].as_str().filter(|text| !text.is_empty());
        if let Some(call) = part.get("functionCall").filter(|call| call.is_object()) {
            let arguments = match &call["args"] {
                Value::Null => "{}".to_owned(),
                args => args.to_string(),
            };
            deltas.push(Delta::ToolCall {
                index: self.calls,
                id: Some(call_id::kept(call["id"].as_str(), signature)),
                name: call["name"].as_str().map(str::to_owned),
                arguments,
                item_id: None,
            });
            self.calls += 1;
            return;
        }
        let offset = self.text;
        let text = part["text"].as_str().unwrap_or_default();
        match &part["thought"] {
            _ if text.is_empty() => {}
            Value::Bool(true) => deltas.push(Delta::Reasoning(text.to_owned())),
            _ => {
                self.text += text.len();
                deltas.push(Delta::Text(text.to_owned()));
            }
        }
        if signature.is_some() {
            deltas.push(Delta::Thinking(signed_part::keep(part, offset)));
        }
    }

    fn finish_reason(&self, word: &str, message: &str) -> Result<FinishReason, ModelError> {
        let said = |what: &str| format!("{what} ({word}) {message}").trim().to_owned();
        match word {
            "MAX_TOKENS" => Ok(FinishReason::Length),
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => {
                if self.text == 0 && self.calls == 0 {
                    let detail = said("the reply was withheld");
                    return Err(ModelError::ContentPolicy { detail });
                }
                Ok(FinishReason::ContentFilter)
            }
            // The model stumbled; asked again it mostly does better.
            "MALFORMED_FUNCTION_CALL"
            | "MALFORMED_RESPONSE"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS" => Err(ModelError::Unavailable {
                detail: said("the model wrote a call that its own server could not read"),
            }),
            "MISSING_THOUGHT_SIGNATURE" => Err(ModelError::MalformedHistory {
                detail: said("a call has lost its signature"),
            }),
            _ if self.calls > 0 => Ok(FinishReason::ToolCalls),
            _ => Ok(FinishReason::Stop),
        }
    }
}
