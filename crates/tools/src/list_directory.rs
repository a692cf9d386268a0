//! Lists a directory, for models trained on a tool of this name.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use deft_types::{
    Action, Content, FileEntry, ListDirectoryAction, ListDirectoryObservation, Observation, Timestamp,
    ToolSpec,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::file::resolve::in_workspace;
use crate::spec::{Reach, spec};
use crate::tool::blocking;
use crate::{Call, Files, Tool, ToolError, Touches};

/// How many entries are listed.
const ENTRY_LIMIT: usize = 500;
/// How many are looked at, so as to list the first ones and to count the others.
const SCAN_LIMIT: usize = 100_000;

/// The `list_directory` tool.
#[derive(Debug)]
pub struct ListDirectory {
    workspace: PathBuf,
}

impl ListDirectory {
    /// Relative paths are those of the workspace.
    pub fn new(workspace: PathBuf) -> Self {
        Self { workspace }
    }
}

impl Tool for ListDirectory {
    fn spec(&self) -> ToolSpec {
        spec(
            "list_directory",
            "ListDirectory",
            Reach::Nothing,
            "Lists a directory, hidden entries too, with the sizes of files.",
            &json!({
                "dir_path": { "type": "string", "description": "The directory; the workspace if left out." },
                "recursive": { "type": "boolean", "description": "Two levels instead of one." },
            }),
            &[],
        )
    }

    fn touches(&self, action: &Action) -> Touches {
        match action {
            Action::ListDirectory(action) => Touches::Reads(Files::one(&self.workspace, &action.dir_path)),
            _ => Touches::Nothing,
        }
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::ListDirectory(action) = call.action else {
                return Err(ToolError::wrong_action("list_directory", &call.action));
            };
            let path = in_workspace(&self.workspace, &action.dir_path);
            let dir_path = Some(path.to_string_lossy().into_owned());
            let problem = format!("Could not list {}: ", path.display());
            let seen = blocking(&call.cancel, "list the directory", move || list(&path, &action)).await?;
            let seen = seen.unwrap_or_else(|error| ListDirectoryObservation {
                content: vec![Content::text(format!("{problem}{error}."))],
                is_error: true,
                ..ListDirectoryObservation::default()
            });
            Ok(ListDirectoryObservation { dir_path, ..seen }.into())
        }
        .boxed()
    }
}

fn list(directory: &Path, action: &ListDirectoryAction) -> io::Result<ListDirectoryObservation> {
    let mut found = Vec::new();
    collect(directory, usize::from(action.recursive), &mut found)?;
    found.sort();
    let total = found.len();
    found.truncate(ENTRY_LIMIT);
    let entries: Vec<FileEntry> = found.iter().map(|path| entry(path)).collect();
    let mut text = format!("{} has {total} entries.\n", directory.display());
    for (path, entry) in found.iter().zip(&entries) {
        let name = path.strip_prefix(directory).unwrap_or(path).display();
        // A string takes everything.
        let _ = if entry.is_directory {
            writeln!(text, "{name}/")
        } else {
            writeln!(text, "{name}  {} bytes", entry.size)
        };
    }
    if total > ENTRY_LIMIT {
        let _ = writeln!(text, "[… {} more; list a directory in it …]", total - ENTRY_LIMIT);
    }
    Ok(ListDirectoryObservation {
        content: vec![Content::text(text)],
        entries,
        total_count: i64::try_from(total).unwrap_or(i64::MAX),
        is_truncated: total > ENTRY_LIMIT,
        ..ListDirectoryObservation::default()
    })
}

/// The paths in a directory, and so many levels further down.
fn collect(directory: &Path, deeper: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if found.len() >= SCAN_LIMIT {
            break;
        }
        found.push(entry.path());
        // Links are not followed: they may lead round in circles. What cannot be read is only named.
        if deeper > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = collect(&entry.path(), deeper - 1, found);
        }
    }
    Ok(())
}

/// A link that leads nowhere is shown as an empty file.
fn entry(path: &Path) -> FileEntry {
    let data = fs::metadata(path).ok();
    let is_directory = data.as_ref().is_some_and(fs::Metadata::is_dir);
    let modified = data.as_ref().and_then(|data| data.modified().ok());
    FileEntry {
        name: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        path: path.to_string_lossy().into_owned(),
        is_directory,
        size: data.filter(fs::Metadata::is_file).map_or(0, |data| data.len()),
        modified_time: modified.map(|time| Timestamp::at(time).0).unwrap_or_default(),
        ..FileEntry::default()
    }
}
