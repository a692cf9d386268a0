//! A new conversation that begins as a copy of another.

use deft_store::{NewConversation, Store, StoreError, create_with};
use deft_types::{
    ConversationId, Event, EventBody, EventId, FailureKind, Seq, Source, Stats, Status, Timestamp,
};
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fork {
    /// The last event to copy, with those it stands on; without it, all branches.
    pub at: Option<EventId>,
    /// Whether what the other has cost counts here too.
    pub keep_stats: bool,
    /// What the copy is called; without it, as it begins.
    pub title: Option<String>,
    /// What the client calls its request. Asked under it again, also by another process, the copy that was made is the
    /// answer, and one that was only begun is made anew.
    pub request: Option<EventId>,
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
    let Some(request) = &fork.request else {
        return Ok(create_with(store, new, copied).await?);
    };
    let mark = mark_of(source, request);
    copied.insert(0, first_event(mark.clone(), copied.len(), world));
    match create_with(store, new.clone(), copied.clone()).await {
        Err(StoreError::Exists(id)) => match made_before(store, id, &mark).await? {
            Made::Wholly => Ok(()),
            Made::InPart => {
                store.delete(id).await?;
                Ok(create_with(store, new, copied).await?)
            }
            Made::Never => Err(StoreError::Exists(id).into()),
        },
        made => Ok(made?),
    }
}

/// How much of a copy a request has made.
enum Made {
    Wholly,
    InPart,
    /// What is there is something else.
    Never,
}

/// The first event of a copy: by which request it was made, and how many follow.
fn first_event(mark: EventId, events: usize, world: &dyn World) -> Event {
    Event {
        id: mark,
        timestamp: Timestamp::at(world.now()),
        source: Source::Environment,
        parent_id: None,
        body: state::update(key::COPIED, json!({"events": events})),
    }
}

fn mark_of(source: ConversationId, request: &EventId) -> EventId {
    EventId(format!("copy:{source}:{request}"))
}

async fn made_before(store: &dyn Store, id: ConversationId, mark: &EventId) -> Result<Made, StoreError> {
    let mark = match store.position(id, mark).await {
        Ok(Some(mark)) => mark,
        Ok(None) | Err(StoreError::NotFound(_)) => return Ok(Made::Never),
        Err(error) => return Err(error),
    };
    let there = store.read(id, mark, 1).await?;
    let events = match there.first().map(|(_, event)| &event.body) {
        Some(EventBody::StateUpdate(update)) if update.key == key::COPIED => update.value["events"].as_u64(),
        _ => None,
    };
    let Some(events) = events else {
        return Ok(Made::Never);
    };
    let last = store.read(id, Seq(mark.0 + events), 1).await?;
    Ok(if last.is_empty() {
        Made::InPart
    } else {
        Made::Wholly
    })
}

/// An executor and its records of the files, what it is called and what its clients asked for are the other
/// conversation's own.
const NOT_COPIED: [&str; 15] = [
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
    key::COPIED,
    key::DELEGATES,
    key::HOST_QUESTIONS,
];

fn belongs_to_all(event: &Event) -> bool {
    match &event.body {
        EventBody::StateUpdate(update) => !NOT_COPIED.contains(&update.key.as_str()),
        _ => true,
    }
}

/// What makes the copy a conversation of its own: nothing runs, no call is open, nothing was spent, nobody has said
/// anything in it.
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
    if state.last_user_message_id.is_some() {
        let unsaid = state::update(key::LAST_USER_MESSAGE, json!(null));
        drafts.push(Draft::new(Source::Environment, unsaid));
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
