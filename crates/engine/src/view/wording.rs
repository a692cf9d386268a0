//! Events as messages to the model.

use deft_types::{
    AgentErrorEvent, Content, Message, ObservationEvent, Role, SystemPromptEvent, UserRejectObservation,
};

use crate::observation::for_model;

/// What a summary begins with.
pub(crate) const SUMMARY_HEAD: &str = "[Earlier messages were replaced by this summary.]\n";

pub(super) fn summary_message(summary: &str) -> Message {
    Message::text(Role::User, format!("{SUMMARY_HEAD}{summary}"))
}

pub(super) fn system_message(prompt: &SystemPromptEvent) -> Message {
    let parts = std::iter::once(&prompt.system_prompt).chain(prompt.dynamic_context.as_ref());
    Message::new(Role::System, parts.cloned().collect())
}

pub(super) fn tool_message(call: &str, content: Vec<Content>) -> Message {
    let mut message = Message::new(Role::Tool, content);
    message.tool_call_id = Some(call.to_owned());
    message
}

pub(super) fn observed(call: &str, result: &ObservationEvent) -> Message {
    let mut content = for_model(&result.observation);
    content.extend(result.extended_content.iter().cloned());
    named(tool_message(call, content), &result.tool_name)
}

pub(super) fn failed(call: &str, error: &AgentErrorEvent) -> Message {
    named(
        tool_message(call, vec![Content::text(error.error.clone())]),
        &error.tool_name,
    )
}

pub(super) fn rejected(call: &str, rejection: &UserRejectObservation) -> Message {
    let text = format!("The call was not allowed: {}", rejection.rejection_reason);
    named(
        tool_message(call, vec![Content::text(text)]),
        &rejection.tool_name,
    )
}

fn named(mut message: Message, tool: &str) -> Message {
    message.name = Some(tool.to_owned());
    message
}
