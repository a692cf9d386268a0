//! What the agent is about to do.

use deft_types::{
    Action, ActionEvent, EditorCommand, SecurityRisk, TaskItem, TaskStatus, TaskTrackerCommand,
    TerminalAction,
};

use super::clip::{MAX_LINE, shorten};
use super::diff::render_patch;
use super::neutral::with_visible_controls;
use super::page::Page;

/// Shows an action in a line or a few. Everything in it is made visible, because a person may have to allow it.
pub(super) fn render(event: &ActionEvent, page: &mut Page) {
    match event.security_risk {
        SecurityRisk::High => page.line(page.style.warning, "This may do harm outside the workspace:"),
        SecurityRisk::Unknown | SecurityRisk::Low | SecurityRisk::Medium => {}
    }
    let Some(action) = &event.action else {
        return render_call(event, page);
    };
    match action {
        Action::Terminal(terminal) => render_command(terminal, page),
        Action::Finish(finish) => {
            page.blank();
            page.line(page.style.good, "✔ Finished");
            page.lines(page.style.plain, "", &finish.message);
        }
        Action::Think(think) => page.lines(page.style.dim, "", &think.thought),
        Action::FileEditor(edit) => render_title(editing(edit.command), &edit.path, page),
        Action::PlanningFileEditor(edit) => render_title(editing(edit.command), &edit.path, page),
        Action::Edit(edit) => render_title("Edit", &edit.file_path, page),
        Action::WriteFile(write) => render_title("Write", &write.file_path, page),
        Action::ReadFile(read) => render_title("Read", &read.file_path, page),
        Action::ListDirectory(list) => render_title("List", &list.dir_path, page),
        Action::Glob(glob) => render_title("Find files", &glob.pattern, page),
        Action::Grep(grep) => render_title("Search for", &grep.pattern, page),
        Action::BrowserNavigate(navigate) => render_title("Open", &navigate.url, page),
        Action::InvokeSkill(skill) => render_title("Use the skill", &skill.name, page),
        Action::ApplyPatch(patch) => {
            page.line(page.style.heading, "Apply a patch");
            render_patch(&patch.patch, page);
        }
        Action::TaskTracker(tracker) => match tracker.command {
            TaskTrackerCommand::View => page.line(page.style.dim, "Look at the task list"),
            TaskTrackerCommand::Plan => tracker.task_list.iter().for_each(|task| render_task(task, page)),
        },
        Action::MCPTool(_)
        | Action::ClassifyAndSwitchLLM(_)
        | Action::SwitchLLM(_)
        | Action::VisionInspect(_)
        | Action::AskOracle(_)
        | Action::Browser(_)
        | Action::BrowserClick(_)
        | Action::BrowserCloseTab(_)
        | Action::BrowserGetContent(_)
        | Action::BrowserGetState(_)
        | Action::BrowserGetStorage(_)
        | Action::BrowserGoBack(_)
        | Action::BrowserListTabs(_)
        | Action::BrowserScroll(_)
        | Action::BrowserSetStorage(_)
        | Action::BrowserStartRecording(_)
        | Action::BrowserStopRecording(_)
        | Action::BrowserSwitchTab(_)
        | Action::BrowserType(_)
        | Action::StartChildConversation(_)
        | Action::Delegate(_)
        | Action::Task(_)
        | Action::ConsultTom(_)
        | Action::SleeptimeCompute(_)
        | Action::Workflow(_)
        | Action::Unknown(_) => render_call(event, page),
    }
}

/// A command line as the shell gets it.
pub(super) fn command_line(command: &str, page: &mut Page) {
    let command = with_visible_controls(command);
    for (index, line) in command.lines().enumerate() {
        let prefix = if index == 0 { "$ " } else { "  " };
        page.styled(page.style.heading, &format!("{prefix}{line}"));
    }
}

fn render_command(action: &TerminalAction, page: &mut Page) {
    if action.reset {
        page.line(page.style.dim, "(a new shell)");
    }
    if action.is_input {
        render_title("Type", &action.command, page);
    } else if action.command.trim().is_empty() {
        page.line(page.style.dim, "(wait for more output)");
    } else {
        command_line(&action.command, page);
    }
}

fn render_title(verb: &str, what: &str, page: &mut Page) {
    let what = with_visible_controls(what).replace('\n', "␊");
    page.styled(page.style.heading, &format!("{verb} {what}"));
}

/// Any other tool: the call as the model made it.
fn render_call(event: &ActionEvent, page: &mut Page) {
    let arguments = shorten(&event.tool_call.arguments, MAX_LINE);
    render_title(&with_visible_controls(&event.tool_name), &arguments, page);
}

fn render_task(task: &TaskItem, page: &mut Page) {
    let (mark, style) = match task.status {
        TaskStatus::Todo => ("☐", page.style.plain),
        TaskStatus::InProgress => ("▶", page.style.heading),
        TaskStatus::Done => ("☑", page.style.dim),
    };
    page.line(style, &format!("{mark} {}", task.title));
}

fn editing(command: EditorCommand) -> &'static str {
    match command {
        EditorCommand::View => "View",
        EditorCommand::Create => "Create",
        EditorCommand::StrReplace => "Edit",
        EditorCommand::Insert => "Insert into",
        EditorCommand::UndoEdit => "Undo the last edit of",
    }
}
