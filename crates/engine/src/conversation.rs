//! The handle to a conversation.

mod open;

use std::sync::Arc;
use std::time::Duration;

use deft_llm::Model;
use deft_risk::AllowRule;
use deft_store::{Lease, Store, StoreError};
use deft_tools::{Change, CheckpointId, Overwrite, Restored, Toolbox};
use deft_types::{
    ActionId, ConfirmationPolicy, ConversationId, EventId, Message, Money, SecurityAnalyzer, Seq, Status,
    Tokens, ToolSpec,
};
use deft_workspace::Workspace;
use serde_json::Value;
use std::collections::BTreeMap;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tracing::Span;

use crate::allow_rules::AllowScope;
use crate::aside::{AsideError, Snapshot};
use crate::branch;
use crate::command::{Answer, Begun, Command, CommandError, ExecutorFate};
use crate::condense::Condenser;
use crate::extensions::Extensions;
use crate::external::ExternalAgent;
use crate::live::{Broadcast, Live};
use crate::model_tools::Models;
use crate::secret_lookup::SecretSources;
use crate::servers::{Servers, ServersElsewhere, ToolFilter};
use crate::state::State;
use crate::structured::SchemaError;
use crate::supervision::Supervision;
use crate::task_tool::SubAgents;
use crate::world::World;

/// Commands that wait for the actor.
const MAX_QUEUED_COMMANDS: usize = 64;
/// What side questions are counted as.
const ASIDE_USAGE: &str = "ask-agent-llm";
/// Events read at once while the log is folded.
const PAGE: usize = 1000;

/// What a run may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Model calls in one run, those of agents with tasks of their own included.
    pub max_steps: u32,
    /// Calls of one reply that may run at the same time.
    pub parallel_calls: usize,
    /// Whether a run that goes in circles is stopped.
    pub stuck_detection: bool,
    /// Everything the conversation may cost.
    pub max_cost: Option<Money>,
    /// All tokens that it may use, of prompts and replies together.
    pub max_tokens: Option<Tokens>,
    /// How long one run may take.
    pub max_time: Option<Duration>,
    /// Agents with tasks of their own that it, and those below it, may start.
    pub max_agents: Option<u32>,
    /// How many levels of such agents there may be, one below the other.
    pub max_depth: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 500,
            parallel_calls: 8,
            stuck_detection: true,
            max_cost: None,
            max_tokens: None,
            max_time: None,
            max_agents: Some(32),
            max_depth: Some(2),
        }
    }
}

/// Who judges actions, and which of them wait for a person's word, until somebody changes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Safety {
    /// Which actions wait.
    pub policy: ConfirmationPolicy,
    /// Who judges them.
    pub analyzer: Option<SecurityAnalyzer>,
}

/// How what the model sees is kept within what it can read.
#[derive(Clone, Default)]
pub struct Memory {
    /// How.
    pub condenser: Condenser,
    /// What writes summaries; without it, the model that answers.
    pub model: Option<Arc<dyn Model>>,
}

/// What an executor is given before its first call.
#[derive(Clone, Default)]
pub struct Outfit {
    /// What commands may use by name, and what is hidden in all that tools tell.
    pub secrets: SecretSources,
    /// MCP servers to be started beside the files.
    pub servers: Option<Servers>,
    /// MCP servers that are reached from here.
    pub elsewhere: Option<Arc<dyn ServersElsewhere>>,
    /// Which of the servers' tools are offered, by their names; all of them where nobody says.
    pub filter: Option<ToolFilter>,
    /// Whether the workspace is recorded before each turn that may change it.
    pub checkpoints: bool,
}

/// What a conversation is made of.
pub struct Parts {
    /// Where its log is.
    pub store: Arc<dyn Store>,
    /// The right to write to it.
    pub lease: Lease,
    /// What answers.
    pub model: Arc<dyn Model>,
    /// The name by which it can be opened again.
    pub model_name: String,
    /// The others that it may be exchanged for or asked, where there are some.
    pub models: Option<Arc<dyn Models>>,
    /// Where agents with tasks of their own come from, where there may be some.
    pub agents: Option<Arc<dyn SubAgents>>,
    /// Where tools run.
    pub workspace: Arc<dyn Workspace>,
    /// The directory they run in, as the model is told.
    pub directory: String,
    /// The tools of the executor that are on offer.
    pub tools: Vec<ToolSpec>,
    /// The tools that run beside the engine: all of them are on offer.
    pub host: Toolbox,
    /// The form of an answer that calls of a tool have to carry, by the tool's name.
    pub responses: BTreeMap<String, Value>,
    /// Time and ids.
    pub world: Arc<dyn World>,
    /// What a run may use.
    pub limits: Limits,
    /// What must be asked for.
    pub safety: Safety,
    /// How its memory is kept short.
    pub memory: Memory,
    /// What its executor is given.
    pub outfit: Outfit,
    /// What people have added to the agent.
    pub extensions: Extensions,
    /// Who watches over it.
    pub supervision: Supervision,
    /// The program that makes its turns in place of the model and the tools, where there is one.
    pub external: Option<ExternalAgent>,
}

