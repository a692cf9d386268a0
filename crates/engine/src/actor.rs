//! The task that owns a conversation. Nobody else changes it, so nobody locks it.
//!
//! It waits for two things at once: commands, and the outcome of the one piece of work that is under way (a
//! model call, a tool call, or reaching the executor). Commands are answered whatever that work is.

mod calls;
mod condense;
mod confirm;
mod files;
mod outcome;
mod spending;
mod work;

use std::sync::Arc;
use std::time::Duration;

use deft_executor::{Client, Update};
use deft_llm::{Model, ModelError, Request, TokenMeter};
use deft_store::{Lease, Store, StoreError};
use deft_tools::Toolbox;
use deft_types::{
    ActionId, Classification, ConversationErrorEvent, Event, EventBody, EventId, Extra, FailureKind,
    InterruptEvent, Message, MessageEvent, PauseEvent, Source, Status, SystemPromptEvent, Timestamp, Tokens,
};
use futures::future::OptionFuture;
use serde_json::json;
use std::collections::HashSet;
use tokio::sync::{mpsc, oneshot, watch};

use self::calls::Calls;
use self::work::{Outcome, Work};
use crate::aside::Snapshot;
use crate::branch;
use crate::command::{Begun, Command, CommandError, Done, ExecutorFate};
use crate::conversation::{Limits, Memory, Outfit, Progress, Safety};
use crate::live::{Broadcast, Live};
use crate::model_tools::{Images, Models, Spending};
use crate::prompt;
use crate::state::{self, State, key};
use crate::status::{self, Trigger};
use crate::task_tool::Purse;
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
    pub(crate) models: Option<Arc<dyn Models>>,
    /// What tools have spent on models.
    pub(crate) spending: Spending,
    /// What tools may look at.
    pub(crate) images: Images,
    /// What tools may spend.
    pub(crate) purse: Purse,
    pub(crate) workspace: Arc<dyn deft_workspace::Workspace>,
    pub(crate) directory: String,
    pub(crate) tools: Toolset,
    /// The tools that run here, and not beside the files.
    pub(crate) host: Toolbox,
    pub(crate) world: Arc<dyn World>,
    pub(crate) limits: Limits,
    /// As the conversation began.
    pub(crate) safety: Safety,
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
    pub(crate) memory: Memory,
    pub(crate) outfit: Outfit,
    /// Whether the workspace was recorded since the user said something.
    pub(crate) turn_recorded: bool,
    /// How many tokens the last request had by our estimate, and how wrong such estimates were.
    pub(crate) asked: Tokens,
    pub(crate) meter: TokenMeter,
    /// How often room was made since the last reply.
    pub(crate) condensations: u32,
    /// What the model said about a request that was too long.
    pub(crate) overflow: Option<ModelError>,
    /// Who waits for room to be made.
    pub(crate) condensed: Option<Done<()>>,
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
            if self.state.status != Status::Running {
                self.settle_files();
            }
            let outcome = OptionFuture::from(self.work.as_mut().map(Work::next));
            tokio::select! {
                biased; // a call that was begun is sent before a command may want it stopped
                Some(outcome) = outcome => {
                    if !matches!((&outcome, &self.work), (Some(_), Some(Work::Calls(_)))) {
                        self.work = None;
                    }
                    if let Some(outcome) = outcome && let Err(error) = self.take(outcome).await {
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
        match command {
            Command::Send { id, message, done } => answer(done, self.admit(id, *message).await),
            Command::Run { done } => answer(done, self.start_run().await),
            Command::Pause { done } => answer(done, self.pause().await),
            Command::Interrupt { done } => answer(done, self.interrupt().await),
            Command::SwitchModel { name, model, done } => answer(done, self.switch_model(name, model).await),
            Command::Respond { answers, done } => answer(done, self.respond(answers).await),
            Command::Reject { reason, done } => answer(done, self.reject(reason).await),
            Command::SetPolicy { policy, done } => answer(done, self.set_policy(policy).await),
            Command::SetAnalyzer { analyzer, done } => answer(done, self.set_analyzer(analyzer).await),
            Command::SetSecrets { secrets, done } => answer(done, self.set_secrets(secrets).await),
            Command::PreviewFiles { to, done } => answer(done, self.preview_files(to).await),
            Command::RestoreFiles { to, overwrite, done } => {
                answer(done, self.restore_files(to, overwrite).await);
            }
            Command::Condense { done } => self.condense(done).await,
            Command::Navigate { to, done } => answer(done, self.navigate(to).await),
            Command::SetLimits { limits, done } => {
                self.limits = limits;
                answer(done, Ok::<_, CommandError>(()));
            }
            Command::Tell { key, value, done } => {
                let news = Draft::new(Source::Environment, state::update(&key, value));
                answer(done, self.record(vec![news]).await);
            }
            Command::Snapshot { done } => drop(done.send(self.snapshot())),
            Command::AddUsage {
                usage_id,
                reply,
                done,
            } => answer(done, self.add_usage(&usage_id, &reply).await),
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
                self.turn_recorded = false;
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
        if self.state.status == Status::WaitingForConfirmation {
            // What waits has not run anywhere.
            self.unsent = self.state.open_calls.iter().map(|call| call.id.clone()).collect();
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

    pub(crate) async fn switch_model(
        &mut self,
        name: String,
        model: Arc<dyn Model>,
    ) -> Result<(), StoreError> {
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

    /// Stands at another event. What was open there is not run: it has a result elsewhere, or was given up.
    async fn navigate(&mut self, to: Option<EventId>) -> Result<(), CommandError> {
        if self.state.status == Status::Running || self.work.is_some() {
            return Err(CommandError::Running);
        }
        let id = self.lease.conversation();
        if let Some(to) = &to {
            let events = branch::read_all(self.store.as_ref(), id).await?;
            let known = |event: &Event| branch::is_node(event) && event.id == *to;
            if !events.iter().any(known) {
                return Err(CommandError::NoSuchEvent(to.clone()));
            }
        }
        let mut drafts = vec![Draft::new(
            Source::Environment,
            state::update(key::LEAF, json!(to)),
        )];
        drafts.extend(self.status_after(Trigger::Reject));
        self.record(drafts).await?;
        self.state = branch::fold(&branch::read_all(self.store.as_ref(), id).await?);
        let left = self.state.open_calls.iter().map(|call| {
            let text = "Not run: the conversation went on from here.".to_owned();
            Draft::new(
                Source::Agent,
                failure(&call.event.tool_call, text, FailureKind::AgentAction),
            )
        });
        let left = left.collect();
        Ok(self.record(left).await?)
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            model: self.model.clone(),
            request: Request {
                messages: self.state.view.whole_messages(),
                tools: self.tools.schemas(),
                cache_key: Some(self.lease.conversation().to_string()),
            },
        }
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
        let answered: Vec<_> = stopped.iter().map(|(call, _)| call.clone()).collect();
        let mut drafts: Vec<_> = stopped.into_iter().map(|(_, result)| result).collect();
        for call in self
            .state
            .open_calls
            .iter()
            .filter(|call| !answered.contains(&call.id))
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

    /// Ends the work under way. Tools get a moment to say what they had done by then.
    async fn stop_work(&mut self) -> Vec<(ActionId, Draft)> {
        match self.work.take() {
            Some(Work::Model { item, .. }) => self.live.show(Live::ReplyAborted { item }),
            // An executor that is being started must be known, to be ended.
            Some(connecting @ Work::Connect { .. }) => self.work = Some(connecting),
            Some(Work::Summary { .. }) => drop(self.condensed.take()),
            Some(Work::Calls(calls)) => return self.stop_calls(calls).await,
            // The executor finishes a record without us.
            Some(Work::Record { .. }) | None => {}
        }
        Vec::new()
    }

    async fn stop_calls(&mut self, mut calls: Calls) -> Vec<(ActionId, Draft)> {
        let mut results = Vec::new();
        if !self.is_writer().await {
            return results;
        }
        calls.cancel().await;
        let deadline = tokio::time::Instant::now() + STOP_GRACE;
        while let Ok(Some(Outcome::Tool { call, update })) =
            tokio::time::timeout_at(deadline, calls.next()).await
        {
            if update == Update::Lost {
                self.executor = None;
            }
            results.extend(outcome::result_of(&call, update).map(|result| (call.id, result)));
        }
        results
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
                match tokio::time::timeout(END_GRACE, connecting.next()).await {
                    Ok(Some(Outcome::Connected(Ok((client, _))))) => Some(client),
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

/// Whoever asked may have gone; what was done stays done.
fn answer<T, E: Into<CommandError>>(done: Done<T>, result: Result<T, E>) {
    let _ = done.send(result.map_err(Into::into));
}
