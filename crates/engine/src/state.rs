//! What is folded from the log.

use deft_tools::CheckpointId;
use deft_types::{
    Action, ActionEvent, ActionId, ConfirmationPolicy, ConversationStateUpdateEvent, Event, EventBody,
    EventId, McpServerStatus, Metrics, Observation, SecurityAnalyzer, Source, Stats, Status,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use uuid::Uuid;

use crate::budget::Budget;
use crate::condense::Mask;
use crate::egress::{Egress, Requested};
use crate::external;
use crate::mode::Mode;
use crate::queue::Queued;
use crate::stuck::Recent;
use crate::task_tool::NOBODY;
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
    /// What the agent said last to the user, by `finish` or in plain text.
    pub answer: Option<String>,
    /// Which actions wait for a word, if that was changed since the conversation began.
    pub policy: Option<ConfirmationPolicy>,
    /// Who judges actions, or that nobody does, if that was changed since the conversation began.
    pub analyzer: Option<Option<SecurityAnalyzer>>,
    /// What the project brings along that would run if somebody agreed.
    pub undecided: Vec<Provided>,
    /// All that nobody had decided about at some time.
    pub asked_about: Vec<Provided>,
    /// The beginnings of commands that need not be asked for.
    pub allow_rules: Vec<String>,
    /// Records of the workspace, each with the event that it stands behind.
    pub checkpoints: Vec<(Option<EventId>, CheckpointId)>,
    /// How often the agent was sent back since the user said something.
    pub(crate) refinements: u32,
    /// Whether the agent works, or only plans.
    pub mode: Mode,
    /// What may be used beyond the limits.
    pub added: Budget,
    /// The agents that were given tasks.
    pub(crate) tasks: BTreeSet<String>,
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
    pub(crate) unhooked: Vec<(EventId, String)>,
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
    /// What the agent did since the user said something.
    pub(crate) recent: Recent,
    /// Replies in a row that neither said nor did anything.
    pub(crate) silent_replies: u32,
}

/// An action that has no result yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenCall {
    pub(crate) id: ActionId,
    pub(crate) event: Arc<ActionEvent>,
    /// The executors that may have heard of it: none but these ever did.
    pub(crate) executors: Vec<Uuid>,
}

/// Keys of state updates that we write and read back.
pub(crate) mod key {
    pub(crate) const STATUS: &str = "execution_status";
    pub(crate) const STATS: &str = "stats";
    pub(crate) const LAST_USER_MESSAGE: &str = "last_user_message_id";
    pub(crate) const EXECUTOR: &str = "executor";
    pub(crate) const AGENT: &str = "agent";
    /// What is known of an agent that is a program of its own.
    pub(crate) const AGENT_STATE: &str = "agent_state";
    pub(crate) const POLICY: &str = "confirmation_policy";
    pub(crate) const ANALYZER: &str = "security_analyzer";
    /// What the project brings along that would run if somebody agreed.
    pub(crate) const UNDECIDED: &str = "undecided";
    /// The beginnings of commands that need not be asked for.
    pub(crate) const ALLOW_RULES: &str = "allow_rules";
    /// Where somebody moved the conversation to.
    pub(crate) const LEAF: &str = "leaf_event_id";
    /// Results that are left out of the view.
    pub(crate) const MASKED: &str = "masked_results";
    /// The workspace was recorded before a turn.
    pub(crate) const CHECKPOINT: &str = "checkpoint";
    /// The MCP servers that run beside the files, and how they are doing.
    pub(crate) const SERVERS: &str = "mcp_servers";
    /// Rules for files that were given with a result.
    pub(crate) const PATH_RULES: &str = "activated_path_rules";
    /// A result was criticised.
    pub(crate) const CRITIC: &str = "critic";
    /// Whether the agent works, or only plans.
    pub(crate) const MODE: &str = "mode";
    /// More may be used.
    pub(crate) const ADDED: &str = "added_budget";
    /// Messages that wait for the end of the turn.
    pub(crate) const QUEUE: &str = "message_queue";
    /// What programs of the workspace asked the network for.
    pub(crate) const EGRESS: &str = "egress";
    /// What was done in the workspace was done again.
    pub(crate) const RERUN: &str = "rerun";
    /// Messages that came while the model wrote the reply that follows.
    pub(crate) const UNSEEN: &str = "unseen_message_ids";
}

/// The keys of state updates that are ours: the protocol's own clients do not know them.
pub const OWN_KEYS: &[&str] = &[
    key::ALLOW_RULES,
    key::UNDECIDED,
    key::CRITIC,
    key::MODE,
    key::ADDED,
    key::QUEUE,
    key::EXECUTOR,
    key::UNSEEN,
    key::LEAF,
    key::MASKED,
    key::CHECKPOINT,
    key::SERVERS,
    key::EGRESS,
    key::RERUN,
];

