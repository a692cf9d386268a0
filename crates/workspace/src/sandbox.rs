//! Shuts an executor in, so that it and all it starts can do only what a [`Policy`](crate::Policy) allows.
//!
//! The means, and what each is there for (see [`Tier`]):
//! - *Landlock*: files, signals and abstract sockets. Rights are given to trees and cannot be taken back further
//!   down, so what is hidden is what is given to nobody (`landlock.rs`).
//! - *seccomp*: system calls that undo the rest or are large targets, and kinds of sockets (`seccomp.rs`).
//! - *bubblewrap*: a view of the machine without what is hidden, its own `/tmp`, processes and network, and
//!   read-only places within the workspace (`bubblewrap.rs`).
//! - *cgroup v2*: how much may be used (`cgroup.rs`).
//!
//! What is decided from the outside is a [`Plan`]: a policy for a machine ([`Machine::probe`]). It is carried out
//! by the process that is shut in, before it has a second thread: [`Launch`].

mod bubblewrap;
mod capabilities;
mod cgroup;
mod denial;
mod landlock;
mod launch;
mod machine;
mod plan;
mod seccomp;
mod seen;
mod sockets;

pub use cgroup::{GROUP_VARIABLE, remove_groups_left_behind};
pub use denial::Denials;
pub use launch::{Launch, LaunchError, Outside};
pub use machine::{Machine, Unavailable};
pub use plan::{Gap, Plan, PolicyError};
pub use seen::Seen;

use serde::{Deserialize, Serialize};

/// How much of a policy can be enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Landlock and seccomp: no more than the kernel gives to everybody. Leaves some [`Gap`]s.
    #[default]
    Landlock,
    /// Namespaces made by bubblewrap beside it.
    Namespaces,
}
