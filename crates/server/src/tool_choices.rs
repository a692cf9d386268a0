//! The tools that clients can name for their agents, and which of them an agent has where nobody chooses.

use deft_tools::Preset;
use deft_types::ToolSpec;
use serde_json::{Value, json};

use crate::agent::BROWSER_SET;

/// The tools that use other models. An agent that names one has all that can be.
pub(crate) const MODEL_TOOLS: [&str; 3] = ["switch_llm", "ask_oracle", "inspect_image_with_vision"];
/// The tool that has a model chosen for the task, by each of its names.
pub(crate) const ROUTE_TOOLS: [&str; 2] = ["ClassifyAndSwitchLLMTool", "route_task_to_model"];
/// The tool that gives tasks to agents with names.
pub(crate) const DELEGATE: &str = "delegate";
/// The tools that give tasks to other agents. Whoever names one has `task`; `delegate` only who names it.
pub(crate) const TASK_TOOLS: [&str; 3] = ["task_tool_set", "task", DELEGATE];

/// What is written of a tool's events is known, in the protocol's Python client, to a module of this name. A client that
/// joins a conversation loads those of its tools, and can read no event without them.
pub(crate) fn python_module(tool: &str) -> Option<String> {
    let package = match tool {
        "ClassifyAndSwitchLLMTool" => {
            return Some("openhands.sdk.tool.builtins.classify_and_switch_llm".to_owned());
        }
        "edit" | "list_directory" | "read_file" | "write_file" => {
            return Some(format!("openhands.tools.gemini.{tool}.definition"));
        }
        "apply_patch"
        | "ask_oracle"
        | "delegate"
        | "file_editor"
        | "glob"
        | "grep"
        | "planning_file_editor"
        | "task_tracker"
        | "terminal" => tool,
        "task_tool_set" | "task" => "task",
        _ if tool.starts_with("browser_") => "browser_use",
        _ => return None,
    };
    Some(format!("openhands.tools.{package}.definition"))
}

/// A tool that a client can name.
pub(crate) struct ToolChoice {
    pub(crate) name: String,
    description: String,
    /// Whether it is for people to choose, and not just another name or a part of something.
    is_selectable: bool,
    in_default_set: bool,
}

impl ToolChoice {
    pub(crate) fn shown(&self) -> Value {
        json!({
            "name": self.name,
            "user_selectable": self.is_selectable,
            "usable": true,
            "description": self.description,
            "in_default_set": self.in_default_set,
        })
    }
}

/// All that can be named where workspaces have these tools. The default is what suits a model of this name.
pub(crate) fn choices(of_workspaces: &[ToolSpec], model: &str) -> Vec<ToolChoice> {
    let preset = Preset::for_model(model);
    let own = of_workspaces.iter().map(|tool| ToolChoice {
        name: tool.name().to_owned(),
        description: first_sentence(&tool.definition.description),
        is_selectable: true,
        in_default_set: preset.has(tool.name()),
    });
    let more = |name: &str, description: &str, is_selectable, in_default_set| ToolChoice {
        name: name.to_owned(),
        description: description.to_owned(),
        is_selectable,
        in_default_set,
    };
    let has_browser = of_workspaces
        .iter()
        .any(|tool| tool.name().starts_with("browser_"));
    let browser = has_browser.then(|| more(BROWSER_SET, "All tools of the browser.", true, false));
    let [tasks, alias, delegate] = TASK_TOOLS;
    let tasks = [
        more(tasks, "Gives tasks to agents of their own.", true, true),
        more(alias, "The same by another name.", false, false),
        more(
            delegate,
            "Gives tasks to agents with names, which remember.",
            false,
            false,
        ),
    ];
    let models =
        MODEL_TOOLS.map(|name| more(name, "Uses another model that the user has named.", false, true));
    let [route, _] = ROUTE_TOOLS;
    let route = more(route, "Has the model chosen that suits the task.", false, false);
    own.chain(browser)
        .chain(tasks)
        .chain(models)
        .chain([route])
        .collect()
}

/// What tools say of themselves is for models; people want the point.
fn first_sentence(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let end = line.find(". ").map_or(line.len(), |dot| dot + 1);
    line[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_python_are_told_where_they_find_a_tool() {
        let told = |tool| python_module(tool).unwrap_or_default();
        assert_eq!(told("terminal"), "openhands.tools.terminal.definition");
        assert_eq!(told("edit"), "openhands.tools.gemini.edit.definition");
        assert_eq!(told(BROWSER_SET), "openhands.tools.browser_use.definition");
        assert_eq!(told("fetch"), "", "they have none of that name");
    }

    #[test]
    fn the_point_of_a_tool_is_its_first_sentence() {
        assert_eq!(
            first_sentence("Runs a command. It stays.\nMore."),
            "Runs a command."
        );
        assert_eq!(first_sentence("Looks\nat it"), "Looks");
    }
}
