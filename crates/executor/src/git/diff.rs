//! A file, before and after.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::readlinkat;

use super::repository::Repository;
use super::{Against, FileDiff, Git};
use crate::files::{Roots, shown};
use crate::request_error::RequestError;
use crate::work::blocking;

/// The most that each side may have.
const MAX_SIDE_BYTES: u64 = 1024 * 1024;

impl Git {
    pub(super) async fn diff(&self, path: &Path, against: &Against) -> Result<FileDiff, RequestError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(RequestError::IsDirectory { path: shown(path) });
        };
        // The file may be gone, and its directories with it.
        let mut missing = PathBuf::from(name);
        let mut directory = parent;
        let repository = loop {
            match (
                self.repository(directory).await,
                directory.parent(),
                directory.file_name(),
            ) {
                (
                    Err(RequestError::NotFound { .. } | RequestError::NotDirectory { .. }),
                    Some(up),
                    Some(name),
                ) => {
                    missing = Path::new(name).join(missing);
                    directory = up;
                }
                (found, _, _) => break found?,
            }
        };
        let directory = repository
            .directory
            .strip_prefix(&repository.top)
            .unwrap_or(Path::new(""));
        let in_repository = directory.join(missing);
        let diff = match against {
            Against::Base | Against::Revision(_) => {
                let base = match against {
                    Against::Revision(revision) => repository.named(revision).await?,
                    Against::Base | Against::Commit(_) => repository.base().await?,
                };
                let (roots, path) = (self.roots.clone(), repository.top.join(&in_repository));
                FileDiff {
                    original: repository.content(&base, &in_repository).await?,
                    modified: blocking(move || present(&roots, &path)).await?,
                }
            }
            Against::Commit(revision) => {
                let commit = repository.named(revision).await?;
                let before = repository.before(&commit).await?;
                FileDiff {
                    original: repository.content(&before, &in_repository).await?,
                    modified: repository.content(&commit, &in_repository).await?,
                }
            }
        };
        if diff.original.is_none() && diff.modified.is_none() {
            return Err(RequestError::NotFound { path: shown(path) });
        }
        Ok(diff)
    }
}

impl Repository<'_> {
    /// A file as it is in a commit.
    async fn content(&self, commit: &str, path: &Path) -> Result<Option<String>, RequestError> {
        let mut object = OsString::from(format!("{commit}:"));
        object.push(path);
        let size = self
            .run(&["cat-file".as_ref(), "-s".as_ref(), object.as_os_str()])
            .await?;
        if !size.succeeded {
            return Ok(None);
        }
        let size = String::from_utf8_lossy(&size.stdout)
            .trim()
            .parse()
            .unwrap_or(u64::MAX);
        within_limit(path, size)?;
        let content = self
            .ask(&["cat-file".as_ref(), "blob".as_ref(), object.as_os_str()])
            .await?;
        Ok(Some(text(&content)))
    }
}

/// A file as it is now; of a link, where it leads to.
fn present(roots: &Roots, path: &Path) -> Result<Option<String>, RequestError> {
    if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
        && let Ok(directory) = roots.directory(parent)
        && let Ok(target) = readlinkat(directory, name, Vec::new())
    {
        return Ok(Some(text(target.as_bytes())));
    }
    let file = match roots.file(path) {
        Err(RequestError::NotFound { .. } | RequestError::NotDirectory { .. }) => return Ok(None),
        opened => opened?,
    };
    let mut content = Vec::new();
    file.take(MAX_SIDE_BYTES + 1).read_to_end(&mut content)?;
    within_limit(path, content.len() as u64)?;
    Ok(Some(text(&content)))
}

fn within_limit(path: &Path, size: u64) -> Result<(), RequestError> {
    if size <= MAX_SIDE_BYTES {
        return Ok(());
    }
    Err(RequestError::TooLarge {
        what: shown(path),
        limit: MAX_SIDE_BYTES,
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
