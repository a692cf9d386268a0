//! Conversations that begin with a log.

use deft_types::{ConversationId, Event};

use crate::error::StoreError;
use crate::owner::Owner;
use crate::record::NewConversation;
use crate::store::Store;

/// Events written at once.
const BATCH: usize = 500;

/// Begins a conversation with these events: with all of them, or not at all.
pub async fn create_with(
    store: &dyn Store,
    new: NewConversation,
    events: Vec<Event>,
) -> Result<(), StoreError> {
    let id = new.id;
    store.create(new).await?;
    let written = write(store, id, events).await;
    if written.is_err() {
        let _ = store.delete(id).await; // half a log is none; if this fails too, that one is all that is left
    }
    written
}

async fn write(store: &dyn Store, id: ConversationId, mut events: Vec<Event>) -> Result<(), StoreError> {
    let lease = store.acquire(id, &Owner::this_process()).await?;
    while !events.is_empty() {
        let rest = events.split_off(events.len().min(BATCH));
        store.append(&lease, std::mem::replace(&mut events, rest)).await?;
    }
    store.release(lease).await
}
