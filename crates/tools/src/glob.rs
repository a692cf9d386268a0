//! Finds files by their names.

use std::path::{Path, PathBuf};

use deft_types::{Action, Content, GlobObservation, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::file::resolve::in_workspace;
use crate::search::find;
use crate::search::pattern::{FilePattern, split};
use crate::search::walk::walk;
use crate::spec::{Reach, spec};
use crate::{Call, Files, Tool, ToolError, Touches};

/// The `glob` tool.
#[derive(Debug)]
pub struct Glob {
    workspace: PathBuf,
}

impl Glob {
    /// Searches a workspace unless it is told where.
    pub fn new(workspace: PathBuf) -> Self {
        Self { workspace }
    }
}

impl Tool for Glob {
    fn spec(&self) -> ToolSpec {
        spec(
            "glob",
            "Glob",
            Reach::Nothing,
            "Finds files by name, newest first. Skips hidden files unless the pattern names them, and what .gitignore names.",
            &json!({
                "pattern": { "type": "string", "description": "Such as *.py (at any depth), src/**/*.{ts,tsx} or .github/*." },
                "path": { "type": "string", "description": "Directory; the workspace if left out." },
            }),
            &["pattern"],
        )
    }

    fn touches(&self, action: &Action) -> Touches {
        match action {
            Action::Glob(_) => Touches::Reads(Files::All), // a pattern may lead out of the directory
            _ => Touches::Nothing,
        }
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::Glob(action) = call.action else {
                return Err(ToolError::wrong_action("glob", &call.action));
            };
            let directory = in_workspace(&self.workspace, action.path.as_deref().unwrap_or_default());
            let (root, rest) = split(&directory, &action.pattern);
            let search_path = if action.pattern.starts_with('/') {
                root.clone()
            } else {
                directory
            };
            let seen = match pattern(&action.pattern, &rest, &search_path) {
                Ok(pattern) => {
                    let search = move |stop: &_, keep: &(dyn Fn(&_) + Sync)| {
                        walk(&root, Some(&pattern), stop, || keep);
                    };
                    let found = find(&call.cancel, search).await?;
                    GlobObservation {
                        content: vec![Content::text(found.text(&found.names().join("\n")))],
                        files: found.names(),
                        truncated: found.is_truncated(),
                        ..GlobObservation::default()
                    }
                }
                Err(problem) => GlobObservation {
                    content: vec![Content::text(problem)],
                    is_error: true,
                    ..GlobObservation::default()
                },
            };
            Ok(GlobObservation {
                pattern: action.pattern,
                search_path: search_path.to_string_lossy().into_owned(),
                ..seen
            }
            .into())
        }
        .boxed()
    }
}

fn pattern(given: &str, rest: &str, directory: &Path) -> Result<FilePattern, String> {
    if given.starts_with('~') {
        return Err(format!(
            "`~` is not expanded here: give the absolute path instead of {given}."
        ));
    }
    if !directory.is_dir() {
        return Err(format!(
            "{} is not a directory. Check the path.",
            directory.display()
        ));
    }
    FilePattern::new(rest).map_err(|error| format!("`pattern` is not valid: {error}."))
}
