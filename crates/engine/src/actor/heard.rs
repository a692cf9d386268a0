//! What a model has said so far of a reply that is under way, kept if the reply is interrupted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deft_llm::Delta;
use deft_types::{EventId, Message, MessageEvent, Role, Source};

use crate::turn::Draft;

/// Said to a model behind what it had said.
const INTERRUPTED: &str = "[The user interrupted your reply here.]";

/// Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<String>>);

impl Heard {
    /// Takes the next piece.
    pub(crate) fn hear(&self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.lock().push_str(text),
            Delta::Retry { .. } => self.lock().clear(),
            _ => {}
        }
    }

    /// The events that keep it, if anything was said; the first has the id under which it was shown.
    pub(crate) fn interrupted(&self, item: &EventId) -> Vec<Draft> {
        let text = std::mem::take(&mut *self.lock());
        if text.trim().is_empty() {
            return Vec::new();
        }
        let said = MessageEvent::new(Message::text(Role::Assistant, text));
        let note = MessageEvent::new(Message::text(Role::User, INTERRUPTED));
        vec![
            Draft::new(Source::Agent, said).with_id(item.clone()),
            Draft::new(Source::Environment, note),
        ]
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
