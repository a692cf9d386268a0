//! Signed parts of a reply other than calls: text, mostly. They are kept as they came, among the reply's thinking
//! blocks, and put back where they stood.

use deft_types::{Extra, Message, SignedThinking, ThinkingBlock};
use serde_json::{Value, json};

const PART: &str = "gemini_part";
const OFFSET: &str = "text_offset";

/// A block that keeps a part. `offset`: how many bytes of the reply's text came before it.
pub(super) fn keep(part: Value, offset: usize) -> ThinkingBlock {
    let mut extra = Extra::new();
    extra.insert(PART.to_owned(), part);
    extra.insert(OFFSET.to_owned(), json!(offset));
    ThinkingBlock::Thinking(SignedThinking {
        thinking: String::new(),
        // Other providers take a block without a signature for unsigned reasoning, which none of them wants back.
        signature: None,
        extra,
    })
}

/// The parts kept with a message, in order: each with the range of the message's text that it is itself.
pub(super) fn kept<'a>(message: &'a Message, text: &str) -> Vec<(std::ops::Range<usize>, &'a Value)> {
    let mut end = 0;
    message
        .thinking_blocks
        .iter()
        .filter_map(|block| match block {
            ThinkingBlock::Thinking(thinking) => Some(&thinking.extra),
            ThinkingBlock::RedactedThinking(_) => None,
        })
        .filter_map(|extra| Some((extra.get(OFFSET)?.as_u64()?, extra.get(PART)?)))
        .map(|(offset, part)| {
            let said = match &part["thought"] {
                Value::Bool(true) => "",
                _ => part["text"].as_str().unwrap_or_default(),
            };
            let start = usize::try_from(offset)
                .ok()
                .filter(|start| *start >= end)
                .filter(|start| text.get(*start..).is_some_and(|rest| rest.starts_with(said)));
            // Where the text is no longer the one it was, the part goes behind what is left of it.
            let range = start.map_or(text.len()..text.len(), |start| start..start + said.len());
            end = range.end;
            (range, part)
        })
        .collect()
}
