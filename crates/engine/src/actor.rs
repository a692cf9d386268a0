//! The task that owns a conversation. Nobody else changes it, so nobody locks it.
//!
//! It waits for two things at once: commands, and the outcome of the one piece of work that is under way (a
//! model call, a tool call, or reaching the executor). Commands are answered whatever that work is.

mod outcome;
mod work;

use std::sync::Arc;
use std::time::Duration;

use deft_executor::{Client, Update};
use deft_llm::Model;
use deft_store::{Lease, Store, StoreError};
use deft_types::{
    ActionId, Classification, ConversationErrorEvent, Event, EventBody, EventId, Extra, FailureKind,
    InterruptEvent, Message, MessageEvent, PauseEvent, Source, Status, SystemPromptEvent, Timestamp,
};
use futures::future::OptionFuture;
use serde_json::json;
use std::collections::HashSet;
use tokio::sync::{mpsc, oneshot, watch};

use self::work::{Outcome, Work};
use crate::command::{Begun, Command, CommandError, ExecutorFate};
use crate::conversation::{Limits, Progress};
use crate::live::{Broadcast, Live};
use crate::prompt;
use crate::state::{self, State, key};
use crate::status::{self, Trigger};
use crate::toolset::Toolset;
use crate::turn::{Draft, failure};
use crate::world::{Point, World};

/// How long a tool that was told to stop may take to say what it had done.
const STOP_GRACE: Duration = Duration::from_millis(700);
/// How long an executor may take to end everything it started.
const END_GRACE: Duration = Duration::from_secs(5);

/// See the module.
pub(crate) struct Actor {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) lease: Lease,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) model_name: String,
    pub(crate) workspace: Arc<dyn deft_workspace::Workspace>,
    pub(crate) directory: String,
    pub(crate) tools: Toolset,
    pub(crate) world: Arc<dyn World>,
    pub(crate) limits: Limits,
    pub(crate) inbox: mpsc::Receiver<Command>,
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) live: Broadcast,
    pub(crate) state: State,
    pub(crate) executor: Option<Client>,
    pub(crate) work: Option<Work>,
    /// Actions stored by this actor that no executor has been asked for yet.
    pub(crate) unsent: HashSet<ActionId>,
    /// Model calls of this run.
    pub(crate) steps: u32,
    /// What the user said since the model was asked.
    pub(crate) unseen: Vec<EventId>,
    /// How often in a row the executor was lost in the middle of a call.
    pub(crate) losses: u32,
}

impl Actor {
    /// Works until it is told to close, or nobody holds a handle any more.
    pub(crate) async fn run(mut self) {
        let (fate, done) = self.work_until_closed().await;
        self.end_work(fate).await;
        // If this fails the lease runs out by itself.
        let _ = self.store.release(self.lease).await;
        if let Some(done) = done {
            let _ = done.send(());
        }
    }

    async fn work_until_closed(&mut self) -> (ExecutorFate, Option<oneshot::Sender<()>>) {
        loop {
            while self.may_advance() {
                if let Err(error) = self.advance().await {
                    self.halt(&error);
                }
            }
            let outcome = OptionFuture::from(self.work.as_mut().map(Work::outcome));
            tokio::select! {
                biased; // a call that was begun is sent before a command may want it stopped
                Some(outcome) = outcome => {
                    self.work = None;
                    if let Err(error) = self.take(outcome).await {
                        self.halt(&error);
                    }
                }
                command = self.inbox.recv() => match command {
                    Some(Command::Close { executor, done }) => return (executor, Some(done)),
                    Some(command) => self.handle(command).await,
                    None => return (ExecutorFate::Keep, None),
                },
            }
        }
    }

    async fn handle(&mut self, command: Command) {
        // Whoever asked may have gone; what was done stays done.
        match command {
            Command::Send { id, message, done } => drop(done.send(self.admit(id, *message).await)),
            Command::Run { done } => drop(done.send(self.start_run().await.map_err(Into::into))),
            Command::Pause { done } => drop(done.send(self.pause().await.map_err(Into::into))),
            Command::Interrupt { done } => drop(done.send(self.interrupt().await.map_err(Into::into))),
            Command::SwitchModel { name, model, done } => {
                drop(done.send(self.switch_model(name, model).await.map_err(Into::into)));
            }
            Command::Inspect { done } => drop(done.send(self.state.clone())),
            Command::Close { .. } => {} // the loop has taken it
        }
    }

