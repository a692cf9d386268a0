//! An executor as a small daemon on a private socket.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use crate::executor::Executor;

/// The name of the socket within the daemon's private directory.
pub const SOCKET: &str = "socket";

/// Connections at the same time; beyond it new ones are turned away.
const MAX_CONNECTIONS: usize = 32;
/// How often to look for a socket that is not there yet.
const JOIN_PAUSE: Duration = Duration::from_millis(2);
/// How long to wait when the system cannot give us another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why a daemon cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The private directory cannot be used.
    #[error("cannot use {path} for the executor's socket: {reason}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The socket cannot be made.
    #[error("cannot listen on {path}: {error}")]
    Listen {
        /// The socket.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Makes the directory if it is missing, readable by its owner alone, and refuses one that others own:
/// whoever controls it could put a socket of theirs in the place of ours.
pub fn private_directory(path: &Path) -> Result<(), DaemonError> {
    let refuse = |reason: String| DaemonError::Directory {
        path: path.to_owned(),
        reason,
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| refuse(error.to_string()))?;
    let metadata = fs::symlink_metadata(path).map_err(|error| refuse(error.to_string()))?;
    let me = rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || metadata.uid() != me || metadata.mode() & 0o077 != 0 {
        return Err(refuse(
            "it must be a directory of your own with mode 0700; remove it or choose another".to_owned(),
        ));
    }
    Ok(())
}

/// Connects to the daemon of a directory, which somebody else starts: waits for it, but no longer than `limit`.
pub async fn join(directory: &Path, limit: Duration) -> io::Result<UnixStream> {
    let socket = directory.join(SOCKET);
    let connect = async {
        loop {
            match UnixStream::connect(&socket).await {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                    ) =>
                {
                    tokio::time::sleep(JOIN_PAUSE).await;
                }
                connected => return connected,
            }
        }
    };
    tokio::time::timeout(limit, connect).await?
}

/// A bound socket, not yet served.
pub struct Daemon {
    listener: UnixListener,
    socket: PathBuf,
}

impl Daemon {
    /// Binds the socket in a private directory, replacing one that a dead daemon left.
    pub fn bind(directory: &Path) -> Result<Self, DaemonError> {
        private_directory(directory)?;
        let socket = directory.join(SOCKET);
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).map_err(|error| DaemonError::Listen {
            path: socket.clone(),
            error,
        })?;
        Ok(Self { listener, socket })
    }

    /// Serves until a client asks for the end, or none has been there for `linger`. Then everything the
    /// executor started is ended.
    pub async fn serve(self, executor: Executor, linger: Duration) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = executor.shutdown_requested() => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if connections.len() < MAX_CONNECTIONS => {
                        let executor = executor.clone();
                        connections.spawn(async move { executor.serve(stream).await });
                    }
                    Ok(_) => {}
                    // Too many open files, mostly: it passes.
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                () = tokio::time::sleep(executor.patience(linger)), if connections.is_empty() => break,
            }
        }
        let _ = fs::remove_file(&self.socket);
        executor.close().await;
        while connections.join_next().await.is_some() {}
    }
}
