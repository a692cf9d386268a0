//! Keeps the agent's list of tasks.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use deft_types::{
    Action, Content, Extra, Observation, TaskItem, TaskStatus, TaskTrackerAction, TaskTrackerCommand,
    TaskTrackerObservation, ToolSpec,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::file::save::save;
use crate::spec::{Reach, spec};
use crate::tool::blocking;
use crate::{Call, Tool, ToolError, Touches};

/// How many tasks a list may have.
const TASK_LIMIT: usize = 200;

/// The `task_tracker` tool. The list is kept in a file of ours, so that it survives a restart.
#[derive(Debug)]
pub struct TaskTracker {
    file: PathBuf,
}

impl TaskTracker {
    /// A list that is kept in a directory of ours.
    pub fn new(private_dir: &Path) -> Self {
        Self {
            file: private_dir.join("TASKS.json"),
        }
    }
}

impl Tool for TaskTracker {
    fn spec(&self) -> ToolSpec {
        spec(
            "task_tracker",
            "TaskTracker",
            Reach::List,
            "Keeps a list of tasks for work of several steps. `plan` replaces the whole list, `view` shows it.",
            &json!({
                "command": { "type": "string", "enum": ["view", "plan"], "description": "What to do; `view` if left out." },
                "task_list": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "title": { "type": "string" },
                            "notes": { "type": "string" },
                            "status": { "type": "string", "enum": ["todo", "in_progress", "done"] },
                        },
                        "required": ["title"],
                    },
                    "description": "For `plan`: every task, also those that are done.",
                },
            }),
            &[],
        )
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Only("task_tracker".to_owned())
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let action = match call.action {
                Action::TaskTracker(action) => *action,
                Action::Unknown(unknown) if unknown.kind == "TaskTrackerAction" => {
                    let problem = "The list was not understood: each task needs a `title`, and its `status` must be \
                                   todo, in_progress or done.";
                    return Ok(failure(TaskTrackerCommand::Plan, problem.to_owned()).into());
                }
                action => return Err(ToolError::wrong_action("task_tracker", &action)),
            };
            let (command, file) = (action.command, self.file.clone());
            let seen = blocking(&call.cancel, "keep the list of tasks", move || track(&file, action)).await?;
            Ok(seen.unwrap_or_else(|problem| failure(command, problem)).into())
        }
        .boxed()
    }
}

fn track(file: &Path, action: TaskTrackerAction) -> Result<TaskTrackerObservation, String> {
    let (task_list, text) = match action.command {
        TaskTrackerCommand::View => {
            let list = kept(file)
                .map_err(|error| format!("The kept list cannot be read: {error}. `plan` makes a new one."))?;
            let text = show(&list);
            (list, text)
        }
        TaskTrackerCommand::Plan => {
            if action.task_list.len() > TASK_LIMIT {
                return Err(format!(
                    "A list may have {TASK_LIMIT} tasks at most: put several into one."
                ));
            }
            let plain = |task| TaskItem {
                extra: Extra::new(),
                ..task
            };
            let list: Vec<TaskItem> = action.task_list.into_iter().map(plain).collect();
            serde_json::to_vec_pretty(&list)
                .map_err(io::Error::from)
                .and_then(|json| save(file, &json))
                .map_err(|error| format!("The list could not be kept: {error}."))?;
            let text = format!("The list has {} tasks now.", list.len());
            (list, text)
        }
    };
    Ok(TaskTrackerObservation {
        content: vec![Content::text(text)],
        command: action.command,
        task_list,
        ..TaskTrackerObservation::default()
    })
}

fn kept(file: &Path) -> io::Result<Vec<TaskItem>> {
    match fs::read(file) {
        Ok(json) => Ok(serde_json::from_slice(&json)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn show(list: &[TaskItem]) -> String {
    if list.is_empty() {
        return "There are no tasks yet; `plan` makes a list.".to_owned();
    }
    let mut text = String::new();
    for (index, task) in list.iter().enumerate() {
        let status = match task.status {
            TaskStatus::Todo => "todo",
            TaskStatus::InProgress => "in progress",
            TaskStatus::Done => "done",
        };
        // A string takes everything.
        let _ = writeln!(text, "{}. [{status}] {}", index + 1, task.title);
        for line in task.notes.lines() {
            let _ = writeln!(text, "   {line}");
        }
    }
    text
}

fn failure(command: TaskTrackerCommand, problem: String) -> TaskTrackerObservation {
    TaskTrackerObservation {
        content: vec![Content::text(problem)],
        is_error: true,
        command,
        ..TaskTrackerObservation::default()
    }
}
