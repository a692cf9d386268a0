//! Makes deltas of the bytes of an answer.

#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;

use super::event::{BlockDelta, BlockStart, BlockStop, MessageStop, Metadata};
use super::frame::{Frame, FrameParser};
use crate::api::{AnswerReader, broken_off};
use crate::blocks::Blocks;
use crate::http::{excerpt, failure_of};
use crate::stop::finish_reason;
use crate::{Delta, ModelError, Usage};

/// The HTTP status that an exception within a stream stands for; any other is the server's own failure.
const EXCEPTIONS: &[(&str, u16)] = &[
    ("throttlingException", 429),
    ("validationException", 400),
    ("accessDeniedException", 403),
    ("modelTimeoutException", 408),
    ("serviceUnavailableException", 503),
];

/// The status of every other exception.
const SERVER_FAILURE: u16 = 500;

/// Reads an answer cut anywhere.
#[derive(Default)]
pub(super) struct ReplyReader {
    frames: FrameParser,
    blocks: Blocks,
    usage: Option<Usage>,
    stop_reason: Option<String>,
    done: bool,
}

impl AnswerReader for ReplyReader {
    fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, ModelError> {
        for frame in self.frames.feed(bytes) {
            // What follows the end is not the reply's.
            if self.done {
                break;
            }
            self.frame(&frame.map_err(|error| ModelError::Protocol {
                detail: format!("expected an AWS event stream, got {error}"),
            })?)?;
        }
        Ok(self.blocks.take())
    }

    fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        if !self.is_whole() {
            return Err(broken_off());
        }
        self.blocks.stop_all();
        let mut deltas = self.blocks.take();
        let finish = finish_reason(self.stop_reason.as_deref(), &self.blocks)?;
        deltas.extend(self.usage.map(Delta::Usage));
        deltas.push(Delta::Finished(finish));
        Ok(deltas)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn is_whole(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl ReplyReader {
    fn frame(&mut self, frame: &Frame) -> Result<(), ModelError> {
        match frame.header(":message-type") {
            Some("exception") => return Err(exception(frame.header(":exception-type"), frame)),
            Some("error") => return Err(exception(frame.header(":error-code"), frame)),
            _ => {}
        }
        match frame.header(":event-type") {
            Some("contentBlockStart") => self.start(read(frame)?),
            Some("contentBlockDelta") => self.grow(read(frame)?),
            Some("contentBlockStop") => {
                let stop: BlockStop = read(frame)?;
                self.blocks.stop(stop.content_block_index);
                Ok(())
            }
            Some("messageStop") => {
                let stop: MessageStop = read(frame)?;
                self.stop_reason = Some(stop.stop_reason);
                Ok(())
            }
            Some("metadata") => {
                let metadata: Metadata = read(frame)?;
                self.usage = metadata.usage.map(Usage::from);
                // It is the last of them.
                self.done = self.is_whole();
                Ok(())
            }
            // `messageStart`, and whatever a later version adds.
            _ => Ok(()),
        }
    }

    fn start(&mut self, event: BlockStart) -> Result<(), ModelError> {
        match event.start.and_then(|start| start.tool_use) {
            Some(call) => {
                let nothing = "{}".to_owned();
                self.blocks
                    .call(event.content_block_index, call.tool_use_id, call.name, nothing)
            }
            None => Ok(()),
        }
    }

    fn grow(&mut self, event: BlockDelta) -> Result<(), ModelError> {
        let index = event.content_block_index;
        if let Some(text) = event.delta.text {
            self.blocks.text(text);
        }
        if let Some(call) = event.delta.tool_use {
            self.blocks.arguments(index, call.input);
        }
        if let Some(reasoning) = event.delta.reasoning_content {
            if let Some(text) = reasoning.text {
                self.blocks.thinking(index, text)?;
            }
            if let Some(signature) = reasoning.signature {
                self.blocks.signature(index, &signature)?;
            }
            if let Some(data) = reasoning.redacted_content {
                self.blocks.redacted(index, &data)?;
            }
        }
        Ok(())
    }
}

fn read<T: DeserializeOwned>(frame: &Frame) -> Result<T, ModelError> {
    serde_json::from_slice(&frame.payload).map_err(|error| ModelError::Protocol {
        detail: format!(
            "expected an event of a message ({error}), got: {}",
            excerpt(&String::from_utf8_lossy(&frame.payload))
        ),
    })
}

/// A failure within a stream that began well.
fn exception(name: Option<&str>, frame: &Frame) -> ModelError {
    let name = name.unwrap_or_default();
    let status = EXCEPTIONS
        .iter()
        .find_map(|(known, status)| known.eq_ignore_ascii_case(name).then_some(*status))
        .unwrap_or(SERVER_FAILURE);
    let payload = String::from_utf8_lossy(&frame.payload);
    let text = match frame.header(":error-message") {
        Some(message) => message,
        None if payload.trim().is_empty() => name,
        None => &payload,
    };
    failure_of(Some(status), None, text)
}
