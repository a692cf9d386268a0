//! Writes a whole file, for models trained on a tool of this name.

use std::path::{Path, PathBuf};

use deft_types::{Action, Content, Observation, ToolSpec, WriteFileObservation};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::file::read::{FileError, read_text};
use crate::file::resolve::in_workspace;
use crate::file::save::save;
use crate::file::text::Text;
use crate::spec::{Reach, spec};
use crate::tool::blocking;
use crate::{Call, Files, Tool, ToolError, Touches};

/// The `write_file` tool.
#[derive(Debug)]
pub struct WriteFile {
    workspace: PathBuf,
}

impl WriteFile {
    /// Relative paths are those of the workspace.
    pub fn new(workspace: PathBuf) -> Self {
        Self { workspace }
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        spec(
            "write_file",
            "WriteFile",
            Reach::Files,
            "Writes a file, with its directories. What was in it is replaced.",
            &json!({
                "file_path": { "type": "string", "description": "The file." },
                "content": { "type": "string", "description": "All of its text." },
            }),
            &["file_path", "content"],
        )
    }

    fn touches(&self, action: &Action) -> Touches {
        match action {
            Action::WriteFile(action) => Touches::Writes(Files::one(&self.workspace, &action.file_path)),
            _ => Touches::Nothing,
        }
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::WriteFile(action) = call.action else {
                return Err(ToolError::wrong_action("write_file", &call.action));
            };
            let path = in_workspace(&self.workspace, &action.file_path);
            let file_path = Some(path.to_string_lossy().into_owned());
            let work = move || write(&path, &action.content);
            let seen = blocking(&call.cancel, "write the file", work).await?;
            let seen = seen.unwrap_or_else(|problem| WriteFileObservation {
                content: vec![Content::text(problem.to_string())],
                is_error: true,
                ..WriteFileObservation::default()
            });
            Ok(WriteFileObservation { file_path, ..seen }.into())
        }
        .boxed()
    }
}

/// Writes the text in the encoding and with the line ends that the file has.
fn write(path: &Path, content: &str) -> Result<WriteFileObservation, FileError> {
    let (old, new) = match read_text(path) {
        Ok((_, old)) => {
            let new = old.rewritten(content);
            (Some(old), new)
        }
        Err(FileError::Missing(_)) => (None, Text::of_new_file(content)),
        Err(problem) => return Err(problem),
    };
    save(path, &new.encode()).map_err(FileError::io("write", path))?;
    let done = if old.is_some() { "Replaced" } else { "Created" };
    Ok(WriteFileObservation {
        content: vec![Content::text(format!("{done} {}.", path.display()))],
        is_new_file: old.is_none(),
        old_content: old.map(Text::into_plain),
        new_content: Some(new.into_plain()),
        ..WriteFileObservation::default()
    })
}