    /// Stores a user's message. Sending it again under the same id changes nothing.
    async fn admit(&mut self, id: EventId, message: Message) -> Result<(), CommandError> {
        let mut drafts = Vec::new();
        if !self.state.has_prompt {
            drafts.push(Draft::new(Source::Agent, self.system_prompt()));
        }
        drafts.extend(self.status_after(Trigger::Message));
        drafts.push(Draft::new(Source::User, MessageEvent::new(message)).with_id(id.clone()));
        drafts.push(Draft::new(
            Source::Environment,
            state::update(key::LAST_USER_MESSAGE, json!(id)),
        ));
        match self.record(drafts).await {
            Ok(()) => {
                if matches!(self.work, Some(Work::Model { .. })) {
                    self.unseen.push(id);
                }
                Ok(())
            }
            Err(StoreError::Duplicate { id: taken, seq }) if taken == id => {
                let there = self.store.read(self.lease.conversation(), seq, 1).await?;
                match there.first() {
                    Some((
                        _,
                        Event {
                            source: Source::User,
                            body: EventBody::Message(_),
                            ..
                        },
                    )) => Ok(()),
                    _ => Err(CommandError::IdTaken(id)),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn start_run(&mut self) -> Result<Begun, StoreError> {
        // What could not be stored before may be stored now.
        self.publish_progress(None);
        if !self.state.has_prompt {
            return Ok(Begun::NothingToDo); // nobody has said anything
        }
        let before = self.state.status;
        if before != Status::Running {
            self.steps = 0;
        }
        let begin = self
            .model_in_use()
            .into_iter()
            .chain(self.status_after(Trigger::Run))
            .collect();
        self.record(begin).await?;
        Ok(match (before, self.state.status) {
            (Status::Running, _) => Begun::Before,
            (_, Status::Running) => Begun::Now,
            _ => Begun::NothingToDo,
        })
    }

    async fn switch_model(&mut self, name: String, model: Arc<dyn Model>) -> Result<(), StoreError> {
        let before = (
            std::mem::replace(&mut self.model_name, name),
            std::mem::replace(&mut self.model, model),
        );
        let told = self.record(self.model_in_use().into_iter().collect()).await;
        if told.is_err() {
            (self.model_name, self.model) = before;
        }
        told
    }

    /// The event that the model is another than the log says, if it is.
    fn model_in_use(&self) -> Option<Draft> {
        let agent = json!({"kind": "Agent", "llm": {"model": self.model_name}});
        (self.state.model.as_ref() != Some(&self.model_name))
            .then(|| Draft::new(Source::Environment, state::update(key::AGENT, agent)))
    }

    async fn pause(&mut self) -> Result<(), StoreError> {
        let Some(paused) = self.status_after(Trigger::Pause) else {
            return Ok(());
        };
        self.record(vec![paused, Draft::new(Source::User, PauseEvent::default())])
            .await
    }

    /// Stops what is under way, gives every open call its result, and pauses.
    async fn interrupt(&mut self) -> Result<(), StoreError> {
        let stopped = self.stop_work().await;
        let paused = self.status_after(Trigger::Interrupt);
        if paused.is_none() && self.state.open_calls.is_empty() {
            return Ok(());
        }
        let (answered, result) = stopped.unzip();
        let mut drafts: Vec<_> = result.into_iter().collect();
        for call in self
            .state
            .open_calls
            .iter()
            .filter(|call| Some(&call.id) != answered.as_ref())
        {
            let text = "Interrupted by the user before it was completed.".to_owned();
            drafts.push(Draft::new(
                Source::Agent,
                failure(&call.event.tool_call, text, FailureKind::AgentAction),
            ));
        }
        let calls: Vec<_> = self.state.open_calls.iter().map(|call| call.id.clone()).collect();
        drafts.extend(paused);
        drafts.push(Draft::new(Source::User, InterruptEvent::default()));
        self.record(drafts).await?;
        if let Some(executor) = &self.executor {
            for call in calls {
                executor.acknowledge(call).await;
            }
        }
        Ok(())
    }

    /// Ends the work under way. A tool gets a moment to say what it had done by then.
    async fn stop_work(&mut self) -> Option<(ActionId, Draft)> {
        match self.work.take()? {
            Work::Model { item, .. } => {
                self.live.show(Live::ReplyAborted { item });
                None
            }
            connecting @ Work::Connect { .. } => {
                self.work = Some(connecting); // an executor that is being started must be known, to be ended
                None
            }
            Work::Tool {
                action,
                client,
                future,
            } => {
                if !self.is_writer().await {
                    return None;
                }
                client.cancel(action).await;
                let outcome = tokio::time::timeout(STOP_GRACE, future).await.ok()?;
                let Outcome::Tool { call, update } = outcome else {
                    return None;
                };
                if update == Update::Lost {
                    self.executor = None;
                }
                let result = outcome::result_of(&call, update)?;
                Some((call.id, result))
            }
        }
    }

    async fn end_work(&mut self, fate: ExecutorFate) {
        let work = self.work.take();
        // Whoever took the conversation over has the executor too.
        if fate == ExecutorFate::Keep || !self.is_writer().await {
            return;
        }
        let client = match (self.executor.take(), work) {
            (Some(client), _) => Some(client),
            (None, Some(mut connecting @ Work::Connect { .. })) => {
                match tokio::time::timeout(END_GRACE, connecting.outcome()).await {
                    Ok(Outcome::Connected(Ok(client))) => Some(client),
                    _ => None,
                }
            }
            // None was needed by us, but one of before may still be there.
            (None, _) => match self.workspace.find().await {
                Some(stream) => Client::connect(stream).await.ok(),
                None => None,
            },
        };
        if let Some(client) = client {
            let _ = tokio::time::timeout(END_GRACE, client.shutdown()).await;
        }
    }

    /// Whether the conversation is still ours. Another process takes it over when this one was stopped for long.
    async fn is_writer(&mut self) -> bool {
        !matches!(self.store.renew(&self.lease).await, Err(StoreError::Fenced(_)))
    }

    fn may_advance(&self) -> bool {
        self.state.status == Status::Running && self.work.is_none() && !self.halted()
    }

    /// Stores events, then takes them into the state. On an error nothing has changed.
    pub(crate) async fn record(&mut self, drafts: Vec<Draft>) -> Result<(), StoreError> {
        if drafts.is_empty() {
            return Ok(());
        }
        let mut leaf = self.state.leaf.clone();
        let mut events = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let id = draft.id.unwrap_or_else(|| self.world.new_id().into());
            let timestamp = Timestamp::at(self.world.now());
            let parent_id = leaf.clone();
            if !matches!(draft.body, EventBody::StateUpdate(_)) {
                leaf = Some(id.clone());
            }
            events.push(Event {
                id,
                timestamp,
                source: draft.source,
                parent_id,
                body: draft.body,
            });
        }
        self.world.reached(Point::BeforeAppend);
        self.store.append(&self.lease, events.clone()).await?;
        self.world.reached(Point::AfterAppend);
        for event in &events {
            self.state.apply(event);
        }
        self.publish_progress(None);
        Ok(())
    }

    /// The event that the status is another, if it is.
    pub(crate) fn status_after(&self, trigger: Trigger) -> Option<Draft> {
        let next = status::after(self.state.status, trigger)?;
        Some(Draft::new(Source::Environment, state::status(next)))
    }

    /// The run failed: the status says so, and the event behind it why.
    pub(crate) async fn fail(
        &mut self,
        code: &str,
        detail: String,
        kind: Classification,
    ) -> Result<(), StoreError> {
        let event = ConversationErrorEvent {
            code: code.to_owned(),
            detail,
            classification: Some(kind),
            extra: Extra::new(),
        };
        let mut drafts: Vec<_> = self.status_after(Trigger::Fail).into_iter().collect();
        drafts.push(Draft::new(Source::Environment, event));
        self.record(drafts).await
    }

    /// The store failed under the loop: nothing goes on until somebody asks again.
    fn halt(&mut self, error: &StoreError) {
        self.work = None;
        self.publish_progress(Some(error.to_string()));
    }

    fn halted(&self) -> bool {
        self.progress.borrow().fault.is_some()
    }

    pub(crate) fn publish_progress(&self, fault: Option<String>) {
        let status = self.state.status;
        self.progress.send_if_modified(|progress| {
            let new = Progress { status, fault };
            let changed = *progress != new;
            *progress = new;
            changed
        });
    }

    fn system_prompt(&self) -> SystemPromptEvent {
        let now = Timestamp::at(self.world.now());
        SystemPromptEvent {
            system_prompt: deft_types::Content::text(prompt::STATIC.trim_end()),
            tools: self.tools.definitions(),
            dynamic_context: Some(deft_types::Content::text(prompt::dynamic(&self.directory, &now))),
            extra: Extra::new(),
        }
    }
}
