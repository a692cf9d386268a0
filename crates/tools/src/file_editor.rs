//! Views and changes files.
use crate::spec::{Reach, spec};
use crate::{Call, Tool, ToolError};
use deft_types::{Observation, ToolSpec};
use futures::future::BoxFuture;
use serde_json::json;
use std::path::PathBuf;
/// Views and changes files.
pub struct FileEditor {}
impl FileEditor {
    /// An editor for a workspace.
    pub fn new(_workspace: PathBuf) -> Self {
        Self {}
    }
}
impl Tool for FileEditor {
    fn spec(&self) -> ToolSpec {
        spec(
            "file_editor",
            "FileEditor",
            Reach::Files,
            "",
            &json!({}),
            &["command", "path"],
        )
    }
    fn run(&self, _call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        Box::pin(async { Err(ToolError::Closed) })
    }
}
