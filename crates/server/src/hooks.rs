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
    let events = written.get("hooks").unwrap_or(written);
    let shown = |(name, other): (&str, &str)| {
        let groups = events.get(name).or_else(|| events.get(other));
        let groups = groups.and_then(Value::as_array).into_iter().flatten();
        (name.to_owned(), groups.map(group).collect::<Vec<_>>().into())
    };
    Value::Object(EVENTS.into_iter().map(shown).collect::<Map<_, _>>())
}

/// Whether there is any in a configuration that is shown.
pub(crate) fn has_any(shown: &Value) -> bool {
    let mut events = shown.as_object().into_iter().flatten();
    events.any(|(_, groups)| groups != &json!([]))
}

fn group(written: &Value) -> Value {
    let hooks = written["hooks"].as_array().into_iter().flatten();
    json!({
        "matcher": written["matcher"].as_str().unwrap_or("*"),
        "hooks": hooks.map(hook).collect::<Vec<_>>(),
    })
}

fn hook(written: &Value) -> Value {
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
        "async": or("async", or("async_", json!(false))),
    })
}
