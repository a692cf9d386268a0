//! Messages that wait for the end of the turn.

use deft_store::StoreError;
use deft_types::{Event, Source, Status};
use serde_json::json;

use super::Actor;
use crate::command::CommandError;
use crate::queue::{self, QueueChange, Queued};
use crate::state::{self, key};
use crate::status::Trigger;
use crate::turn::Draft;

impl Actor {
    /// Changes the queue. Where no turn is under way a new message does not wait: it is said.
    pub(super) async fn change_queue(&mut self, change: QueueChange) -> Result<(), CommandError> {
        if let QueueChange::Add(new) = &change {
            let said = self.store.position(self.lease.conversation(), &new.id).await?;
            if said.is_some() || !self.in_turn() {
                let Queued { id, message } = new.clone();
                return self.admit(id, message).await;
            }
        }
        let queue = queue::changed(&self.state.queue, change)?;
        if queue == self.state.queue {
            return Ok(());
        }
        let told = state::update(key::QUEUE, json!(queue));
        Ok(self.record(vec![Draft::new(Source::Environment, told)]).await?)
    }

    fn in_turn(&self) -> bool {
        match self.state.status {
            Status::Running | Status::Paused | Status::WaitingForConfirmation => true,
            Status::Idle | Status::Finished | Status::Error | Status::Stuck | Status::Deleting => false,
        }
    }

    /// The queue without what was said, if a damaged log has such: to say it again would never succeed.
    pub(super) async fn said_already(&mut self) -> Result<Option<Draft>, StoreError> {
        let mut waiting = Vec::new();
        for queued in &self.state.queue {
            let said = self.store.position(self.lease.conversation(), &queued.id).await?;
            if said.is_none() {
                waiting.push(queued);
            }
        }
        let told = || state::update(key::QUEUE, json!(waiting));
        let is_less = waiting.len() < self.state.queue.len();
        Ok(is_less.then(|| Draft::new(Source::Environment, told())))
    }

    /// What the end of a turn brings, or nothing yet: hooks are asked first.
    pub(super) fn end_turn(&mut self) -> Vec<Draft> {
        if self.asks_to_stop() {
            return Vec::new();
        }
        self.close_turn()
    }

    /// The next message that waits, or the end of the run.
    pub(super) fn close_turn(&self) -> Vec<Draft> {
        let Some((next, rest)) = self.state.queue.split_first() else {
            return self.status_after(Trigger::Finish).into_iter().collect();
        };
        let (id, message) = (next.id.clone(), next.message.clone());
        let update = |key: &str, value| Draft::new(Source::Environment, state::update(key, value));
        vec![
            self.said(id.clone(), message),
            update(key::LAST_USER_MESSAGE, json!(id)),
            update(key::QUEUE, json!(rest)),
        ]
    }

    /// Whether this is a message that has waited until now: it has a turn of its own.
    pub(super) fn begins_turn(&self, event: &Event) -> bool {
        self.state.queue.iter().any(|queued| queued.id == event.id)
    }
}
