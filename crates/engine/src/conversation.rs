//! The handle to a conversation.

mod open;
mod parts;

pub use self::parts::{Limits, Memory, OpenError, Outfit, Parts, Safety};

use std::sync::Arc;

use deft_llm::{CallLog, Model};
use deft_risk::AllowRule;
use deft_store::{NewConversation, Store, StoreError};
use deft_tools::{Change, CheckpointId, Overwrite, Restored};
use deft_types::{
    ActionId, ConfirmationPolicy, ConversationId, Event, EventId, McpPin, Message, SecurityAnalyzer, Seq,
    Status,
};
use deft_workspace::egress::AskedHost;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tracing::Span;

use crate::allow_rules::AllowScope;
use crate::aside::Turns;
use crate::branch;
use crate::command::{Answer, Begun, Command, CommandError, Envelope, ExecutorFate};
use crate::context::Context;
use crate::fork::Fork;
use crate::hosts::{Attendance, Attendant, HostAnswer};
use crate::live::{Broadcast, Live};
use crate::secret_lookup::SecretSources;
use crate::state::{State, key};

/// Commands that wait for the actor.
const MAX_QUEUED_COMMANDS: usize = 64;
/// Events read at once while the log is folded.
const PAGE: usize = 1000;

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
    commands: mpsc::Sender<Envelope>,
    progress: watch::Receiver<Progress>,
    live: Broadcast,
    attendance: Attendance,
    calls: CallLog,
    /// What a client calls the next command.
    pub(crate) request: Option<EventId>,
    pub(crate) turns: Turns,
}

impl Conversation {
    /// Its id.
    pub fn id(&self) -> ConversationId {
        self.id
    }

    /// A handle whose commands a client calls so: the one that is sent first is carried out, and noted in the log. The
    /// same id again is answered as it was and changes nothing, also after a restart. One id, one command.
    #[must_use]
    pub fn as_request(&self, id: EventId) -> Self {
        Self {
            request: Some(id),
            ..self.clone()
        }
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

    /// Somebody is there to be asked for hosts that no rule names, until this is dropped.
    pub fn attend(&self) -> Attendant {
        self.attendance.attend()
    }

    /// Carries out what a person decided about a host that a program waits for.
    pub async fn answer_host(&self, asked: AskedHost, to: HostAnswer) -> Result<(), CommandError> {
        self.ask(|done| Command::AnswerHost { asked, to, done }).await?
    }

    /// Asks for a host again, wherever it was allowed; whether it was.
    pub async fn disallow_host(&self, host: String) -> Result<bool, CommandError> {
        self.ask(|done| Command::DisallowHost { host, done }).await?
    }

    /// Begins another conversation as a copy of this one, which may be running.
    pub async fn fork(&self, new: NewConversation, fork: Fork) -> Result<(), CommandError> {
        let new = Box::new(new);
        self.ask(|done| Command::Fork { new, fork, done }).await?
    }

    /// Agrees to what an MCP server is: what it offers now is used from the next step on.
    pub async fn approve_server(&self, name: String, pin: McpPin) -> Result<(), CommandError> {
        self.ask(|done| Command::ApproveServer { name, pin, done })
            .await?
    }

    /// Where calls are kept that it is to tell whole: another model that it gets may keep its own there.
    pub fn calls(&self) -> &CallLog {
        &self.calls
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
        let id = None;
        self.ask(|done| Command::Tell { id, key, value, done }).await?
    }

    /// Notes what a client was answered whose request is more than one command. The note is found by its id, under the
    /// key [`ANSWERED_REQUEST`](crate::ANSWERED_REQUEST), and shown to nobody.
    pub async fn note_request(&self, id: EventId, value: Value) -> Result<(), CommandError> {
        let (id, key) = (Some(id), key::REQUEST.to_owned());
        self.ask(|done| Command::Tell { id, key, value, done }).await?
    }

    /// What the model would be sent next. So many messages are told one by one, the newest.
    pub async fn context(&self, most: usize) -> Result<Context, CommandError> {
        self.ask(|done| Command::Context { most, done }).await
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
            .send(Envelope {
                request: self.request.clone(),
                command: command(done),
            })
            .await
            .map_err(|_| CommandError::Closed)?;
        answer.await.map_err(|_| CommandError::Closed)
    }
}

/// The events on which a conversation stands, without those of other branches.
pub async fn read_branch(store: &dyn Store, id: ConversationId) -> Result<Vec<Event>, StoreError> {
    let events = branch::read_all(store, id).await?;
    let head = branch::head(&events);
    Ok(branch::path(&events, head.as_ref())
        .into_iter()
        .cloned()
        .collect())
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
