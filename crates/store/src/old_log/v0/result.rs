//! Results of calls, as ours.

use deft_types::{
    Action, ActionEvent, ActionId, AgentErrorEvent, CommandMetadata, Content, EventBody, Extra,
    FileEditorObservation, FinishObservation, ImageContent, MCPToolObservation, Observation,
    ObservationEvent, TaskTrackerObservation, TerminalObservation, ThinkObservation, UserRejectObservation,
};
use serde::Deserialize;
use serde_json::Value;

use super::call::Tool;
use super::{strings, text};

/// The result of a call that has none in the log.
const MISSING: &str = "The log of the program that made this call has no result of it. It may have run: look before you \
                       repeat it.";

pub(super) fn read(id: &ActionId, call: &ActionEvent, tool: Tool, answer: Option<&Value>) -> EventBody {
    let failed = |error: String| -> EventBody {
        AgentErrorEvent {
            tool_name: call.tool_name.clone(),
            tool_call_id: call.tool_call_id.clone(),
            error,
            classification: None,
            extra: Extra::new(),
        }
        .into()
    };
    let observation = match (answer, &call.action) {
        (None, Some(Action::Finish(finish))) => FinishObservation {
            content: vec![Content::text(finish.message.clone())],
            ..FinishObservation::default()
        }
        .into(),
        (None, _) => return failed(MISSING.to_owned()),
        (Some(answer), action) => match text(&answer["observation"]) {
            "error" => return failed(text(&answer["content"]).to_owned()),
            "user_rejected" => {
                return UserRejectObservation {
                    tool_name: call.tool_name.clone(),
                    tool_call_id: call.tool_call_id.clone(),
                    rejection_reason: text(&answer["content"]).to_owned(),
                    rejection_source: "user".to_owned(),
                    action_id: id.clone(),
                    extra: Extra::new(),
                }
                .into();
            }
            _ => observed(tool, call, action.as_ref(), answer),
        },
    };
    ObservationEvent {
        tool_name: call.tool_name.clone(),
        tool_call_id: call.tool_call_id.clone(),
        observation,
        action_id: id.clone(),
        extended_content: Vec::new(),
        extra: Extra::new(),
    }
    .into()
}

fn observed(tool: Tool, call: &ActionEvent, action: Option<&Action>, answer: &Value) -> Observation {
    let extras = &answer["extras"];
    let mut content = vec![Content::text(text(&answer["content"]))];
    let image_urls = strings(&extras["image_urls"]);
    if !image_urls.is_empty() {
        content.push(Content::Image(ImageContent {
            image_urls,
            ..ImageContent::default()
        }));
    }
    let is_error = answer["success"] == false;
    match (tool, action) {
        (Tool::Terminal, _) => terminal(content, extras),
        (Tool::Editor, Some(Action::FileEditor(action))) => FileEditorObservation {
            content,
            is_error,
            command: action.command,
            path: Some(action.path.clone()),
            prev_exist: extras["prev_exist"] != false,
            old_content: extras["old_content"].as_str().map(str::to_owned),
            new_content: extras["new_content"].as_str().map(str::to_owned),
            extra: Extra::new(),
        }
        .into(),
        (Tool::Think, _) => ThinkObservation {
            content,
            ..ThinkObservation::default()
        }
        .into(),
        (Tool::Tasks, Some(Action::TaskTracker(action))) => TaskTrackerObservation {
            content,
            is_error,
            command: action.command,
            task_list: Vec::deserialize(&extras["task_list"]).unwrap_or_default(),
            extra: Extra::new(),
        }
        .into(),
        (Tool::Finish, _) => FinishObservation {
            content,
            ..FinishObservation::default()
        }
        .into(),
        (Tool::Other | Tool::Editor | Tool::Tasks, _) => MCPToolObservation {
            content,
            is_error,
            tool_name: call.tool_name.clone(),
            extra: Extra::new(),
        }
        .into(),
    }
}

fn terminal(content: Vec<Content>, extras: &Value) -> Observation {
    let mut metadata = CommandMetadata::deserialize(&extras["metadata"]).unwrap_or_default();
    // An older form.
    metadata.exit_code = extras["exit_code"].as_i64().unwrap_or(metadata.exit_code);
    metadata.pid = extras["command_id"].as_i64().unwrap_or(metadata.pid);
    TerminalObservation {
        content,
        command: extras["command"].as_str().map(str::to_owned),
        exit_code: Some(metadata.exit_code),
        timeout: metadata.exit_code == -1,
        metadata,
        ..TerminalObservation::default()
    }
    .into()
}
