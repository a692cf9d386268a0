//! Hooks as the contract writes them: every event, and every field with its usual value.

use serde_json::{Map, Value, json};

/// The events, in both spellings that people use.
const EVENTS: [(&str, &str); 6] = [
    ("pre_tool_use", "PreToolUse"),
    ("post_tool_use", "PostToolUse"),
    ("user_prompt_submit", "UserPromptSubmit"),
    ("session_start", "SessionStart"),
    ("session_end", "SessionEnd"),
    ("stop", "Stop"),
];

/// A configuration that can be read, in full.
pub(crate) fn shown(written: &Value) -> Value {
    complete(written, "async")
}

/// The same of a file, without hooks that are blank: those would be refused as if the client had asked for them.
pub(crate) fn of_file(written: &Value) -> Value {
    let mut shown = shown(written);
    let events = shown.as_object_mut().into_iter().flatten();
    for group in events.filter_map(|(_, groups)| groups.as_array_mut()).flatten() {
        if let Some(hooks) = group["hooks"].as_array_mut() {
            hooks.retain(|hook| !is_blank(hook));
        }
    }
    shown
}

fn is_blank(shown: &Value) -> bool {
    let what = match shown["type"].as_str() {
        Some(kind @ ("command" | "prompt")) => shown[kind].as_str(),
        _ => None,
    };
    what.is_some_and(|text| text.trim().is_empty())
}

/// A configuration as events tell it: they have another name for the field.
pub(crate) fn told(written: &Value) -> Value {
    complete(written, "async_")
}

fn complete(written: &Value, not_waited_for: &str) -> Value {
    let events = written.get("hooks").unwrap_or(written);
    let shown = |(name, other): (&str, &str)| {
        let groups = events.get(name).or_else(|| events.get(other));
        let groups = groups.and_then(Value::as_array).into_iter().flatten();
        let groups: Vec<_> = groups.map(|written| group(written, not_waited_for)).collect();
        (name.to_owned(), groups.into())
    };
    Value::Object(EVENTS.into_iter().map(shown).collect::<Map<_, _>>())
}

/// Whether there is any in a configuration that is shown.
pub(crate) fn has_any(shown: &Value) -> bool {
    let mut events = shown.as_object().into_iter().flatten();
    events.any(|(_, groups)| groups != &json!([]))
}

fn group(written: &Value, not_waited_for: &str) -> Value {
    let hooks = written["hooks"].as_array().into_iter().flatten();
    json!({
        "matcher": written["matcher"].as_str().unwrap_or("*"),
        "hooks": hooks.map(|written| hook(written, not_waited_for)).collect::<Vec<_>>(),
    })
}

fn hook(written: &Value, not_waited_for: &str) -> Value {
    let or = |name: &str, usual: Value| match &written[name] {
        Value::Null => usual,
        value => value.clone(),
    };
    json!({
        "type": or("type", json!("command")),
        "name": written["name"],
        "command": or("command", json!("")),
        "prompt": written["prompt"],
        "system_prompt": written["system_prompt"],
        "tools": or("tools", json!([])),
        "timeout": or("timeout", json!(60)),
        "max_iterations": or("max_iterations", json!(3)),
        not_waited_for: or("async", or("async_", json!(false))),
    })
}
