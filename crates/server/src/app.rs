//! What every handler can reach.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::task::TaskTracker;

use crate::bash::Bash;
use crate::config::Build;
use crate::conversations::Conversations;
use crate::documents::Documents;
use crate::metrics::Metrics;
use crate::places::Places;
use crate::security::{Gate, Hosts, Origins};

/// See the module.
pub(crate) struct App {
    pub(crate) conversations: Conversations,
    pub(crate) documents: Documents,
    pub(crate) places: Places,
    pub(crate) bash: Bash,
    pub(crate) gate: Gate,
    pub(crate) hosts: Hosts,
    pub(crate) origins: Origins,
    pub(crate) build: Build,
    pub(crate) metrics: Metrics,
    /// The sockets that are open.
    pub(crate) sockets: TaskTracker,
    /// The changes that are being made.
    pub(crate) tasks: TaskTracker,
    pub(crate) started: Instant,
    pub(crate) activity: Activity,
}

/// When somebody last wanted something done.
pub(crate) struct Activity(Mutex<Instant>);

impl Activity {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    pub(crate) fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn idle(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}
