//! Events of the log as one request.

use deft_types::{ConversationId, Event, EventBody, Seq};

use super::mail::{Cursor, Letter, Mail};
use crate::failure::Failure;
use crate::info::Snapshot;
use crate::wire::Wire;

/// Some events that follow each other.
pub(super) struct Batch {
    pub(super) from: Cursor,
    /// The last of them.
    pub(super) through: Seq,
    /// None where there is nothing in them that clients see.
    pub(super) letter: Option<Letter>,
}

impl Batch {
    /// As many of the events as may stand in one request. The whole state stands before the very first event, and
    /// behind the end of a run.
    pub(super) async fn pack(
        mail: &Mail,
        id: ConversationId,
        from: Cursor,
        events: &[(Seq, Event)],
        max_bytes: usize,
    ) -> Result<Self, Failure> {
        let described = mail.catalog.get(id).await?;
        let wire = Wire::new(&described.agent);
        let state = || {
            let event: Option<Event> = serde_json::from_str(&Snapshot::of(&described).text).ok();
            Some(wire.with_nulls(&event?)?.to_string())
        };
        let mut texts: Vec<String> = Vec::new();
        if from.next == Seq::FIRST {
            texts.extend(state());
        }
        let mut bytes = texts.iter().map(String::len).sum::<usize>();
        let (mut through, mut has_ended) = (from.next, false);
        for (seq, event) in events {
            if let Some(shown) = wire.with_nulls(event) {
                let text = shown.to_string();
                bytes += text.len();
                if bytes > max_bytes && *seq != from.next {
                    break; // one is always sent, however large
                }
                texts.push(text);
            }
            through = *seq;
            has_ended |= ends_run(event);
        }
        if has_ended {
            texts.extend(state());
        }
        let letter = (!texts.is_empty()).then(|| Letter {
            id: format!("{}-{}-{through}", id.hex(), from.next),
            conversation: id,
            path: format!("events/{}", id.hex()),
            body: format!("[{}]", texts.join(",")),
        });
        Ok(Self {
            from,
            through,
            letter,
        })
    }
}

fn ends_run(event: &Event) -> bool {
    match &event.body {
        EventBody::StateUpdate(update) => update.key == "execution_status" && update.value != "running",
        _ => false,
    }
}
