//! Shows a reply while it is written, without secrets, also those that come in two pieces.

use std::collections::BTreeMap;
use std::sync::Arc;

use deft_llm::Delta;
use deft_tools::{Mask, MaskedStream};
use deft_types::{DeltaKind, EventId};

use crate::live::{Broadcast, Live};

/// Parts of a reply that are streams of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Text,
    Reasoning,
    Call(usize),
}

/// A reply that is being shown.
pub(super) struct Shown {
    item: EventId,
    live: Broadcast,
    mask: Arc<Mask>,
    /// What is held back because it may be the beginning of a secret.
    streams: BTreeMap<Part, MaskedStream>,
}

impl Shown {
    pub(super) fn new(item: EventId, live: Broadcast, mask: Arc<Mask>) -> Self {
        Self {
            item,
            live,
            mask,
            streams: BTreeMap::new(),
        }
    }

    pub(super) fn see(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.show(Part::Text, None, text),
            Delta::Reasoning(text) => self.show(Part::Reasoning, None, text),
            Delta::ToolCall {
                index,
                name,
                arguments,
                ..
            } => self.show(Part::Call(*index), name.clone(), arguments),
            Delta::Retry {
                attempt,
                wait,
                reason,
            } => {
                self.streams.clear();
                self.live.show(Live::Retry {
                    item: self.item.clone(),
                    attempt: *attempt,
                    wait: *wait,
                    reason: reason.clone(),
                });
            }
            Delta::Finished(_) => self.finish(),
            Delta::Started { .. }
            | Delta::Thinking(_)
            | Delta::ReasoningItem(_)
            | Delta::Usage(_)
            | Delta::OtherUse(_)
            | Delta::Prefix(_) => {}
        }
    }

    fn show(&mut self, part: Part, tool: Option<String>, text: &str) {
        let mut shown = Vec::new();
        let stream = self.streams.entry(part).or_default();
        stream.push(&self.mask, text.as_bytes(), |piece| {
            shown.extend_from_slice(piece);
        });
        // The name of a tool is shown at once, also if nothing else can be.
        if !shown.is_empty() || tool.is_some() || self.mask.is_empty() {
            self.tell(part, tool, &shown);
        }
    }

    /// Nothing more comes: what was held back is no secret.
    fn finish(&mut self) {
        for (part, mut stream) in std::mem::take(&mut self.streams) {
            let mut rest = Vec::new();
            stream.end(&self.mask, |piece| rest.extend_from_slice(piece));
            if !rest.is_empty() {
                self.tell(part, None, &rest);
            }
        }
    }

    fn tell(&self, part: Part, tool: Option<String>, piece: &[u8]) {
        let (item, text) = (self.item.clone(), String::from_utf8_lossy(piece).into_owned());
        self.live.show(match part {
            Part::Text => Live::Delta {
                item,
                kind: DeltaKind::Text,
                text,
            },
            Part::Reasoning => Live::Delta {
                item,
                kind: DeltaKind::Reasoning,
                text,
            },
            Part::Call(index) => Live::CallDelta {
                item,
                index,
                tool,
                arguments: text,
            },
        });
    }
}
