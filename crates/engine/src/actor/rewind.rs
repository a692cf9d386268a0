//! Back to an earlier event: the conversation, the files, or both.

use deft_tools::{CheckpointId, Overwrite, Restored};
use deft_types::{EventBody, EventId};
use serde::Deserialize as _;

use super::Actor;
use crate::branch;
use crate::command::CommandError;
use crate::rewind::Rewind;
use crate::state::key;

impl Actor {
    /// Goes back; what became of the files, if they had to be changed.
    pub(super) async fn rewind(
        &mut self,
        to: EventId,
        what: Rewind,
        overwrite: Overwrite,
    ) -> Result<Option<Restored>, CommandError> {
        let events = branch::read_all(self.store.as_ref(), self.lease.conversation()).await?;
        let position = events.iter().position(|event| event.id == to);
        let position = position.ok_or_else(|| CommandError::NoSuchEvent(to.clone()))?;
        // A record is made before the first change of a turn, so the files were at `to` what the next one says.
        let checkpoint = events[position..].iter().find_map(|event| match &event.body {
            EventBody::StateUpdate(update) if update.key == key::CHECKPOINT => {
                CheckpointId::deserialize(&update.value).ok()
            }
            _ => None,
        });
        // The files first: they may be refused.
        let restored = match (what, checkpoint) {
            (Rewind::Files | Rewind::Both, Some(checkpoint)) => {
                Some(self.restore_files(checkpoint, overwrite).await?)
            }
            (Rewind::Files | Rewind::Both, None) | (Rewind::Conversation, _) => None,
        };
        if what != Rewind::Files {
            self.navigate(Some(to)).await?;
        }
        Ok(restored)
    }
}
