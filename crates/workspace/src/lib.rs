//! Where an executor lives, and how it gets there.
//!
//! Say where, get an executor's byte stream: that is all a [`Workspace`] is to the engine, which cannot
//! tell one kind from another. This crate knows nothing of agents.
//!
//! Begin reading at [`Workspace`] and [`LocalWorkspace`], then [`Policy`] (what an executor may do), [`sandbox`] (how
//! that is enforced on this machine) and [`egress`] (how it reaches the network all the same).

pub mod egress;
mod full_disk;
mod in_process;
mod local;
mod name;
mod policy;
mod preparation;
mod program;
mod protected;
mod removal;
pub mod sandbox;
mod terms;

use std::path::PathBuf;

use egress::{EgressRequest, HostQuestions};
use futures::future::BoxFuture;
use futures::{FutureExt as _, TryFutureExt as _};
use tokio::io::{AsyncRead, AsyncWrite};

pub use full_disk::says_disk_is_full;
pub use in_process::InProcessWorkspace;
pub use local::{LocalWorkspace, PASSED_ON, end_left_behind};
pub use name::{Image, SshPlace, WorkspaceName, WorkspaceNameError};
pub use policy::{Access, Network, Policy, ResourceLimits};
pub use preparation::Preparation;
pub use program::Program;
pub use protected::{Kept, MountedError, check_mounted, keep_as_it_is, remove_stand_ins};
pub use removal::remove_tree;
pub use terms::Terms;

/// A byte stream to an executor.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// How the files of a workspace can be read while nobody has opened it.
pub enum Glance {
    /// Only there: the stream leads to its own executor.
    Opened(Box<dyn Stream>),
    /// Another executor sees the same files.
    Beside {
        /// Leads to that one, which is of no use for anything else.
        stream: Box<dyn Stream>,
        /// What their directory is called in the workspace.
        root: String,
    },
    /// There are none yet.
    Nothing,
}

/// A place with files where an executor lives.
pub trait Workspace: Send + Sync {
    /// A stream to the executor of this workspace, which is started if it does not run.
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>>;

    /// A stream to the executor of this workspace, if one runs.
    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>>;

    /// Waits until nothing is left of an executor that was told to end, nor of what was put up for it on this machine.
    fn ended(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    /// Its files, to be read: it is opened only where they cannot be seen otherwise.
    fn glance(&self) -> BoxFuture<'_, Result<Glance, WorkspaceError>> {
        self.open().map_ok(Glance::Opened).boxed()
    }

    /// What programs there have asked the network for after a moment (milliseconds since 1970), the oldest first.
    /// Nothing, where nobody stands between them and the network.
    fn requests(&self, _after: u64) -> BoxFuture<'_, Vec<EgressRequest>> {
        std::future::ready(Vec::new()).boxed()
    }

    /// The hosts that programs there want to reach and that no rule names, for whoever can answer for the user. None,
    /// where nobody asks.
    fn host_questions(&self) -> BoxFuture<'_, Option<HostQuestions>> {
        std::future::ready(None).boxed()
    }

    /// Tells how far it is while it is opened. None, where that is quick.
    fn preparation(&self) -> Option<&Preparation> {
        None
    }
}

/// Why a workspace cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// There is no such directory. Name one that exists.
    #[error("the workspace {} does not exist or is not a directory; create it or name another one", .0.display())]
    Missing(PathBuf),
    /// The sandbox cannot be had as it was asked for.
    #[error(transparent)]
    Policy(#[from] sandbox::PolicyError),
    /// The executor's private directory cannot be used.
    #[error(transparent)]
    Directory(#[from] deft_executor::daemon::DaemonError),
    /// The executor could not be started, or ended before it was ready.
    #[error("the executor could not be started ({reason}); its log is {}", .log.display())]
    Start {
        /// What was seen.
        reason: String,
        /// Where it wrote what went wrong.
        log: PathBuf,
    },
    /// What went wrong is particular to this kind of workspace, and says itself what to do.
    #[error(transparent)]
    Kind(Box<dyn std::error::Error + Send + Sync>),
}
