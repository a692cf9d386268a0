//! Finds files by their content.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use deft_types::{Action, Content, GrepAction, GrepObservation, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use grep_regex::RegexMatcher;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::file::resolve::in_workspace;
use crate::search::lines::{self, Shown, matcher};
use crate::search::pattern::FilePattern;
use crate::search::walk::walk;
use crate::search::{SEARCH_LIMIT, find, limited};
use crate::spec::{Reach, spec};
use crate::{Call, Files, Tool, ToolError, Touches};

/// Up to how many files are shown with lines and not by name only.
const FILES_WITH_LINES: usize = 20;
/// What is shown of each of several files.
const OF_SEVERAL: Shown = Shown {
    matches: 5,
    context: 0,
    characters: 1_000,
};
/// What is shown of the one file that was asked for.
const OF_ONE: Shown = Shown {
    matches: 200,
    context: 2,
    characters: 16_000,
};

/// The `grep` tool.
#[derive(Debug)]
pub struct Grep {
    workspace: PathBuf,
}

impl Grep {
    /// Searches a workspace unless it is told where.
    pub fn new(workspace: PathBuf) -> Self {
        Self { workspace }
    }
}

impl Tool for Grep {
    fn spec(&self) -> ToolSpec {
        spec(
            "grep",
            "Grep",
            Reach::Nothing,
            "Finds the files with a line that matches, newest first, and shows their lines if they are few. Given one \
             file, shows its matching lines with those around them. Skips hidden files and what .gitignore names.",
            &json!({
                "pattern": {
                    "type": "string",
                    "description": "Regular expression without look-around and back-references; case is ignored unless it has (?-i).",
                },
                "path": { "type": "string", "description": "Directory or file; the workspace if left out." },
                "include": { "type": "string", "description": "Which files, such as *.{ts,tsx} or src/**/*.rs." },
            }),
            &["pattern"],
        )
    }

    fn touches(&self, action: &Action) -> Touches {
        match action {
            Action::Grep(action) => {
                let path = action.path.as_deref().unwrap_or_default();
                Touches::Reads(Files::one(&self.workspace, path))
            }
            _ => Touches::Nothing,
        }
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::Grep(action) = call.action else {
                return Err(ToolError::wrong_action("grep", &call.action));
            };
            let path = in_workspace(&self.workspace, action.path.as_deref().unwrap_or_default());
            let seen = match Search::new(&action, &path) {
                Ok(search) => search.run(&call.cancel).await?,
                Err(problem) => GrepObservation {
                    content: vec![Content::text(problem)],
                    is_error: true,
                    ..GrepObservation::default()
                },
            };
            Ok(GrepObservation {
                pattern: action.pattern,
                include_pattern: action.include,
                search_path: path.to_string_lossy().into_owned(),
                ..seen
            }
            .into())
        }
        .boxed()
    }
}

/// What to look for, and where.
struct Search {
    path: PathBuf,
    matcher: RegexMatcher,
    include: Option<FilePattern>,
}

impl Search {
    fn new(action: &GrepAction, path: &Path) -> Result<Self, String> {
        if !path.exists() {
            return Err(format!("{} does not exist. Check the path.", path.display()));
        }
        let matcher = matcher(&action.pattern).map_err(|error| {
            format!(
                "`pattern` is not valid here: {error}. Look-around such as (?=x), back-references such as \\1 and line \
                 breaks cannot be used; a bracket that is meant as such needs a \\ before it."
            )
        })?;
        let include = action.include.as_deref().filter(|include| !include.is_empty());
        let include = include.map(FilePattern::new).transpose();
        Ok(Self {
            path: path.to_owned(),
            matcher,
            include: include.map_err(|error| format!("`include` is not valid: {error}."))?,
        })
    }

    async fn run(self, cancel: &CancellationToken) -> Result<GrepObservation, ToolError> {
        let search = Arc::new(self);
        let here = Arc::clone(&search);
        let found = find(cancel, move |stop, keep| {
            walk(&here.path, here.include.as_ref(), stop, || {
                let mut grep = lines::Grep::new(&here.matcher, 0, stop);
                move |entry| {
                    if grep.matches(entry.path()) {
                        keep(entry);
                    }
                }
            });
        })
        .await?;
        let mut files = None;
        if found.count <= FILES_WITH_LINES {
            let paths = found.paths.clone();
            files = limited(cancel, SEARCH_LIMIT, move |stop| search.lines(&paths, stop)).await?;
        }
        let files = files.unwrap_or_else(|| found.names().iter().map(|name| format!("{name}\n")).collect());
        Ok(GrepObservation {
            content: vec![Content::text(found.text(&files))],
            matches: found.names(),
            truncated: found.is_truncated(),
            ..GrepObservation::default()
        })
    }

    /// The files with their lines.
    fn lines(&self, paths: &[PathBuf], stop: &CancellationToken) -> String {
        let shown = if self.path.is_file() { OF_ONE } else { OF_SEVERAL };
        let mut grep = lines::Grep::new(&self.matcher, shown.context, stop);
        let of = |path: &PathBuf| format!("{}\n{}", path.display(), grep.lines(path, shown));
        paths.iter().map(of).collect()
    }
}
