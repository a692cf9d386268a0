//! Makes deltas of the bytes of an answer.

#[cfg(test)]
mod tests;

use super::event::{Block, Event, Message, Piece, WireUsage};
use crate::api::broken_off;
use crate::blocks::Blocks;
use crate::http::{excerpt, failure_of};
use crate::json_events::{JsonAnswer, JsonReader};
use crate::stop::finish_reason;
use crate::{Delta, FinishReason, ModelError, Usage};

/// Reads an answer cut anywhere.
pub(super) type ReplyReader = JsonAnswer<Reader>;

/// Reads the texts of an answer.
#[derive(Default)]
pub(super) struct Reader {
    blocks: Blocks,
    usage: Option<WireUsage>,
    stop_reason: Option<String>,
    done: bool,
}

impl JsonReader for Reader {
    fn event(&mut self, json: &str, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        // Proxies add a mark of their own after the end.
        if self.done {
            return Ok(());
        }
        let event = serde_json::from_str(json).map_err(|error| ModelError::Protocol {
            detail: format!("expected an event of a message ({error}), got: {}", excerpt(json)),
        })?;
        match event {
            Event::MessageStart { message } => self.message(message, deltas)?,
            Event::Message(message) => {
                self.message(message, deltas)?;
                self.done = true;
            }
            Event::ContentBlockStart { index, content_block } => self.start(index, content_block)?,
            Event::ContentBlockDelta { index, delta } => self.grow(index, delta)?,
            Event::ContentBlockStop { index } => self.blocks.stop(index),
            Event::MessageDelta { delta, usage } => self.stop(delta.stop_reason, usage),
            Event::MessageStop => self.done = true,
            Event::Error => return Err(failure_of(None, None, json)),
            Event::Unknown => {}
        }
        deltas.extend(self.blocks.take());
        Ok(())
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<FinishReason, ModelError> {
        if !self.is_whole() {
            return Err(broken_off());
        }
        self.blocks.stop_all();
        deltas.extend(self.blocks.take());
        finish_reason(self.stop_reason.as_deref(), &self.blocks)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage.map(Usage::from)
    }

    fn is_whole(&self) -> bool {
        self.stop_reason.is_some() || self.done
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl Reader {
    /// A message that begins, or a whole one.
    fn message(&mut self, message: Message, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if let Some(response_id) = message.id.filter(|id| !id.is_empty()) {
            deltas.push(Delta::Started { response_id });
        }
        for (index, block) in (0..).zip(message.content.into_iter().flatten()) {
            self.start(index, block)?;
            self.blocks.stop(index);
        }
        self.stop(message.stop_reason, message.usage);
        Ok(())
    }

    fn start(&mut self, index: u64, block: Block) -> Result<(), ModelError> {
        match block {
            Block::Text { text } => {
                self.blocks.text(text);
                Ok(())
            }
            Block::Thinking { thinking, signature } => {
                self.blocks.thinking(index, thinking)?;
                self.blocks.signature(index, &signature)
            }
            Block::RedactedThinking { data } => self.blocks.redacted(index, &data),
            Block::ToolUse { id, name, input } => {
                let input = if input.is_null() {
                    String::new()
                } else {
                    input.to_string()
                };
                self.blocks.call(index, id, name, input)
            }
            Block::Unknown => Ok(()),
        }
    }

    fn grow(&mut self, index: u64, piece: Piece) -> Result<(), ModelError> {
        match piece {
            Piece::TextDelta { text } => {
                self.blocks.text(text);
                Ok(())
            }
            Piece::ThinkingDelta { thinking } => self.blocks.thinking(index, thinking),
            Piece::SignatureDelta { signature } => self.blocks.signature(index, &signature),
            Piece::InputJsonDelta { partial_json } => {
                self.blocks.arguments(index, partial_json);
                Ok(())
            }
            Piece::Unknown => Ok(()),
        }
    }

    fn stop(&mut self, stop_reason: Option<String>, usage: Option<WireUsage>) {
        self.stop_reason = stop_reason.or(self.stop_reason.take());
        if let Some(usage) = usage {
            self.usage = Some(self.usage.unwrap_or_default().and(usage));
        }
    }
}
