//! How the command ends.

use std::process::ExitCode;

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The agent finished, or the command did what it was asked.
    Finished = 0,
    /// Something failed; standard error says what.
    Failed = 1,
    /// The command line was not understood.
    Usage = 2,
    /// The agent was stuck, or a limit or budget was reached, or the rounds of a goal were used up.
    Stopped = 3,
    /// Ctrl-C.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The command line makes no sense as it is: the sentence says why, and what would.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);
