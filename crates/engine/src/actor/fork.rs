//! Another conversation begins as a copy of this one.

use deft_store::NewConversation;
use deft_types::Source;
use serde_json::json;

use super::Actor;
use crate::command::CommandError;
use crate::fork::{Fork, fork};
use crate::state::{self, key};
use crate::turn::Draft;

impl Actor {
    pub(super) async fn fork(&mut self, new: NewConversation, wanted: Fork) -> Result<(), CommandError> {
        let told = state::update(key::FORKED, json!({"to": new.id, "at": wanted.at}));
        let store = self.store.as_ref();
        fork(store, self.lease.conversation(), new, wanted, self.world.as_ref()).await?;
        Ok(self.record(vec![Draft::new(Source::Environment, told)]).await?)
    }
}
