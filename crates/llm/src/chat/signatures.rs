//! What a server signed and misses if it does not come back: `OpenRouter`'s details of reasoning, and what Google
//! adds to calls. Both are kept as they came, in one block among the reply's thinking.

use deft_types::{Extra, Message, SignedThinking, ThinkingBlock};
use serde_json::Value;

use crate::{Delta, ModelError};

const DETAILS: &str = "reasoning_details";
const CALLS: &str = "calls_extra_content";

/// How much is kept at most, in bytes.
const MAX_HELD_BYTES: usize = 32 * 1024 * 1024;

/// Those of a reply that is not whole yet.
#[derive(Default)]
pub(super) struct Signatures {
    details: Vec<Value>,
    /// By the number of the call.
    calls: Extra,
    held: usize,
}

impl Signatures {
    /// More details of reasoning. Readable ones come in pieces.
    pub(super) fn add_details(&mut self, pieces: Vec<Value>) -> Result<(), ModelError> {
        for piece in pieces {
            self.grow(&piece)?;
            match self.details.last_mut() {
                Some(last) if goes_on(last, &piece) => join(last, piece),
                _ => self.details.push(piece),
            }
        }
        Ok(())
    }

    /// What came with a call.
    pub(super) fn add_call(&mut self, index: usize, content: Value) -> Result<(), ModelError> {
        self.grow(&content)?;
        self.calls.insert(index.to_string(), content);
        Ok(())
    }

    /// The block that keeps them, if anything is signed.
    pub(super) fn take(&mut self) -> Option<Delta> {
        let mut extra = Extra::new();
        let is_signed = |detail: &Value| detail["signature"].is_string() || detail["data"].is_string();
        if self.details.iter().any(is_signed) {
            let details = std::mem::take(&mut self.details);
            extra.insert(DETAILS.to_owned(), Value::Array(details));
        }
        if !self.calls.is_empty() {
            let calls = std::mem::take(&mut self.calls);
            extra.insert(CALLS.to_owned(), calls.into_iter().collect());
        }
        let block = SignedThinking {
            thinking: String::new(),
            // Other providers do not want a block without a signature.
            signature: None,
            extra,
        };
        (!block.extra.is_empty()).then_some(Delta::Thinking(ThinkingBlock::Thinking(block)))
    }

    fn grow(&mut self, value: &Value) -> Result<(), ModelError> {
        self.held += value.to_string().len();
        if self.held > MAX_HELD_BYTES {
            return Err(ModelError::Protocol {
                detail: format!("its signed reasoning is longer than {MAX_HELD_BYTES} bytes"),
            });
        }
        Ok(())
    }
}

fn goes_on(last: &Value, piece: &Value) -> bool {
    matches!(
        piece["type"].as_str(),
        Some("reasoning.text" | "reasoning.summary")
    ) && ["type", "index"].iter().all(|name| last[name] == piece[name])
}

fn join(last: &mut Value, piece: Value) {
    let Value::Object(fields) = piece else { return };
    for (name, value) in fields {
        match (&mut last[&name], value) {
            (_, Value::Null) => {}
            (Value::String(text), Value::String(more)) if matches!(name.as_str(), "text" | "summary") => {
                text.push_str(&more);
            }
            (field, value) => *field = value,
        }
    }
}

/// The details of reasoning that a message keeps.
pub(super) fn details(message: &Message) -> Option<&Value> {
    kept(message, DETAILS)
}

/// What a message keeps of the call of that number.
pub(super) fn of_call(message: &Message, index: usize) -> Option<&Value> {
    kept(message, CALLS)?.get(index.to_string())
}

fn kept<'a>(message: &'a Message, name: &str) -> Option<&'a Value> {
    message.thinking_blocks.iter().find_map(|block| match block {
        ThinkingBlock::Thinking(thinking) => thinking.extra.get(name),
        ThinkingBlock::RedactedThinking(_) => None,
    })
}
