//! A new conversation that begins as a copy of another.

use deft_store::{NewConversation, Store, create_with};
use deft_types::{ConversationId, Event, EventBody, EventId, FailureKind, Source, Stats, Status, Timestamp};
use serde_json::json;

use crate::branch;
use crate::command::CommandError;
use crate::label;
use crate::state::{self, State, key};
use crate::turn::{Draft, failure};
use crate::world::World;

/// The result of a call that had none where the copy was made.
const LEFT_BEHIND: &str = "Not run: the conversation was copied before this call had a result.";

/// What the copy begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The last event to copy, with those it stands on; without it, all branches.
    pub at: Option<EventId>,
    /// Whether what the other has cost counts here too.
    pub keep_stats: bool,
    /// What the copy is called; without it, as it begins.
    pub title: Option<String>,
}

/// Makes the copy of a conversation that is not open, and may be damaged: it is only read. One that is open makes it
/// itself, by [`Conversation::fork`](crate::Conversation::fork).
pub async fn fork(
    store: &dyn Store,
    source: ConversationId,
    new: NewConversation,
    fork: Fork,
    world: &dyn World,
) -> Result<(), CommandError> {
    let events = branch::read_all(store, source).await?;
    let mut copied: Vec<Event> = if let Some(at) = &fork.at {
        let position = events
            .iter()
            .position(|event| branch::is_node(event) && event.id == *at);
        let position = position.ok_or_else(|| CommandError::NoSuchEvent(at.clone()))?;
        let path = branch::path(&events[..=position], Some(at));
        let path = path.into_iter().filter(|event| !branch::moves(event));
        path.cloned().collect()
    } else {
        events
    };
    copied.retain(belongs_to_all);
    let state = branch::fold(&copied);
    copied.extend(closing(&state, &fork, world));

    Ok(create_with(store, new, copied).await?)
}

/// An executor and its records of the files, what it is called and what its clients asked for are the other
/// conversation's own.
const NOT_COPIED: [&str; 14] = [
    key::EXECUTOR,
    key::CHECKPOINT,
    key::QUEUE,
    key::ADDED,
    key::TITLE,
    key::TAGS,
    key::SECRETS,
    key::LIMITS,
    key::RESTORED,
    key::REQUEST,
    key::PROJECT_RULES,
    key::FORKED,
    key::DELEGATES,
    key::HOST_QUESTIONS,
];

fn belongs_to_all(event: &Event) -> bool {
    match &event.body {
        EventBody::StateUpdate(update) => !NOT_COPIED.contains(&update.key.as_str()),
        _ => true,
    }
}

/// What makes the copy a conversation of its own: nothing runs, no call is open, nothing was spent.
fn closing(state: &State, fork: &Fork, world: &dyn World) -> Vec<Event> {
    let mut drafts: Vec<_> = state
        .open_calls
        .iter()
        .map(|call| {
            let error = failure(
                &call.event.tool_call,
                LEFT_BEHIND.to_owned(),
                FailureKind::AgentAction,
            );
            Draft::new(Source::Agent, error)
        })
        .collect();
    if state.status != Status::Idle {
        drafts.push(Draft::new(Source::Environment, state::status(Status::Idle)));
    }
    if !fork.keep_stats {
        let nothing = state::update(key::STATS, json!(Stats::default()));
        drafts.push(Draft::new(Source::Environment, nothing));
    }
    if let Some(title) = fork.title.as_deref().and_then(label::title) {
        let called = state::update(key::TITLE, json!(title));
        drafts.push(Draft::new(Source::Environment, called));
    }
    let mut leaf = state.leaf.clone();
    let mut events = Vec::new();
    for draft in drafts {
        let id = EventId::from(world.new_id());
        let event = Event {
            id: id.clone(),
            timestamp: Timestamp::at(world.now()),
            source: draft.source,
            parent_id: leaf.clone(),
            body: draft.body,
        };
        if branch::is_node(&event) {
            leaf = Some(id);
        }
        events.push(event);
    }
    events
}
