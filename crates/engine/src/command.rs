//! What a conversation can be asked to do.

mod error;

use std::sync::Arc;

use deft_llm::{Model, ModelProfile, Reply, Spent};
use deft_risk::AllowRule;
use deft_store::NewConversation;
use deft_tools::{Change, CheckpointId, Overwrite, Restored};
use deft_types::{ActionId, ConfirmationPolicy, EventId, McpPin, Message, SecurityAnalyzer};
use deft_workspace::egress::AskedHost;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tracing::Span;

pub use self::error::CommandError;
use crate::allow_rules::AllowScope;
use crate::aside::Snapshot;
use crate::budget::Budget;
use crate::context::Context;
use crate::conversation::Limits;
use crate::fork::Fork;
use crate::hosts::HostAnswer;
use crate::queue::QueueChange;
use crate::rerun::Rerun;
use crate::rewind::Rewind;
use crate::secret_lookup::SecretSources;
use crate::state::State;

/// A command, and what its client calls it.
pub(crate) struct Envelope {
    /// The same id again is the same command: it is answered as before and nothing is done.
    pub(crate) request: Option<EventId>,
    pub(crate) command: Command,
}

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
    /// A person agrees to what an MCP server is.
    ApproveServer {
        name: String,
        pin: McpPin,
        done: Done<()>,
    },
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
    /// What a person decided about a host.
    AnswerHost {
        asked: AskedHost,
        to: HostAnswer,
        done: Done<()>,
    },
    /// It is asked for again; whether it was allowed.
    DisallowHost { host: String, done: Done<bool> },
    /// Begin another conversation as a copy of this one.
    Fork {
        new: Box<NewConversation>,
        fork: Fork,
        done: Done<()>,
    },
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
    /// Call the conversation so, and mark it with these.
    Label {
        title: Option<String>,
        tags: Option<Map<String, Value>>,
        done: Done<()>,
    },
    /// Other limits from now on.
    SetLimits { limits: Limits, done: Done<()> },
    /// Store news about the conversation that only its watchers read.
    Tell {
        id: Option<EventId>,
        key: String,
        value: Value,
        done: Done<()>,
    },
    /// What a side question needs.
    Snapshot { done: Done<Snapshot> },
    /// What a side question was answered that was asked before.
    Recall { done: Done<Option<String>> },
    /// A model was used on the side; gives back what it said, if it did.
    AddUsage {
        usage_id: String,
        profile: Box<ModelProfile>,
        spent: Box<Spent>,
        reply: Option<Box<Reply>>,
        done: Done<String>,
    },
    /// What the model would be sent next, of which so many messages are told one by one.
    Context {
        most: usize,
        done: oneshot::Sender<Context>,
    },
    /// A copy of the state.
    Inspect { done: oneshot::Sender<State> },
    /// Leave memory.
    Close {
        executor: ExecutorFate,
        done: oneshot::Sender<()>,
    },
}

impl Command {
    /// What it is called where its answer is noted; none where it changes nothing, or has an id of its own.
    pub(crate) fn verb(&self) -> Option<&'static str> {
        Some(match self {
            Self::Run { .. } => "run",
            Self::Pause { .. } => "pause",
            Self::Interrupt { .. } => "interrupt",
            Self::SwitchModel { .. } => "switch_model",
            Self::SwitchAgentModel { .. } => "switch_agent_model",
            Self::Respond { .. } => "respond",
            Self::Reject { .. } => "reject",
            Self::ApproveServer { .. } => "approve_server",
            Self::SetPolicy { .. } => "set_policy",
            Self::SetAnalyzer { .. } => "set_analyzer",
            Self::Allow { .. } => "allow",
            Self::Disallow { .. } => "disallow",
            Self::AnswerHost { .. } => "answer_host",
            Self::DisallowHost { .. } => "disallow_host",
            Self::Fork { .. } => "fork",
            Self::Navigate { .. } => "navigate",
            Self::SetSecrets { .. } => "set_secrets",
            Self::RestoreFiles { .. } => "restore_files",
            Self::Rewind { .. } => "rewind",
            Self::Rerun { .. } => "rerun",
            Self::Condense { .. } => "condense",
            Self::Queue { .. } => "queue",
            Self::Label { .. } => "label",
            Self::SetLimits { .. } => "set_limits",
            Self::Tell { .. } => "tell",
            Self::Recall { .. } | Self::AddUsage { .. } => "ask",
            Self::Send { .. }
            | Self::AddBudget { .. }
            | Self::PreviewFiles { .. }
            | Self::Snapshot { .. }
            | Self::Context { .. }
            | Self::Inspect { .. }
            | Self::Close { .. } => return None,
        })
    }

    /// Whether it waits where files are being changed: the agent may go on because of it, or it changes them too.
    pub(crate) fn waits_for_files(&self) -> bool {
        matches!(
            self,
            Self::Run { .. }
                | Self::Respond { .. }
                | Self::Reject { .. }
                | Self::RestoreFiles { .. }
                | Self::Rewind { .. }
                | Self::Rerun { .. }
        )
    }

    /// Answers without doing anything.
    pub(crate) fn answer(self, answer: Result<Value, CommandError>) {
        match self {
            Self::Send { done, .. }
            | Self::Pause { done }
            | Self::Interrupt { done }
            | Self::SwitchModel { done, .. }
            | Self::SwitchAgentModel { done, .. }
            | Self::Respond { done, .. }
            | Self::Reject { done, .. }
            | Self::ApproveServer { done, .. }
            | Self::SetPolicy { done, .. }
            | Self::SetAnalyzer { done, .. }
            | Self::Allow { done, .. }
            | Self::AnswerHost { done, .. }
            | Self::Fork { done, .. }
            | Self::Navigate { done, .. }
            | Self::SetSecrets { done, .. }
            | Self::Condense { done }
            | Self::Queue { done, .. }
            | Self::AddBudget { done, .. }
            | Self::Label { done, .. }
            | Self::SetLimits { done, .. }
            | Self::Tell { done, .. } => send(done, answer),
            Self::Run { done, .. } => send(done, answer),
            Self::Disallow { done, .. } | Self::DisallowHost { done, .. } => send(done, answer),
            Self::RestoreFiles { done, .. } => send(done, answer),
            Self::Rewind { done, .. } => send(done, answer),
            Self::Rerun { done } => send(done, answer),
            Self::Recall { done } => send(done, answer),
            Self::AddUsage { done, .. } => send(done, answer),
            Self::PreviewFiles { done, .. } => send(done, answer),
            // They are never noted, so there is nothing to answer: whoever asked hears that nobody does.
            Self::Snapshot { .. } | Self::Context { .. } | Self::Inspect { .. } | Self::Close { .. } => {}
        }
    }
}

/// Whoever asked may have gone.
fn send<T: DeserializeOwned>(done: Done<T>, answer: Result<Value, CommandError>) {
    let read = |answer| T::deserialize(answer).map_err(|_| CommandError::Unanswerable);
    let _ = done.send(answer.and_then(read));
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
