//! Views, creates and changes files.
//!
//! What the commands mean is in `command`; `history` remembers what was there before.

mod command;
mod history;
mod image;
mod listing;
mod problem;
mod view;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use deft_types::{
    Action, Content, EditorCommand, FileEditorAction, FileEditorObservation, Observation, ToolSpec,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::spec::{Reach, spec};
use crate::tool::blocking;
use crate::{Call, Files, Tool, ToolError, Touches};
pub(crate) use command::Editor;

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
            &parameters(),
            &["command", "path"],
        )
    }

    fn touches(&self, action: &Action) -> Touches {
        let Action::FileEditor(action) = action else {
            return Touches::Nothing;
        };
        touches(self.0.workspace(), action.command, &action.path)
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::FileEditor(action) = call.action else {
                return Err(ToolError::wrong_action("file_editor", &call.action));
            };
            let editor = Arc::clone(&self.0);
            Ok(observe(editor, *action, &call.cancel).await?.into())
        }
        .boxed()
    }
}

/// What the commands of an editor take.
pub(crate) fn parameters() -> Value {
    json!({
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
    })
}

/// What a command of an editor reads or writes.
pub(crate) fn touches(workspace: &Path, command: EditorCommand, path: &str) -> Touches {
    let file = Files::one(workspace, path);
    match command {
        EditorCommand::View => Touches::Reads(file),
        EditorCommand::Create
        | EditorCommand::StrReplace
        | EditorCommand::Insert
        | EditorCommand::UndoEdit => Touches::Writes(file),
    }
}

/// What a command shows, or the problem there was.
pub(crate) async fn observe(
    editor: Arc<Editor>,
    action: FileEditorAction,
    cancel: &CancellationToken,
) -> Result<FileEditorObservation, ToolError> {
    let command = action.command;
    let seen = blocking(cancel, "work on the file", move || editor.run(&action)).await?;
    Ok(seen.unwrap_or_else(|problem| failure(command, problem.to_string())))
}

/// An observation of what went wrong.
pub(crate) fn failure(command: EditorCommand, text: String) -> FileEditorObservation {
    FileEditorObservation {
        content: vec![Content::text(text)],
        is_error: true,
        command,
        prev_exist: true,
        ..FileEditorObservation::default()
    }
}
