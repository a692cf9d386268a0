//! What a model has said so far of a reply that is under way, kept if the reply is interrupted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deft_llm::Delta;
use deft_types::{Content, EventId, Message, MessageEvent, Role, Source};

use crate::turn::Draft;

/// Said to a model behind what it had said.
const INTERRUPTED: &str = "[The user interrupted your reply here.]";

/// Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Pieces>>);

#[derive(Default)]
struct Pieces {
    text: String,
    reasoning: String,
}

impl Heard {
    /// Takes the next piece.
    pub(crate) fn hear(&self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.lock().text.push_str(text),
            Delta::Reasoning(text) => self.lock().reasoning.push_str(text),
            Delta::Retry { .. } => *self.lock() = Pieces::default(),
            _ => {}
        }
    }

    /// The events that keep it, if anything was said or thought; the first has the id under which it was shown.
    pub(crate) fn interrupted(&self, item: &EventId) -> Vec<Draft> {
        let Pieces { text, reasoning } = std::mem::take(&mut *self.lock());
        let spoken = (!text.trim().is_empty()).then(|| Content::text(text));
        let thought = (!reasoning.trim().is_empty()).then_some(reasoning);
        if spoken.is_none() && thought.is_none() {
            return Vec::new();
        }
        let mut message = Message::new(Role::Assistant, spoken.into_iter().collect());
        message.reasoning_content = thought;
        let note = MessageEvent::new(Message::text(Role::User, INTERRUPTED));
        vec![
            Draft::new(Source::Agent, MessageEvent::new(message)).with_id(item.clone()),
            Draft::new(Source::Environment, note),
        ]
    }

    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
