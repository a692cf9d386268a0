//! The log as a tree: each event follows another, and the conversation stands at one of them.

use std::collections::{HashMap, HashSet};

use deft_store::{Store, StoreError};
use deft_types::{ConversationId, Event, EventBody, EventId, Seq};
use serde::Deserialize;
use serde_json::Value;

use crate::state::{State, key};

/// Events read at once.
const PAGE: usize = 1000;

/// Whether an event is a node of the tree: news about the state are not.
pub(crate) fn is_node(event: &Event) -> bool {
    !matches!(event.body, EventBody::StateUpdate(_))
}

/// Whether an event moves the conversation to another place of the tree.
pub(crate) fn moves(event: &Event) -> bool {
    target(event).is_some()
}

/// Where an event moves the conversation to, if it does: the id of another, or null for the place before the first.
fn target(event: &Event) -> Option<&Value> {
    match &event.body {
        EventBody::StateUpdate(update) if update.key == key::LEAF => Some(&update.value),
        _ => None,
    }
}

/// All events of a log.
pub(crate) async fn read_all(store: &dyn Store, id: ConversationId) -> Result<Vec<Event>, StoreError> {
    let mut events = Vec::new();
    let mut from = Seq::FIRST;
    loop {
        let page = store.read(id, from, PAGE).await?;
        let Some((last, _)) = page.last() else {
            return Ok(events);
        };
        from = last.next();
        events.extend(page.into_iter().map(|(_, event)| event));
    }
}

/// Where the conversation stands at the end of a log.
pub(crate) fn head(events: &[Event]) -> Option<EventId> {
    events.iter().fold(None, |head, event| match target(event) {
        Some(target) => Option::deserialize(target).unwrap_or(head),
        None if is_node(event) => Some(event.id.clone()),
        None => head,
    })
}

/// The events on the way to one of them, and all news about the state, in the order of the log.
pub(crate) fn path<'a>(events: &'a [Event], head: Option<&EventId>) -> Vec<&'a Event> {
    let mut parents: HashMap<&EventId, Option<&EventId>> = HashMap::new();
    let mut before = None;
    for event in events {
        if is_node(event) {
            // Old logs name no parents, and the first event has none: each follows where the conversation stood.
            parents.insert(&event.id, event.parent_id.as_ref().or(before));
            before = Some(&event.id);
        } else if let Some(Ok(target)) = target(event).map(Option::<EventId>::deserialize) {
            before = target.and_then(|id| parents.get_key_value(&id).map(|(known, _)| *known));
        }
    }
    let mut way = HashSet::new();
    let mut next = head;
    while let Some(id) = next {
        if !way.insert(id) {
            break; // a damaged log may go in circles
        }
        next = parents.get(id).copied().flatten();
    }
    let on_way = |event: &&Event| !is_node(event) || way.contains(&event.id);
    events.iter().filter(on_way).collect()
}

/// Folds the branch on which the conversation stands.
pub(crate) fn fold(events: &[Event]) -> State {
    fold_at(events, head(events))
}

/// Folds the branch that leads to an event.
pub(crate) fn fold_at(events: &[Event], head: Option<EventId>) -> State {
    let mut state = State::default();
    for event in path(events, head.as_ref()) {
        state.apply(event);
    }
    state.leaf = head;
    state
}
