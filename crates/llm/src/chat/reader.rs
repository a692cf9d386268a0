//! Makes deltas of the bytes of an answer.

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::chunk::{CallPiece, Chunk, finish_reason};
use super::signatures::Signatures;
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
    /// A choice has come: there is something of a reply.
    answered: bool,
    /// The calls so far, as the server numbers and names them.
    calls: Vec<(Option<usize>, Option<String>)>,
    signatures: Signatures,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
    done: bool,
}

impl JsonReader for Reader {
    fn event(&mut self, data: &str, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        match data.trim() {
            _ if self.done => Ok(()), // what follows the end is not the reply's
            "" => Ok(()),
            "[DONE]" => {
                self.done = true;
                Ok(())
            }
            data => self.chunk(data, deltas),
        }
    }

    fn whole(&mut self, json: &str, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        self.event(json, deltas)?;
        self.done = true;
        Ok(())
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<FinishReason, ModelError> {
        let finish = match self.finish {
            // Some servers say `stop` after calls too.
            Some(FinishReason::Stop) | None if !self.calls.is_empty() && self.is_whole() => {
                FinishReason::ToolCalls
            }
            Some(finish) => finish,
            None if self.done && self.answered => FinishReason::Stop,
            None if self.done => {
                return Err(ModelError::Protocol {
                    detail: "it holds no reply".to_owned(),
                });
            }
            None => return Err(broken_off()),
        };
        deltas.extend(self.signatures.take());
        Ok(finish)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some() || self.done
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl Reader {
    fn chunk(&mut self, json: &str, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        let chunk: Chunk = serde_json::from_str(json).map_err(|error| ModelError::Protocol {
            detail: format!("expected a chat completion ({error}), got: {}", excerpt(json)),
        })?;
        if chunk.error.is_some_and(|error| !error.is_null()) || chunk.object.as_deref() == Some("error") {
            return Err(failure_of(None, None, json));
        }
        if !self.started
            && let Some(response_id) = chunk.id.filter(|id| !id.is_empty())
        {
            self.started = true;
            deltas.push(Delta::Started { response_id });
        }
        if let Some(usage) = chunk.usage {
            self.usage = Some(usage.into());
        }
        // We ask for one choice; there is no other.
        let Some(choice) = chunk.choices.into_iter().flatten().next() else {
            return Ok(());
        };
        self.answered = true;
        if let Some(piece) = choice.delta.or(choice.message) {
            let (text, reasoning) = piece.words();
            if !reasoning.is_empty() {
                deltas.push(Delta::Reasoning(reasoning));
            }
            if !text.is_empty() {
                deltas.push(Delta::Text(text));
            }
            if let Some(Value::Array(details)) = piece.reasoning_details {
                self.signatures.add_details(details)?;
            }
            for call in piece.tool_calls.into_iter().flatten() {
                deltas.push(self.call(call)?);
            }
        }
        if let Some(word) = choice.finish_reason.filter(|word| !word.is_empty()) {
            self.finish = Some(finish_reason(&word));
        }
        Ok(())
    }

    /// Finds which call a piece belongs to. Servers leave out the index, or repeat it for another call with
    /// another id; both begin a new call.
    fn call(&mut self, piece: CallPiece) -> Result<Delta, ModelError> {
        let id = piece.id.filter(|id| !id.is_empty());
        let function = piece.function.unwrap_or_default();
        let arguments = function.arguments();
        let name = function.name.filter(|name| !name.is_empty());
        let known = match piece.index {
            Some(_) => self.calls.iter().rposition(|(index, _)| *index == piece.index),
            None => self
                .calls
                .len()
                .checked_sub(1)
                .filter(|_| name.is_none() || id.is_some()),
        };
        let same = known
            .filter(|known| id.is_none() || self.calls[*known].1.is_none() || self.calls[*known].1 == id);
        let index = same.unwrap_or_else(|| {
            self.calls.push((piece.index, None));
            self.calls.len() - 1
        });
        if id.is_some() {
            self.calls[index].1.clone_from(&id);
        }
        if let Some(content) = piece.extra_content {
            self.signatures.add_call(index, content)?;
        }
        Ok(Delta::ToolCall {
            index,
            id,
            name,
            arguments,
            item_id: None,
        })
    }
}
