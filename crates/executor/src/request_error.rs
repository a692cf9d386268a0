//! Why a piece of work was not done.

use std::io;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Why something that was asked about files, git, plain commands or ports was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
#[allow(missing_docs)] // the fields are what the messages say they are
pub enum RequestError {
    /// Name a path inside.
    #[error("{path} is outside of the workspace, or a link on the way leads out of it; name a path inside")]
    Outside { path: String },
    /// Name another.
    #[error("{path} cannot be used: {reason}")]
    Invalid { path: String, reason: String },
    /// Look at the directory for what is there.
    #[error("{path} does not exist")]
    NotFound { path: String },
    /// Name a file.
    #[error("{path} is a directory; name a file")]
    IsDirectory { path: String },
    /// Name a directory.
    #[error("{path}, or something on the way to it, is not a directory")]
    NotDirectory { path: String },
    /// Reading it could wait for ever, so it is not opened.
    #[error("{path} is a pipe, a device or a socket; only files and directories can be used")]
    Special { path: String },
    /// Change its permissions.
    #[error("the executor has no permission to use {path}")]
    Denied { path: String },
    /// Ask for less.
    #[error("{what} is larger than the limit of {limit} bytes")]
    TooLarge { what: String, limit: u64 },
    /// Nothing of it is in place.
    #[error("the archive was refused and nothing of it unpacked: {reason}")]
    Archive { reason: String },
    /// Name a directory inside of a repository.
    #[error("{path} is not in a git repository")]
    NotARepository { path: String },
    /// Name another.
    #[error("the repository has no commit named {revision}")]
    UnknownRevision { revision: String },
    /// Look again before repeating it.
    #[error("{path} has changed since it was looked at, so it was left alone; look again and repeat it")]
    Changed { path: String },
    /// What git said.
    #[error("git failed: {reason}")]
    Git { reason: String },
    /// Start a program that does.
    #[error("nothing listens on port {port} in the workspace")]
    NothingListens { port: u16 },
    /// It ended and was acknowledged, or never ran here.
    #[error("the executor knows no command with this id")]
    UnknownCommand,
    /// Wait for an earlier one, or acknowledge what has ended.
    #[error("there are {limit} {what} already; let one end before asking for another")]
    Busy { what: String, limit: usize },
    /// Try again, or look at the machine.
    #[error("{reason}")]
    Failed { reason: String },
    /// Connect again. A file that was being written is as it was.
    #[error("the connection to the executor broke before it had answered; connect again")]
    Lost,
}

impl RequestError {
    /// What an error of the system means for a path.
    pub(crate) fn at(path: &str) -> impl Fn(Errno) -> Self + use<> {
        let path = path.to_owned();
        move |errno| {
            let path = path.clone();
            match errno {
                Errno::NOENT => Self::NotFound { path },
                Errno::NOTDIR => Self::NotDirectory { path },
                Errno::ISDIR => Self::IsDirectory { path },
                Errno::XDEV | Errno::LOOP => Self::Outside { path },
                Errno::ACCESS | Errno::PERM => Self::Denied { path },
                Errno::NXIO => Self::Special { path },
                Errno::INVAL | Errno::NAMETOOLONG => Self::Invalid {
                    path,
                    reason: errno.to_string(),
                },
                _ => Self::Failed {
                    reason: format!("{path}: {errno}"),
                },
            }
        }
    }

    /// The same for an error of the standard library.
    pub(crate) fn io(path: &str) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| match Errno::from_io_error(&error) {
            Some(errno) => Self::at(&path)(errno),
            None => Self::failed(format!("{path}: {error}")),
        }
    }

    #[allow(clippy::needless_pass_by_value)] // so that `map_err` can use it
    pub(crate) fn failed(reason: impl ToString) -> Self {
        Self::Failed {
            reason: reason.to_string(),
        }
    }
}

impl From<Errno> for RequestError {
    fn from(errno: Errno) -> Self {
        Self::failed(errno)
    }
}

impl From<io::Error> for RequestError {
    fn from(error: io::Error) -> Self {
        Self::failed(error)
    }
}
