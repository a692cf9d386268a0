//! What several observations are made of.
#![allow(missing_docs)] // the fields are the wire's; what they mean is told to the model in the tool's schema

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::tagged::Extra;

/// What is known about a command and its shell.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandMetadata {
    /// -1 while it is not known.
    #[serde(default = "none_yet")]
    pub exit_code: i64,
    /// The last background job of the shell, or -1.
    #[serde(default = "none_yet")]
    pub pid: i64,
    pub username: Option<String>,
    pub hostname: Option<String>,
    pub working_dir: Option<String>,
    pub py_interpreter_path: Option<String>,
    /// Shown to the model before the output.
    #[serde(default)]
    pub prefix: String,
    /// Shown to the model behind the output.
    #[serde(default)]
    pub suffix: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// One entry of a task list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskItem {
    pub title: String,
    #[serde(default)]
    pub notes: String,
    #[serde(default)]
    pub status: TaskStatus,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// How far a task is. Reads the spellings that models use too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", try_from = "String")]
pub enum TaskStatus {
    #[default]
    Todo,
    InProgress,
    Done,
}

impl TryFrom<String> for TaskStatus {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.trim().to_lowercase().replace(['-', ' '], "_").as_str() {
            "todo" | "to_do" | "pending" => Ok(Self::Todo),
            "in_progress" => Ok(Self::InProgress),
            "done" | "complete" | "completed" => Ok(Self::Done),
            _ => Err(format!("`{text}` is none of todo, in_progress, done")),
        }
    }
}

/// One entry of a directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileEntry {
    pub name: String,
    pub path: String,
    pub is_directory: bool,
    pub size: u64,
    pub modified_time: String,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// What a patch changed, by path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PatchCommit {
    pub changes: Extra,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Default for CommandMetadata {
    fn default() -> Self {
        Self {
            exit_code: none_yet(),
            pid: none_yet(),
            username: None,
            hostname: None,
            working_dir: None,
            py_interpreter_path: None,
            prefix: String::new(),
            suffix: String::new(),
            extra: Extra::new(),
        }
    }
}

fn none_yet() -> i64 {
    -1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_in_the_spellings_of_models_and_written_in_one() {
        for (text, status) in [
            ("todo", TaskStatus::Todo),
            ("To-Do", TaskStatus::Todo),
            ("pending", TaskStatus::Todo),
            ("In Progress", TaskStatus::InProgress),
            ("in-progress", TaskStatus::InProgress),
            ("Completed", TaskStatus::Done),
            ("complete", TaskStatus::Done),
        ] {
            let read: TaskStatus = serde_json::from_value(text.into()).unwrap();
            assert_eq!(read, status, "{text}");
        }
        assert!(serde_json::from_str::<TaskStatus>("\"blocked\"").is_err());
        assert_eq!(
            serde_json::to_string(&TaskStatus::InProgress).unwrap(),
            "\"in_progress\""
        );
    }
}
