//! The task that owns a conversation. Nobody else changes it, so nobody locks it.
//!
//! It waits for two things at once: commands, and the outcome of the one piece of work that is under way (a
//! model call, a tool call, or reaching the executor). Commands are answered whatever that work is.

mod allow;
mod budget;
mod calls;
mod condense;
mod confirm;
mod egress;
mod execute;
mod files;
mod heard;
mod hooks;
mod look_up;
mod outcome;
mod queue;
mod refine;
mod rerun;
mod rewind;
mod servers;
mod skills;
mod spending;
mod steering;
mod tally;
mod work;

use std::sync::Arc;
use std::time::SystemTime;

use deft_executor::Client;
use deft_llm::{Model, ModelError, TokenMeter};
use deft_store::{Lease, Store, StoreError};
use deft_tools::Toolbox;
use deft_types::{
    ActionId, Classification, ConversationErrorEvent, Event, EventBody, EventId, Extra, Message, Source,
    Status, SystemPromptEvent, Timestamp, Tokens,
};
use futures::future::OptionFuture;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::Span;

pub(crate) use self::hooks::Hooked;
use self::look_up::Asked;
use self::work::Work;
pub(crate) use self::work::{ConnectError, connected};
use crate::allow_rules::ProjectRules;
use crate::budget::Purse;
use crate::command::{Begun, Command, CommandError, Done, ExecutorFate};
use crate::conversation::{Limits, Memory, Outfit, Progress, Safety};
use crate::critic::Refinement;
use crate::extensions::Extensions;
use crate::hooks::HookConfig;
use crate::live::Broadcast;
use crate::mode::Mode;
use crate::model_tools::{Images, Models, Spending};
use crate::prompt;
use crate::servers::ServerNews;
use crate::skills::Shelf;
use crate::state::{self, State, key};
use crate::status::{self, Trigger};
use crate::toolset::Toolset;
use crate::trace::Trace;
use crate::turn::Draft;
use crate::world::{Point, World};

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
    /// What may still be used.
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
    /// What was allowed in the whole project.
    pub(crate) project_rules: ProjectRules,
    /// Whether and how results are criticised.
    pub(crate) refinement: Option<Refinement>,
    /// Whether the result of the turn is to be criticised next.
    pub(crate) wants_review: bool,
    /// Who judges, where it is not the model that answers.
    pub(crate) judge_model: Option<Arc<dyn Model>>,
    pub(crate) inbox: mpsc::Receiver<Command>,
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) live: Broadcast,
    pub(crate) state: State,
    pub(crate) executor: Option<Client>,
    pub(crate) work: Option<Work>,
    /// Whether a pause came in the middle of a step, whose calls still run.
    pub(crate) ends_step: bool,
    /// Actions stored by this actor that no executor has been asked for yet.
    pub(crate) unsent: HashSet<ActionId>,
    /// When the run began.
    pub(crate) began: SystemTime,
    /// What the user said since the model was asked.
    pub(crate) unseen: Vec<EventId>,
    pub(crate) memory: Memory,
    pub(crate) outfit: Outfit,
    /// The secrets that others keep and were asked for.
    pub(crate) asked_secrets: HashMap<String, Asked>,
    /// What MCP servers have told, and will tell.
    pub(crate) news: ServerNews,
    pub(crate) extensions: Extensions,
    pub(crate) hooks: HookConfig,
    pub(crate) hooked: Hooked,
    /// The skills, once they were found.
    pub(crate) shelf: Shelf,
    /// Whether the agent works, or only plans.
    pub(crate) mode: Mode,
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
    pub(crate) condensed: Vec<Done<()>>,
    /// How often in a row the executor was lost in the middle of a call.
    pub(crate) losses: u32,
    pub(crate) trace: Trace,
}

impl Actor {
    /// Works until it is told to close, or nobody holds a handle any more.
    pub(crate) async fn run(mut self) {
        let (fate, done) = self.work_until_closed().await;
        self.end(fate).await; // when that is told, the store is let go of too
        if let Some(done) = done {
            let _ = done.send(());
        }
    }

    async fn end(mut self, fate: ExecutorFate) {
        self.end_session().await;
        self.end_work(fate).await;
        self.trace.end_run(self.state.status);
        // If this fails the lease runs out by itself.
        let _ = self.store.release(self.lease).await;
    }

    async fn work_until_closed(&mut self) -> (ExecutorFate, Option<oneshot::Sender<()>>) {
        loop {
            while self.may_advance() {
                if let Err(error) = self.advance().await {
                    self.halt(&error);
                }
            }
            if self.work.is_none() && !self.condensed.is_empty() {
                self.condense_idle().await;
            }
            if self.state.status != Status::Running {
                self.settle_hooks();
                self.settle_files();
                if !matches!(self.work, Some(Work::Calls(_))) {
                    self.trace.end_run(self.state.status);
                }
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
                news = self.news.next() => if let Err(error) = self.take_news(news).await {
                    self.halt(&error);
                },
            }
        }
    }

