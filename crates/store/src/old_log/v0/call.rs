//! Calls of tools, as ours.

use deft_types::{
    Action, ActionEvent, Content, EditorCommand, Extra, FileEditorAction, FinishAction, MCPToolAction,
    SecurityRisk, TaskTrackerAction, TaskTrackerCommand, TerminalAction, ThinkAction, ToolCall,
    ToolCallOrigin,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::pair::Pairs;
use super::text;

/// The tools of ours that theirs are; `Other` for all that are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Terminal,
    Editor,
    Think,
    Finish,
    Tasks,
    Other,
}

/// Fields of the arguments that say nothing about what is to be done.
const AROUND: &[&str] = &[
    "thought",
    "security_risk",
    "confirmation_state",
    "is_confirmed",
    "timestamp",
    "hidden",
];

pub(super) fn read(number: u64, event: &Value, pairs: &Pairs) -> (ActionEvent, Tool) {
    let (args, metadata) = (&event["args"], &event["tool_call_metadata"]);
    let (tool, name, action) = action(event);
    let mut arguments = json!(action);
    if let Some(fields) = arguments.as_object_mut() {
        fields.remove("kind");
        // Those of a foreign tool are as they were.
        if let Some(Value::Object(data)) = fields.remove("data") {
            *fields = data;
        }
    }
    let own = Some(text(&args["thought"])).filter(|thought| !thought.is_empty());
    let thought = own.or_else(|| pairs.thoughts.get(&number).map(String::as_str));
    let thought = thought.filter(|thought| tool != Tool::Think && !thought.is_empty());
    let id = metadata["tool_call_id"]
        .as_str()
        .map_or_else(|| format!("v0-{number}"), str::to_owned);
    let response = metadata["model_response"]["id"].as_str();
    let event = ActionEvent {
        thought: thought.map(Content::text).into_iter().collect(),
        reasoning_content: None,
        thinking_blocks: Vec::new(),
        responses_reasoning_item: None,
        action: Some(action),
        tool_name: name.clone(),
        tool_call_id: id.clone(),
        tool_call: ToolCall {
            id,
            responses_item_id: None,
            name,
            arguments: arguments.to_string(),
            origin: ToolCallOrigin::Completion,
            extra: Extra::new(),
        },
        llm_response_id: response.map_or_else(|| format!("v0-{number}"), str::to_owned),
        security_risk: risk(&args["security_risk"]),
        critic_result: None,
        summary: None,
        extra: Extra::new(),
    };
    (event, tool)
}

fn action(event: &Value) -> (Tool, String, Action) {
    let args = &event["args"];
    let string = |name: &str| args[name].as_str().map(str::to_owned);
    let editor = |command| FileEditorAction {
        command,
        path: text(&args["path"]).to_owned(),
        ..FileEditorAction::default()
    };
    let edited = |action: FileEditorAction| (Tool::Editor, "file_editor".to_owned(), action.into());
    match text(&event["action"]) {
        "run" => {
            let action = TerminalAction {
                command: text(&args["command"]).to_owned(),
                is_input: args["is_input"] == true,
                timeout: event["timeout"].as_f64(),
                ..TerminalAction::default()
            };
            (Tool::Terminal, "terminal".to_owned(), action.into())
        }
        "read" => edited(FileEditorAction {
            view_range: Vec::deserialize(&args["view_range"]).ok(),
            ..editor(EditorCommand::View)
        }),
        "write" => edited(FileEditorAction {
            file_text: string("content"),
            ..editor(EditorCommand::Create)
        }),
        "edit" => match EditorCommand::deserialize(&args["command"]) {
            Ok(command) => edited(FileEditorAction {
                file_text: string("file_text"),
                old_str: string("old_str"),
                new_str: string("new_str"),
                insert_line: args["insert_line"].as_i64(),
                ..editor(command)
            }),
            Err(_) => foreign("edit", event), // a model has edited
        },
        "think" => {
            let thought = text(&args["thought"]).to_owned();
            let extra = Extra::new();
            (
                Tool::Think,
                "think".to_owned(),
                ThinkAction { thought, extra }.into(),
            )
        }
        "finish" => {
            let last = [
                text(&args["final_thought"]),
                text(&args["thought"]),
                text(&event["message"]),
            ];
            let message = last
                .into_iter()
                .find(|last| !last.is_empty())
                .unwrap_or_default()
                .to_owned();
            let extra = Extra::new();
            (
                Tool::Finish,
                "finish".to_owned(),
                FinishAction { message, extra }.into(),
            )
        }
        "task_tracking" => {
            let action = TaskTrackerAction {
                command: TaskTrackerCommand::deserialize(&args["command"]).unwrap_or_default(),
                task_list: Vec::deserialize(&args["task_list"]).unwrap_or_default(),
                extra: Extra::new(),
            };
            (Tool::Tasks, "task_tracker".to_owned(), action.into())
        }
        other => foreign(other, event),
    }
}

/// A tool that is none of ours. Clients of the protocol know no other kind for such.
fn foreign(kind: &str, event: &Value) -> (Tool, String, Action) {
    let args = &event["args"];
    let (name, data) = if kind == "call_tool_mcp" {
        (
            text(&args["name"]),
            args["arguments"].as_object().cloned().unwrap_or_default(),
        )
    } else {
        let called = text(&event["tool_call_metadata"]["function_name"]);
        let fields: Map<_, _> = args.as_object().cloned().unwrap_or_default();
        let said = fields
            .into_iter()
            .filter(|(name, value)| !AROUND.contains(&name.as_str()) && !value.is_null());
        (called, said.collect())
    };
    let name = Some(name).filter(|name| !name.is_empty()).unwrap_or(kind);
    let extra = Extra::new();
    (Tool::Other, name.to_owned(), MCPToolAction { data, extra }.into())
}

fn risk(value: &Value) -> SecurityRisk {
    match value.as_i64() {
        Some(0) => SecurityRisk::Low,
        Some(1) => SecurityRisk::Medium,
        Some(2) => SecurityRisk::High,
        _ => SecurityRisk::Unknown,
    }
}
