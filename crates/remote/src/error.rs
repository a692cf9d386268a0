//! Why a workspace of another server cannot be used.

use std::path::PathBuf;

use deft_workspace::WorkspaceError;

/// Why there is no talking to an executor at another server. Each says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Nothing answers there. Look at the address and the network.
    #[error("{server} cannot be reached: {reason}; check the address, and that a server runs there")]
    Unreachable {
        /// The server.
        server: String,
        /// What was seen.
        reason: String,
    },
    /// The server does not know our key.
    #[error(
        "{0} refuses our key; set DEFT_REMOTE_KEY (or `remote_key` in your own deft.toml) to one of its keys"
    )]
    Denied(String),
    /// The server would not do something.
    #[error("{server} would not {what} (status {status}): {message}")]
    Refused {
        /// The server.
        server: String,
        /// What it was to do.
        what: &'static str,
        /// Its answer.
        status: u16,
        /// Its reason.
        message: String,
    },
    /// The server's disk is full, or our part of it. Make room.
    #[error("{server} has no room left to {what}: {reason}; make room on its disk, and try again")]
    NoSpace {
        /// The server.
        server: String,
        /// What it was to do.
        what: &'static str,
        /// What it said.
        reason: String,
    },
    /// No answer in time.
    #[error("{server} did not {what} in time; check the network and try again")]
    Slow {
        /// The server.
        server: String,
        /// What it was to do.
        what: &'static str,
    },
    /// An answer that cannot be read.
    #[error(
        "{server} was to {what}, but its answer cannot be used: {reason}; check that it is an agent server"
    )]
    Broken {
        /// The server.
        server: String,
        /// What it was to do.
        what: &'static str,
        /// What was seen.
        reason: String,
    },
    /// The server cannot open the workspace, and says why.
    #[error("{server} cannot open the workspace: {reason}")]
    Workspace {
        /// The server.
        server: String,
        /// Its sentence.
        reason: String,
    },
    /// The server's machine is of a kind that this program is not made for.
    #[error(
        "{server} runs {theirs}, but this program is for {ours}; use a server of that kind, or Deft built for it"
    )]
    Platform {
        /// The server.
        server: String,
        /// Its system and processor.
        theirs: String,
        /// Ours.
        ours: String,
    },
    /// The sandbox cannot be used.
    #[error(
        "the sandbox that {server} keeps for us is {status}; start a new conversation, or ask whoever runs it"
    )]
    Sandbox {
        /// The runtime API.
        server: String,
        /// How the sandbox is, in the API's words.
        status: String,
    },
    /// This program cannot be read in order to upload it.
    #[error("{} cannot be uploaded: {reason}", .path.display())]
    Program {
        /// Where it should be.
        path: PathBuf,
        /// What was seen.
        reason: String,
    },
    /// There is no HTTP client to be had.
    #[error("requests to other servers cannot be made: {0}")]
    Client(String),
}

impl From<RemoteError> for WorkspaceError {
    fn from(error: RemoteError) -> Self {
        Self::Kind(Box::new(error))
    }
}
