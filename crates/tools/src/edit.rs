//! Replaces text in a file, for models trained on a tool of this name.

use std::path::{Path, PathBuf};

use deft_types::{Action, Content, EditAction, EditObservation, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::file::read::{FileError, read_text};
use crate::file::resolve::in_workspace;
use crate::file::save::save;
use crate::file::text::{Edit as TextEdit, Text};
use crate::spec::{Reach, spec};
use crate::tool::blocking;
use crate::{Call, Files, Tool, ToolError, Touches};

/// The `edit` tool.
#[derive(Debug)]
pub struct Edit {
    workspace: PathBuf,
}

/// Why nothing was edited.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("`old_string` and `new_string` are the same, so nothing would change.")]
    SameStrings,
    #[error(
        "{0} exists already. Give the text to replace as `old_string`, or use `write_file` to replace it all."
    )]
    Exists(PathBuf),
    #[error(
        "`old_string` was not found in {0}. It must match exactly, with indentation; read the file again."
    )]
    NoMatch(PathBuf),
    #[error(
        "`old_string` was found {found} times in {path}, not {expected}. Add lines around it, or say how many times to replace it."
    )]
    Count {
        path: PathBuf,
        found: usize,
        expected: i64,
    },
    #[error(transparent)]
    File(#[from] FileError),
}

impl Edit {
    /// Relative paths are those of the workspace.
    pub fn new(workspace: PathBuf) -> Self {
        Self { workspace }
    }
}

impl Tool for Edit {
    fn spec(&self) -> ToolSpec {
        spec(
            "edit",
            "Edit",
            Reach::Files,
            "Replaces text in a file.",
            &json!({
                "file_path": { "type": "string", "description": "File." },
                "old_string": { "type": "string", "description": "Exact text; empty: new file." },
                "new_string": { "type": "string", "description": "New text." },
                "expected_replacements": { "type": "integer", "description": "How often; 1." },
            }),
            &["file_path", "old_string", "new_string"],
        )
    }

    fn touches(&self, action: &Action) -> Touches {
        match action {
            Action::Edit(action) => Touches::Writes(Files::one(&self.workspace, &action.file_path)),
            _ => Touches::Nothing,
        }
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::Edit(action) = call.action else {
                return Err(ToolError::wrong_action("edit", &call.action));
            };
            let path = in_workspace(&self.workspace, &action.file_path);
            let file_path = Some(path.to_string_lossy().into_owned());
            let work = move || edit(&path, &action);
            let seen = blocking(&call.cancel, "edit the file", work).await?;
            let seen = seen.unwrap_or_else(|problem| EditObservation {
                content: vec![Content::text(problem.to_string())],
                is_error: true,
                ..EditObservation::default()
            });
            Ok(EditObservation { file_path, ..seen }.into())
        }
        .boxed()
    }
}

fn edit(path: &Path, action: &EditAction) -> Result<EditObservation, Problem> {
    if action.old_string == action.new_string {
        return Err(Problem::SameStrings);
    }
    if action.old_string.is_empty() {
        return create(path, &action.new_string);
    }
    let (_, text) = read_text(path)?;
    let (old, new) = (
        text.as_plain(&action.old_string),
        text.as_plain(&action.new_string),
    );
    let edits: Vec<TextEdit> = text
        .plain()
        .match_indices(&old)
        .map(|(at, _)| TextEdit {
            from: at,
            to: at + old.len(),
            new: new.clone(),
        })
        .collect();
    if edits.is_empty() {
        return Err(Problem::NoMatch(path.to_owned()));
    }
    let made = i64::try_from(edits.len()).unwrap_or(i64::MAX);
    if made != action.expected_replacements {
        return Err(Problem::Count {
            path: path.to_owned(),
            found: edits.len(),
            expected: action.expected_replacements,
        });
    }
    let edited = text.edited(&edits);
    save(path, &edited.encode()).map_err(FileError::io("write", path))?;
    Ok(EditObservation {
        content: vec![Content::text(format!(
            "Replaced {made} times in {}.",
            path.display()
        ))],
        replacements_made: made,
        old_content: Some(text.into_plain()),
        new_content: Some(edited.into_plain()),
        ..EditObservation::default()
    })
}

fn create(path: &Path, content: &str) -> Result<EditObservation, Problem> {
    if path.exists() {
        return Err(Problem::Exists(path.to_owned()));
    }
    save(path, content.as_bytes()).map_err(FileError::io("write", path))?;
    Ok(EditObservation {
        content: vec![Content::text(format!("Created {}.", path.display()))],
        is_new_file: true,
        replacements_made: 1,
        new_content: Some(Text::of_new_file(content).into_plain()),
        ..EditObservation::default()
    })
}
