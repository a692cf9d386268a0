//! The right to write to a conversation.

use std::fmt;
use std::time::Duration;

use deft_types::ConversationId;
use tokio::task::JoinHandle;

/// How long a lease holds without being renewed, by the clock of the database's host.
pub(crate) const LEASE_TTL: Duration = Duration::from_secs(15);

/// How often a lease is renewed: two renewals may fail before it is lost.
pub(crate) const LEASE_RENEWAL: Duration = Duration::from_secs(5);

/// Grows each time a conversation gets a new writer; an append with an older number is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fencing(pub i64);

/// Makes its holder the one writer of a conversation. Renews itself in the background; dropping it gives it
/// back as well as that can be done without waiting.
#[must_use = "a lease that is dropped is given back"]
pub struct Lease {
    conversation: ConversationId,
    fencing: Fencing,
    renewal: JoinHandle<()>,
    release: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Lease {
    /// A lease that a store has just granted, the task that renews it, and what gives it back without waiting.
    pub fn new(
        conversation: ConversationId,
        fencing: Fencing,
        renewal: JoinHandle<()>,
        release: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        Self {
            conversation,
            fencing,
            renewal,
            release: Some(Box::new(release)),
        }
    }

    /// The conversation it is for.
    pub fn conversation(&self) -> ConversationId {
        self.conversation
    }

    /// Its number among the leases of the store.
    pub fn fencing(&self) -> Fencing {
        self.fencing
    }

    /// It has been given back properly: nothing is left to do when it is dropped.
    pub(crate) fn disarm(mut self) {
        self.release = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
        if let Some(release) = self.release.take() {
            release();
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({}, {})", self.conversation, self.fencing.0)
    }
}
