//! Where a value comes from.

use std::fmt;
use std::path::PathBuf;

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting<T> {
    /// The value.
    pub(crate) value: T,
    /// Where it comes from.
    pub(crate) source: Source,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nobody set it.
    Default,
    /// A line of a `deft.toml`.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Whose file it is.
        owner: FileOwner,
    },
    /// An environment variable.
    Environment(&'static str),
    /// A flag, without its dashes.
    Flag(&'static str),
}

/// Whose word a `deft.toml` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileOwner {
    /// The user's own.
    User,
    /// The repository's, which is not trusted.
    Project,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}
