//! What a tool answered.

use anstyle::Style as Ansi;
use deft_types::{EditorCommand, Observation, TerminalObservation, text_of};

use super::action::command_line;
use super::clip::Clip;
use super::diff::{render_change, render_new_file};
use super::page::Page;

/// Where a result stands in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// Right below its action.
    Follows,
    /// Somewhere else, so it must say what it answers.
    Apart,
}

/// The exit code of a command that has none yet.
const STILL_RUNNING: i64 = -1;
/// Sets output off from what the agent says.
const INDENT: &str = "  ";

/// Shows a result, as short as it can be.
pub(super) fn render(tool_name: &str, observation: &Observation, context: Context, page: &mut Page) {
    if observation.is_error() && !matches!(observation, Observation::Terminal(_)) {
        return render_text(tool_name, observation, context, page);
    }
    match observation {
        Observation::Terminal(terminal) => render_output(terminal, context, page),
        Observation::FileEditor(edit) if edit.command == EditorCommand::View => {}
        Observation::PlanningFileEditor(edit) if edit.command == EditorCommand::View => {}
        Observation::FileEditor(edit) => render_edit(&edit.path, &edit.old_content, &edit.new_content, page),
        Observation::PlanningFileEditor(edit) => {
            render_edit(&edit.path, &edit.old_content, &edit.new_content, page);
        }
        Observation::Edit(edit) => render_edit(&edit.file_path, &edit.old_content, &edit.new_content, page),
        Observation::WriteFile(write) => {
            render_edit(&write.file_path, &write.old_content, &write.new_content, page);
        }
        // The action said it all.
        Observation::Finish(_)
        | Observation::Think(_)
        | Observation::ReadFile(_)
        | Observation::TaskTracker(_)
        | Observation::InvokeSkill(_) => {}
        Observation::MCPTool(_)
        | Observation::ClassifyAndSwitchLLM(_)
        | Observation::SwitchLLM(_)
        | Observation::VisionInspect(_)
        | Observation::ClientTool(_)
        | Observation::ApplyPatch(_)
        | Observation::AskOracle(_)
        | Observation::Browser(_)
        | Observation::StartChildConversation(_)
        | Observation::Delegate(_)
        | Observation::ListDirectory(_)
        | Observation::Glob(_)
        | Observation::Grep(_)
        | Observation::Task(_)
        | Observation::ConsultTom(_)
        | Observation::SleeptimeCompute(_)
        | Observation::Workflow(_)
        | Observation::Unknown(_) => render_text(tool_name, observation, context, page),
    }
}

fn render_output(terminal: &TerminalObservation, context: Context, page: &mut Page) {
    if context == Context::Apart
        && let Some(command) = &terminal.command
    {
        command_line(command, page);
    }
    let style = output_style(terminal.is_error, page);
    page.clipped(style, INDENT, &text_of(&terminal.content), Clip::OUTPUT);
    if terminal.timeout || terminal.exit_code == Some(STILL_RUNNING) {
        page.line(
            page.style.warning,
            "not finished in the time it had; it may still be running",
        );
    } else if let Some(code) = terminal.exit_code.filter(|code| *code != 0) {
        page.line(page.style.error, &format!("exit code {code}"));
    }
}

fn output_style(is_error: bool, page: &Page) -> Ansi {
    if is_error {
        page.style.error
    } else {
        page.style.dim
    }
}

fn render_text(tool_name: &str, observation: &Observation, context: Context, page: &mut Page) {
    if context == Context::Apart {
        page.line(page.style.heading, tool_name);
    }
    let style = output_style(observation.is_error(), page);
    page.clipped(style, INDENT, &text_of(&observation.content()), Clip::OUTPUT);
}

/// What the editing tools have in common. A foreign log may not hold the contents.
#[expect(clippy::ref_option)] // as the observations have them
fn render_edit(path: &Option<String>, old: &Option<String>, new: &Option<String>, page: &mut Page) {
    let path = path.as_deref().unwrap_or("a file");
    match (old, new) {
        (Some(old), Some(new)) => render_change(path, old, new, page),
        (None, Some(new)) => render_new_file(path, new, page),
        (Some(_), None) => page.line(page.style.heading, &format!("Removed {path}")), // undone: it was new
        (None, None) => page.line(page.style.heading, &format!("Edited {path}")),
    }
}
