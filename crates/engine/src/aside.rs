//! Questions to the model that leave no trace in the history.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use deft_llm::{Model, ModelError, ModelProfile, Reply, Request, Spent};
use deft_types::{EventId, Message, Role};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::command::{Command, CommandError};
use crate::conversation::Conversation;
use crate::external_aside::ExternalAside;

/// What is put behind a side question.
const NO_TOOLS: &str = "Answer from what you know of this conversation, briefly and without calling a tool.";

/// What side questions are counted as.
const ASIDE_USAGE: &str = "ask-agent-llm";
/// The same, where the agent is a program of its own.
const AGENT_USAGE: &str = "acp-managed";
/// Why such an agent cannot be asked before its first turn.
const NOT_BEGUN: &str = "The agent has not begun yet: send it a message first";

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
    pub(crate) asked: Asked,
}

/// Who answers side questions.
pub(crate) enum Asked {
    /// The model.
    Model,
    /// A copy of the agent, which is a program of its own.
    Agent(Box<ExternalAside>),
    /// Such an agent, whose workspace nobody has reached yet.
    NobodyYet,
}

impl Snapshot {
    /// Asks, and tells what that used, also where nothing came of it. The request begins as the conversation's own do, so
    /// that the provider's cache serves it.
    async fn ask(mut self, model: &dyn Model, question: &str) -> (Result<Reply, ModelError>, Spent) {
        let question = Message::text(Role::User, format!("{question}\n\n{NO_TOOLS}"));
        self.request.messages.push(Arc::new(question));
        let mut spent = Spent::default();
        let reply = deft_llm::complete(model, self.request, |delta| spent.add(delta)).await;
        (reply, spent)
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
        let mut snapshot = self.ask(|done| Command::Snapshot { done }).await??;
        let answer = match std::mem::replace(&mut snapshot.asked, Asked::Model) {
            Asked::Model => {
                let model = snapshot.model.clone();
                self.ask_with(snapshot, model, ASIDE_USAGE, question).await
            }
            Asked::Agent(aside) => {
                let failed = |why| CommandError::Agent(format!("The agent could not answer: {why}."));
                let (profile, reply) = aside.ask(question).await.map_err(failed)?;
                self.count(AGENT_USAGE, profile, Spent::default(), Some(reply))
                    .await
            }
            Asked::NobodyYet => Err(CommandError::Agent(NOT_BEGUN.to_owned()).into()),
        };
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
        let (reply, spent) = snapshot.ask(model.as_ref(), question).await;
        let profile = model.profile().clone();
        match reply {
            Ok(reply) => self.count(usage_id, profile, spent, Some(reply)).await,
            Err(error) => {
                let mut unnamed = self.clone();
                unnamed.request = None; // who asks again is not told that there was no answer
                if let Err(error) = unnamed.count(usage_id, profile, spent, None).await {
                    tracing::warn!(%error, "what a question on the side has used is not counted");
                }
                Err(error.into())
            }
        }
    }

    /// Counts what an answer has used, and gives it.
    async fn count(
        &self,
        usage_id: &str,
        profile: ModelProfile,
        spent: Spent,
        reply: Option<Reply>,
    ) -> Result<String, AsideError> {
        let (usage_id, profile) = (usage_id.to_owned(), Box::new(profile));
        let (spent, reply) = (Box::new(spent), reply.map(Box::new));
        let counted = self.ask(|done| Command::AddUsage {
            usage_id,
            profile,
            spent,
            reply,
            done,
        });
        Ok(counted.await??)
    }
}
