//! Reads a text file, for models trained on a tool of this name.

use std::fmt::Write;
use std::path::PathBuf;

use deft_types::{Action, Content, Observation, ReadFileAction, ReadFileObservation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::file::numbered::{SHOWN_LIMIT, clip_line, lines};
use crate::file::read::read_text;
use crate::file::resolve::in_workspace;
use crate::spec::{Reach, spec};
use crate::tool::blocking;
use crate::{Call, Files, Tool, ToolError, Touches};

/// How many lines are shown when nobody says how many.
const DEFAULT_LINES: usize = 1_000;

/// The `read_file` tool.
#[derive(Debug)]
pub struct ReadFile {
    workspace: PathBuf,
}

impl ReadFile {
    /// Relative paths are those of the workspace.
    pub fn new(workspace: PathBuf) -> Self {
        Self { workspace }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        spec(
            "read_file",
            "ReadFile",
            Reach::Nothing,
            "Shows a text file with line numbers.",
            &json!({
                "file_path": { "type": "string", "description": "The file." },
                "offset": { "type": "integer", "description": "Lines to skip." },
                "limit": { "type": "integer", "description": "Lines to show; 1000 if left out." },
            }),
            &["file_path"],
        )
    }

    fn touches(&self, action: &Action) -> Touches {
        match action {
            Action::ReadFile(action) => Touches::Reads(Files::one(&self.workspace, &action.file_path)),
            _ => Touches::Nothing,
        }
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::ReadFile(action) = call.action else {
                return Err(ToolError::wrong_action("read_file", &call.action));
            };
            let path = in_workspace(&self.workspace, &action.file_path);
            let file_path = path.to_string_lossy().into_owned();
            let read = move || {
                let (_, text) = read_text(&path).map_err(|error| error.to_string())?;
                Ok(show(&action, text.plain()))
            };
            let seen: Result<_, String> = blocking(&call.cancel, "read the file", read).await?;
            let seen = seen.flatten().unwrap_or_else(|problem| ReadFileObservation {
                content: vec![Content::text(problem)],
                is_error: true,
                ..ReadFileObservation::default()
            });
            Ok(ReadFileObservation { file_path, ..seen }.into())
        }
        .boxed()
    }
}

/// As many of the lines asked for as can be shown at once.
fn show(action: &ReadFileAction, text: &str) -> Result<ReadFileObservation, String> {
    let all = lines(text);
    let first = usize::try_from(action.offset.unwrap_or(0)).unwrap_or(0);
    if first > 0 && first >= all.len() {
        return Err(format!(
            "`offset` {first} is behind the end: the file has {} lines.",
            all.len()
        ));
    }
    let limit = action
        .limit
        .map_or(DEFAULT_LINES, |limit| usize::try_from(limit).unwrap_or(0).max(1));
    let mut shown = String::new();
    let mut last = first;
    for line in all[first..].iter().take(limit) {
        let line = clip_line(line);
        if shown.len() + line.len() > SHOWN_LIMIT && last > first {
            break;
        }
        last += 1;
        let _ = writeln!(shown, "{last:6}  {line}"); // a string takes everything
    }
    let is_truncated = first > 0 || last < all.len();
    let heading = match () {
        () if all.is_empty() => "The file is empty.".to_owned(),
        () if last < all.len() => format!(
            "Lines {} to {last} of {}; go on with `offset` {last}.",
            first + 1,
            all.len()
        ),
        () if first > 0 => format!("Lines {} to {last}, the last one.", first + 1),
        () => format!("All {last} lines."),
    };
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    Ok(ReadFileObservation {
        content: vec![Content::text(format!("{heading}\n{shown}"))],
        file_content: shown,
        is_truncated,
        lines_shown: is_truncated.then(|| [number(first + 1), number(last)]),
        total_lines: Some(number(all.len())),
        ..ReadFileObservation::default()
    })
}
