//! The task that owns a conversation. Nobody else changes it, so nobody locks it.
//!
//! It waits for two things at once: commands, and the outcome of the one piece of work that is under way (a
//! model call, a tool call, or reaching the executor). Commands are answered whatever that work is.

mod allow;
mod begin;
mod budget;
mod calls;
mod circle;
mod condense;
mod confirm;
mod connect;
mod egress;
mod execute;
mod external;
mod files;
mod fork;
mod handle;
mod heard;
mod hooks;
mod hosts;
mod label;
mod logged;
mod look_up;
mod messages;
mod outcome;
mod queue;
mod record;
mod refine;
mod rerun;
mod restore;
mod rewind;
mod seeking;
mod servers;
mod shown;
mod skills;
mod spending;
mod steering;
mod tally;
mod tasks;
mod titling;
mod work;

use std::sync::Arc;

use deft_executor::Client;
use deft_llm::{CallLog, Model, ModelError, TokenMeter};
use deft_store::{Lease, Store, StoreError};
use deft_tools::{SecretSet, Secrets, Toolbox};
use deft_types::{ActionId, EventId, Seq, Status, Tokens};
use futures::future::OptionFuture;
use std::collections::{HashMap, HashSet};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

pub(crate) use self::external::External;
pub(crate) use self::files::Noted;
pub(crate) use self::hooks::Hooked;
use self::look_up::Asked;
pub(crate) use self::refine::Reviewing;
use self::seeking::Seeking;
use self::work::Work;
pub(crate) use self::work::{ConnectError, connected};
use crate::above::Above;
use crate::allow_rules::ProjectRules;
use crate::budget::{KeptForCall, Purse};
use crate::command::{Command, Done, Envelope, ExecutorFate};
use crate::conversation::{Limits, Memory, Outfit, Progress, Safety};
use crate::critic::Refinement;
use crate::extensions::Extensions;
use crate::hooks::HookConfig;
use crate::hosts::HostDesk;
use crate::live::Broadcast;
use crate::mode::Mode;
use crate::model_tools::{Images, Models, Spending};
use crate::route_task::Said;
use crate::servers::{ServerNews, Servers};
use crate::skills::Shelf;
use crate::state::State;
use crate::tasks::Tasks;
use crate::titling::Titling;
use crate::toolset::Toolset;
use crate::trace::Trace;
use crate::world::World;

/// See the module.
pub(crate) struct Actor {
    // Where everything is kept and told.
    pub(crate) store: Arc<dyn Store>,
    pub(crate) lease: Lease,
    pub(crate) state: State,
    pub(crate) log_end: LogEnd,
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) live: Broadcast,
    pub(crate) world: Arc<dyn World>,
    pub(crate) trace: Trace,

    // What is asked of it.
    pub(crate) inbox: mpsc::Receiver<Envelope>,
    /// What waits until files are what they are to be.
    pub(crate) held: Vec<Envelope>,
    /// What the client calls the command that is carried out, and what it is, until that is noted.
    pub(crate) request: Option<(EventId, &'static str)>,
    /// Who waits for room to be made.
    pub(crate) condensed: Vec<Done<()>>,
    /// Those who look what going back would change.
    pub(crate) previews: JoinSet<()>,

    // Who answers.
    pub(crate) model: Arc<dyn Model>,
    pub(crate) model_name: String,
    pub(crate) models: Option<Arc<dyn Models>>,
    /// Calls of models that are to be told whole.
    pub(crate) logged: CallLog,
    pub(crate) memory: Memory,
    /// Who judges, where it is not the model that answers.
    pub(crate) judge_model: Option<Arc<dyn Model>>,
    /// A service that judges actions, asked like a model.
    pub(crate) monitor: Option<Arc<dyn Model>>,
    /// Who gives it a title, and the title that is asked for.
    pub(crate) titles: Option<Arc<dyn Model>>,
    pub(crate) title_prompt: Option<String>,
    pub(crate) titling: Option<Titling>,
    /// The program that makes the turns, where it is not our own agent.
    pub(crate) external: Option<External>,

    // The run.
    pub(crate) work: Option<Work>,
    /// Whether a pause came in the middle of a step, whose calls still run.
    pub(crate) ends_step: bool,
    /// When the run began.
    pub(crate) began: Instant,
    /// What the user said since the model was asked.
    pub(crate) unseen: Vec<EventId>,
    /// Actions stored by this actor that no executor has been asked for yet.
    pub(crate) unsent: HashSet<ActionId>,
    pub(crate) noted: Noted,
    pub(crate) trouble: Trouble,
    /// How many tokens the last request had by our estimate, and how wrong such estimates were.
    pub(crate) asked: Tokens,
    pub(crate) meter: TokenMeter,

    // What may be used.
    pub(crate) limits: Limits,
    /// What may still be used.
    pub(crate) purse: Purse,
    /// What is kept of it for the model call that is under way.
    pub(crate) kept_for_call: Option<KeptForCall>,
    /// What tools have spent on models.
    pub(crate) spending: Spending,

    // Where the agent works, and with what.
    pub(crate) workspace: Arc<dyn deft_workspace::Workspace>,
    pub(crate) directory: String,
    pub(crate) executor: Option<Client>,
    pub(crate) tools: Toolset,
    /// The tools that run here, and not beside the files.
    pub(crate) host: Toolbox,
    /// What tools may look at.
    pub(crate) images: Images,
    /// What a tool may know of what was said.
    pub(crate) said: Said,
    pub(crate) outfit: Outfit,
    /// The servers of the outfit without those of plugins.
    pub(crate) own_servers: Option<Servers>,
    /// What MCP servers have told, and will tell.
    pub(crate) news: ServerNews,
    /// What is hidden in all that is stored and shown.
    pub(crate) secrets: Secrets,
    /// The secrets that others keep and were asked for.
    pub(crate) asked_secrets: HashMap<String, Asked>,
    /// Whether the agent works, or only plans.
    pub(crate) mode: Mode,

    // What it may do unasked.
    /// As the conversation began.
    pub(crate) safety: Safety,
    /// What was allowed in the whole project.
    pub(crate) project_rules: ProjectRules,
    /// Where hosts are asked for.
    pub(crate) hosts: HostDesk,

    // Who judges what it did.
    /// Whether and how results are criticised.
    pub(crate) refinement: Option<Refinement>,
    /// What is to be criticised, and what came of it.
    pub(crate) reviewing: Reviewing,

    // What people have added.
    pub(crate) extensions: Extensions,
    pub(crate) hooks: HookConfig,
    pub(crate) hooked: Hooked,
    /// The skills, once they were found.
    pub(crate) shelf: Shelf,
    pub(crate) seeking: Option<Seeking>,

    // Agents that give tasks, and those that have them.
    /// Who gave the task, where it is one.
    pub(crate) above: Option<Above>,
    /// The secrets there, as they were last heeded.
    pub(crate) secrets_above: SecretSet,
    /// What those have from this one that it gives tasks to.
    pub(crate) below: Above,
    /// The tasks it has given.
    pub(crate) tasks: Tasks,
}

