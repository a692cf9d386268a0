//! Keeps the values of secrets out of the log, whoever has written them: the user, the model, a tool.
//!
//! What is stored is what counts: a call with such a value in its arguments runs with what stands in its place. Commands get
//! secrets by name, so none has to be written out.

use deft_tools::Mask;
use deft_types::{Event, EventBody};
use serde_json::{Map, Value};

use crate::goal::GOAL;
use crate::state::key;

/// News about the state that have words of people or models in them; the others are our own.
const WORDED_NEWS: [&str; 5] = [key::TITLE, key::TAGS, key::QUEUE, key::TASK_WAITS, GOAL];
/// Fields of events by which they are told apart and belong together. They are left as they are.
const STRUCTURE: [&str; 13] = [
    "id",
    "timestamp",
    "source",
    "parent_id",
    "kind",
    "tool_name",
    "tool_call_id",
    "action_id",
    "llm_response_id",
    "security_risk",
    "risks",
    "role",
    "task_id",
];
/// Fields that are signed: they cannot be changed, so they are left out if there is a secret in them.
static SIGNED: [(&str, Value); 2] = [
    ("thinking_blocks", Value::Array(Vec::new())),
    ("responses_reasoning_item", Value::Null),
];

/// The event without secrets.
pub(crate) fn without_secrets(event: Event, mask: &Mask) -> Event {
    let is_worded = match &event.body {
        EventBody::StateUpdate(update) => WORDED_NEWS.contains(&update.key.as_str()),
        _ => true,
    };
    if mask.is_empty() || !is_worded {
        return event;
    }
    let Ok(Value::Object(mut fields)) = serde_json::to_value(&event) else {
        return event;
    };
    let before = fields.clone();
    hide(&mut fields, mask);
    if fields == before {
        return event;
    }
    match serde_json::from_value(Value::Object(fields)) {
        Ok(hidden) => hidden,
        Err(error) => {
            tracing::warn!(%error, "a secret is also a word of ours, and is not hidden in an event");
            event
        }
    }
}

fn hide(fields: &mut Map<String, Value>, mask: &Mask) {
    for (name, value) in fields.iter_mut() {
        if STRUCTURE.contains(&name.as_str()) || name == "key" {
            continue;
        }
        let before = SIGNED.iter().find(|(signed, _)| signed == name);
        let before = before.map(|(_, empty)| (value.clone(), empty));
        match (name.as_str(), &mut *value) {
            ("tool_call", Value::Object(call)) => {
                call.get_mut("arguments")
                    .into_iter()
                    .for_each(|text| mask.hide_in(text));
            }
            ("llm_message" | "action" | "observation", Value::Object(inner)) => hide(inner, mask),
            (_, value) => mask.hide_in(value),
        }
        if let Some((before, empty)) = before
            && before != *value
        {
            *value = empty.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use deft_tools::{SecretSet, Secrets};
    use deft_types::Secret;
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_hidden_and_what_holds_the_log_together_is_not() {
        let secrets = Secrets::default();
        let values = ["2026", "hunter2"].map(|value| (value.to_owned(), Secret::new(value.to_owned())));
        secrets.set(SecretSet::new(BTreeMap::from(values)).unwrap());
        let event: Event = serde_json::from_value(json!({
            "kind": "ActionEvent", "id": "e2026", "timestamp": "2026-01-01T00:00:00", "source": "agent",
            "thought": [{"type": "text", "text": "it is hunter2"}],
            "thinking_blocks": [{"type": "thinking", "thinking": "hunter2", "signature": "s"}],
            "action": {"kind": "TerminalAction", "command": "echo hunter2"},
            "tool_name": "terminal", "tool_call_id": "c2026", "llm_response_id": "r",
            "tool_call": {"id": "c2026", "name": "terminal", "arguments": "{\"command\": \"echo hunter2\"}", "origin": "completion"},
        }))
        .unwrap();
        let hidden = serde_json::to_value(without_secrets(event, &secrets.mask())).unwrap();
        let text = hidden.to_string();
        assert!(!text.contains("hunter2"), "{text}");
        assert_eq!(
            (&hidden["id"], &hidden["tool_call"]["id"]),
            (&json!("e2026"), &json!("c2026"))
        );
        assert_eq!(hidden["action"]["command"], "echo <secret-hidden>");
        assert_eq!(hidden["thinking_blocks"], json!([]));
        assert_eq!(hidden["timestamp"].as_str().map(|time| &time[..4]), Some("2026"));
    }
}
