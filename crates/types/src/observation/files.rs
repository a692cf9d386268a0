//! The answers of the tools for files.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::parts::FileEntry;
use crate::action::EditorCommand;
use crate::content::Content;
use crate::tagged::Extra;

/// Answers a `FileEditorAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileEditorObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub command: EditorCommand,
    pub path: Option<String>,
    #[serde(default = "yes")]
    pub prev_exist: bool,
    pub old_content: Option<String>,
    pub new_content: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `EditAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EditObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub file_path: Option<String>,
    #[serde(default)]
    pub is_new_file: bool,
    #[serde(default)]
    pub replacements_made: i64,
    pub old_content: Option<String>,
    pub new_content: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `ListDirectoryAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListDirectoryObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub dir_path: Option<String>,
    #[serde(default)]
    pub entries: Vec<FileEntry>,
    #[serde(default)]
    pub total_count: i64,
    #[serde(default)]
    pub is_truncated: bool,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `ReadFileAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadFileObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub file_path: String,
    #[serde(default)]
    pub file_content: String,
    #[serde(default)]
    pub is_truncated: bool,
    pub lines_shown: Option<[i64; 2]>,
    pub total_lines: Option<i64>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `WriteFileAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WriteFileObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub file_path: Option<String>,
    #[serde(default)]
    pub is_new_file: bool,
    pub old_content: Option<String>,
    pub new_content: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `GlobAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GlobObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub files: Vec<String>,
    pub pattern: String,
    pub search_path: String,
    #[serde(default)]
    pub truncated: bool,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `GrepAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GrepObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub matches: Vec<String>,
    pub pattern: String,
    pub search_path: String,
    pub include_pattern: Option<String>,
    #[serde(default)]
    pub truncated: bool,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Answers a `PlanningFileEditorAction`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanningFileEditorObservation {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub is_error: bool,
    pub command: EditorCommand,
    pub path: Option<String>,
    #[serde(default = "yes")]
    pub prev_exist: bool,
    pub old_content: Option<String>,
    pub new_content: Option<String>,
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

fn yes() -> bool {
    true
}
