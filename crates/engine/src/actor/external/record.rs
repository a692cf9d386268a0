//! What is stored of such an agent and its turns.

use deft_acp::{Session, ToolCall as AgentCall, Usage as AgentUsage};
use deft_llm::{Delta, ModelProfile, Spent, Usage};
use deft_store::StoreError;
use deft_types::{
    ACPToolCallEvent, Action, ActionEvent, Content, EventId, Extra, FinishAction, FinishObservation, Message,
    MessageEvent, Money, Observation, ObservationEvent, Role, SecurityRisk, Source, Stats, SystemPromptEvent,
    Tokens, ToolCall, ToolCallOrigin,
};
use serde_json::{Map, Value, json};

use super::super::{Actor, spending};
use super::Turn;
use crate::external;
use crate::live::Live;
use crate::state::{self, key};
use crate::turn::Draft;
use crate::world::World;

/// What such an agent's use of models is counted as.
const USAGE_ID: &str = "acp-managed";
/// Fields of its state.
const SESSION: &str = "acp_session_id";
const OWNER: &str = "acp_session_owner";
pub(super) const MODEL: &str = "acp_current_model_id";
/// The last message whose turn has ended.
pub(super) const LAST: &str = "acp_last_prompt_user_message_id";
/// What its session has cost.
pub(super) const COST: &str = "acp_session_cost";
/// The session that knows what was said until now.
pub(super) const TOLD: &str = "acp_told_session_id";
/// What stands in the place of a prompt and of tools.
const PROMPT: &str = "An external agent makes the turns of this conversation, over the Agent Client Protocol. Its prompt \
                      and its tools are its own and cannot be shown here.";

/// What stands for the prompt.
pub(in crate::actor) fn prompt_shown() -> SystemPromptEvent {
    SystemPromptEvent {
        system_prompt: Content::text(PROMPT),
        tools: Vec::new(),
        dynamic_context: None,
        extra: Extra::new(),
    }
}

/// The event of a call that begins or ends.
pub(super) fn tool_call(call: AgentCall) -> Draft {
    let is_error = call.has_failed();
    Draft::new(
        Source::Agent,
        ACPToolCallEvent {
            tool_call_id: call.id,
            title: call.title,
            status: call.status,
            tool_kind: call.kind,
            raw_input: call.raw_input,
            raw_output: call.raw_output,
            content: call.content,
            is_error,
            extra: Extra::new(),
        },
    )
}

impl Turn {
    /// The events that end it: what the agent said last, as if it had called `finish`.
    pub(super) fn finish(&mut self, reason: &str, world: &dyn World) -> [Draft; 2] {
        let mut message = std::mem::take(&mut self.said).trim().to_owned();
        let note = match reason {
            "refusal" => Some("[The agent refused to go on.]"),
            "max_tokens" => {
                Some("[The agent stopped at its limit of tokens. Send a message to let it go on.]")
            }
            "max_turn_requests" => {
                Some("[The agent stopped at its limit of steps. Send a message to let it go on.]")
            }
            _ if message.is_empty() => Some("[The agent ended its turn without a word.]"),
            _ => None,
        };
        if let Some(note) = note {
            let gap = if message.is_empty() { "" } else { "\n\n" };
            message = format!("{message}{gap}{note}");
        }
        let thought = std::mem::take(&mut self.thought);
        let call = world.new_id().to_string();
        let action = ActionEvent {
            thought: Vec::new(),
            reasoning_content: Some(thought).filter(|thought| !thought.is_empty()),
            thinking_blocks: Vec::new(),
            responses_reasoning_item: None,
            tool_name: "finish".to_owned(),
            tool_call_id: call.clone(),
            tool_call: ToolCall {
                id: call.clone(),
                responses_item_id: None,
                name: "finish".to_owned(),
                arguments: json!({"message": message}).to_string(),
                origin: ToolCallOrigin::Completion,
                extra: Extra::new(),
            },
            action: Some(Action::Finish(Box::new(FinishAction {
                message: message.clone(),
                ..FinishAction::default()
            }))),
            llm_response_id: world.new_id().to_string(),
            security_risk: SecurityRisk::Unknown,
            critic_result: None,
            summary: None,
            extra: Extra::new(),
        };
        let observation = ObservationEvent {
            tool_name: "finish".to_owned(),
            tool_call_id: call,
            observation: Observation::Finish(Box::new(FinishObservation {
                content: vec![Content::text(message)],
                ..FinishObservation::default()
            })),
            action_id: self.item.clone(),
            extended_content: Vec::new(),
            extra: Extra::new(),
        };
        [
            Draft::new(Source::Agent, action).with_id(self.item.clone()),
            Draft::new(Source::Environment, observation),
        ]
    }
}

