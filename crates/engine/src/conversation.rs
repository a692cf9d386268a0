//! The handle to a conversation.

use std::sync::Arc;

use deft_llm::Model;
use deft_store::{Lease, Store, StoreError};
use deft_types::{ConversationId, EventId, Message, Money, Seq, Status, ToolSpec};
use deft_workspace::Workspace;
use std::collections::HashSet;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::actor::Actor;
use crate::command::{Begun, Command, CommandError, ExecutorFate};
use crate::live::{Broadcast, Live};
use crate::state::State;
use crate::status::Trigger;
use crate::toolset::Toolset;
use crate::world::{Point, World};

/// Commands that wait for the actor.
const MAX_QUEUED_COMMANDS: usize = 64;
/// Events read at once while the log is folded.
const PAGE: usize = 1000;

/// What a run may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Model calls in one run.
    pub max_steps: u32,
    /// Everything the conversation may cost.
    pub max_cost: Option<Money>,
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
    /// Where tools run.
    pub workspace: Arc<dyn Workspace>,
    /// The directory they run in, as the model is told.
    pub directory: String,
    /// The tools on offer.
    pub tools: Vec<ToolSpec>,
    /// Time and ids.
    pub world: Arc<dyn World>,
    /// What a run may use.
    pub limits: Limits,
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
    /// Folds the log and starts the actor. A run that was cut off is paused: run it again to go on.
    pub async fn open(parts: Parts) -> Result<Self, StoreError> {
        let id = parts.lease.conversation();
        let state = load(parts.store.as_ref(), id).await?;
        parts.world.reached(Point::Loaded);
        let (commands, inbox) = mpsc::channel(MAX_QUEUED_COMMANDS);
        let (sender, progress) = watch::channel(Progress {
            status: state.status,
            fault: None,
        });
        let live = Broadcast::new();
        let mut actor = Actor {
            store: parts.store,
            lease: parts.lease,
            model: parts.model,
            model_name: parts.model_name,
            workspace: parts.workspace,
            directory: parts.directory,
            tools: Toolset::new(parts.tools),
            world: parts.world,
            limits: parts.limits,
            inbox,
            progress: sender,
            live: live.clone(),
            state,
            executor: None,
            work: None,
            unsent: HashSet::new(),
            steps: 0,
            unseen: Vec::new(),
            losses: 0,
        };
        let cut_off = actor.status_after(Trigger::Load).into_iter().collect();
        actor.record(cut_off).await?;
        // Ends with its last handle, or when it is closed.
        tokio::spawn(actor.run());
        Ok(Self {
            id,
            commands,
            progress,
            live,
        })
    }

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
        self.ask(|done| Command::Run { done }).await?
    }

    /// Stops at the next safe boundary; what is under way is let finish.
    pub async fn pause(&self) -> Result<(), CommandError> {
        self.ask(|done| Command::Pause { done }).await?
    }

    /// Stops now: the model call and every process of the call under way.
    pub async fn interrupt(&self) -> Result<(), CommandError> {
        self.ask(|done| Command::Interrupt { done }).await?
    }

    /// Lets another model answer from the next call on. `name` is what it can be opened by again.
    pub async fn switch_model(&self, name: String, model: Arc<dyn Model>) -> Result<(), CommandError> {
        self.ask(|done| Command::SwitchModel { name, model, done })
            .await?
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

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, CommandError> {
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
            state.apply(event);
        }
    }
}
