//! What a turn has changed in the workspace, as a diff.

use std::fmt::Write as _;

use deft_executor::{Against, Client};
use deft_tools::CheckpointId;
use similar::TextDiff;

use crate::critic::cut;

/// How much of the changes is shown, in bytes, and of how many files.
const MAX_DIFF: usize = 60_000;
const MAX_FILES: usize = 50;

/// What was changed.
pub(crate) struct Changes {
    files: Vec<Changed>,
    /// How many more files were.
    more: usize,
    /// What is said where nothing is seen.
    nothing: &'static str,
}

struct Changed {
    path: String,
    how: &'static str,
    diff: String,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The changes as text. Each file gets its share, so that a long one hides no other.
    pub(crate) fn shown(&self) -> String {
        if self.is_empty() {
            return self.nothing.to_owned();
        }
        let share = MAX_DIFF / self.files.len();
        let mut text = String::new();
        for file in &self.files {
            let _ = writeln!(text, "{} {}\n{}", file.how, file.path, cut(&file.diff, share));
        }
        if self.more > 0 {
            let _ = writeln!(text, "and {} more files", self.more);
        }
        text
    }
}

/// What was changed since a checkpoint. Without one, against the commit that people mean: what was changed by agents of
/// a task, for one, is in no checkpoint of this conversation.
pub(crate) async fn since(client: &Client, before: Option<CheckpointId>) -> Result<Changes, String> {
    let Some(before) = before else {
        return of_repository(client).await;
    };
    match client.compare(before).await {
        Ok(compared) => Ok(Changes {
            files: compared
                .paths
                .into_iter()
                .map(|path| Changed::new(path.path, path.before, path.after))
                .collect(),
            more: compared.more,
            nothing: "(nothing was changed in this turn)",
        }),
        Err(error) => {
            tracing::warn!(%error, "what a turn changed cannot be told from its checkpoint");
            of_repository(client).await
        }
    }
}

async fn of_repository(client: &Client) -> Result<Changes, String> {
    let changed = client
        .git_changes(".", None)
        .await
        .map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    for change in changed.iter().take(MAX_FILES) {
        files.push(match client.git_diff(&change.path, Against::Base).await {
            Ok(sides) => Changed::new(change.path.clone(), sides.original, sides.modified),
            Err(error) => Changed {
                path: change.path.clone(),
                how: "changed",
                diff: format!("(not shown: {error})\n"),
            },
        });
    }
    Ok(Changes {
        more: changed.len() - files.len(),
        files,
        nothing: "(nothing was changed, or there is no git repository)",
    })
}

impl Changed {
    fn new(path: String, before: Option<String>, after: Option<String>) -> Self {
        let how = match (&before, &after) {
            (None, _) => "added",
            (Some(_), None) => "deleted",
            (Some(_), Some(_)) => "modified",
        };
        let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
        let diff = TextDiff::from_lines(&old, &new).unified_diff().to_string();
        Self { path, how, diff }
    }
}
