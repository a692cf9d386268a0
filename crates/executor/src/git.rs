//! What git knows of repositories in the workspace, asked in a way that lets no repository run anything.
//!
//! Begin reading at `git/program.rs`, which says how.

mod changes;
mod commits;
mod diff;
mod patch;
mod program;
mod repository;
mod review;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::{Roots, shown};
use crate::request_error::RequestError;
use crate::work::value;
use program::Program;

/// What can be asked about git. Paths are absolute or relative to the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum GitRequest {
    /// Which files differ from a commit? Answered with a list of [`Change`]s, empty where there is no repository.
    Changes {
        /// A directory. Repositories directly in it are looked at, too.
        path: String,
        /// The commit; without, the one that people mean (see `Repository::base`).
        revision: Option<String>,
    },
    /// A file before and now. Answered with a [`FileDiff`].
    Diff {
        /// The file, which need not exist any more.
        path: String,
        /// Between what.
        against: Against,
    },
    /// The same for a reviewer. Answered with a [`FileReview`].
    Review {
        /// The file, which need not exist any more.
        path: String,
        /// The commit to compare with; without, the one that people mean.
        revision: Option<String>,
    },
    /// What has become of a file, as git tells it. Answered with a patch that has a letter for each byte.
    Patch {
        /// A directory, where the names in the patch begin.
        path: String,
        /// The file in it, as [`Change`]s name it.
        file: String,
        /// The commit to compare with; without, the one that people mean.
        revision: Option<String>,
    },
    /// Make a file what it was in a commit, byte by byte; remove it if the commit has none.
    Revert {
        /// The file.
        path: String,
        /// The commit; without, the one that people mean.
        revision: Option<String>,
        /// The version that was looked at: another one is left alone.
        version: String,
    },
    /// The history of the commit that is checked out. Answered with a [`CommitPage`].
    Commits {
        /// A directory of the repository.
        path: String,
        /// How many of the newest to leave out.
        skip: usize,
        /// How many at most; 200 at the very most.
        limit: usize,
    },
    /// Which files did a commit change? Answered with a list of [`Change`]s.
    CommitChanges {
        /// A directory of the repository.
        path: String,
        /// The commit.
        revision: String,
    },
    /// The repository a directory is in and those directly in it. Answered with a list of [`RepositoryInfo`]s.
    Repositories {
        /// The directory.
        path: String,
    },
}

/// What two sides a diff has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// The commit that people mean, and the file as it is.
    Base,
    /// This commit, and the file as it is.
    Revision(String),
    /// The commit before this one, and this one.
    Commit(String),
}

/// How a file differs. A file that was moved is one deleted and one added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ChangeStatus {
    /// It was not there, or git does not know of it.
    Added,
    /// It has other content.
    Updated,
    /// It is gone.
    Deleted,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// How.
    pub status: ChangeStatus,
    /// The path, from the directory that was asked about.
    pub path: String,
}

/// Both sides of a file, whole; `None` where there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// Before.
    pub original: Option<String>,
    /// After.
    pub modified: Option<String>,
}

/// What can be shown of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// All of it.
    Text,
    /// Nothing: it has bytes that are no text.
    Binary,
    /// Nothing: it is too large.
    Large,
}

/// A file before and now, and what it takes to make it what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReview {
    /// What of it can be shown.
    pub content: Shown,
    /// Before; `None` where there is none, or nothing can be shown.
    pub original: Option<String>,
    /// Now; likewise.
    pub modified: Option<String>,
    /// Which state of the file this is.
    pub version: String,
}

/// A commit of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Its name.
    pub sha: String,
    /// A shorter one.
    pub short_sha: String,
    /// The first line of its message.
    pub subject: String,
    /// Who wrote it.
    pub author: String,
    /// When, as in RFC 3339.
    pub timestamp: String,
}

/// A part of a history, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitPage {
    /// The commits.
    pub commits: Vec<Commit>,
    /// Whether there are older ones.
    pub has_more: bool,
}

/// A repository that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryInfo {
    /// The directory of its files.
    pub path: String,
    /// The branch, unless a commit is checked out without one.
    pub branch: Option<String>,
    /// The commit, unless there is none yet.
    pub head: Option<String>,
}

/// Answers requests about git.
pub(crate) struct Git {
    roots: Arc<Roots>,
    program: Program,
}

impl Git {
    /// `env` is the environment of the workspace; git gets little of it.
    pub(crate) fn new(roots: Arc<Roots>, env: &[(String, String)]) -> Self {
        Self {
            roots,
            program: Program::new(env),
        }
    }

    pub(crate) async fn perform(&self, request: GitRequest) -> Result<Value, RequestError> {
        match request {
            GitRequest::Changes { path, revision } => {
                value(self.changes(&self.path(&path)?, revision.as_deref()).await?)
            }
            GitRequest::Diff { path, against } => value(self.diff(&self.path(&path)?, &against).await?),
            GitRequest::Review { path, revision } => {
                value(self.review(&self.path(&path)?, revision.as_deref()).await?)
            }
            GitRequest::Patch { path, file, revision } => {
                let path = self.path(&path)?;
                let bytes = self.patch(&path, Path::new(&file), revision.as_deref()).await?;
                // A letter for each: a list of numbers would take a hundred times the room.
                value(bytes.into_iter().map(char::from).collect::<String>())
            }
            GitRequest::Revert {
                path,
                revision,
                version,
            } => {
                let path = self.path(&path)?;
                value(self.revert(&path, revision.as_deref(), &version).await?)
            }
            GitRequest::Commits { path, skip, limit } => {
                value(self.commits(&self.path(&path)?, skip, limit).await?)
            }
            GitRequest::CommitChanges { path, revision } => {
                value(self.commit_changes(&self.path(&path)?, &revision).await?)
            }
            GitRequest::Repositories { path } => {
                let mut found = Vec::new();
                for repository in self.repositories(&self.path(&path)?).await? {
                    found.push(RepositoryInfo {
                        path: shown(&repository.top),
                        branch: repository.branch().await?,
                        head: repository.commit("HEAD").await?,
                    });
                }
                value(found)
            }
        }
    }

    fn path(&self, path: &str) -> Result<PathBuf, RequestError> {
        self.roots.absolute(path)
    }
}
