//! What is folded from the log.

pub(crate) mod key;
mod update;

use deft_tools::CheckpointId;
use deft_types::{
    Action, ActionEvent, ActionId, ConfirmationPolicy, ConversationStateUpdateEvent, Event, EventBody,
    EventId, McpApprovals, McpServerStatus, Observation, SecurityAnalyzer, Source, Stats, Status,
};
use deft_workspace::egress::AskedHost;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use uuid::Uuid;

use crate::budget::Budget;
use crate::egress::Requested;
use crate::goal::Goal;
use crate::mode::Mode;
use crate::queue::Queued;
use crate::stuck::Recent;
use crate::task_tool::NOBODY;
use crate::tasks::{Delegate, Waiting};
use crate::trust::Provided;
use crate::view::View;

/// A conversation's state: a pure function of its log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// What the conversation is doing.
    pub status: Status,
    /// What it used and cost.
    pub stats: Stats,
    /// The last thing the user said.
    pub last_user_message_id: Option<EventId>,
    /// The event that the next one follows.
    pub leaf: Option<EventId>,
    /// What the model sees.
    pub view: View,
    /// The model that answers, by its name; none before the first run.
    pub model: Option<String>,
    /// What it was called, if somebody did.
    pub title: Option<String>,
    /// What it was marked with since it began, if somebody did.
    pub tags: Option<Map<String, Value>>,
    /// What the agent said last to the user, by `finish` or in plain text.
    pub answer: Option<String>,
    /// Why the last run could not go on.
    pub trouble: Option<String>,
    /// Which actions wait for a word, if that was changed since the conversation began.
    pub policy: Option<ConfirmationPolicy>,
    /// Who judges actions, or that nobody does, if that was changed since the conversation began.
    pub analyzer: Option<Option<SecurityAnalyzer>>,
    /// What the project brings along that would run if somebody agreed.
    pub undecided: Vec<Provided>,
    /// All that it has brought along of this kind.
    pub asked_about: Vec<Provided>,
    /// The beginnings of commands that need not be asked for.
    pub allow_rules: Vec<String>,
    /// The hosts that programs wait for until somebody answers.
    pub host_questions: Vec<AskedHost>,
    /// The hosts that somebody has allowed here, with their ports.
    pub allowed_hosts: Vec<String>,
    /// Records of the workspace, each with the event that it stands behind.
    pub checkpoints: Vec<(Option<EventId>, CheckpointId)>,
    /// The first record of the workspace since the agent last finished: what it was like before this turn.
    pub(crate) turn_checkpoint: Option<CheckpointId>,
    /// The goal that was last worked towards.
    pub(crate) goal: Option<Goal>,
    /// How often the agent was sent back since the user said something.
    pub(crate) refinements: u32,
    /// Whether the agent works, or only plans.
    pub mode: Mode,
    /// What may be used beyond the limits.
    pub added: Budget,
    /// The kinds of the agents that were given tasks, by the tasks' ids.
    pub(crate) tasks: BTreeMap<String, String>,
    /// The agents that are called by name.
    pub delegates: BTreeMap<String, Delegate>,
    /// What the user wants to say when the turn ends.
    pub queue: Vec<Queued>,
    /// What programs of the workspace have asked the network for.
    pub requested: Vec<Requested>,
    /// The moment of the last of those requests that the log tells of.
    pub(crate) requested_until: u64,
    /// The MCP servers that run beside the files, as they were last seen.
    pub servers: Vec<McpServerStatus>,
    /// Skills that words of the user have brought in.
    pub(crate) activated_skills: BTreeSet<String>,
    /// What the user said since the last reply that no hook has been asked about.
    pub(crate) unhooked: Vec<Unhooked>,
    /// Rules for files that were given with a result.
    pub(crate) path_rules: BTreeSet<String>,
    /// Whether somebody wants room to be made in the view.
    pub(crate) wants_condensation: bool,
    /// What is known of the agent that is a program of its own: its session, its models.
    pub agent_state: Map<String, Value>,
    /// What such an agent was prompted with.
    pub(crate) prompted: HashSet<EventId>,
    structured_output: Option<Value>,
    pub(crate) has_prompt: bool,
    /// The ids of all calls: a provider that numbers them anew in each reply must not get two alike.
    pub(crate) call_ids: HashSet<String>,
    pub(crate) open_calls: Vec<OpenCall>,
    /// The executor that calls go to.
    pub(crate) executor: Option<Uuid>,
    /// Where the shell of that one stood last, as it calls the place.
    pub(crate) shell_directory: Option<String>,
    /// What the agent did since the user said something.
    pub(crate) recent: Recent,
}

/// Something that the user said and no hook was asked about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unhooked {
    pub(crate) id: EventId,
    pub(crate) text: String,
    /// The skills that came with it.
    pub(crate) skills: Vec<String>,
}

/// An action that has no result yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenCall {
    pub(crate) id: ActionId,
    pub(crate) event: Arc<ActionEvent>,
    /// The executors that may have heard of it: none but these ever did.
    pub(crate) executors: Vec<Uuid>,
    /// The agents that have begun its tasks and wait for a word, or did when they were last heard of.
    pub(crate) waiting: Vec<Waiting>,
}

