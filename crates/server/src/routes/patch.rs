//! What changed in a directory, as a patch that git can apply.

use std::fmt::Write as _;

use axum::http::StatusCode;
use deft_executor::{Against, ChangeStatus, Client, FileDiff};
use similar::TextDiff;

use super::files::refused;
use crate::failure::Failure;

/// The largest patch.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The patch of everything that differs from a commit, or from the one that people mean.
pub(super) async fn of(client: &Client, path: &str, base: Option<&str>) -> Result<String, Failure> {
    let repositories = client
        .git_repositories(path)
        .await
        .map_err(|error| refused(&error))?;
    if repositories.is_empty() {
        let sentence = format!("Not a git repository: {path}");
        return Err(Failure::new(StatusCode::BAD_REQUEST, sentence));
    }
    let changes = client
        .git_changes(path, base)
        .await
        .map_err(|error| refused(&error))?;
    let against = base.map_or(Against::Base, |base| Against::Revision(base.to_owned()));
    let mut text = String::new();
    for change in changes {
        let file = format!("{path}/{}", change.path);
        let sides = client
            .git_diff(&file, against.clone())
            .await
            .map_err(|error| refused(&error))?;
        add(&mut text, &change.path, change.status, &sides);
        if text.len() > MAX_BYTES {
            let sentence = format!("the patch is larger than {MAX_BYTES} bytes; ask for a tar.gz");
            return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, sentence));
        }
    }
    Ok(text)
}

fn add(text: &mut String, path: &str, status: ChangeStatus, sides: &FileDiff) {
    let (before, after) = (sides.original.as_deref(), sides.modified.as_deref());
    let (mode, old, new) = match status {
        ChangeStatus::Added => (
            "new file mode 100644\n",
            "/dev/null".to_owned(),
            format!("b/{path}"),
        ),
        ChangeStatus::Deleted => (
            "deleted file mode 100644\n",
            format!("a/{path}"),
            "/dev/null".to_owned(),
        ),
        ChangeStatus::Updated => ("", format!("a/{path}"), format!("b/{path}")),
    };
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    // Writing to a text never fails.
    let _ = write!(text, "diff --git a/{path} b/{path}\n{mode}");
    let _ = write!(text, "{}", diff.unified_diff().header(&old, &new));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_what_is_new_changed_and_gone() {
        let mut text = String::new();
        let sides = |original: Option<&str>, modified: Option<&str>| FileDiff {
            original: original.map(str::to_owned),
            modified: modified.map(str::to_owned),
        };
        add(&mut text, "n", ChangeStatus::Added, &sides(None, Some("x\n")));
        add(&mut text, "g", ChangeStatus::Deleted, &sides(Some("y\n"), None));
        let expected = "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\
             diff --git a/g b/g\ndeleted file mode 100644\n--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n";
        assert_eq!(text, expected);
    }
}
