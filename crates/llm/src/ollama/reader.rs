//! Makes deltas of the bytes of an answer: one JSON object a line.

#[cfg(test)]
mod tests;

use deft_types::Tokens;
use serde::Deserialize;
use serde_json::Value;

use crate::api::{AnswerReader, broken_off};
use crate::http::{excerpt, failure_of};
use crate::sse::MAX_EVENT_BYTES;
use crate::{Delta, FinishReason, ModelError, Usage};

/// Reads lines, cut anywhere.
#[derive(Default)]
pub(super) struct ReplyReader {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// How many calls have come.
    calls: usize,
    /// The last line, once it has come.
    end: Option<(FinishReason, Usage)>,
}

#[derive(Deserialize)]
struct Line {
    message: Option<Piece>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: u64,
    #[serde(default)]
    eval_count: u64,
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Piece {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl AnswerReader for ReplyReader {
    fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Delta>, ModelError> {
        let mut deltas = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend_line(&bytes[..end])?;
            bytes = &bytes[end + 1..];
            self.end_line(&mut deltas)?;
        }
        self.extend_line(bytes)?;
        Ok(deltas)
    }

    fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        let mut deltas = Vec::new();
        let is_json = self.line.trim_ascii().starts_with(b"{");
        match self.end_line(&mut deltas) {
            // A line of the stream that does not parse was cut off.
            Err(ModelError::Protocol { .. }) if is_json => {}
            other => other?,
        }
        let Some((finish, usage)) = self.end else {
            return Err(broken_off());
        };
        deltas.push(Delta::Usage(usage));
        deltas.push(Delta::Finished(finish));
        Ok(deltas)
    }

    fn usage(&self) -> Option<Usage> {
        self.end.map(|(_, usage)| usage)
    }

    fn is_whole(&self) -> bool {
        self.end.is_some()
    }

    /// The end of the answer follows at once; who reads it can use the connection again.
    fn is_done(&self) -> bool {
        false
    }
}

impl ReplyReader {
    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        if self.line.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(ModelError::Protocol {
                detail: format!("a line of more than {MAX_EVENT_BYTES} bytes"),
            });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        let text = || String::from_utf8_lossy(line);
        let line: Line = serde_json::from_slice(line).map_err(|error| ModelError::Protocol {
            detail: format!("expected a line of a reply ({error}), got: {}", excerpt(&text())),
        })?;
        if line.error.is_some_and(|error| !error.is_null()) {
            return Err(failure_of(None, None, &text()));
        }
        let piece = line.message.unwrap_or_default();
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        deltas.extend(filled(piece.thinking).map(Delta::Reasoning));
        deltas.extend(filled(piece.content).map(Delta::Text));
        for call in piece.tool_calls.into_iter().flatten() {
            deltas.push(Delta::ToolCall {
                index: self.calls,
                id: filled(call.id),
                name: Some(call.function.name),
                arguments: match call.function.arguments {
                    Value::Null => "{}".to_owned(),
                    Value::String(text) => text,
                    json => json.to_string(),
                },
                item_id: None,
            });
            self.calls += 1;
        }
        if line.done {
            let finish = match line.done_reason.as_deref() {
                Some("length") => FinishReason::Length,
                _ if self.calls > 0 => FinishReason::ToolCalls,
                _ => FinishReason::Stop,
            };
            let usage = Usage {
                prompt: Tokens(line.prompt_eval_count),
                completion: Tokens(line.eval_count),
                ..Usage::default()
            };
            self.end = Some((finish, usage));
        }
        Ok(())
    }
}
