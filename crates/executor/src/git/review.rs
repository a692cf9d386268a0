//! A file for a reviewer: what has become of it, and the way back.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, statat, unlinkat};

use super::diff::present;
use super::{FileReview, Git, Shown};
use crate::files::{Roots, shown};
use crate::request_error::RequestError;
use crate::work::blocking;

/// The version of a file that is not there.
const ABSENT: &str = "absent";

impl Git {
    pub(super) async fn review(
        &self,
        path: &Path,
        revision: Option<&str>,
    ) -> Result<FileReview, RequestError> {
        let (repository, in_repository) = self.locate(path).await?;
        let base = repository.base_or(revision).await?;
        let (roots, file) = (Arc::clone(&self.roots), repository.top.join(&in_repository));
        // First the version: what is read after it is at least as new, so a change between the two is noticed.
        let (version, modified) =
            blocking(move || Ok((version(&roots, &file)?, present(&roots, &file)))).await?;
        let sides = (repository.content(&base, &in_repository).await, modified);
        let (content, original, modified) = match sides {
            (Err(RequestError::TooLarge { .. }), _) | (_, Err(RequestError::TooLarge { .. })) => {
                (Shown::Large, None, None)
            }
            (original, modified) => match (text(original?), text(modified?)) {
                (Some(original), Some(modified)) => (Shown::Text, original, modified),
                _ => (Shown::Binary, None, None),
            },
        };
        Ok(FileReview {
            content,
            original,
            modified,
            version,
        })
    }

    /// Makes a file what it was, byte by byte, unless it is another one than was looked at.
    pub(super) async fn revert(
        &self,
        path: &Path,
        revision: Option<&str>,
        seen: &str,
    ) -> Result<(), RequestError> {
        let (repository, in_repository) = self.locate(path).await?;
        let base = repository.base_or(revision).await?;
        let spec = in_repository.as_os_str();
        let from_top = |arguments: &[&str]| -> Vec<OsString> {
            let arguments = arguments.iter().map(OsString::from);
            let place = [OsString::from("-C"), repository.top.clone().into_os_string()];
            place
                .into_iter()
                .chain(arguments)
                .chain([spec.to_owned()])
                .collect()
        };
        let attributes = repository
            .ask(&from_top(&["check-attr", "-z", "filter", "--"]))
            .await?;
        let filter = attributes.split(|byte| *byte == 0).nth(2).unwrap_or_default();
        if !matches!(filter, b"" | b"unspecified" | b"unset") {
            return Err(RequestError::Git {
                reason: format!(
                    "{} goes through the filter {:?}, which is a program of the repository's; take it back in a terminal",
                    shown(path),
                    String::from_utf8_lossy(filter)
                ),
            });
        }
        let (roots, file) = (Arc::clone(&self.roots), repository.top.join(&in_repository));
        let now = blocking({
            let (roots, file) = (Arc::clone(&roots), file.clone());
            move || version(&roots, &file)
        });
        if now.await? != seen {
            return Err(RequestError::Changed { path: shown(path) });
        }
        if repository.has(&base, &in_repository).await? {
            let source = format!("--source={base}");
            let restore = ["--literal-pathspecs", "restore", &source, "--worktree", "--"];
            repository.ask(&from_top(&restore)).await?;
            return Ok(());
        }
        blocking(move || remove(&roots, &file)).await
    }
}

/// Tells one state of a file from another, without reading it.
fn version(roots: &Roots, file: &Path) -> Result<String, RequestError> {
    let (Some(parent), Some(name)) = (file.parent(), file.file_name()) else {
        return Err(RequestError::IsDirectory { path: shown(file) });
    };
    let directory = match roots.directory(parent) {
        Err(RequestError::NotFound { .. } | RequestError::NotDirectory { .. }) => {
            return Ok(ABSENT.to_owned());
        }
        opened => opened?,
    };
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::NOENT) => Ok(ABSENT.to_owned()),
        found => {
            let status = found.map_err(RequestError::at(&shown(file)))?;
            Ok(format!(
                "{}-{}-{}.{}-{}.{}",
                status.st_ino,
                status.st_size,
                status.st_mtime,
                status.st_mtime_nsec,
                status.st_ctime,
                status.st_ctime_nsec
            ))
        }
    }
}

fn remove(roots: &Roots, file: &Path) -> Result<(), RequestError> {
    let (Some(parent), Some(name)) = (file.parent(), file.file_name()) else {
        return Err(RequestError::IsDirectory { path: shown(file) });
    };
    unlinkat(roots.directory(parent)?, name, AtFlags::empty()).map_err(RequestError::at(&shown(file)))
}

/// A side that people can read; `None` where it is not text.
#[allow(clippy::option_option)] // a side may be missing, which can be read well
fn text(side: Option<Vec<u8>>) -> Option<Option<String>> {
    match side {
        None => Some(None),
        Some(bytes) if bytes.contains(&0) => None,
        Some(bytes) => String::from_utf8(bytes).ok().map(Some),
    }
}
