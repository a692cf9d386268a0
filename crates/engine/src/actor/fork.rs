//! Another conversation begins as a copy of this one.

use deft_store::NewConversation;
use deft_types::Source;

use super::Actor;
use crate::command::CommandError;
use crate::fork::{Fork, copy, forked};
use crate::turn::Draft;

impl Actor {
    pub(super) async fn fork(&mut self, new: NewConversation, wanted: Fork) -> Result<(), CommandError> {
        let told = forked(new.id, &wanted);
        let store = self.store.as_ref();
        copy(store, self.lease.conversation(), new, wanted, self.world.as_ref()).await?;
        Ok(self.record(vec![Draft::new(Source::Environment, told)]).await?)
    }
}
