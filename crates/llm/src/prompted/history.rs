//! An exchange with tool calls, told as one of text alone.

use std::sync::Arc;

use deft_types::{Content, Message, Role};

use super::{form, instructions};
use crate::{Request, ToolSchema};

/// The same request without tools: they are described in the system message, and calls and results written out.
/// Messages of the user in a row become one, because many of these models refuse two.
pub(super) fn as_text(request: &Request) -> Request {
    let mut messages: Vec<Arc<Message>> = Vec::with_capacity(request.messages.len() + 1);
    for message in &request.messages {
        let message = match message.role {
            Role::System | Role::User => Arc::clone(message),
            Role::Assistant => Arc::new(calling(message)),
            Role::Tool => Arc::new(result(message)),
        };
        match messages.last_mut() {
            Some(last) if last.role == Role::User && message.role == Role::User => {
                Arc::make_mut(last).content.extend_from_slice(&message.content);
            }
            _ => messages.push(message),
        }
    }
    if !request.tools.is_empty() {
        describe(&request.tools, &mut messages);
    }
    Request {
        messages: messages.into(),
        tools: Arc::new([]),
        cache_key: request.cache_key.clone(),
    }
}

fn describe(tools: &[ToolSchema], messages: &mut Vec<Arc<Message>>) {
    let description = Content::text(instructions::write(tools));
    match messages.first_mut() {
        Some(first) if first.role == Role::System => Arc::make_mut(first).content.push(description),
        _ => messages.insert(0, Arc::new(Message::new(Role::System, vec![description]))),
    }
}

/// What the model said, with its calls in the form that it wrote them in.
fn calling(message: &Message) -> Message {
    let calls = message.tool_calls.iter().flatten().map(form::write);
    let mut parts: Vec<String> = Some(message.plain_text())
        .into_iter()
        .filter(|text| !text.is_empty())
        .chain(calls)
        .collect();
    let mut message = message.clone();
    message.tool_calls = None;
    if parts.len() > 1 {
        // The call stands apart from the words before it.
        parts[0].push('\n');
    }
    message.content = parts.into_iter().map(Content::text).collect();
    message
}

fn result(message: &Message) -> Message {
    let tool = message.name.as_deref().unwrap_or("tool");
    let mut content = vec![Content::text(format!("EXECUTION RESULT of [{tool}]:"))];
    content.extend_from_slice(&message.content);
    Message::new(Role::User, content)
}