/// Why a conversation cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The log cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A tool cannot be asked for such an answer.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// How far a conversation is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What it is doing.
    pub status: Status,
    /// Why it does not go on although it should: the store failed. Run again when that is mended.
    pub fault: Option<String>,
}

/// A loaded conversation. Cheap to clone; the last one dropped unloads it.
#[derive(Clone)]
pub struct Conversation {
    id: ConversationId,
    commands: mpsc::Sender<Command>,
    progress: watch::Receiver<Progress>,
    live: Broadcast,
}

impl Conversation {
    /// Its id.
    pub fn id(&self) -> ConversationId {
        self.id
    }

    /// Stores a user's message; resolves when it is committed, whatever the agent is doing. The same id again
    /// changes nothing.
    pub async fn send(&self, id: EventId, message: Message) -> Result<(), CommandError> {
        self.ask(|done| Command::Send {
            id,
            message: Box::new(message),
            done,
        })
        .await?
    }

    /// Lets the agent go on; resolves when it has begun. [`Conversation::settled`] waits for the end.
    pub async fn run(&self) -> Result<Begun, CommandError> {
        let within = Span::current();
        self.ask(|done| Command::Run { within, done }).await?
    }

    /// Stops at the next safe boundary; what is under way is let finish.
    pub async fn pause(&self) -> Result<(), CommandError> {
        self.ask(|done| Command::Pause { done }).await?
    }

    /// Stops now: the model call and every process of the call under way.
    pub async fn interrupt(&self) -> Result<(), CommandError> {
        self.ask(|done| Command::Interrupt { done }).await?
    }

    /// Carries out what a person decided about the actions that wait: about each of them.
    pub async fn respond(&self, answers: Vec<(ActionId, Answer)>) -> Result<(), CommandError> {
        self.ask(|done| Command::Respond { answers, done }).await?
    }

    /// Says no to every action that waits. [`Conversation::run`] says yes to all of them.
    pub async fn reject(&self, reason: String) -> Result<(), CommandError> {
        self.ask(|done| Command::Reject { reason, done }).await?
    }

    /// Changes which actions wait for a word, from the next reply on.
    pub async fn set_policy(&self, policy: ConfirmationPolicy) -> Result<(), CommandError> {
        self.ask(|done| Command::SetPolicy { policy, done }).await?
    }

    /// Changes who judges actions, from the next reply on.
    pub async fn set_analyzer(&self, analyzer: Option<SecurityAnalyzer>) -> Result<(), CommandError> {
        self.ask(|done| Command::SetAnalyzer { analyzer, done }).await?
    }

    /// Lets commands that begin so, such as `git commit`, run without asking from the next reply on.
    pub async fn allow(&self, rule: &str, scope: AllowScope) -> Result<(), CommandError> {
        let rule = AllowRule::parse(rule).map_err(|error| CommandError::BadRule(error.to_string()))?;
        let rule = Box::new(rule);
        self.ask(|done| Command::Allow { rule, scope, done }).await?
    }

    /// Takes such a rule back, wherever it reached; whether there was one.
    pub async fn disallow(&self, rule: String) -> Result<bool, CommandError> {
        self.ask(|done| Command::Disallow { rule, done }).await?
    }

    /// Lets another model answer from the next call on. `name` is what it can be opened by again.
    pub async fn switch_model(&self, name: String, model: Arc<dyn Model>) -> Result<(), CommandError> {
        self.ask(|done| Command::SwitchModel { name, model, done })
            .await?
    }

    /// Lets the agent that is a program of its own use another model from its next turn on.
    pub async fn switch_agent_model(&self, model: String) -> Result<(), CommandError> {
        self.ask(|done| Command::SwitchAgentModel { model, done }).await?
    }

