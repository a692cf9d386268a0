//! Workspaces that another server keeps.
//!
//! Another Deft carries the frames of its executor over a socket. A foreign agent server (OpenHands) has an API for
//! commands and files: over that our own program is brought there once a version, and the frames go to and fro in
//! commands. Where a hosted sandbox must be started first, the runtime API does that. This crate knows nothing of
//! agents. Begin reading at [`RemoteWorkspace`]; `server.rs` is what is said to a server, `tunnel.rs` the way through
//! commands, [`RuntimeApi`] the sandboxes.

mod carried;
mod error;
mod http;
mod runtime_api;
mod server;
mod socket;
mod tunnel;
mod workspace;

pub use error::RemoteError;
pub use runtime_api::{RuntimeApi, Sandbox, SandboxSpec};
pub use server::AgentServer;
pub use workspace::{Host, RemoteWorkspace, Way};
