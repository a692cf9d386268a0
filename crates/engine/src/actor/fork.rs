//! Another conversation begins as a copy of this one.

use deft_store::{NewConversation, StoreError};
use deft_types::{EventId, Source};
use serde_json::json;

use super::Actor;
use crate::command::CommandError;
use crate::fork::{Fork, fork};
use crate::state::{self, key};
use crate::turn::Draft;

impl Actor {
    /// Asked for again under the same id of the client's, it makes no second copy, wherever a process died before.
    pub(super) async fn fork(&mut self, new: NewConversation, mut wanted: Fork) -> Result<(), CommandError> {
        if wanted.request.is_none() {
            wanted.request = self.request.as_ref().map(|(id, _)| id.clone());
        }
        let told = state::update(key::FORKED, json!({"to": new.id, "at": wanted.at}));
        let told = Draft::new(Source::Environment, told).with_id(EventId(format!("forked:{}", new.id)));
        let store = self.store.as_ref();
        fork(store, self.lease.conversation(), new, wanted, self.world.as_ref()).await?;
        match self.record(vec![told]).await {
            Err(StoreError::Duplicate { .. }) => Ok(()), // it was told, and nobody was answered
            told => Ok(told?),
        }
    }
}
