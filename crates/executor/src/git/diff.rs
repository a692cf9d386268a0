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
        let (repository, in_repository) = self.locate(path).await?;
        let diff = match against {
            Against::Base | Against::Revision(_) => {
                let revision = match against {
                    Against::Revision(revision) => Some(revision.as_str()),
                    Against::Base | Against::Commit(_) => None,
                };
                let base = repository.base_or(revision).await?;
                let (roots, path) = (self.roots.clone(), repository.top.join(&in_repository));
                FileDiff {
                    original: repository.content(&base, &in_repository).await?.map(text),
                    modified: blocking(move || present(&roots, &path)).await?.map(text),
                }
            }
            Against::Commit(revision) => {
                let commit = repository.named(revision).await?;
                let before = repository.before(&commit).await?;
                FileDiff {
                    original: repository.content(&before, &in_repository).await?.map(text),
                    modified: repository.content(&commit, &in_repository).await?.map(text),
                }
            }
        };
        if diff.original.is_none() && diff.modified.is_none() {
            return Err(RequestError::NotFound { path: shown(path) });
        }
        Ok(diff)
    }

    /// The repository of a file that may be gone, and its directories with it; and the path in the repository.
    pub(super) async fn locate(&self, path: &Path) -> Result<(Repository<'_>, PathBuf), RequestError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(RequestError::IsDirectory { path: shown(path) });
        };
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
        Ok((repository, in_repository))
    }
}

impl Repository<'_> {
    /// The commit of this name, or the one that people mean.
    pub(super) async fn base_or(&self, revision: Option<&str>) -> Result<String, RequestError> {
        match revision {
            Some(revision) => self.named(revision).await,
            None => self.base().await,
        }
    }

    /// Whether a commit has a file.
    pub(super) async fn has(&self, commit: &str, path: &Path) -> Result<bool, RequestError> {
        let object = object(commit, path);
        let asked = ["cat-file".as_ref(), "-e".as_ref(), object.as_os_str()];
        Ok(self.run(&asked).await?.succeeded)
    }

    /// A file as it is in a commit.
    pub(super) async fn content(&self, commit: &str, path: &Path) -> Result<Option<Vec<u8>>, RequestError> {
        let object = object(commit, path);
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
        Ok(Some(content))
    }
}

/// How git names a file of a commit.
fn object(commit: &str, path: &Path) -> OsString {
    let mut object = OsString::from(format!("{commit}:"));
    object.push(path);
    object
}

/// A file as it is now; of a link, where it leads to.
pub(super) fn present(roots: &Roots, path: &Path) -> Result<Option<Vec<u8>>, RequestError> {
    if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
        && let Ok(directory) = roots.directory(parent)
        && let Ok(target) = readlinkat(directory, name, Vec::new())
    {
        return Ok(Some(target.into_bytes()));
    }
    let file = match roots.file(path) {
        Err(RequestError::NotFound { .. } | RequestError::NotDirectory { .. }) => return Ok(None),
        opened => opened?,
    };
    let mut content = Vec::new();
    file.take(MAX_SIDE_BYTES + 1).read_to_end(&mut content)?;
    within_limit(path, content.len() as u64)?;
    Ok(Some(content))
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

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned())
}
