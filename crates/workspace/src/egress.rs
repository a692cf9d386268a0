//! The way out of a sandbox: a proxy outside that lets requests through to hosts on a list.
//!
//! A sandbox with an allow-list has no network. Programs in it talk to a port of its own ([`Forwarder`]), which
//! carries the bytes over a Unix socket to the proxy outside ([`Egress`]). The proxy looks the name up itself, once,
//! connects to the very address that it looked at, and refuses those of private networks, so that neither another
//! answer later nor a name of an inner host leads anywhere. It writes down each request ([`EgressRequest`]). A host
//! that no rule names is asked for where somebody answers for the user ([`HostQuestions`]), and refused elsewhere.

mod desk;
mod forge;
mod forward;
mod proxy;
mod question;
mod record;
mod request;
mod rule;

pub use forge::forges;
pub use forward::Forwarder;
pub use proxy::{Egress, Proxy};
pub use question::{AskedHost, HostNews, HostQuestions, HostVerdict};
pub(crate) use record::requests_after;
pub use record::{EgressRequest, Outcome};
pub use rule::{HostRule, HostRuleError};

use std::io;
use std::path::PathBuf;

/// Why there is no way out.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The socket cannot be made.
    #[error("the sandbox's way to the network cannot be opened ({}: {error}); set sandbox_network to off or all", path.display())]
    Listen {
        /// The socket or the log.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}
