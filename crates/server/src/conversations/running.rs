//! Lets agents go on, and stops them. No more of them run at once than may.

use std::sync::Arc;

use axum::http::StatusCode;
use deft_engine::Begun;
use deft_types::{EventId, Message};
use tokio::sync::OwnedSemaphorePermit;

use super::Conversations;
use crate::failure::Failure;
use crate::resident::Resident;

const RUN_LIMIT: &str = "Conversation run limit reached. Retry the request later.";

/// The place among the runs that a request counts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// It has taken one.
    Own,
    /// That of a run which is under way.
    Others,
}

impl Claim {
    /// No run has begun for this request.
    pub(super) fn give_back(self, resident: &Resident) {
        if self == Self::Own {
            resident.begin_no_run();
        }
    }
}

impl Conversations {
    /// Stores a message of the user's, and lets the agent go on if it is to.
    pub(crate) async fn send(
        &self,
        resident: &Resident,
        id: EventId,
        message: Message,
        run: bool,
    ) -> Result<(), Failure> {
        if run {
            self.allowance.left().await?;
        }
        self.store_message(resident, id, message).await?;
        if !run {
            return Ok(());
        }
        let Ok(claim) = self.take_place(resident) else {
            let id = resident.id;
            return Err(Failure::new(
                StatusCode::TOO_MANY_REQUESTS,
                format!(
                    "Message saved, but the conversation run limit was reached. \
                     Retry POST /api/conversations/{id}/run without resending the message."
                ),
            ));
        };
        self.run_engine(resident, claim).await?; // what runs already picks it up
        Ok(())
    }

    /// Lets the agent go on, which must not do so already.
    pub(crate) async fn run(&self, resident: &Resident) -> Result<(), Failure> {
        match self.go_on(resident).await? {
            Begun::Now | Begun::NothingToDo => Ok(()),
            Begun::Before => Err(Failure::new(
                StatusCode::CONFLICT,
                "Conversation already running. Wait for completion or pause first.",
            )),
        }
    }

    /// Lets the agent go on.
    pub(crate) async fn go_on(&self, resident: &Resident) -> Result<Begun, Failure> {
        self.allowance.left().await?;
        let claim = self.take_place(resident)?;
        let begun = self.run_engine(resident, claim).await?;
        if begun == Begun::NothingToDo {
            resident.tell_state();
        }
        Ok(begun)
    }

    pub(super) async fn store_message(
        &self,
        resident: &Resident,
        id: EventId,
        message: Message,
    ) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        let stored = engine.send(id, message).await;
        self.checked(resident, stored)
    }

    /// Runs in the place that was taken before: the end of a run may come before we hear of its beginning.
    pub(super) async fn run_engine(&self, resident: &Resident, claim: Claim) -> Result<Begun, Failure> {
        let begun = match self.engine(resident).await {
            Ok(engine) => self.checked(resident, engine.run().await),
            Err(failure) => Err(failure),
        };
        if !matches!(begun, Ok(Begun::Now)) {
            claim.give_back(resident);
        }
        resident.answered();
        begun
    }

    pub(super) fn take_place(&self, resident: &Resident) -> Result<Claim, Failure> {
        match self.place_to_run() {
            Ok(place) => {
                resident.begin_run(place);
                Ok(Claim::Own)
            }
            Err(_) if resident.is_running() => Ok(Claim::Others),
            Err(full) => Err(full),
        }
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

    pub(super) fn place_to_run(&self) -> Result<OwnedSemaphorePermit, Failure> {
        Arc::clone(&self.runs)
            .try_acquire_owned()
            .map_err(|_| Failure::new(StatusCode::TOO_MANY_REQUESTS, RUN_LIMIT))
    }
}
