//! Questions to the model that leave no trace in the history.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use deft_llm::{Model, ModelError, Reply, Request};
use deft_types::{EventId, Message, Role};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::command::{Command, CommandError};
use crate::conversation::Conversation;

/// What is put behind a side question.
const NO_TOOLS: &str = "Answer from what you know of this conversation, briefly and without calling a tool.";

/// What side questions are counted as.
const ASIDE_USAGE: &str = "ask-agent-llm";

/// Why a side question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AsideError {
    /// The conversation could not be asked.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The model could not.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Lets questions of one id come one after the other. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Turns(Arc<Mutex<HashMap<EventId, Weak<Semaphore>>>>);

impl Turns {
    /// Waits until nobody else asks under this id; it is ours until it is dropped.
    async fn of(&self, id: &EventId) -> Option<OwnedSemaphorePermit> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| turn.strong_count() > 0);
            let there = turns.get(id).and_then(Weak::upgrade);
            let turn = there.unwrap_or_else(|| Arc::new(Semaphore::new(1)));
            turns.insert(id.clone(), Arc::downgrade(&turn));
            turn
        };
        turn.acquire_owned().await.ok() // nobody closes it
    }
}

/// What a side question needs of a conversation.
pub(crate) struct Snapshot {
    pub(crate) model: Arc<dyn Model>,
    /// Who is asked for a judgement.
    pub(crate) judge: Arc<dyn Model>,
    pub(crate) request: Request,
}

impl Snapshot {
    /// Asks. The request begins as the conversation's own do, so that the provider's cache serves it.
    pub(crate) async fn ask(mut self, model: &dyn Model, question: &str) -> Result<Reply, ModelError> {
        let question = Message::text(Role::User, format!("{question}\n\n{NO_TOOLS}"));
        self.request.messages.push(Arc::new(question));
        deft_llm::complete(model, self.request, |_| {}).await
    }
}

impl Conversation {
    /// Asks the model something on the side. Neither the question nor the answer becomes part of the conversation.
    pub async fn ask_aside(&self, question: &str) -> Result<String, AsideError> {
        let mut turn = None;
        if let Some(id) = &self.request {
            turn = self.turns.of(id).await;
            if let Some(answer) = self.ask(|done| Command::Recall { done }).await?? {
                return Ok(answer);
            }
        }
        let snapshot = self.ask(|done| Command::Snapshot { done }).await??;
        let model = snapshot.model.clone();
        let answer = self.ask_with(snapshot, model, ASIDE_USAGE, question).await;
        drop(turn); // whoever asked the same meanwhile finds the answer noted
        answer
    }

    pub(crate) async fn ask_with(
        &self,
        snapshot: Snapshot,
        model: Arc<dyn Model>,
        usage_id: &str,
        question: &str,
    ) -> Result<String, AsideError> {
        let reply = Box::new(snapshot.ask(model.as_ref(), question).await?);
        let usage_id = usage_id.to_owned();
        let counted = self.ask(|done| Command::AddUsage {
            usage_id,
            model,
            reply,
            done,
        });
        Ok(counted.await??)
    }
}