impl Actor {
    /// What the agent had said of a turn that was cut off, if it had said anything.
    pub(super) fn said_so_far(&self, turn: &Turn) -> Option<Draft> {
        let text = turn.said.trim();
        if text.is_empty() {
            let item = turn.item.clone();
            self.live.show(Live::ReplyAborted { item });
            return None;
        }
        let said = MessageEvent::new(Message::text(Role::Assistant, text));
        Some(Draft::new(Source::Agent, said).with_id(turn.item.clone()))
    }

    /// The event that a turn has used something, where the agent says so.
    pub(super) fn turn_used(&self, turn: &Turn, used: Option<&AgentUsage>) -> Option<Draft> {
        let before = self.state.agent_state.get(COST).and_then(Value::as_f64);
        let cost = turn.cost.map(|cost| (cost - before.unwrap_or_default()).max(0.0));
        if used.is_none() && cost.is_none() {
            return None;
        }
        let used = used.copied().unwrap_or_default();
        let mut spent = Spent::default();
        spent.add(&Delta::Usage(Usage {
            prompt: Tokens(used.input),
            completion: Tokens(used.output),
            cache_read: Tokens(used.cache_read),
            cache_write: Tokens(used.cache_write),
            reasoning: Tokens(used.thought),
            cost: cost.and_then(|cost| format!("{cost:.6}").parse::<Money>().ok()),
        }));
        let models = &turn.running.session.about().models;
        let profile = ModelProfile::unknown(models.current.as_deref().unwrap_or(USAGE_ID));
        let call = spending::Call {
            usage_id: USAGE_ID,
            profile: &profile,
            at: self.world.now(),
        };
        let stats: Stats = spending::add_call(&self.state.stats, &call, &spent, None);
        Some(Draft::new(
            Source::Environment,
            state::update(key::STATS, json!(stats)),
        ))
    }

    /// The session to take up, unless it is another conversation's, of which this one is a copy.
    pub(super) fn session_before(&self) -> Option<String> {
        let known = &self.state.agent_state;
        let is_ours = known.get(OWNER) == Some(&json!(self.lease.conversation()));
        let session = known.get(SESSION).filter(|_| is_ours)?;
        session.as_str().map(str::to_owned)
    }

    /// The state of the agent, with what is known of it by its session.
    pub(super) fn known_of(&self, session: &Session) -> Map<String, Value> {
        let about = session.about();
        let models = about.models.available.iter();
        let models: Vec<_> = models
            .map(|model| json!({"model_id": model.id, "name": model.name, "description": model.description}))
            .collect();
        let mut known = self.state.agent_state.clone();
        let now = [
            ("acp_agent_name", json!(about.name)),
            ("acp_agent_version", json!(about.version)),
            (SESSION, json!(session.id())),
            (OWNER, json!(self.lease.conversation())),
            ("acp_session_cwd", json!(self.directory)),
            (
                "acp_supports_runtime_model_switch",
                json!(about.models.can_switch()),
            ),
            ("acp_model_via_config_option", json!(about.models.is_option())),
            (MODEL, json!(about.models.current)),
            ("acp_available_models", json!(models)),
        ];
        known.extend(now.map(|(name, value)| (name.to_owned(), value)));
        if about.resumed {
            known.insert(TOLD.to_owned(), json!(session.id()));
        }
        known
    }

    pub(super) async fn record_agent_state(&mut self, known: Map<String, Value>) -> Result<(), StoreError> {
        if known == self.state.agent_state {
            return Ok(());
        }
        let told = state::update(key::AGENT_STATE, Value::Object(known));
        self.record(vec![Draft::new(Source::Environment, told)]).await
    }

    /// What was said before a message, for a session that knows nothing of it. Without one, all of it.
    pub(super) fn history(&self, before: Option<&EventId>) -> Option<String> {
        let entries = self.state.view.entries();
        let end = entries
            .iter()
            .position(|entry| before.is_some_and(|id| entry.events.contains(id)));
        let earlier = &entries[..end.unwrap_or(entries.len())];
        let was_prompted = earlier
            .iter()
            .flat_map(|entry| &entry.events)
            .any(|id| self.state.prompted.contains(id));
        external::history(earlier).filter(|_| was_prompted)
    }

    /// The conversation goes on from another place: its session does not know that.
    pub(in crate::actor) fn forget_session(&mut self) -> Option<Draft> {
        self.external.as_mut()?.leave();
        let mut known = self.state.agent_state.clone();
        for field in [SESSION, TOLD, COST, external::IN_FLIGHT] {
            known.remove(field);
        }
        Some(Draft::new(
            Source::Environment,
            state::update(key::AGENT_STATE, Value::Object(known)),
        ))
    }
}
