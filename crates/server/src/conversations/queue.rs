//! What a client wants to say when the turn ends.

use deft_engine::{QueueChange, Queued};

use super::Conversations;
use crate::failure::Failure;
use crate::resident::Resident;

impl Conversations {
    /// The messages that wait, in the order in which they will be said.
    pub(crate) async fn queue(&self, resident: &Resident) -> Result<Vec<Queued>, Failure> {
        let engine = self.engine(resident).await?;
        Ok(self.checked(resident, engine.inspect().await)?.queue)
    }

    /// Changes them.
    pub(crate) async fn change_queue(
        &self,
        resident: &Resident,
        change: QueueChange,
    ) -> Result<Vec<Queued>, Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.change_queue(change).await)?;
        self.queue(resident).await
    }
}
