//! What commands have left running sleeps while nobody uses the workspace, and goes on where it was.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deft_tools::{continue_processes, shells_have_programs, stop_descendants};

/// How long an executor lives on whose programs sleep.
pub(crate) const SLEEP_LIMIT: Duration = Duration::from_hours(24);

/// The processes that sleep.
#[derive(Clone, Default)]
pub(crate) struct Sleep(Arc<Mutex<Vec<u32>>>);

impl Sleep {
    /// Stops all that was started, if a command left something running; gives whether it sleeps. Waits for the disk.
    pub(crate) fn begin(&self) -> bool {
        let mut stopped = self.lock();
        if stopped.is_empty() && shells_have_programs() {
            *stopped = stop_descendants();
        }
        !stopped.is_empty()
    }

    /// Lets everything go on.
    pub(crate) fn end(&self) {
        continue_processes(&std::mem::take(&mut *self.lock()));
    }

    pub(crate) fn is_asleep(&self) -> bool {
        !self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
