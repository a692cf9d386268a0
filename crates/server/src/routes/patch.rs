//! What changed in a directory, as a patch that git can apply.

use std::fmt::Write as _;

use axum::http::StatusCode;
use deft_executor::{ChangeStatus, Client, FileReview, Shown};
use similar::TextDiff;

use super::files::refused;
use crate::failure::Failure;

/// What git calls files: what is only read, what can be run, and links.
const PLAIN: &str = "100644";
const PROGRAM: &str = "100755";
const LINK: &str = "120000";
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
    let top = client.stat(path).await.map_err(|error| refused(&error))?.path;
    let mut text = String::new();
    for change in changes {
        let file = format!("{path}/{}", change.path);
        let sides = client
            .git_review(&file, base)
            .await
            .map_err(|error| refused(&error))?;
        let mode = match change.status {
            ChangeStatus::Added => mode(client, &top, &change.path).await,
            ChangeStatus::Updated | ChangeStatus::Deleted => PLAIN,
        };
        add(&mut text, &change.path, change.status, mode, &sides);
        if text.len() > MAX_BYTES {
            let sentence = format!("the patch is larger than {MAX_BYTES} bytes; ask for a tar.gz");
            return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, sentence));
        }
    }
    Ok(text)
}

/// What git calls a file.
async fn mode(client: &Client, top: &str, path: &str) -> &'static str {
    let file = format!("{top}/{path}");
    match client.stat(&file).await {
        Ok(entry) if entry.path != file => LINK, // it leads there
        Ok(entry) if entry.mode & 0o111 != 0 => PROGRAM,
        Ok(_) => PLAIN,
        Err(_) => LINK, // it leads nowhere
    }
}

fn add(text: &mut String, path: &str, status: ChangeStatus, mode: &str, sides: &FileReview) {
    let (before, after) = (sides.original.as_deref(), sides.modified.as_deref());
    let (mode, old, new) = match status {
        ChangeStatus::Added => (
            format!("new file mode {mode}\n"),
            "/dev/null".to_owned(),
            format!("b/{path}"),
        ),
        ChangeStatus::Deleted => (
            format!("deleted file mode {mode}\n"),
            format!("a/{path}"),
            "/dev/null".to_owned(),
        ),
        ChangeStatus::Updated => (String::new(), format!("a/{path}"), format!("b/{path}")),
    };
    // Writing to a text never fails.
    let _ = write!(text, "diff --git a/{path} b/{path}\n{mode}");
    let _ = match sides.content {
        Shown::Text => {
            let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
            write!(text, "{}", diff.unified_diff().header(&old, &new))
        }
        Shown::Binary | Shown::Large => writeln!(text, "Binary files {old} and {new} differ"), // git refuses it
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_what_is_new_changed_and_gone() {
        let mut text = String::new();
        let sides = |content: Shown, original: Option<&str>, modified: Option<&str>| FileReview {
            content,
            original: original.map(str::to_owned),
            modified: modified.map(str::to_owned),
            version: String::new(),
        };
        let added = sides(Shown::Text, None, Some("x\n"));
        add(&mut text, "n", ChangeStatus::Added, PROGRAM, &added);
        let gone = sides(Shown::Text, Some("y\n"), None);
        add(&mut text, "g", ChangeStatus::Deleted, PLAIN, &gone);
        let picture = sides(Shown::Binary, None, None);
        add(&mut text, "p", ChangeStatus::Updated, PLAIN, &picture);
        let expected = "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\
             diff --git a/g b/g\ndeleted file mode 100644\n--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n\
             diff --git a/p b/p\nBinary files a/p and b/p differ\n";
        assert_eq!(text, expected);
    }
}
