//! Where reasoning stood in a reply. Signed reasoning is refused anywhere else, and a message keeps text, calls and
//! reasoning apart; so each block that does not come first carries its place.

use std::borrow::Cow;

use deft_types::{Content, Extra, ImageContent, Message, ThinkingBlock, ToolCall};
use serde_json::{Value, json};

use super::signed;

const PLACE: &str = "deft_place";

/// What came before a block of reasoning.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Place {
    /// Bytes of text.
    pub(crate) text: usize,
    /// Calls.
    pub(crate) calls: usize,
}

impl Place {
    /// What a block at this place keeps.
    pub(crate) fn kept(self) -> Extra {
        let mut extra = Extra::new();
        if self != Self::default() {
            extra.insert(
                PLACE.to_owned(),
                json!({ "text": self.text, "calls": self.calls }),
            );
        }
        extra
    }

    /// The text before and after this place, if it is within the rest of a text of which so much was spoken.
    fn within(self, spoken: usize, rest: &str) -> Option<(&str, &str)> {
        let at = self.text.saturating_sub(spoken);
        let is_within = self.calls == 0 && at < rest.len();
        rest.split_at_checked(at).filter(|_| is_within)
    }

    fn of(block: &ThinkingBlock) -> Self {
        let number = |name: &str| {
            let number = extra(block).get(PLACE)?.get(name).and_then(Value::as_u64)?;
            usize::try_from(number).ok()
        };
        Self {
            text: number("text").unwrap_or(0),
            calls: number("calls").unwrap_or(0),
        }
    }
}

fn extra(block: &ThinkingBlock) -> &Extra {
    match block {
        ThinkingBlock::Thinking(body) => &body.extra,
        ThinkingBlock::RedactedThinking(body) => &body.extra,
    }
}

/// The block as it came.
fn bare(block: &ThinkingBlock) -> Cow<'_, ThinkingBlock> {
    if !extra(block).contains_key(PLACE) {
        return Cow::Borrowed(block);
    }
    let mut block = block.clone();
    match &mut block {
        ThinkingBlock::Thinking(body) => body.extra.remove(PLACE),
        ThinkingBlock::RedactedThinking(body) => body.extra.remove(PLACE),
    };
    Cow::Owned(block)
}

/// A piece of what a model said.
#[derive(Debug, PartialEq)]
pub(crate) enum Said<'a> {
    /// Never blank: that is refused.
    Text(&'a str),
    Images(&'a ImageContent),
    Call(&'a ToolCall),
    /// Signed: it goes back as it came.
    Thinking(Cow<'a, ThinkingBlock>),
}

/// Whether a model is shown the reasoning of earlier replies.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Reasoning {
    Shown,
    LeftOut,
}

/// What a model said, in its order. Reasoning that nothing follows is left out: it is no message.
pub(crate) fn said(message: &Message, reasoning: Reasoning) -> Vec<Said<'_>> {
    let blocks = signed(message).filter(|_| reasoning == Reasoning::Shown);
    let mut blocks = blocks.map(|block| (Place::of(block), block)).peekable();
    let mut said = Vec::new();
    let mut spoken = 0;
    for part in &message.content {
        let mut rest = match part {
            Content::Text(body) => body.text.as_str(),
            Content::Image(images) => {
                said.push(Said::Images(images));
                continue;
            }
        };
        while let Some((before, after)) = blocks.peek().and_then(|(place, _)| place.within(spoken, rest)) {
            push_text(&mut said, before);
            said.extend(blocks.next().map(|(_, block)| Said::Thinking(bare(block))));
            spoken += before.len();
            rest = after;
        }
        push_text(&mut said, rest);
        spoken += rest.len();
    }
    for (number, call) in message.tool_calls.iter().flatten().enumerate() {
        while let Some((_, block)) = blocks.next_if(|(place, _)| place.calls <= number) {
            said.push(Said::Thinking(bare(block)));
        }
        said.push(Said::Call(call));
    }
    while said.pop_if(|last| matches!(last, Said::Thinking(_))).is_some() {}
    said
}

fn push_text<'a>(said: &mut Vec<Said<'a>>, text: &'a str) {
    if !text.trim().is_empty() {
        said.push(Said::Text(text));
    }
}

#[cfg(test)]
mod tests {
    use deft_types::{Role, SignedThinking, ToolCallOrigin};

    use super::*;

    fn thinking(name: &str, text: usize, calls: usize) -> ThinkingBlock {
        ThinkingBlock::Thinking(SignedThinking {
            thinking: name.to_owned(),
            signature: Some("sig".to_owned()),
            extra: Place { text, calls }.kept(),
        })
    }

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            responses_item_id: None,
            name: "terminal".to_owned(),
            arguments: "{}".to_owned(),
            origin: ToolCallOrigin::Completion,
            extra: Extra::new(),
        }
    }

    /// The order in short: text as it is, reasoning in angle brackets, calls in square ones.
    fn order(text: &str, calls: &[&str], blocks: &[(&str, usize, usize)]) -> String {
        let mut message = Message::text(Role::Assistant, text);
        message.tool_calls = Some(calls.iter().map(|id| call(id)).collect());
        message.thinking_blocks = blocks
            .iter()
            .map(|(name, text, calls)| thinking(name, *text, *calls))
            .collect();
        said(&message, Reasoning::Shown)
            .into_iter()
            .map(|piece| match piece {
                Said::Text(text) => text.to_owned(),
                Said::Call(call) => format!("[{}]", call.id),
                Said::Thinking(block) => {
                    assert!(extra(&block).is_empty(), "it goes back as it came");
                    match &*block {
                        ThinkingBlock::Thinking(body) => format!("<{}>", body.thinking),
                        ThinkingBlock::RedactedThinking(_) => "<>".to_owned(),
                    }
                }
                Said::Images(_) => "image".to_owned(),
            })
            .collect()
    }

    #[test]
    fn reasoning_goes_back_to_its_place() {
        let cases = [
            (
                order("one two", &["a"], &[("x", 0, 0), ("y", 3, 0)]),
                "<x>one<y> two[a]",
            ),
            (
                order("one", &["a", "b"], &[("x", 0, 0), ("y", 3, 0), ("z", 3, 1)]),
                "<x>one<y>[a]<z>[b]",
            ),
            (order("", &["a"], &[("x", 0, 0), ("y", 0, 0)]), "<x><y>[a]"),
        ];
        for (order, expected) in cases {
            assert_eq!(order, expected);
        }
    }

    #[test]
    fn where_the_text_is_another_one_now_reasoning_stands_before_what_is_left() {
        let cases = [
            (order("one", &["a"], &[("x", 100, 0)]), "one<x>[a]"),
            (order("é", &["a"], &[("x", 1, 0)]), "é<x>[a]"),
            (order("one", &[], &[("x", 0, 0), ("y", 100, 0)]), "<x>one"),
            (order("one", &["a"], &[("x", 0, 5)]), "one[a]"),
            (order(" \n", &[], &[("x", 0, 0)]), ""),
        ];
        for (order, expected) in cases {
            assert_eq!(order, expected);
        }
    }
}
