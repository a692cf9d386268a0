//! What providers insist on in a request.

use std::collections::HashSet;
use std::sync::Arc;

use deft_types::{Message, Role};
use serde_json::{Map, Value};

/// Holds the messages of a request to it.
pub(crate) fn well_formed(messages: &[Arc<Message>]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut taken = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let wrong = |what: &str| Err(format!("message {index}, {message:?}: {what}"));
        if (message.role == Role::System) != (index == 0) {
            return wrong("one prompt, in front");
        }
        if message.role == Role::Tool {
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            let Some(position) = open.iter().position(|open| *open == id) else {
                return wrong("a result without its call");
            };
            open.remove(position);
            continue;
        }
        if !open.is_empty() {
            return wrong(&format!("the calls {open:?} have no result before it"));
        }
        let calls = message.tool_calls.as_deref().unwrap_or_default();
        if message.role == Role::Assistant && calls.is_empty() && message.plain_text().trim().is_empty() {
            return wrong("says nothing");
        }
        for call in calls {
            let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if call.name.is_empty() || call.name.len() > 64 || !call.name.chars().all(good) {
                return wrong("a bad name of a tool");
            }
            if serde_json::from_str::<Map<String, Value>>(&call.arguments).is_err() {
                return wrong("arguments that are no object");
            }
            if call.id.is_empty() || !taken.insert(call.id.as_str()) {
                return wrong("a call has the id of another");
            }
            open.push(&call.id);
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("the calls {open:?} have no result"))
    }
}