impl State {
    /// How many calls have no result yet.
    pub fn open_calls(&self) -> usize {
        self.open_calls.len()
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
            EventBody::Message(said) => match event.source {
                Source::User => {
                    self.silent_replies = 0;
                    self.refinements = 0;
                    self.recent.clear();
                    self.unhooked
                        .push((event.id.clone(), said.llm_message.plain_text()));
                    self.activated_skills
                        .extend(said.activated_skills.iter().cloned());
                }
                Source::Agent => {
                    self.unhooked.clear();
                    let text = said.llm_message.plain_text();
                    if text.trim().is_empty() {
                        self.silent_replies += 1;
                    } else {
                        self.silent_replies = 0;
                        self.recent.say();
                        self.answer = Some(text);
                    }
                }
                Source::Environment => self.recent.tell(),
                Source::Hook => {}
            },
            EventBody::Action(action) => {
                self.silent_replies = 0;
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
                });
            }
            EventBody::Observation(result) => {
                if result.observation.kind() == "FinishObservation" {
                    self.answer = Some(deft_types::text_of(&result.observation.content()));
                }
                if let Observation::Task(task) = &result.observation
                    && task.task_id != NOBODY
                {
                    self.tasks.insert(task.task_id.clone());
                }
                self.recent.result(&event.body);
                self.close_call(|call| call.id == result.action_id);
            }
            EventBody::AgentError(error) => {
                self.recent.result(&event.body);
                self.close_call(|call| call.event.tool_call_id == error.tool_call_id);
            }
            EventBody::UserReject(rejection) => self.close_call(|call| call.id == rejection.action_id),
            EventBody::CondensationRequest(_) => self.wants_condensation = true,
            EventBody::Condensation(_) => {
                self.wants_condensation = false;
                self.recent.make_room();
            }
            EventBody::HookExecution(hook) => {
                self.unhooked
                    .retain(|(id, _)| hook.message_id.as_ref() != Some(id));
            }
            EventBody::Pause(_)
            | EventBody::Interrupt(_)
            | EventBody::CondensationSummary(_)
            | EventBody::ConversationError(_)
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

    fn ask_about(&mut self, undecided: Vec<Provided>) {
        for provided in &undecided {
            if !self.asked_about.contains(provided) {
                self.asked_about.push(provided.clone());
            }
        }
        self.undecided = undecided;
    }

    fn apply_update(&mut self, update: &ConversationStateUpdateEvent) {
        // A value we cannot read is a later version's: what we knew before stays.
        let value = &update.value;
        match update.key.as_str() {
            key::STATUS => {
                self.status = Status::deserialize(value).unwrap_or(self.status);
                if self.status == Status::Stuck {
                    self.recent.clear(); // whoever goes on knows of it
                }
            }
            key::STATS => {
                if let Ok(mut stats) = Stats::deserialize(value) {
                    stats
                        .usage_to_metrics
                        .values_mut()
                        .for_each(Metrics::forget_calls);
                    self.stats = stats;
                }
            }
            key::LAST_USER_MESSAGE => {
                self.last_user_message_id = Option::deserialize(value).unwrap_or_default();
            }
            key::EXECUTOR => {
                if let Ok(instance) = Uuid::deserialize(value) {
                    self.executor = Some(instance);
                    self.open_calls
                        .iter_mut()
                        .for_each(|call| call.executors.push(instance));
                }
            }
            key::AGENT => {
                if let Some(model) = value.pointer("/llm/model").and_then(Value::as_str) {
                    self.model = Some(model.to_owned());
                }
            }
            key::AGENT_STATE => {
                read(value, &mut self.agent_state);
                let message = value[external::IN_FLIGHT].as_str();
                self.prompted.extend(message.map(|id| EventId(id.to_owned())));
            }
            key::POLICY => {
                if let Ok(policy) = ConfirmationPolicy::deserialize(value) {
                    self.policy = Some(policy);
                }
            }
            key::ANALYZER => {
                if let Ok(analyzer) = Option::deserialize(value) {
                    self.analyzer = Some(analyzer);
                }
            }
            key::CHECKPOINT => {
                if let Ok(id) = CheckpointId::deserialize(value) {
                    self.checkpoints.push((self.leaf.clone(), id));
                }
            }
            key::UNDECIDED => {
                if let Ok(undecided) = Vec::<Provided>::deserialize(value) {
                    self.ask_about(undecided);
                }
            }
            key::ALLOW_RULES => read(value, &mut self.allow_rules),
            key::PATH_RULES => read(value, &mut self.path_rules),
            key::CRITIC => self.refinements += u32::from(value["goes_on"] == true),
            key::MODE => read(value, &mut self.mode),
            key::ADDED => {
                if let Ok(more) = Budget::deserialize(value) {
                    self.added = self.added.plus(more);
                }
            }
            key::QUEUE => read(value, &mut self.queue),
            key::EGRESS => {
                if let Ok(told) = Egress::deserialize(value) {
                    self.requested_until = told.until;
                    told.join(&mut self.requested);
                }
            }
            key::SERVERS => read(value, &mut self.servers),
            key::MASKED => {
                if let Ok(mask) = Mask::deserialize(value) {
                    self.wants_condensation = false;
                    self.view.mask(&mask);
                }
            }
            key::UNSEEN => {
                if let Ok(ids) = Vec::<EventId>::deserialize(value) {
                    self.view.postpone(&ids);
                }
            }
            _ => {}
        }
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

/// Puts what a value says in the place of what was known; a later version's, which cannot be read, changes nothing.
fn read<T: DeserializeOwned>(value: &Value, known: &mut T) {
    if let Ok(read) = T::deserialize(value) {
        *known = read;
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
