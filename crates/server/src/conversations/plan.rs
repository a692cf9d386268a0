//! Conversations whose agent only plans, until somebody approves the plan.

use std::sync::Arc;

use axum::http::StatusCode;
use deft_engine::{APPROVED, ExecutorFate, Mode};
use deft_types::{Message, Role};
use serde::Deserialize as _;
use serde_json::json;
use uuid::Uuid;

use super::{CLOSE_LIMIT, Conversations};
use crate::catalog::{Described, field};
use crate::failure::Failure;
use crate::resident::{Farewell, Resident};

impl Described {
    /// Whether its agent works, or only plans.
    pub(crate) fn mode(&self) -> Mode {
        Mode::deserialize(&self.settings[field::MODE]).unwrap_or_default()
    }
}

impl Conversations {
    /// Lets the agent only plan from now on, or work. Its executor ends: the next one may do more, or less.
    pub(crate) async fn set_mode(&self, resident: &Resident, mode: Mode) -> Result<Arc<Resident>, Failure> {
        let id = resident.id;
        refuse_running(resident)?;
        if self.catalog.get(id).await?.mode() != mode {
            self.catalog.note(id, field::MODE, json!(mode)).await?;
            self.reload(resident, ExecutorFate::End).await;
        }
        self.resident(id).await
    }

    /// Lets the next command find a new engine, for which what is said of the conversation is read again.
    pub(super) async fn reload(&self, resident: &Resident, fate: ExecutorFate) {
        self.forget(resident);
        if let Some(running) = resident.engine.get() {
            let close = running.conversation.close(fate);
            let _ = tokio::time::timeout(CLOSE_LIMIT, close).await;
        }
        resident.farewell.send_replace(Some(Farewell::Reloaded));
    }

    /// Lets the agent carry out its plan, with more words of the user's where there are some.
    pub(crate) async fn approve_plan(&self, resident: &Resident, words: Option<&str>) -> Result<(), Failure> {
        if self.catalog.get(resident.id).await?.mode() != Mode::Plan {
            return Err(Failure::new(StatusCode::CONFLICT, "There is no plan to approve."));
        }
        let resident = self.set_mode(resident, Mode::Act).await?;
        let words = words.map_or_else(|| APPROVED.to_owned(), |words| format!("{APPROVED}\n\n{words}"));
        self.send(
            &resident,
            Uuid::new_v4().into(),
            Message::text(Role::User, words),
            true,
        )
        .await
    }
}

pub(super) fn refuse_running(resident: &Resident) -> Result<(), Failure> {
    if resident.is_running() {
        let sentence = "Conversation is running. Pause it first.";
        return Err(Failure::new(StatusCode::CONFLICT, sentence));
    }
    Ok(())
}
