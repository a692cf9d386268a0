//! Messages that wait for the end of the turn: what the user wants to say next, and not now.

use deft_types::{EventId, Message};
use serde::{Deserialize, Serialize};

use crate::command::{Command, CommandError};
use crate::conversation::Conversation;

/// Messages that may wait.
const MAX_QUEUED: usize = 100;

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queued {
    /// The id that its event will have.
    pub id: EventId,
    /// What it says.
    pub message: Message,
}

/// What is done to the queue.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueChange {
    /// One more at its end. The same id again changes nothing.
    Add(Queued),
    /// One says something else.
    Edit(Queued),
    /// One is taken out.
    Remove(EventId),
    /// They are said in this order; those that are not named come last.
    Order(Vec<EventId>),
}

impl Conversation {
    /// Changes what the user wants to say when the turn ends. Where none is under way a new message is said at once.
    pub async fn change_queue(&self, change: QueueChange) -> Result<(), CommandError> {
        let change = Box::new(change);
        self.ask(|done| Command::Queue { change, done }).await?
    }
}

/// The queue after a change.
pub(crate) fn changed(queue: &[Queued], change: QueueChange) -> Result<Vec<Queued>, CommandError> {
    let mut queue = queue.to_vec();
    let place = |queue: &[Queued], id: &EventId| {
        let found = queue.iter().position(|queued| queued.id == *id);
        found.ok_or_else(|| CommandError::NotQueued(id.clone()))
    };
    match change {
        QueueChange::Add(new) => {
            if queue.iter().any(|queued| queued.id == new.id) {
                return Ok(queue);
            }
            if queue.len() >= MAX_QUEUED {
                return Err(CommandError::QueueFull(MAX_QUEUED));
            }
            queue.push(new);
        }
        QueueChange::Edit(edited) => {
            let place = place(&queue, &edited.id)?;
            queue[place] = edited;
        }
        QueueChange::Remove(id) => drop(queue.remove(place(&queue, &id)?)),
        QueueChange::Order(ids) => {
            let mut ordered = Vec::with_capacity(queue.len());
            for id in ids {
                ordered.push(queue.remove(place(&queue, &id)?));
            }
            ordered.append(&mut queue);
            queue = ordered;
        }
    }
    Ok(queue)
}

#[cfg(test)]
mod tests {
    use deft_types::Role;

    use super::*;

    fn queued(id: &str, text: &str) -> Queued {
        Queued {
            id: EventId(id.to_owned()),
            message: Message::text(Role::User, text),
        }
    }

    fn ids(queue: &[Queued]) -> String {
        queue.iter().map(|queued| queued.id.0.as_str()).collect()
    }

    #[test]
    fn messages_are_added_once_edited_removed_and_put_in_order() {
        let mut queue = Vec::new();
        for id in ["a", "b", "b", "c"] {
            queue = changed(&queue, QueueChange::Add(queued(id, "x"))).unwrap();
        }
        assert_eq!(ids(&queue), "abc");
        queue = changed(&queue, QueueChange::Order(vec![EventId("c".to_owned())])).unwrap();
        assert_eq!(ids(&queue), "cab");
        queue = changed(&queue, QueueChange::Edit(queued("a", "y"))).unwrap();
        assert_eq!(queue[1].message.plain_text(), "y");
        queue = changed(&queue, QueueChange::Remove(EventId("c".to_owned()))).unwrap();
        assert_eq!(ids(&queue), "ab");
    }

    #[test]
    fn what_does_not_wait_cannot_be_changed_and_no_more_wait_than_may() {
        let gone = changed(&[], QueueChange::Remove(EventId("a".to_owned())));
        assert!(matches!(gone, Err(CommandError::NotQueued(_))));
        let full: Vec<_> = (0..MAX_QUEUED).map(|n| queued(&n.to_string(), "x")).collect();
        let more = changed(&full, QueueChange::Add(queued("more", "x")));
        assert!(matches!(more, Err(CommandError::QueueFull(_))));
    }
}
