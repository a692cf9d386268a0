//! Messages, runs and their ends.

use std::sync::Arc;

use axum::http::StatusCode;
use deft_engine::Begun;
use deft_types::{EventId, Message};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::Conversations;
use crate::failure::Failure;
use crate::resident::Resident;

const RUN_LIMIT: &str = "Conversation run limit reached. Retry the request later.";

impl Conversations {
    /// Stores a message of the user's, and lets the agent go on if it is to.
    pub(crate) async fn send(&self, resident: &Resident, message: Message, run: bool) -> Result<(), Failure> {
        if run {
            self.allowance.left().await?;
        }
        self.store_message(resident, message).await?;
        if run && self.take_place(resident).is_err() {
            let id = resident.id;
            return Err(Failure::new(
                StatusCode::TOO_MANY_REQUESTS,
                format!(
                    "Message saved, but the conversation run limit was reached. \
                     Retry POST /api/conversations/{id}/run without resending the message."
                ),
            ));
        }
        if run {
            self.run_engine(resident).await?; // what runs already picks it up
        }
        Ok(())
    }

    /// Lets the agent go on.
    pub(crate) async fn run(&self, resident: &Resident) -> Result<(), Failure> {
        self.allowance.left().await?;
        self.take_place(resident)?;
        match self.run_engine(resident).await? {
            Begun::Now => Ok(()),
            Begun::Before => Err(Failure::new(
                StatusCode::CONFLICT,
                "Conversation already running. Wait for completion or pause first.",
            )),
            Begun::NothingToDo => {
                resident.tell_state();
                Ok(())
            }
        }
    }

    pub(super) async fn store_message(&self, resident: &Resident, message: Message) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        let stored = engine.send(EventId::from(Uuid::new_v4()), message).await;
        self.checked(resident, stored)
    }

    /// Runs in the place that was taken before: the end of a run may come before we hear of its beginning.
    pub(super) async fn run_engine(&self, resident: &Resident) -> Result<Begun, Failure> {
        let begun = match self.engine(resident).await {
            Ok(engine) => self.checked(resident, engine.run().await),
            Err(failure) => Err(failure),
        };
        if !matches!(begun, Ok(Begun::Now)) {
            resident.begin_no_run();
        }
        resident.answered();
        begun
    }

    pub(super) fn take_place(&self, resident: &Resident) -> Result<(), Failure> {
        match self.place_to_run() {
            Ok(place) => resident.begin_run(place),
            Err(_) if resident.is_running() => {} // it has one
            Err(full) => return Err(full),
        }
        Ok(())
    }

    /// Stops at the next safe boundary.
    pub(crate) async fn pause(&self, resident: &Resident) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.pause().await)?;
        resident.tell_state();
        self.webhooks.notice(resident.id).await;
        Ok(())
    }

    /// Stops now. Where nothing runs it is the same as a pause.
    pub(crate) async fn interrupt(&self, resident: &Resident) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.interrupt().await)?;
        self.checked(resident, engine.pause().await)?;
        resident.tell_state();
        self.webhooks.notice(resident.id).await;
        Ok(())
    }

    /// A place among those that may run at once.
    pub(super) fn place_to_run(&self) -> Result<OwnedSemaphorePermit, Failure> {
        Arc::clone(&self.runs)
            .try_acquire_owned()
            .map_err(|_| Failure::new(StatusCode::TOO_MANY_REQUESTS, RUN_LIMIT))
    }
}
