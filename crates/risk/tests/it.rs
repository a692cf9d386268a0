//! Judges commands and other actions as an engine would.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "it/allowed.rs"]
mod allowed;
#[path = "it/commands.rs"]
mod commands;
#[path = "it/random.rs"]
mod random;
#[path = "it/tools.rs"]
mod tools;

use deft_types::ActionEvent;
use serde_json::{Value, json};

const WORKSPACE: &str = "/home/ann/shop";

fn event(tool: &str, action: &Value) -> ActionEvent {
    serde_json::from_value(json!({
        "thought": [],
        "action": action,
        "tool_name": tool,
        "tool_call_id": "1",
        "tool_call": {"id": "1", "name": tool, "arguments": "{}", "origin": "completion"},
        "llm_response_id": "1",
    }))
    .unwrap()
}

fn terminal(command: &str) -> ActionEvent {
    event("terminal", &json!({"kind": "TerminalAction", "command": command}))
}
