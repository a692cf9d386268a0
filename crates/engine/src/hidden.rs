//! Keeps the values of secrets out of the log, whoever has written them: the user, the model, a tool.
//!
//! What is stored is what counts: a call with such a value in its arguments runs with what stands in its place. Commands get
//! secrets by name, so none has to be written out.

use std::mem::discriminant;

use deft_tools::Mask;
use deft_types::{Event, EventBody};
use serde_json::{Map, Value};

use crate::goal::GOAL;
use crate::state::key;

/// News about the state that have words of people or models in them; the others are our own.
const WORDED_NEWS: [&str; 7] = [
    key::TITLE,
    key::TAGS,
    key::QUEUE,
    key::TASK_WAITS,
    key::CRITIC,
    key::RERUN,
    GOAL,
];
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
/// Fields that hold what a model, a tool or a client has made up, the names in it as well.
const DATA: [&str; 4] = ["data", "structured_output", "raw_input", "raw_output"];
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
    if names_tags(&event)
        && let Some(tags) = fields.get_mut("value")
    {
        mask.hide_in_data(tags);
    }
    if fields == before {
        return event;
    }
    let (before, after) = (Value::Object(before), Value::Object(fields));
    let hidden = read_as(&event, after.clone());
    hidden.unwrap_or_else(|| hidden_word_by_word(event, before, &after))
}

/// Whether it says what a client calls things.
fn names_tags(event: &Event) -> bool {
    matches!(&event.body, EventBody::StateUpdate(update) if update.key == key::TAGS)
}

/// The event without secrets where one of them is also a word of the form, such as the `type` of a text: such words, by
/// which nobody learns anything, stay, and all others are hidden.
fn hidden_word_by_word(event: Event, mut fields: Value, wanted: &Value) -> Event {
    let mut places = Vec::new();
    changes(&fields, wanted, String::new(), &mut places);
    let mut hidden = event;
    for place in places {
        let mut next = fields.clone();
        if let (Some(word), Some(mark)) = (next.pointer_mut(&place), wanted.pointer(&place)) {
            *word = mark.clone();
        }
        if let Some(read) = read_as(&hidden, next.clone()) {
            (hidden, fields) = (read, next);
        }
    }
    hidden
}

/// Where two values differ, as JSON pointers.
fn changes(before: &Value, after: &Value, place: String, places: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(others)) if before.keys().eq(others.keys()) => {
            for (name, value) in before {
                let name_in_pointer = name.replace('~', "~0").replace('/', "~1");
                changes(value, &after[name], format!("{place}/{name_in_pointer}"), places);
            }
        }
        (Value::Array(before), Value::Array(others)) if before.len() == others.len() => {
            for (index, (before, after)) in before.iter().zip(others).enumerate() {
                changes(before, after, format!("{place}/{index}"), places);
            }
        }
        _ if before == after => {}
        _ => places.push(place),
    }
}

/// The event that fields stand for, if it has the form of another: what cannot be read is kept as something unknown.
fn read_as(other: &Event, fields: Value) -> Option<Event> {
    let read: Event = serde_json::from_value(fields).ok()?;
    let same = discriminant(&read.body) == discriminant(&other.body)
        && match (&read.body, &other.body) {
            (EventBody::Action(read), EventBody::Action(other)) => {
                read.action.as_ref().map(discriminant) == other.action.as_ref().map(discriminant)
            }
            (EventBody::Observation(read), EventBody::Observation(other)) => {
                discriminant(&read.observation) == discriminant(&other.observation)
            }
            _ => true,
        };
    same.then_some(read)
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
            (name, value) if DATA.contains(&name) => mask.hide_in_data(value),
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
    fn a_secret_that_is_also_a_word_of_the_form_lets_no_other_through() {
        let secrets = Secrets::default();
        let values =
            ["text", "create", "hunter2"].map(|value| (value.to_owned(), Secret::new(value.to_owned())));
        secrets.set(SecretSet::new(BTreeMap::from(values)).unwrap());
        let message = json!({
            "kind": "MessageEvent", "id": "e1", "timestamp": "2026-01-01T00:00:00", "source": "user",
            "llm_message": {"role": "user", "content": [{"type": "text", "text": "a text with hunter2"}]},
        });
        let action = json!({
            "kind": "ActionEvent", "id": "e2", "timestamp": "2026-01-01T00:00:00", "source": "agent",
            "thought": [{"type": "text", "text": "hunter2"}],
            "action": {"kind": "FileEditorAction", "command": "create", "path": "/create", "file_text": "hunter2"},
            "tool_name": "file_editor", "tool_call_id": "c", "llm_response_id": "r",
            "tool_call": {"id": "c", "name": "file_editor", "arguments": "{\"file_text\": \"hunter2\"}", "origin": "completion"},
        });
        let hidden = |event: Value| {
            let event: Event = serde_json::from_value(event).unwrap();
            without_secrets(event, &secrets.mask())
        };
        let (message, action) = (hidden(message), hidden(action));
        let text = format!("{}{}", json!(message), json!(action));
        assert!(!text.contains("hunter2"), "{text}");
        let EventBody::Message(said) = &message.body else {
            panic!("{message:?}")
        };
        assert_eq!(
            said.llm_message.plain_text(),
            "a <secret-hidden> with <secret-hidden>"
        );
        let EventBody::Action(action) = &action.body else {
            panic!("{action:?}")
        };
        let Some(deft_types::Action::FileEditor(editor)) = &action.action else {
            panic!("{action:?}")
        };
        assert_eq!(editor.path, "/<secret-hidden>");
    }

    #[test]
    fn names_that_somebody_has_made_up_are_hidden_too() {
        let secrets = Secrets::default();
        let values = ["hunter2", "data"].map(|value| (value.to_owned(), Secret::new(value.to_owned())));
        secrets.set(SecretSet::new(BTreeMap::from(values)).unwrap());
        let event: Event = serde_json::from_value(json!({
            "kind": "ActionEvent", "id": "e", "timestamp": "2026-01-01T00:00:00", "source": "agent", "thought": [],
            "action": {"kind": "MCPToolAction", "data": {"headers": {"x-hunter2": 1}}},
            "tool_name": "call", "tool_call_id": "c", "llm_response_id": "r",
            "tool_call": {"id": "c", "name": "call", "arguments": "{\"headers\": {\"x-hunter2\": 1}}", "origin": "completion"},
        }))
        .unwrap();
        let hidden = serde_json::to_value(without_secrets(event, &secrets.mask())).unwrap();
        assert!(!hidden.to_string().contains("hunter2"), "{hidden}");
        assert_eq!(hidden["action"]["data"]["headers"]["x-<secret-hidden>"], 1);
        let tags: Event = serde_json::from_value(json!({
            "kind": "ConversationStateUpdateEvent", "id": "t", "timestamp": "2026-01-01T00:00:00",
            "source": "environment", "key": "tags", "value": {"hunter2": "x"},
        }))
        .unwrap();
        let hidden = serde_json::to_value(without_secrets(tags, &secrets.mask())).unwrap();
        assert_eq!(hidden["value"], json!({"<secret-hidden>": "x"}));
    }

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
