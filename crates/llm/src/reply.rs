//! A whole reply, put together from its pieces.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use deft_types::{Extra, Money, ReasoningItem, ThinkingBlock, ToolCall, ToolCallOrigin};
use futures::StreamExt;
use uuid::Uuid;

use crate::{Delta, FinishReason, Model, ModelError, PrefixChange, Request, Spent, Usage};

/// A reply may not be longer than this, in bytes of text, reasoning and arguments together.
const MAX_REPLY_BYTES: usize = 32 * 1024 * 1024;

/// A reply may not make more calls than this.
const MAX_TOOL_CALLS: usize = 256;

/// A whole reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The provider's id of it, or one of ours where the provider gives none.
    pub response_id: String,
    /// What the model says.
    pub text: String,
    /// Its reasoning, where it shows it.
    pub reasoning: Option<String>,
    /// Signed reasoning, to be sent back unaltered.
    pub thinking_blocks: Vec<ThinkingBlock>,
    /// The reasoning item of the Responses API, to be sent back unaltered.
    pub reasoning_item: Option<ReasoningItem>,
    /// The calls it makes, in its order. Each has an id; the arguments may not be valid JSON.
    pub tool_calls: Vec<ToolCall>,
    /// What it used.
    pub usage: Usage,
    /// What it cost, attempts that failed included, where anybody knows.
    pub cost: Option<Money>,
    /// Why the provider's cache helped less than for the last request, if it did.
    pub prefix_change: Option<PrefixChange>,
    /// Why it ended.
    pub finish: FinishReason,
    /// How long it took from the request to the last piece.
    pub latency: Duration,
}

/// Drives a stream to its end, showing each piece to `on_delta`. Dropping the future cancels the call.
pub async fn complete(
    model: &dyn Model,
    request: Request,
    mut on_delta: impl FnMut(&Delta),
) -> Result<Reply, ModelError> {
    let start = Instant::now();
    let mut draft = Draft::default();
    let mut deltas = model.stream(request);
    while let Some(delta) = deltas.next().await {
        let delta = delta?;
        on_delta(&delta);
        if let Some(finish) = draft.add(delta)? {
            return Ok(draft.into_reply(finish, start.elapsed()));
        }
    }
    Err(ModelError::Network {
        detail: "the reply broke off before its end".to_owned(),
    })
}

/// A reply that is not whole yet.
#[derive(Default)]
pub(crate) struct Draft {
    response_id: String,
    text: String,
    reasoning: String,
    thinking_blocks: Vec<ThinkingBlock>,
    reasoning_item: Option<ReasoningItem>,
    calls: Vec<ToolCall>,
    prefix_change: Option<PrefixChange>,
    spent: Spent,
    size: usize,
}

impl Draft {
    pub(crate) fn add(&mut self, delta: Delta) -> Result<Option<FinishReason>, ModelError> {
        self.spent.add(&delta);
        match delta {
            Delta::Started { response_id } => self.response_id = response_id,
            Delta::Text(piece) => {
                self.grow(&piece)?;
                self.text.push_str(&piece);
            }
            Delta::Reasoning(piece) => {
                self.grow(&piece)?;
                self.reasoning.push_str(&piece);
            }
            Delta::ToolCall {
                index,
                id,
                name,
                arguments,
                item_id,
            } => {
                self.grow(&arguments)?;
                let call = self.call(index)?;
                if let Some(id) = id {
                    call.id = id;
                }
                if let Some(name) = name {
                    call.name = name;
                }
                if item_id.is_some() {
                    call.responses_item_id = item_id;
                    call.origin = ToolCallOrigin::Responses;
                }
                call.arguments.push_str(&arguments);
            }
            Delta::Thinking(block) => self.thinking_blocks.push(block),
            Delta::ReasoningItem(item) => self.reasoning_item = Some(item),
            Delta::Retry { .. } => {
                *self = Self {
                    spent: std::mem::take(&mut self.spent),
                    ..Self::default()
                };
            }
            Delta::Prefix(change) => self.prefix_change = Some(change),
            Delta::Usage(_) | Delta::OtherUse(_) => {}
            Delta::Finished(finish) => return Ok(Some(finish)),
        }
        Ok(None)
    }

    fn grow(&mut self, piece: &str) -> Result<(), ModelError> {
        self.size += piece.len();
        if self.size > MAX_REPLY_BYTES {
            return Err(ModelError::Protocol {
                detail: format!("the reply is longer than {MAX_REPLY_BYTES} bytes"),
            });
        }
        Ok(())
    }

    fn call(&mut self, index: usize) -> Result<&mut ToolCall, ModelError> {
        if index >= MAX_TOOL_CALLS {
            return Err(ModelError::Protocol {
                detail: format!("the reply makes more than {MAX_TOOL_CALLS} tool calls"),
            });
        }
        while self.calls.len() <= index {
            self.calls.push(ToolCall {
                id: String::new(),
                responses_item_id: None,
                name: String::new(),
                arguments: String::new(),
                origin: ToolCallOrigin::Completion,
                extra: Extra::new(),
            });
        }
        Ok(&mut self.calls[index])
    }

    pub(crate) fn into_reply(mut self, finish: FinishReason, latency: Duration) -> Reply {
        // A gap in the numbering of calls is a call that nobody made.
        self.calls
            .retain(|call| !(call.name.is_empty() && call.arguments.is_empty()));
        for call in &mut self.calls {
            if call.id.is_empty() {
                call.id = format!("call_{}", Uuid::new_v4().simple());
            }
        }
        if self.response_id.is_empty() {
            self.response_id = format!("reply-{}", Uuid::new_v4().simple());
        }
        Reply {
            response_id: self.response_id,
            text: self.text,
            reasoning: Some(self.reasoning).filter(|reasoning| !reasoning.is_empty()),
            thinking_blocks: self.thinking_blocks,
            reasoning_item: self.reasoning_item,
            tool_calls: self.calls,
            cost: self.spent.cost(),
            usage: self.spent.usage().unwrap_or_default(),
            prefix_change: self.prefix_change,
            finish,
            latency,
        }
    }
}