/// What has gone wrong again and again in this run.
#[derive(Default)]
pub(crate) struct Trouble {
    /// How often room was made since the last reply, or since the model found a request too long.
    condensations: u32,
    /// How often in a row the model could not read one.
    overflows: u32,
    /// What it said about one that was too long, or that it could not read.
    overflow: Option<ModelError>,
    /// How often in a row the provider refused what was said.
    refusals: u32,
    /// How often in a row the executor was lost in the middle of a call.
    losses: u32,
}

/// What is known of the end of the log. Unlike trouble it does not end with a run.
#[derive(Default)]
pub(crate) struct LogEnd {
    /// Where the next event is put, once this actor has stored one.
    next: Option<Seq>,
    /// Why nobody knows whether the log has what was to be stored last.
    doubt: Option<StoreError>,
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
        // Nobody opens the workspace once it is closed.
        self.previews.shutdown().await;
        self.leave_seeking();
        self.seeking = None;
        self.end_session().await;
        self.end_work(fate).await;
        self.tasks.close_all(fate).await;
        self.trace.end_run(self.state.status);
        // If this fails the lease runs out by itself.
        let _ = self.store.release(self.lease).await;
    }

    async fn work_until_closed(&mut self) -> (ExecutorFate, Option<oneshot::Sender<()>>) {
        loop {
            self.settle_doubt().await;
            self.release().await;
            self.kept_for_call
                .take_if(|_| !matches!(self.work, Some(Work::Model { .. })));
            if let Err(error) = self.settle_question().await {
                self.halt(&error);
            }
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
                self.settle_tasks().await;
                if !matches!(self.work, Some(Work::Calls(_))) {
                    self.trace.end_run(self.state.status);
                }
            }
            let ends_at = self.work_ends_at();
            let outcome = OptionFuture::from(self.work.as_mut().map(Work::next));
            let titled = OptionFuture::from(self.titling.as_mut());
            let over = OptionFuture::from(ends_at.map(tokio::time::sleep_until));
            tokio::select! {
                biased; // a call that was begun is sent before a command may want it stopped
                Some(outcome) = outcome => {
                    if !matches!((&outcome, &self.work), (Some(_), Some(Work::Calls(_) | Work::Turn(_)))) {
                        self.work = None;
                    }
                    if let Some(outcome) = outcome && let Err(error) = self.take(outcome).await {
                        self.halt(&error);
                    }
                }
                Some(titled) = titled => {
                    self.titling = None;
                    if let Some((model, reply)) = titled
                        && let Err(error) = self.take_title(model.as_ref(), &reply).await
                    {
                        tracing::warn!(%error, "a title is not kept");
                    }
                }
                Some(()) = over => if let Err(error) = self.stop_in_time().await {
                    self.halt(&error);
                },
                command = self.inbox.recv() => match command {
                    Some(Envelope { command: Command::Close { executor, done }, .. }) => return (executor, Some(done)),
                    Some(sent) => self.handle(sent).await,
                    None => return (ExecutorFate::Keep, None),
                },
                news = self.hosts.next() => if let Err(error) = self.take_host_news(news).await {
                    self.halt(&error);
                },
                news = self.news.next() => if let Err(error) = self.take_news(news).await {
                    self.halt(&error);
                },
            }
        }
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

    /// The store failed under the loop: nothing goes on until somebody asks again. Who waits for files hears of them.
    fn halt(&mut self, error: &StoreError) {
        if !self.changes_files() {
            self.work = None;
        }
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
}
