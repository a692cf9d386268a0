//! An event in one line.

use deft_types::{Event, EventBody, Seq, Source, text_of};
use serde::Serialize;
use serde_json::Value;

use super::neutral::without_escapes;

/// Characters shown of what an event says.
const MAX_CHARS: usize = 200;

/// Position, time, source, kind, and the point of it.
pub(crate) fn event_line(seq: Seq, event: &Event) -> String {
    let time = event.timestamp.0.get(11..19).unwrap_or(&event.timestamp.0);
    let source = match event.source {
        Source::Agent => "agent",
        Source::User => "user",
        Source::Environment => "environment",
        Source::Hook => "hook",
    };
    let line = format!(
        "{seq:>5}  {time}  {source:<11}  {:<28}  {}",
        event.kind(),
        point(event)
    );
    one_line(&line).trim_end().to_owned()
}

/// The text on one line, with nothing in it that could control the terminal, cut where it gets long.
pub(crate) fn one_line(text: &str) -> String {
    one_line_of(text, MAX_CHARS)
}

/// The same with room for so many characters.
pub(super) fn one_line_of(text: &str, max: usize) -> String {
    let flat = without_escapes(text).replace(['\n', '\r', '\t'], " ");
    match flat.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &flat[..end]),
        None => flat,
    }
}

/// An error with its causes, each said once, and nothing in it that could control the terminal.
pub(crate) fn one_sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    without_escapes(&text).replace('\n', " ")
}

/// JSON on one line. Terminals take some characters for commands that JSON lets pass as they are.
pub(crate) fn json_line(value: &impl Serialize) -> serde_json::Result<String> {
    let json = serde_json::to_string(value)?;
    let is_command = |c: char| ('\u{7f}'..='\u{9f}').contains(&c);
    if !json.contains(is_command) {
        return Ok(json);
    }
    let escape = |c: char| {
        if is_command(c) {
            format!("\\u{:04x}", u32::from(c))
        } else {
            c.to_string()
        }
    };
    Ok(json.chars().map(escape).collect())
}

fn point(event: &Event) -> String {
    match &event.body {
        EventBody::Message(message) => message.llm_message.plain_text(),
        EventBody::Action(action) => {
            let summary = action
                .summary
                .clone()
                .unwrap_or_else(|| action.tool_call.arguments.clone());
            format!("{}: {summary}", action.tool_name)
        }
        EventBody::Observation(result) => text_of(&result.observation.content()),
        EventBody::AgentError(error) => error.error.clone(),
        EventBody::UserReject(rejection) => rejection.rejection_reason.clone(),
        EventBody::StateUpdate(update) if update.key == "egress" => egress(&update.value),
        EventBody::StateUpdate(update) => format!("{} = {}", update.key, update.value),
        EventBody::ConversationError(error) => format!("{}: {}", error.code, error.detail),
        EventBody::ServerError(error) => format!("{}: {}", error.code, error.detail),
        EventBody::Condensation(condensation) => condensation.summary.clone().unwrap_or_default(),
        EventBody::HookExecution(hook) => hook.hook_command.clone(),
        EventBody::AcpToolCall(call) => call.title.clone(),
        EventBody::SecurityAnalysis(analysis) => {
            let reasons = analysis.details.values().filter_map(Value::as_str);
            reasons.collect::<Vec<_>>().join("; ")
        }
        EventBody::SystemPrompt(prompt) => prompt
            .tools
            .iter()
            .map(|tool| tool.title.as_str())
            .collect::<Vec<_>>()
            .join(", "),
        EventBody::Pause(_)
        | EventBody::Interrupt(_)
        | EventBody::CondensationRequest(_)
        | EventBody::CondensationSummary(_)
        | EventBody::CompletionLog(_)
        | EventBody::StreamingDelta(_)
        | EventBody::Token(_)
        | EventBody::Unknown(_) => String::new(),
    }
}

/// Which hosts programs asked for, and what came of it.
fn egress(told: &Value) -> String {
    let requests = told["requests"].as_array().into_iter().flatten();
    let shown = requests.map(|request| {
        let text = |name: &str| request[name].as_str().unwrap_or_default();
        let times = match request["count"].as_u64() {
            None | Some(1) => String::new(),
            Some(count) => format!(" ×{count}"),
        };
        let outcome = text("outcome").replace('_', " ");
        format!("{}:{} {outcome}{times}", text("host"), request["port"])
    });
    format!("network: {}", shown.collect::<Vec<_>>().join(", "))
}
