//! What a conversation can be asked to do.

use std::sync::Arc;

use deft_llm::Model;
use deft_types::{EventId, Message};
use tokio::sync::oneshot;

use crate::state::State;

/// One request to the actor. Each is answered once.
pub(crate) enum Command {
    /// Store a user's message. What runs picks it up at the next safe boundary.
    Send {
        id: EventId,
        message: Box<Message>,
        done: Done<()>,
    },
    /// Go on until the agent is finished or something stops it.
    Run { done: Done<Begun> },
    /// Stop at the next safe boundary; what runs now is let finish.
    Pause { done: Done<()> },
    /// Stop now: the model call and every process.
    Interrupt { done: Done<()> },
    /// Let another model answer from the next call on.
    SwitchModel {
        name: String,
        model: Arc<dyn Model>,
        done: Done<()>,
    },
    /// A copy of the state.
    Inspect { done: oneshot::Sender<State> },
    /// Leave memory.
    Close {
        executor: ExecutorFate,
        done: oneshot::Sender<()>,
    },
}

/// What becomes of the executor when a conversation is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutorFate {
    /// It ends, and all it started with it.
    End,
    /// It lives on for its linger time, for whoever opens the conversation next.
    Keep,
}

/// What came of asking a conversation to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It runs, since now.
    Now,
    /// It was running already.
    Before,
    /// It does not run: nothing was said since it finished.
    NothingToDo,
}

/// Where the answer to a command goes.
pub(crate) type Done<T> = oneshot::Sender<Result<T, CommandError>>;

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Nothing was stored and nothing has changed. Mend what the message names and ask again.
    #[error(transparent)]
    Store(#[from] deft_store::StoreError),
    /// The conversation is not in memory any more. Open it again.
    #[error("the conversation was closed; open it again")]
    Closed,
    /// An event with this id is there but is another one. Choose a new id.
    #[error("the id {0} is already taken by another event; send the message with a new id")]
    IdTaken(EventId),
}
