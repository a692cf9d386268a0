//! What changed in a directory, as a patch that git can apply.

use std::path::Path;

use axum::http::StatusCode;
use deft_executor::{Client, RequestError, is_left_out};

use super::files::refused;
use crate::failure::Failure;

/// The largest patch.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The repository that is meant by a directory: it, the one around it, or the only one in it.
pub(super) async fn meant(client: &Client, path: &str) -> Result<String, Failure> {
    let repositories = client.git_repositories(path).await;
    let repositories = repositories.map_err(|error| refused(&error))?;
    match &repositories[..] {
        [] => {
            let sentence = format!("Not a git repository: {path}");
            Err(Failure::new(StatusCode::BAD_REQUEST, sentence))
        }
        [only] if Path::new(&only.path).starts_with(path) => Ok(only.path.clone()),
        _ => Ok(path.to_owned()),
    }
}

/// The patch of everything that differs from a commit, or from the one that people mean.
pub(super) async fn of(
    client: &Client,
    path: &str,
    base: Option<&str>,
    exclude: &[String],
) -> Result<Vec<u8>, Failure> {
    let changes = client.git_changes(path, base).await;
    let changes = changes.map_err(|error| refused(&error))?;
    let mut whole = Vec::new();
    for change in changes {
        if is_left_out(Path::new(&change.path), exclude) {
            continue;
        }
        match client.git_patch(path, &change.path, base).await {
            Ok(bytes) if whole.len() + bytes.len() <= MAX_BYTES => whole.extend(bytes),
            Ok(_) | Err(RequestError::TooLarge { .. }) => {
                let sentence = format!(
                    "{} makes the patch too large; leave it out with `exclude`, or ask for a tar.gz",
                    change.path
                );
                return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, sentence));
            }
            Err(error) => return Err(refused(&error)),
        }
    }
    Ok(whole)
}
