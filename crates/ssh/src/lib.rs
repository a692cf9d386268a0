//! Machines that people already have as workspaces, through the system's `ssh`.
//!
//! That program brings the user's configuration, agent, jump hosts and known hosts with it. Ours is uploaded once a
//! version to the user's cache directory there and runs the executor as a daemon, which outlives a dropped
//! connection; nothing is installed beside it. This crate knows nothing of agents. Begin reading at
//! [`SshWorkspace`]; `script.rs` has what is run on the other side.

mod error;
mod script;
mod ssh;
mod stream;
mod workspace;

pub use error::SshError;
pub use ssh::Target;
pub use workspace::SshWorkspace;