    async fn handle(&mut self, command: Command) {
        match command {
            Command::Send { id, message, done } => answer(done, self.admit(id, *message).await),
            Command::Run { within, done } => answer(done, self.start_run(&within).await),
            Command::Pause { done } => answer(done, self.pause().await),
            Command::Interrupt { done } => answer(done, self.interrupt().await),
            Command::SwitchModel { name, model, done } => answer(done, self.switch_model(name, model).await),
            Command::Respond { answers, done } => answer(done, self.respond(answers).await),
            Command::Reject { reason, done } => answer(done, self.reject(reason).await),
            Command::ApproveServer { name, pin, done } => answer(done, self.approve_server(&name, pin).await),
            Command::SetPolicy { policy, done } => answer(done, self.set_policy(policy).await),
            Command::SetAnalyzer { analyzer, done } => answer(done, self.set_analyzer(analyzer).await),
            Command::Allow { rule, scope, done } => answer(done, self.allow(&rule, scope).await),
            Command::Disallow { rule, done } => answer(done, self.disallow(&rule).await),
            Command::SetSecrets { secrets, done } => answer(done, self.set_secrets(secrets).await),
            Command::PreviewFiles { to, done } => answer(done, self.preview_files(to).await),
            Command::RestoreFiles { to, overwrite, done } => {
                answer(done, self.restore_files(to, overwrite).await);
            }
            Command::Rewind {
                to,
                what,
                overwrite,
                done,
            } => answer(done, self.rewind(to, what, overwrite).await),
            Command::Rerun { done } => self.rerun(done).await,
            Command::Condense { done } => self.condense(done).await,
            Command::Navigate { to, done } => answer(done, self.navigate(to).await),
            Command::Queue { change, done } => answer(done, self.change_queue(*change).await),
            Command::AddBudget { id, more, done } => answer(done, self.add_budget(id, more).await),
            Command::SetLimits { limits, done } => {
                self.limits = limits;
                answer(done, Ok::<_, CommandError>(()));
            }
            Command::Tell { key, value, done } => {
                let news = Draft::new(Source::Environment, state::update(&key, value));
                answer(done, self.record(vec![news]).await);
            }
            Command::Snapshot { done } => answer(done, self.snapshot()),
            Command::AddUsage {
                usage_id,
                model,
                reply,
                done,
            } => answer(done, self.add_usage(&usage_id, model.as_ref(), &reply).await),
            Command::Inspect { done } => drop(done.send(self.state.clone())),
            Command::Close { .. } => {} // the loop has taken it
        }
    }

    /// Stores a user's message. Sending it again under the same id changes nothing.
    pub(crate) async fn admit(&mut self, id: EventId, message: Message) -> Result<(), CommandError> {
        let found = self.find_extensions().await;
        let mut drafts = Vec::new();
        if !self.state.has_prompt {
            drafts.push(Draft::new(Source::Agent, self.system_prompt()));
        }
        drafts.extend(self.status_after(Trigger::Message));
        drafts.push(self.said(id.clone(), message));
        drafts.push(Draft::new(
            Source::Environment,
            state::update(key::LAST_USER_MESSAGE, json!(id)),
        ));
        drafts.extend(found);
        match self.record(drafts).await {
            Ok(()) => {
                self.turn_recorded = false;
                self.keep_going();
                self.wants_review = false; // there is something to answer first
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

    /// A message of the user's, with what the model reads with it.
    pub(crate) fn said(&self, id: EventId, message: Message) -> Draft {
        let mut said = self.with_skills(message);
        said.extended_content.extend(self.mode.note());
        Draft::new(Source::User, said).with_id(id)
    }

    /// The event that the mode is another than the log says, if it is.
    pub(crate) fn mode_in_force(&self) -> Option<Draft> {
        let told = || Draft::new(Source::Environment, state::update(key::MODE, json!(self.mode)));
        (self.state.mode != self.mode).then(told)
    }

    async fn start_run(&mut self, within: &Span) -> Result<Begun, StoreError> {
        // What could not be stored before may be stored now.
        self.publish_progress(None);
        if !self.state.has_prompt {
            return Ok(Begun::NothingToDo); // nobody has said anything
        }
        let found = self.find_extensions().await;
        let before = self.state.status;
        if before != Status::Running {
            self.purse.begin_run();
            self.condensations = 0;
            self.began = self.world.now();
        }
        if self.state.status == Status::WaitingForConfirmation {
            // What waits has not run anywhere.
            self.unsent = self.state.open_calls.iter().map(|call| call.id.clone()).collect();
        }
        let begin = self
            .model_in_use()
            .into_iter()
            .chain(found)
            .chain(self.status_after(Trigger::Run))
            .collect();
        self.record(begin).await?;
        Ok(match (before, self.state.status) {
            (Status::Running, _) => Begun::Before,
            (_, Status::Running) => {
                self.trace.begin_run(within, &self.model_name);
                Begun::Now
            }
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

    /// Whether the conversation is still ours. Another process takes it over when this one was stopped for long.
    pub(crate) async fn is_writer(&mut self) -> bool {
        !matches!(self.store.renew(&self.lease).await, Err(StoreError::Fenced(_)))
    }

    fn may_advance(&self) -> bool {
        let goes_on = match self.state.status {
            Status::Running => true,
            Status::Paused => self.ends_step && !self.state.open_calls.is_empty(),
            _ => false,
        };
        goes_on && self.work.is_none() && !self.halted()
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
        let before = budget::own_use(&self.state.stats);
        for event in &events {
            self.state.apply(event);
        }
        self.tell_above(before);
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
        let prompt = self.extensions.brief.prompt.as_deref();
        let prompt = prompt.unwrap_or(prompt::STATIC.trim_end());
        SystemPromptEvent {
            system_prompt: deft_types::Content::text(prompt),
            tools: self.tools.definitions(),
            dynamic_context: Some(deft_types::Content::text(prompt::dynamic(
                &self.directory,
                &self.added_to_prompt(),
                &now,
            ))),
            extra: Extra::new(),
        }
    }
}

/// Whoever asked may have gone; what was done stays done.
fn answer<T, E: Into<CommandError>>(done: Done<T>, result: Result<T, E>) {
    let _ = done.send(result.map_err(Into::into));
}
