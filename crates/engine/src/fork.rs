//! A new conversation that begins as a copy of another.

use deft_store::{NewConversation, Store, StoreError, create_with};
use deft_types::{
    ConversationId, Event, EventBody, EventId, FailureKind, Seq, Source, Stats, Status, Timestamp,
};
use serde::Deserialize as _;
use serde_json::{Value, json};

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
    /// Whether what the other has cost, and what was added to its budget, counts here too.
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
    let is_spending = |event: &Event| is_of(event, key::STATS) || is_of(event, key::ADDED);
    copied.retain(|event| belongs_to_all(event) || (fork.keep_stats && is_spending(event)));
    copied.iter_mut().for_each(inherit);
    let state = branch::fold(&copied);
    copied.extend(closing(&state, &fork, world));
    let Some(request) = &fork.request else {
        return Ok(create_with(store, new, copied).await?);
    };
    let mark = format!("{source} {request}");
    let new = marked(new, &mark, copied.len());
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

/// What the other has cost is what another has spent: it is in the bill of whoever pays already.
fn inherit(event: &mut Event) {
    if let EventBody::StateUpdate(update) = &mut event.body
        && update.key == key::STATS
        && let Ok(mut stats) = Stats::deserialize(&update.value)
    {
        stats.inherited_cost += stats.own_cost();
        update.value = json!(stats);
    }
}

fn is_of(event: &Event, key: &str) -> bool {
    matches!(&event.body, EventBody::StateUpdate(update) if update.key == key)
}

/// How much of a copy a request has made.
enum Made {
    Wholly,
    InPart,
    /// What is there is something else.
    Never,
}

/// The name of the setting of a copy that says by which request it was made, and with how many events.
const COPIED: &str = "copied";

/// A copy that names its request from its beginning: a store may keep it and say that it failed.
fn marked(mut new: NewConversation, mark: &str, events: usize) -> NewConversation {
    let made = json!({"request": mark, "events": events});
    match &mut new.settings {
        Value::Object(settings) => {
            settings.insert(COPIED.to_owned(), made);
        }
        other => *other = json!({ COPIED: made }),
    }
    new
}

async fn made_before(store: &dyn Store, id: ConversationId, mark: &str) -> Result<Made, StoreError> {
    let settings = store.settings(id).await?.unwrap_or_default();
    let made = &settings[COPIED];
    let Some(events) = made["events"].as_u64().filter(|_| made["request"] == mark) else {
        return Ok(Made::Never);
    };
    let Some(last) = events.checked_sub(1) else {
        return Ok(Made::Wholly);
    };
    let last = store.read(id, Seq(last), 1).await?;
    Ok(if last.is_empty() {
        Made::InPart
    } else {
        Made::Wholly
    })
}

/// An executor and its records of the files, what it is called, what it has cost and what its clients asked for are the
/// other conversation's own.
const NOT_COPIED: [&str; 16] = [
    key::STATS,
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

/// What makes the copy a conversation of its own: nothing runs, no call is open, nobody has said anything in it.
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
