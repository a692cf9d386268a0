//! The process that runs tools beside the files, the frames it speaks, and the client that talks to it.
//!
//! It knows tools and nothing of agents, models or servers. The two ends share [`frame`]; begin reading
//! there, then [`Executor`] (what runs calls and keeps their results) and [`Client`] (what asks for them).
//! [`daemon`] puts an executor on a private socket, so that it outlives a dropped connection or a
//! restarted server.

mod checkpoints;
mod client;
pub mod daemon;
mod executor;
pub mod frame;
mod journal;

pub use checkpoints::{CheckpointFailure, CheckpointReply, CheckpointRequest};
pub use client::{Client, ClientError, RunningCall, StartedServers, Update};
pub use executor::Executor;
pub use frame::{Hello, Outcome};
