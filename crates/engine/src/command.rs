//! What a conversation can be asked to do.

use std::sync::Arc;

use deft_llm::{Model, Reply};
use deft_risk::AllowRule;
use deft_tools::{Change, CheckpointId, Overwrite, Restored};
use deft_types::{ActionId, ConfirmationPolicy, EventId, Message, Money, SecurityAnalyzer};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tracing::Span;

use crate::allow_rules::AllowScope;
use crate::aside::Snapshot;
use crate::budget::Budget;
use crate::conversation::Limits;
use crate::queue::QueueChange;
use crate::rerun::Rerun;
use crate::rewind::Rewind;
use crate::secret_lookup::SecretSources;
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
    Run {
        /// What asks for it, for whoever traces.
        within: Span,
        done: Done<Begun>,
    },
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
    /// Let the agent that is a program of its own use another model.
    SwitchAgentModel { model: String, done: Done<()> },
    /// What a person decided about each action that waits.
    Respond {
        answers: Vec<(ActionId, Answer)>,
        done: Done<()>,
    },
    /// No to every action that waits.
    Reject { reason: String, done: Done<()> },
    /// Which actions wait from now on.
    SetPolicy {
        policy: ConfirmationPolicy,
        done: Done<()>,
    },
    /// Who judges actions from now on.
    SetAnalyzer {
        analyzer: Option<SecurityAnalyzer>,
        done: Done<()>,
    },
    /// Commands that begin so need not be asked for.
    Allow {
        rule: Box<AllowRule>,
        scope: AllowScope,
        done: Done<()>,
    },
    /// They are asked for again; whether they were not.
    Disallow { rule: String, done: Done<bool> },
    /// Stand at another event; what is said next follows that one.
    Navigate { to: Option<EventId>, done: Done<()> },
    /// Give tools these secrets.
    SetSecrets { secrets: SecretSources, done: Done<()> },
    /// What going back would change in the workspace.
    PreviewFiles {
        to: CheckpointId,
        done: Done<Vec<Change>>,
    },
    /// Make the workspace what it was.
    RestoreFiles {
        to: CheckpointId,
        overwrite: Overwrite,
        done: Done<Restored>,
    },
    /// Go back to an event.
    Rewind {
        to: EventId,
        what: Rewind,
        overwrite: Overwrite,
        done: Done<Option<Restored>>,
    },
    /// Do again in the workspace what was done in it.
    Rerun { done: Done<Rerun> },
    /// Make room in what the model sees.
    Condense { done: Done<()> },
    /// Change what the user wants to say when the turn ends.
    Queue {
        change: Box<QueueChange>,
        done: Done<()>,
    },
    /// So much more may be used.
    AddBudget {
        id: EventId,
        more: Budget,
        done: Done<()>,
    },
    /// Other limits from now on.
    SetLimits { limits: Limits, done: Done<()> },
    /// Store news about the conversation that only its watchers read.
    Tell {
        key: String,
        value: Value,
        done: Done<()>,
    },
    /// What a side question needs.
    Snapshot { done: Done<Snapshot> },
    /// A model was used on the side.
    AddUsage {
        usage_id: String,
        model: Arc<dyn Model>,
        reply: Box<Reply>,
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

/// What a person decides about an action that waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It may run.
    Approve,
    /// It may not.
    Reject {
        /// Why, for the model.
        reason: String,
    },
    /// It runs with other arguments.
    Edit {
        /// All of them.
        arguments: Map<String, Value>,
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
    /// An answer for an action that does not wait. Look again at what waits.
    #[error("the action {0} does not wait for an answer: it was answered before, or never asked for one")]
    NotWaiting(ActionId),
    /// Nothing was done: decide about this one too.
    #[error("the action {0} waits as well; answer all of them at once")]
    Undecided(ActionId),
    /// Nothing was done: mend the arguments.
    #[error("the changed call does not fit its tool. {0}")]
    BadEdit(String),
    /// The rule is none that can be kept; the message says why.
    #[error("{0}")]
    BadRule(String),
    /// Take some back first.
    #[error("there are {0} allow rules already; remove some first")]
    TooManyRules(usize),
    /// It runs: pause or interrupt it first.
    #[error("the conversation is running; pause or interrupt it first")]
    Running,
    /// Its turns are made by our own agent: switch that one's model.
    #[error("the agent of this conversation is no program of its own; switch its model instead")]
    NotExternal,
    /// The agent could not do it; the message says why.
    #[error("{0}")]
    Agent(String),
    /// It was stopped before it was done. Ask again if it is still wanted.
    #[error("it was interrupted before it was done; ask again if it is still wanted")]
    Interrupted,
    /// Nothing may be spent any more: raise the budget first.
    #[error("the budget of {0} is spent; raise it and ask again")]
    BudgetSpent(Money),
    /// The workspace could not do it; the message says why.
    #[error("{0}")]
    Workspace(String),
    /// It was said meanwhile, taken out, or never there. Look again at what waits.
    #[error("the message {0} does not wait: it was said meanwhile, or taken out")]
    NotQueued(EventId),
    /// Nothing was added: take something out first.
    #[error("{0} messages wait already; take some out before you add one")]
    QueueFull(usize),
    /// The log has no such event.
    #[error("the conversation has no event {0}")]
    NoSuchEvent(EventId),
    /// An event with this id is there but is another one. Choose a new id.
    #[error("the id {0} is already taken by another event; send the message with a new id")]
    IdTaken(EventId),
}
