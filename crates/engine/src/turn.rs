//! Turns a model's reply into events.

use deft_llm::{FinishReason, Reply};
use deft_types::{
    Action, ActionEvent, AgentErrorEvent, Classification, Content, EventBody, EventId, Extra, FailureKind,
    MCPToolAction, Message, MessageEvent, Role, SecurityRisk, Source, ToolCall,
};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

use crate::alias;
use crate::arguments;
use crate::state::OpenCall;
use crate::structured;
use crate::toolset::Toolset;
use crate::world::World;

/// An event to be recorded. The id is chosen when it is, unless somebody knows it already.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) id: Option<EventId>,
    pub(crate) source: Source,
    pub(crate) body: EventBody,
}

impl Draft {
    pub(crate) fn new(source: Source, body: impl Into<EventBody>) -> Self {
        Self {
            id: None,
            source,
            body: body.into(),
        }
    }

    pub(crate) fn with_id(mut self, id: EventId) -> Self {
        self.id = Some(id);
        self
    }
}

/// What a reply amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It calls tools.
    Acts,
    /// It is an answer to the user.
    Answers,
    /// It neither says nor does anything.
    Silent,
    /// It is the beginning of an answer that ran into the limit of its length.
    CutOff,
}

/// Said to a model whose reply was empty.
const NUDGE: &str = "Your last reply had neither text nor a tool call. Go on with the task by calling a tool; if it \
                     is done, call `finish`.";
/// How long a tool's name may be for every provider.
const MAX_NAME_CHARS: usize = 64;
/// Said to a model whose answer was cut off.
const GO_ON: &str =
    "Your last reply was cut off at the limit of its length. Go on where it stopped, in shorter replies.";
/// The result of a call whose reply was cut off before it was whole.
const CALL_CUT_OFF: &str = "Not run: the reply was cut off at the limit of its length before this call was whole. Make it again, \
                            in smaller parts.";
/// The result of a call behind `finish` in the same reply.
const AFTER_FINISH: &str = "Not run: the same reply had already called `finish`.";

/// Whether a call has this result because it was never run.
pub(crate) fn never_ran(result: &AgentErrorEvent) -> bool {
    [AFTER_FINISH, CALL_CUT_OFF].contains(&result.error.as_str())
}

/// The events of a reply. `item` is the id under which its pieces were shown; the first event gets it.
pub(crate) fn events(
    reply: Reply,
    item: EventId,
    tools: &Toolset,
    taken_ids: &HashSet<String>,
    world: &dyn World,
) -> (Turn, Vec<Draft>) {
    if !reply.tool_calls.is_empty() {
        return (Turn::Acts, actions(reply, item, tools, taken_ids, world));
    }
    let cut_off = reply.finish == FinishReason::Length;
    let silent = reply.text.trim().is_empty();
    let content = if silent {
        Vec::new()
    } else {
        vec![Content::text(reply.text)]
    };
    let mut message = Message::new(Role::Assistant, content);
    message.reasoning_content = reply.reasoning;
    message.thinking_blocks = reply.thinking_blocks;
    message.responses_reasoning_item = reply.reasoning_item;
    let said = MessageEvent {
        llm_response_id: Some(reply.response_id),
        ..MessageEvent::new(message)
    };
    let mut drafts = vec![Draft::new(Source::Agent, said).with_id(item)];
    let (turn, nudge) = match (silent, cut_off) {
        (true, _) => (Turn::Silent, NUDGE),
        (false, true) => (Turn::CutOff, GO_ON),
        (false, false) => return (Turn::Answers, drafts),
    };
    let nudge = MessageEvent::new(Message::text(Role::User, nudge));
    drafts.push(Draft::new(Source::Environment, nudge));
    (turn, drafts)
}

