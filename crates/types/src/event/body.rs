//! What happened: one struct for each kind of event.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::Classification;
use crate::action::Action;
use crate::content::Content;
use crate::id::{ActionId, EventId};
use crate::message::{Message, ReasoningItem, ThinkingBlock, ToolCall};
use crate::observation::Observation;
use crate::status::SecurityRisk;
use crate::tagged::{Extra, tagged_union};
use crate::tool::ToolDefinition;

tagged_union! {
    /// What happened.
    EventBody {
        SystemPrompt(SystemPromptEvent),
        Message(MessageEvent),
        Action(ActionEvent),
        Observation(ObservationEvent),
        AgentError(AgentErrorEvent),
        UserReject(UserRejectObservation),
        Pause(PauseEvent),
        Interrupt(InterruptEvent),
        Condensation(Condensation),
        CondensationRequest(CondensationRequest),
        CondensationSummary(CondensationSummaryEvent),
        StateUpdate(ConversationStateUpdateEvent),
        ConversationError(ConversationErrorEvent),
        ServerError(ServerErrorEvent),
        CompletionLog(LLMCompletionLogEvent),
        StreamingDelta(StreamingDeltaEvent),
        HookExecution(HookExecutionEvent),
        SecurityAnalysis(SecurityAnalysisEvent),
        AcpToolCall(ACPToolCallEvent),
        Token(TokenEvent),
    }
}