    /// Stands at another event of the log, or before the first: what is said next follows that one.
    pub async fn navigate(&self, to: Option<EventId>) -> Result<(), CommandError> {
        self.ask(|done| Command::Navigate { to, done }).await?
    }

    /// Gives the tools these secrets, and no others, from the next call on. They are not stored.
    pub async fn set_secrets(&self, secrets: SecretSources) -> Result<(), CommandError> {
        self.ask(|done| Command::SetSecrets { secrets, done }).await?
    }

    /// What going back to a checkpoint would change in the workspace.
    pub async fn preview_files(&self, to: CheckpointId) -> Result<Vec<Change>, CommandError> {
        self.ask(|done| Command::PreviewFiles { to, done }).await?
    }

    /// Makes the workspace what it was at a checkpoint.
    pub async fn restore_files(
        &self,
        to: CheckpointId,
        overwrite: Overwrite,
    ) -> Result<Restored, CommandError> {
        self.ask(|done| Command::RestoreFiles { to, overwrite, done })
            .await?
    }

    /// Makes room in what the model sees: now, or at the next safe boundary if the agent works.
    pub async fn condense(&self) -> Result<(), CommandError> {
        self.ask(|done| Command::Condense { done }).await?
    }

    /// Changes what a run may use, also while it runs.
    pub async fn set_limits(&self, limits: Limits) -> Result<(), CommandError> {
        self.ask(|done| Command::SetLimits { limits, done }).await?
    }

    /// Stores news that whoever watches the conversation is to hear. The engine makes nothing of them.
    pub async fn tell(&self, key: String, value: Value) -> Result<(), CommandError> {
        self.ask(|done| Command::Tell { key, value, done }).await?
    }

    /// Asks the model something on the side. Neither the question nor the answer becomes part of the conversation.
    pub async fn ask_aside(&self, question: &str) -> Result<String, AsideError> {
        let snapshot = self.ask(|done| Command::Snapshot { done }).await??;
        let model = snapshot.model.clone();
        self.ask_with(snapshot, model, ASIDE_USAGE, question).await
    }

    pub(crate) async fn ask_with(
        &self,
        snapshot: Snapshot,
        model: Arc<dyn Model>,
        usage_id: &str,
        question: &str,
    ) -> Result<String, AsideError> {
        let reply = Box::new(snapshot.ask(model.as_ref(), question).await?);
        let text = reply.text.clone();
        let usage_id = usage_id.to_owned();
        self.ask(|done| Command::AddUsage {
            usage_id,
            model,
            reply,
            done,
        })
        .await??;
        Ok(text)
    }

    /// A copy of the state.
    pub async fn inspect(&self) -> Result<State, CommandError> {
        self.ask(|done| Command::Inspect { done }).await
    }

    /// Unloads it.
    pub async fn close(&self, executor: ExecutorFate) {
        let _ = self.ask(|done| Command::Close { executor, done }).await; // closed before is closed too
    }

    /// Waits until it does not run any more.
    pub async fn settled(&self) -> Progress {
        let mut progress = self.progress.clone();
        let settled = progress
            .wait_for(|progress| progress.status != Status::Running || progress.fault.is_some())
            .await;
        settled.map_or_else(|_| self.progress.borrow().clone(), |progress| progress.clone())
    }

    /// Pieces of replies and output as they come. A slow reader loses the oldest.
    pub fn live(&self) -> broadcast::Receiver<Live> {
        self.live.subscribe()
    }

    pub(crate) async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, CommandError> {
        let (done, answer) = oneshot::channel();
        self.commands
            .send(command(done))
            .await
            .map_err(|_| CommandError::Closed)?;
        answer.await.map_err(|_| CommandError::Closed)
    }
}

/// Folds the log of a conversation.
pub async fn load(store: &dyn Store, id: ConversationId) -> Result<State, StoreError> {
    let mut state = State::default();
    let mut from = Seq::FIRST;
    loop {
        let page = store.read(id, from, PAGE).await?;
        let Some((last, _)) = page.last() else {
            return Ok(state);
        };
        from = last.next();
        for (_, event) in &page {
            if branch::moves(event) {
                return Ok(branch::fold(&branch::read_all(store, id).await?));
            }
            state.apply(event);
        }
    }
}
