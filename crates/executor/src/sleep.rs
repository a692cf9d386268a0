//! What commands have left running sleeps while nobody uses the workspace, and goes on where it was.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deft_tools::{continue_processes, shells_have_programs, stop_descendants};

/// How long an executor lives on whose programs sleep.
pub(crate) const SLEEP_LIMIT: Duration = Duration::from_hours(24);

/// Whether there is to be sleep, and the processes that do.
#[derive(Clone, Default)]
pub(crate) struct Sleep(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_wanted: bool,
    stopped: Vec<u32>,
}

impl Sleep {
    /// Notes that nobody needs anything. Whoever does before it begins calls it off: a command that was just started
    /// would be stopped with the rest, and nobody would come to wake it.
    pub(crate) fn want(&self) {
        self.lock().is_wanted = true;
    }

    /// Stops all that was started, if a command left something running; gives whether it sleeps. Waits for the disk.
    pub(crate) fn begin(&self) -> bool {
        let mut state = self.lock();
        if state.is_wanted && state.stopped.is_empty() && shells_have_programs() {
            state.stopped = stop_descendants();
        }
        !state.stopped.is_empty()
    }

    /// Lets everything go on.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.is_wanted = false;
        continue_processes(&std::mem::take(&mut state.stopped));
    }

    pub(crate) fn is_asleep(&self) -> bool {
        !self.lock().stopped.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_before_it_begins_calls_it_off() {
        let sleep = Sleep::default();
        sleep.want();
        sleep.end();
        assert!(!sleep.lock().is_wanted);
        assert!(!sleep.begin());
    }
}