/// The first event of a conversation: what the model is told, and its tools.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemPromptEvent {
    /// The part that is the same for every conversation.
    pub system_prompt: Content,
    /// The tools on offer.
    pub tools: Vec<ToolDefinition>,
    /// The part that is this conversation's own.
    pub dynamic_context: Option<Content>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Something said by the person, the agent or the system around it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageEvent {
    /// The message as it was said.
    pub llm_message: Message,
    /// The model's reply it comes from.
    pub llm_response_id: Option<String>,
    /// Skills that its words set off.
    #[serde(default)]
    pub activated_skills: Vec<String>,
    /// What the model gets to read with it.
    #[serde(default)]
    pub extended_content: Vec<Content>,
    /// Who sent it, where several may.
    pub sender: Option<String>,
    /// A critic's verdict.
    pub critic_result: Option<Value>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl MessageEvent {
    /// A message with nothing around it.
    pub fn new(message: Message) -> Self {
        Self {
            llm_message: message,
            llm_response_id: None,
            activated_skills: Vec::new(),
            extended_content: Vec::new(),
            sender: None,
            critic_result: None,
            extra: Extra::new(),
        }
    }
}

/// A tool call of the agent's.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionEvent {
    /// What the model said with it: only on the first action of a reply.
    pub thought: Vec<Content>,
    /// The model's reasoning, on the first action.
    pub reasoning_content: Option<String>,
    /// Signed reasoning, on the first action.
    #[serde(default)]
    pub thinking_blocks: Vec<ThinkingBlock>,
    /// A reasoning item of the Responses API, on the first action.
    pub responses_reasoning_item: Option<ReasoningItem>,
    /// What the tool is to do. Absent where the call was not valid.
    pub action: Option<Action>,
    /// The tool.
    pub tool_name: String,
    /// The call's id, which its result carries too.
    pub tool_call_id: String,
    /// The call as the model made it.
    pub tool_call: ToolCall,
    /// The reply it is part of; all calls of one reply share it.
    pub llm_response_id: String,
    /// How dangerous it is held to be.
    #[serde(default)]
    pub security_risk: SecurityRisk,
    /// A critic's verdict.
    pub critic_result: Option<Value>,
    /// In a few words, what it does.
    pub summary: Option<String>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A tool's answer to an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservationEvent {
    /// The tool.
    pub tool_name: String,
    /// The call it answers.
    pub tool_call_id: String,
    /// The answer.
    pub observation: Observation,
    /// The action it answers.
    pub action_id: ActionId,
    /// What the model gets to read with it.
    #[serde(default)]
    pub extended_content: Vec<Content>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// The result of a call that never reached its tool, or whose tool failed.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentErrorEvent {
    /// The tool.
    pub tool_name: String,
    /// The call it answers.
    pub tool_call_id: String,
    /// What the model is told.
    pub error: String,
    /// What kind of failure.
    pub classification: Option<Classification>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// The result of an action that was not allowed to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserRejectObservation {
    /// The tool.
    pub tool_name: String,
    /// The call it answers.
    pub tool_call_id: String,
    /// Why.
    #[serde(default = "rejected")]
    pub rejection_reason: String,
    /// Who said no: `user` or `hook`.
    #[serde(default = "by_the_user")]
    pub rejection_source: String,
    /// The action it answers.
    pub action_id: ActionId,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

fn rejected() -> String {
    "User rejected the action".to_owned()
}

fn by_the_user() -> String {
    "user".to_owned()
}

/// The user paused the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PauseEvent {
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// The user stopped the run where it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InterruptEvent {
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Older events leave the model's view; a summary may take their place.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condensation {
    /// What leaves.
    #[serde(default)]
    pub forgotten_event_ids: Vec<EventId>,
    /// What takes its place.
    pub summary: Option<String>,
    /// Where in the view the summary stands.
    pub summary_offset: Option<i64>,
    /// The model's reply that holds the summary.
    pub llm_response_id: String,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Somebody wants the view condensed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CondensationRequest {
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A summary as it stands in a view; never stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CondensationSummaryEvent {
    /// The summary.
    pub summary: String,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A field of the conversation's state has a new value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationStateUpdateEvent {
    /// The field, or `full_state`.
    pub key: String,
    /// The value; absent on the wire where it is null.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A run failed.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationErrorEvent {
    /// The kind of failure, for programs.
    pub code: String,
    /// What happened and what to do, for people.
    pub detail: String,
    /// What kind of failure.
    pub classification: Option<Classification>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A client sent something that could not be understood; never stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerErrorEvent {
    /// The kind of failure, for programs.
    pub code: String,
    /// What happened, for people.
    pub detail: String,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A model call, whole, for debugging.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LLMCompletionLogEvent {
    /// Where the reference would store it.
    pub filename: String,
    /// The call and the reply, as JSON text.
    pub log_data: String,
    /// The model.
    #[serde(default)]
    pub model_name: String,
    /// What the model was used for.
    #[serde(default)]
    pub usage_id: String,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A piece of a reply on its way; never stored.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamingDeltaEvent {
    /// A piece of text.
    pub content: Option<String>,
    /// A piece of reasoning.
    pub reasoning_content: Option<String>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A hook ran.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookExecutionEvent {
    /// `PreToolUse`, `PostToolUse`, `UserPromptSubmit`, `SessionStart`, `SessionEnd` or `Stop`.
    pub hook_event_type: String,
    /// The command.
    pub hook_command: String,
    /// The tool it guards.
    pub tool_name: Option<String>,
    /// Whether it ended well.
    pub success: bool,
    /// Whether it said no.
    #[serde(default)]
    pub blocked: bool,
    /// Its exit code.
    pub exit_code: i64,
    /// What it wrote.
    #[serde(default)]
    pub stdout: String,
    /// What it complained of.
    #[serde(default)]
    pub stderr: String,
    /// Why it said no.
    pub reason: Option<String>,
    /// What it wants the model to read.
    pub additional_context: Option<String>,
    /// Why it could not run.
    pub error: Option<String>,
    /// The action it guards.
    pub action_id: Option<ActionId>,
    /// The message it guards.
    pub message_id: Option<EventId>,
    /// What it was given.
    pub hook_input: Option<Extra>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// The actions of a reply were judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecurityAnalysisEvent {
    /// By whom.
    pub analyzer: String,
    /// The confirmation policy in force.
    pub policy: String,
    /// The verdicts.
    pub risks: BTreeMap<ActionId, SecurityRisk>,
    /// The reasons.
    #[serde(default)]
    pub details: Extra,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A tool call of an agent that runs as a program of its own.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ACPToolCallEvent {
    /// The call.
    pub tool_call_id: String,
    /// In a few words, what it does.
    pub title: String,
    /// How far it is.
    pub status: Option<String>,
    /// What sort of tool.
    pub tool_kind: Option<String>,
    /// What went in.
    pub raw_input: Option<Value>,
    /// What came out.
    pub raw_output: Option<Value>,
    /// What came out, in parts.
    pub content: Option<Vec<Value>>,
    /// Whether it failed.
    #[serde(default)]
    pub is_error: bool,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// The token ids of a call, where a server tells them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenEvent {
    /// What went in.
    pub prompt_token_ids: Vec<i64>,
    /// What came out.
    pub response_token_ids: Vec<i64>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}