/// One action event a call, then the results of those that cannot run.
fn actions(
    reply: Reply,
    item: EventId,
    tools: &Toolset,
    taken_ids: &HashSet<String>,
    world: &dyn World,
) -> Vec<Draft> {
    let mut thought = if reply.text.trim().is_empty() {
        Vec::new()
    } else {
        vec![Content::text(reply.text)]
    };
    let mut reasoning = reply.reasoning;
    let mut thinking_blocks = reply.thinking_blocks;
    let mut reasoning_item = reply.reasoning_item;
    let mut id = Some(item);
    let mut taken = HashSet::new();
    let cut_off = (reply.finish == FinishReason::Length).then(|| reply.tool_calls.len() - 1);
    let mut finished = false;
    let mut actions = Vec::with_capacity(reply.tool_calls.len());
    let mut errors = Vec::new();

    for (index, mut call) in reply.tool_calls.into_iter().enumerate() {
        // Results are matched by this id, so it must be one, and one of its own.
        if call.id.is_empty() || taken_ids.contains(&call.id) || !taken.insert(call.id.clone()) {
            call.id = format!("call_{}", world.new_id().simple());
            taken.insert(call.id.clone());
        }
        let checked = check(&mut call, tools);
        let error = match &checked {
            Err(error) => Some(error.clone()),
            Ok(_) if finished => Some(AFTER_FINISH.to_owned()),
            Ok(_) if cut_off == Some(index) => Some(CALL_CUT_OFF.to_owned()),
            Ok(_) => None,
        };
        finished |= error.is_none() && call.name == "finish";
        if let Some(error) = error {
            errors.push(Draft::new(
                Source::Agent,
                failure(&call, error, FailureKind::AgentAction),
            ));
        }
        let (action, risk, summary) = match checked {
            Ok(checked) => (Some(checked.action), checked.risk, Some(checked.summary)),
            Err(_) => (None, SecurityRisk::Unknown, None),
        };
        let event = ActionEvent {
            thought: std::mem::take(&mut thought),
            reasoning_content: reasoning.take(),
            thinking_blocks: std::mem::take(&mut thinking_blocks),
            responses_reasoning_item: reasoning_item.take(),
            action,
            tool_name: call.name.clone(),
            tool_call_id: call.id.clone(),
            tool_call: call,
            llm_response_id: reply.response_id.clone(),
            security_risk: risk,
            critic_result: None,
            summary,
            extra: Extra::new(),
        };
        actions.push(Draft {
            id: id.take(),
            source: Source::Agent,
            body: event.into(),
        });
    }
    actions.extend(errors);
    actions
}

/// The call that a person puts in the place of another.
pub(crate) fn edited(
    call: &OpenCall,
    arguments: &Map<String, Value>,
    tools: &Toolset,
    world: &dyn World,
) -> Result<Draft, String> {
    let mut edited = call.event.tool_call.clone();
    edited.id = format!("call_{}", world.new_id().simple());
    edited.arguments = json!(arguments).to_string();
    let checked = check(&mut edited, tools)?;
    let event = ActionEvent {
        thought: Vec::new(),
        reasoning_content: None,
        thinking_blocks: Vec::new(),
        responses_reasoning_item: None,
        action: Some(checked.action),
        tool_call_id: edited.id.clone(),
        tool_call: edited,
        summary: Some(checked.summary),
        ..call.event.as_ref().clone()
    };
    Ok(Draft::new(Source::Agent, event).with_id(world.new_id().into()))
}

/// The action that a call stands for; what is wrong with it otherwise.
pub(crate) fn action_for(call: &mut ToolCall, tools: &Toolset) -> Result<Action, String> {
    check(call, tools).map(|checked| checked.action)
}

struct Checked {
    action: Action,
    risk: SecurityRisk,
    summary: String,
}

