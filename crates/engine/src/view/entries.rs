//! The messages of a view in their order, kept so that a request takes all of them without copying.

use std::ops::Deref;
use std::sync::Arc;

use deft_llm::{Messages, message_tokens};
use deft_types::{Content, EventId, Message};

/// A message, and the events it is made of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) events: Vec<EventId>,
    pub(crate) message: Arc<Message>,
    /// About how many the message is.
    pub(crate) tokens: u64,
    /// Whether a result was left out of it, or shortened.
    pub(crate) is_masked: bool,
    /// How many messages are not seen any more that stood here: before this one, or in its place.
    pub(crate) left_out: usize,
}

/// What the id of a summary has behind that of its condensation.
const SUMMARY_END: &str = "-summary";

impl Entry {
    /// The summary that a condensation has put in the place of so many messages.
    pub(super) fn summary(condensation: &EventId, message: Message, left_out: usize) -> Self {
        let id = EventId(format!("{condensation}{SUMMARY_END}"));
        Self {
            left_out,
            ..Self::new(&id, message)
        }
    }

    /// The condensation that this is the summary of, if it is one.
    pub(crate) fn summary_of(&self) -> Option<EventId> {
        let mut ids = self.events.iter();
        ids.find_map(|id| id.0.strip_suffix(SUMMARY_END))
            .map(|condensation| EventId(condensation.to_owned()))
    }

    pub(super) fn new(event: &EventId, message: Message) -> Self {
        Self::of(vec![event.clone()], message)
    }

    pub(super) fn of(events: Vec<EventId>, message: Message) -> Self {
        Self {
            events,
            tokens: message_tokens(&message).0,
            message: Arc::new(message),
            is_masked: false,
            left_out: 0,
        }
    }
}

/// The entries, and beside them what a request is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entries {
    list: Vec<Entry>,
    /// Those of the entries. A request shares it; by the time it changes the request is answered, so that it is
    /// copied only for what is said meanwhile.
    messages: Messages,
    /// Of all entries together, so that a step need not count them.
    tokens: u64,
}

impl Deref for Entries {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.list
    }
}

impl Entries {
    pub(super) fn messages(&self) -> Messages {
        self.messages.clone()
    }

    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.insert(self.list.len(), entry);
    }

    pub(super) fn insert(&mut self, index: usize, entry: Entry) {
        self.tokens += entry.tokens;
        self.messages.list().insert(index, entry.message.clone());
        self.list.insert(index, entry);
    }

    /// Adds an event to an entry.
    pub(super) fn extend(&mut self, index: usize, event: &EventId, change: impl FnOnce(&mut Message)) {
        self.list[index].events.push(event.clone());
        self.change(index, change);
    }

    fn change(&mut self, index: usize, change: impl FnOnce(&mut Message)) {
        let entry = &mut self.list[index];
        let mut message = Message::clone(&entry.message);
        change(&mut message);
        self.tokens -= entry.tokens;
        entry.tokens = message_tokens(&message).0;
        self.tokens += entry.tokens;
        entry.message = Arc::new(message);
        self.messages.list()[index] = entry.message.clone();
    }

    /// Leaves a result out, but for these words.
    pub(super) fn mask(&mut self, index: usize, note: Vec<Content>) {
        self.list[index].is_masked = true;
        self.change(index, |result| result.content = note);
    }

    /// Takes away all from an index on.
    pub(super) fn split_off(&mut self, index: usize) -> Vec<Entry> {
        let rest = self.list.split_off(index);
        self.messages.list().truncate(index);
        self.tokens -= rest.iter().map(|entry| entry.tokens).sum::<u64>();
        rest
    }
}

impl FromIterator<Entry> for Entries {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        let list: Vec<_> = entries.into_iter().collect();
        Self {
            messages: list.iter().map(|entry| entry.message.clone()).collect(),
            tokens: list.iter().map(|entry| entry.tokens).sum(),
            list,
        }
    }
}
