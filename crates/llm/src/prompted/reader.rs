//! Makes tool calls of what a model wrote.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::parser::{CallParser, Ending, Piece};
use crate::{Delta, FinishReason, ToolSchema};

/// Reads a reply, in which calls may stand as text, delta by delta.
pub(crate) struct CallReader {
    parser: CallParser,
    /// How many calls there were.
    calls: usize,
    /// The calls that the server found by itself, by its numbers: which calls of the reply they are.
    native: BTreeMap<usize, usize>,
}

impl CallReader {
    /// Of a model that was told how to write calls: whatever looks like one is meant as one.
    pub(crate) fn new(tools: Arc<[ToolSchema]>) -> Self {
        Self::of(CallParser::new(tools))
    }

    /// Of a model that was not: only a tool that it was offered can be meant.
    pub(crate) fn of_offered(tools: Arc<[ToolSchema]>) -> Self {
        Self::of(CallParser::of_offered(tools))
    }

    fn of(parser: CallParser) -> Self {
        Self {
            parser,
            calls: 0,
            native: BTreeMap::new(),
        }
    }

    /// What a delta says, as far as it can be told yet.
    pub(crate) fn read(&mut self, delta: Delta) -> Vec<Delta> {
        match delta {
            Delta::Text(text) => {
                let pieces = self.parser.feed(&text);
                self.deltas(pieces)
            }
            Delta::Finished(finish) => self.finish(finish),
            Delta::ToolCall {
                index,
                id,
                name,
                arguments,
                item_id,
            } => vec![Delta::ToolCall {
                index: self.number(index),
                id,
                name,
                arguments,
                item_id,
            }],
            delta => vec![delta],
        }
    }

    /// How much was written after the last call.
    pub(crate) fn stray_bytes(&self) -> usize {
        self.parser.stray_bytes()
    }

    fn finish(&mut self, finish: FinishReason) -> Vec<Delta> {
        let ending = match finish {
            FinishReason::Stop | FinishReason::ToolCalls => Ending::Whole,
            FinishReason::Length | FinishReason::ContentFilter => Ending::CutOff,
        };
        let pieces = self.parser.finish(ending);
        let mut deltas = self.deltas(pieces);
        deltas.push(Delta::Finished(match finish {
            FinishReason::Stop if self.parser.has_called() => FinishReason::ToolCalls,
            finish => finish,
        }));
        deltas
    }

    fn deltas(&mut self, pieces: Vec<Piece>) -> Vec<Delta> {
        let deltas = pieces.into_iter().map(|piece| match piece {
            Piece::Text(text) => Delta::Text(text),
            Piece::Reasoning(text) => Delta::Reasoning(text),
            Piece::Call { name, arguments } => Delta::ToolCall {
                index: self.next(),
                id: None,
                name: Some(name),
                arguments,
                item_id: None,
            },
        });
        deltas.collect()
    }

    /// The number of a call that the server found, among all calls of the reply.
    fn number(&mut self, index: usize) -> usize {
        if let Some(number) = self.native.get(&index) {
            return *number;
        }
        let number = self.next();
        self.native.insert(index, number);
        number
    }

    fn next(&mut self) -> usize {
        self.calls += 1;
        self.calls - 1
    }
}
