//! Views, creates and changes files.
//!
//! `text` turns bytes into text and back without loss, `save` puts them into place, `history` remembers what
//! was there before. What the commands mean is in `command`.

mod command;
mod history;
mod image;
mod listing;
mod numbered;
mod problem;
mod save;
mod text;

use std::path::PathBuf;
use std::sync::Arc;

use deft_types::{Action, Content, EditorCommand, FileEditorObservation, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::spec::{Reach, spec};
use crate::{Call, Files, Tool, ToolError, Touches};
use command::Editor;

/// The `file_editor` tool.
#[derive(Debug)]
pub struct FileEditor(Arc<Editor>);

impl FileEditor {
    /// An editor that suggests paths in a workspace.
    pub fn new(workspace: PathBuf) -> Self {
        Self(Arc::new(Editor::new(workspace)))
    }
}

impl Tool for FileEditor {
    fn spec(&self) -> ToolSpec {
        let description = format!(
            "Views, creates and edits text files. `view` numbers the lines of a file, lists a directory two levels deep, or shows an image. \
             `create` writes a new file with its directories and never overwrites. `str_replace` replaces the one place where `old_str` stands, to the last blank. \
             `insert` puts lines behind a line. `undo_edit` takes back the last edit of a file. \
             The working directory is {}.",
            self.0.workspace().display(),
        );
        spec(
            "file_editor",
            "FileEditor",
            Reach::Files,
            &description,
            &json!({
                "command": {
                    "type": "string",
                    "enum": ["view", "create", "str_replace", "insert", "undo_edit"],
                    "description": "What to do.",
                },
                "path": { "type": "string", "description": "Absolute path of the file or directory." },
                "file_text": { "type": "string", "description": "For `create`: the whole content." },
                "old_str": {
                    "type": "string",
                    "description": "For `str_replace`: the exact text to replace, with enough lines around it to stand in one place only.",
                },
                "new_str": {
                    "type": "string",
                    "description": "For `str_replace`: what to put there; left out, the text is deleted. For `insert`: the lines to insert.",
                },
                "insert_line": {
                    "type": "integer",
                    "description": "For `insert`: the line behind which to insert; 0 is before the first.",
                },
                "view_range": {
                    "type": "array",
                    "items": { "type": "integer" },
                    "description": "For `view`: first and last line, such as [11, 20]; [11, -1] goes to the end.",
                },
            }),
            &["command", "path"],
        )
    }

    fn touches(&self, action: &Action) -> Touches {
        let Action::FileEditor(action) = action else {
            return Touches::Nothing;
        };
        let file = Files::one(self.0.workspace(), &action.path);
        match action.command {
            EditorCommand::View => Touches::Reads(file),
            EditorCommand::Create
            | EditorCommand::StrReplace
            | EditorCommand::Insert
            | EditorCommand::UndoEdit => Touches::Writes(file),
        }
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::FileEditor(action) = call.action else {
                return Err(ToolError::WrongAction {
                    tool: "file_editor",
                    kind: call.action.kind().to_owned(),
                });
            };
            if call.cancel.is_cancelled() {
                return Err(ToolError::Cancelled);
            }
            let editor = Arc::clone(&self.0);
            let command = action.command;
            let seen = tokio::task::spawn_blocking(move || editor.run(&action))
                .await
                .map_err(|error| ToolError::io("work on the file")(error.into()))?;
            Ok(seen
                .unwrap_or_else(|problem| FileEditorObservation {
                    content: vec![Content::text(problem.to_string())],
                    is_error: true,
                    command,
                    prev_exist: true,
                    ..FileEditorObservation::default()
                })
                .into())
        }
        .boxed()
    }
}
