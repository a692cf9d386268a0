//! Why another machine cannot be worked on.

use std::path::PathBuf;

use deft_workspace::WorkspaceError;

/// Why there is no talking to an executor over ssh. Each says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    /// There is no `ssh` to use. Install it.
    #[error(
        "the program `ssh` cannot be started ({0}); install it (on Debian: apt-get install openssh-client)"
    )]
    NoSsh(std::io::Error),
    /// Nobody knows whether this is the right machine. Connect by hand once.
    #[error(
        "the key of {host} is not known, so it may be another machine; connect once by hand (`{command}`), compare the \
         fingerprint that it shows, and accept it"
    )]
    HostKeyUnknown {
        /// The machine.
        host: String,
        /// What to run.
        command: String,
    },
    /// The machine has another key than before. Find out why.
    #[error(
        "the key of {0} has changed: it is another machine, or somebody listens in; if you know why it changed, remove \
         the old key with `ssh-keygen -R` and accept the new one"
    )]
    HostKeyChanged(String),
    /// The machine does not let us in. Give it a key.
    #[error(
        "{host} does not let us in: {reason}; add your key to the agent (`ssh-add`) or to the machine (`ssh-copy-id \
         {host}`): passwords are not asked for"
    )]
    Denied {
        /// The machine.
        host: String,
        /// What ssh said.
        reason: String,
    },
    /// The machine cannot be reached. Look at its name and the network.
    #[error("{host} cannot be reached: {reason}; check its name, its port and the network (`{command}`)")]
    Unreachable {
        /// The machine.
        host: String,
        /// What ssh said.
        reason: String,
        /// What to try.
        command: String,
    },
    /// The machine runs something that this program is not made for.
    #[error(
        "{host} runs {theirs}, but this program is for {ours}; use a machine of that kind, or Deft built for it"
    )]
    Platform {
        /// The machine.
        host: String,
        /// Its system and processor.
        theirs: String,
        /// Ours.
        ours: String,
    },
    /// This program cannot be read in order to upload it.
    #[error("{} cannot be uploaded: {reason}", .path.display())]
    Program {
        /// Where it should be.
        path: PathBuf,
        /// What was seen.
        reason: String,
    },
    /// The machine's disk is full, or our part of it. Make room.
    #[error(
        "{host} has no room left to {what}: {reason}; make room in the home directory there, and try again"
    )]
    NoSpace {
        /// The machine.
        host: String,
        /// What it was to do.
        what: &'static str,
        /// What it said.
        reason: String,
    },
    /// The other side could not do what it was told.
    #[error("{host} could not {what}: {reason}")]
    Failed {
        /// The machine.
        host: String,
        /// What it was to do.
        what: &'static str,
        /// What it said.
        reason: String,
    },
    /// No answer in time.
    #[error("{host} did not {what} in time; check the network and try again")]
    Slow {
        /// The machine.
        host: String,
        /// What it was to do.
        what: &'static str,
    },
    /// The private directory for ssh's sockets cannot be used.
    #[error(transparent)]
    Directory(#[from] deft_executor::daemon::DaemonError),
}

impl From<SshError> for WorkspaceError {
    fn from(error: SshError) -> Self {
        match error {
            SshError::Directory(error) => Self::Directory(error),
            error => Self::Kind(Box::new(error)),
        }
    }
}
