//! A reply that comes as numbered blocks, the way Anthropic and Bedrock stream it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use deft_types::{RedactedThinkingBlock, SignedThinking, ThinkingBlock};

use crate::claude::Place;
use crate::{Delta, ModelError};

/// How much of unfinished blocks is held at most, in bytes.
const MAX_HELD_BYTES: usize = 32 * 1024 * 1024;

/// How many blocks may be unfinished at a time; servers have one.
const MAX_OPEN: usize = 64;

/// Makes deltas of what happens to the blocks of a reply.
#[derive(Default)]
pub(crate) struct Blocks {
    open: BTreeMap<u64, Block>,
    calls: usize,
    held: usize,
    /// Bytes of text so far.
    spoken: usize,
    deltas: Vec<Delta>,
}

/// A block that has not ended. Text needs none.
enum Block {
    Thinking {
        place: Place,
        text: String,
        signature: String,
    },
    Redacted {
        place: Place,
        data: String,
    },
    Call {
        number: usize,
        /// What the block began with: the arguments, if no piece of them follows.
        input: String,
    },
}

impl Blocks {
    /// More text.
    pub(crate) fn text(&mut self, piece: String) {
        if !piece.is_empty() {
            self.spoken += piece.len();
            self.deltas.push(Delta::Text(piece));
        }
    }

    /// More readable reasoning.
    pub(crate) fn thinking(&mut self, index: u64, piece: String) -> Result<(), ModelError> {
        let place = self.place();
        let new = || Block::thinking(place);
        if let Block::Thinking { text, .. } = self.room(index, &piece)?.or_insert_with(new) {
            text.push_str(&piece);
        }
        if !piece.is_empty() {
            self.deltas.push(Delta::Reasoning(piece));
        }
        Ok(())
    }

    /// More of the signature of readable reasoning.
    pub(crate) fn signature(&mut self, index: u64, piece: &str) -> Result<(), ModelError> {
        let place = self.place();
        let new = || Block::thinking(place);
        if let Block::Thinking { signature, .. } = self.room(index, piece)?.or_insert_with(new) {
            signature.push_str(piece);
        }
        Ok(())
    }

    /// More reasoning that is not shown.
    pub(crate) fn redacted(&mut self, index: u64, piece: &str) -> Result<(), ModelError> {
        let place = self.place();
        let new = || Block::Redacted {
            place,
            data: String::new(),
        };
        if let Block::Redacted { data, .. } = self.room(index, piece)?.or_insert_with(new) {
            data.push_str(piece);
        }
        Ok(())
    }

    /// A tool call begins. `input` is what its arguments are, if no piece of them follows.
    pub(crate) fn call(
        &mut self,
        index: u64,
        id: String,
        name: String,
        input: String,
    ) -> Result<(), ModelError> {
        // A server that does not number its blocks does not end them either.
        self.stop(index);
        let number = self.calls;
        self.calls += 1;
        self.room(index, &input)?
            .insert_entry(Block::Call { number, input });
        self.deltas
            .push(call_piece(number, Some(id), Some(name), String::new()));
        Ok(())
    }

    /// More of a call's arguments. Those of a block that is not known are not for us.
    pub(crate) fn arguments(&mut self, index: u64, piece: String) {
        if let Some(Block::Call { number, input }) = self.open.get_mut(&index)
            && !piece.is_empty()
        {
            input.clear();
            self.deltas.push(call_piece(*number, None, None, piece));
        }
    }

    /// A block is whole.
    pub(crate) fn stop(&mut self, index: u64) {
        match self.open.remove(&index) {
            // Without a signature the provider would not take it back.
            Some(Block::Thinking {
                place,
                text,
                signature,
            }) if !signature.is_empty() => {
                let block = SignedThinking {
                    thinking: text,
                    signature: Some(signature),
                    extra: place.kept(),
                };
                self.deltas.push(Delta::Thinking(ThinkingBlock::Thinking(block)));
            }
            Some(Block::Redacted { place, data }) if !data.is_empty() => {
                let block = RedactedThinkingBlock {
                    data,
                    extra: place.kept(),
                };
                self.deltas
                    .push(Delta::Thinking(ThinkingBlock::RedactedThinking(block)));
            }
            Some(Block::Call { number, input }) if !input.is_empty() => {
                self.deltas.push(call_piece(number, None, None, input));
            }
            Some(Block::Thinking { .. } | Block::Redacted { .. } | Block::Call { .. }) | None => {}
        }
    }

    /// Ends what the server forgot to end.
    pub(crate) fn stop_all(&mut self) {
        while let Some(index) = self.open.keys().next().copied() {
            self.stop(index);
        }
    }

    /// The deltas since the last time.
    pub(crate) fn take(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.deltas)
    }

    /// Whether the reply calls tools.
    pub(crate) fn calls_tools(&self) -> bool {
        self.calls > 0
    }

    /// Whether the reply says or does nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.spoken == 0 && self.calls == 0
    }

    /// Where a block stands that begins now.
    fn place(&self) -> Place {
        Place {
            text: self.spoken,
            calls: self.calls,
        }
    }

    /// The room for the block of that number, if there is room for another piece.
    fn room(&mut self, index: u64, piece: &str) -> Result<Entry<'_, u64, Block>, ModelError> {
        self.held += piece.len();
        if self.held > MAX_HELD_BYTES || self.open.len() >= MAX_OPEN {
            return Err(ModelError::Protocol {
                detail: format!("it has blocks of more than {MAX_HELD_BYTES} bytes, or too many at a time"),
            });
        }
        Ok(self.open.entry(index))
    }
}

impl Block {
    fn thinking(place: Place) -> Self {
        Self::Thinking {
            place,
            text: String::new(),
            signature: String::new(),
        }
    }
}

fn call_piece(index: usize, id: Option<String>, name: Option<String>, arguments: String) -> Delta {
    Delta::ToolCall {
        index,
        id,
        name,
        arguments,
        item_id: None,
    }
}