/// Finds the tool and fits the arguments. The call will be sent back to providers with every request, and they
/// refuse arguments that are no JSON object and names of other characters than these: so both are mended.
fn check(call: &mut ToolCall, tools: &Toolset) -> Result<Checked, String> {
    let mut parsed = arguments::parse(&call.arguments);
    match &mut parsed {
        Err(_) => {
            call.arguments = json!({"malformed_arguments": true}).to_string();
            call.name = alias::resolve(&call.name, &mut Map::new(), tools);
        }
        Ok(fields) => {
            if serde_json::from_str::<Map<String, Value>>(&call.arguments).is_err() {
                call.arguments = json!(fields).to_string();
            }
            call.name = alias::resolve(&call.name, fields, tools);
        }
    }
    call.name = presentable_name(&call.name);
    let Some(tool) = tools.find(&call.name) else {
        if tools.is_withdrawn(&call.name) {
            return Err(format!(
                "The MCP server that had the tool '{}' has it no more, or has changed it since it was approved. Nothing \
                 was run. Go on without it; a person can look at the change and approve it.",
                call.name
            ));
        }
        let names: Vec<_> = tools.names().iter().map(|name| format!("'{name}'")).collect();
        return Err(format!(
            "Tool '{}' not found. Available: [{}]",
            call.name,
            names.join(", ")
        ));
    };
    let invalid = |problem: String, given: &str| {
        format!(
            "Error validating tool '{}': {problem}. Parameters provided: {given}. Correct them and call it again.",
            call.name
        )
    };
    let fields = parsed.map_err(|error| invalid(error, "unparseable JSON"))?;
    let given = format!(
        "[{}]",
        fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    );
    let fitted = arguments::fit(fields, &tool.parameters).map_err(|problem| invalid(problem, &given))?;
    let summary = fitted
        .summary
        .unwrap_or_else(|| format!("{}: {}", call.name, json!(fitted.fields)));
    let mut fields = fitted.fields;
    if let Some(response) = tools.response_of(&call.name) {
        let answer = structured::split(&mut fields, response);
        fields.insert("structured_output".to_owned(), answer);
    }
    let action = action_of(&tool.definition.action_type, fields);
    Ok(Checked {
        action,
        risk: fitted.risk,
        summary,
    })
}

/// Tools that clients have never heard of share one kind of action, which has their arguments as one field.
fn action_of(kind: &str, fields: Map<String, Value>) -> Action {
    if kind == "MCPToolAction" {
        let data = fields;
        return MCPToolAction {
            data,
            ..MCPToolAction::default()
        }
        .into();
    }
    Action::from_fields(kind, fields)
}

/// A call of a log as providers accept it. What we write ourselves is so already; what others wrote, or what was damaged,
/// may not be.
pub(crate) fn presentable(call: &ToolCall, id: &str, event: &EventId, taken: &HashSet<String>) -> ToolCall {
    let mut call = call.clone();
    call.id = if id.is_empty() || taken.contains(id) {
        format!("call_{event}")
    } else {
        id.to_owned()
    };
    call.name = presentable_name(&call.name);
    let is_object = call.arguments.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok();
    if !is_object {
        call.arguments = json!({"malformed_arguments": true}).to_string();
    }
    call
}

fn presentable_name(name: &str) -> String {
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = name.trim().chars().take(MAX_NAME_CHARS).map(allowed).collect();
    if name.is_empty() {
        "unnamed".to_owned()
    } else {
        name
    }
}

/// The result of a call that did not run, or whose tool failed.
pub(crate) fn failure(call: &ToolCall, error: String, kind: FailureKind) -> AgentErrorEvent {
    AgentErrorEvent {
        tool_name: call.name.clone(),
        tool_call_id: call.id.clone(),
        error,
        classification: Some(Classification::of(kind)),
        extra: Extra::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_a_tool_that_clients_do_not_know_are_one_field() {
        let Value::Object(fields) = json!({"url": "https://x"}) else {
            panic!()
        };
        let action = json!(action_of("MCPToolAction", fields));
        assert_eq!(
            action,
            json!({"data": {"url": "https://x"}, "kind": "MCPToolAction"})
        );
    }
}