impl State {
    /// How many calls have no result yet.
    pub fn open_calls(&self) -> usize {
        self.open_calls.len()
    }

    /// What MCP servers are held to: what was approved of them, or what they were when they were seen first.
    pub fn seen_servers(&self) -> McpApprovals {
        let seen = self.servers.iter();
        seen.filter_map(|server| Some((server.name.clone(), server.approved.clone()?)))
            .collect()
    }

    /// The last answer in a form that was asked for.
    pub fn structured_output(&self) -> Option<&Value> {
        self.structured_output.as_ref()
    }

    /// Takes the next event of the log in.
    pub fn apply(&mut self, event: &Event) {
        self.view.apply(event, &self.call_ids);
        match &event.body {
            EventBody::StateUpdate(update) => return self.apply_update(update), // no node of the tree
            EventBody::SystemPrompt(_) => self.has_prompt = true,
            EventBody::Message(said) => {
                self.activated_skills
                    .extend(said.activated_skills.iter().cloned());
                match event.source {
                    Source::User => {
                        self.refinements = 0;
                        self.recent.clear();
                        self.unhooked.push(Unhooked {
                            id: event.id.clone(),
                            text: said.llm_message.plain_text(),
                            skills: said.activated_skills.clone(),
                        });
                    }
                    Source::Agent => {
                        self.unhooked.clear();
                        let text = said.llm_message.plain_text();
                        if text.trim().is_empty() {
                            self.recent.say_nothing();
                        } else {
                            self.recent.say();
                            self.answer = Some(text);
                        }
                    }
                    Source::Environment => self.recent.tell(),
                    Source::Hook => {}
                }
            }
            EventBody::Action(action) => {
                self.unhooked.clear();
                self.recent.call(&event.id, action, self.leaf.as_ref());
                let extra = action.action.as_ref().map(Action::extra);
                if let Some(answer) = extra.and_then(|extra| extra.get("structured_output")) {
                    self.structured_output = Some(answer.clone());
                }
                self.call_ids.insert(action.tool_call_id.clone());
                let mut open = action.as_ref().clone();
                open.tool_call.id.clone_from(&open.tool_call_id); // results are found by it; a damaged log may have two
                self.open_calls.push(OpenCall {
                    id: event.id.clone(),
                    event: Arc::new(open),
                    executors: self.executor.or(self.unknown_executor()).into_iter().collect(),
                    waiting: Vec::new(),
                });
            }
            EventBody::Observation(result) => {
                if result.observation.kind() == "FinishObservation" {
                    self.answer = Some(deft_types::text_of(&result.observation.content()));
                }
                if let Observation::Task(task) = &result.observation
                    && task.task_id != NOBODY
                {
                    self.tasks.insert(task.task_id.clone(), task.subagent.clone());
                }
                if let Observation::Terminal(seen) = &result.observation
                    && seen.metadata.working_dir.is_some()
                {
                    self.shell_directory.clone_from(&seen.metadata.working_dir);
                }
                self.recent.result(&event.body);
                self.close_call(|call| call.id == result.action_id);
            }
            EventBody::AgentError(error) => {
                self.recent.result(&event.body);
                self.close_call(|call| call.event.tool_call_id == error.tool_call_id);
            }
            EventBody::UserReject(rejection) => {
                self.recent.result(&event.body);
                self.close_call(|call| call.id == rejection.action_id);
            }
            EventBody::Interrupt(_) => self.recent.interrupt(),
            EventBody::CondensationRequest(_) => self.wants_condensation = true,
            EventBody::Condensation(_) => {
                self.wants_condensation = false;
                self.recent.make_room();
            }
            EventBody::ConversationError(error) => self.trouble = Some(error.detail.clone()),
            EventBody::HookExecution(hook) => {
                self.unhooked
                    .retain(|said| hook.message_id.as_ref() != Some(&said.id));
            }
            EventBody::Pause(_)
            | EventBody::CondensationSummary(_)
            | EventBody::ServerError(_)
            | EventBody::CompletionLog(_)
            | EventBody::StreamingDelta(_)
            | EventBody::SecurityAnalysis(_)
            | EventBody::AcpToolCall(_)
            | EventBody::Token(_)
            | EventBody::Unknown(_) => {}
        }
        self.leaf = Some(event.id.clone());
    }

    /// Stands for one that we cannot know, in a log that another program wrote: ours name the model before anything.
    fn unknown_executor(&self) -> Option<Uuid> {
        self.model.is_none().then(Uuid::nil)
    }

    fn close_call(&mut self, answers: impl Fn(&OpenCall) -> bool) {
        if let Some(position) = self.open_calls.iter().position(answers) {
            self.open_calls.remove(position);
        }
    }
}

/// The event that a field of the state has a new value.
pub(crate) fn update(key: &str, value: Value) -> EventBody {
    ConversationStateUpdateEvent {
        key: key.to_owned(),
        value,
        extra: deft_types::Extra::new(),
    }
    .into()
}

/// The event that the status is another.
pub(crate) fn status(status: Status) -> EventBody {
    update(key::STATUS, json!(status))
}
