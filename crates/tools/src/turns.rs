//! Lets calls run side by side as long as nobody could tell that from their results.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deft_types::Observation;
use tokio::sync::Notify;

use crate::{Call, Tool, ToolError, Touches};

/// The calls that wait or run, in the order in which they came. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    left: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    next: u64,
    calls: Vec<(u64, Touches)>,
}

/// A call's place among the others, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    shared: Arc<Shared>,
    number: u64,
}

impl Turns {
    /// Takes a place behind all that were taken before.
    pub fn queue(&self, touches: Touches) -> Turn {
        let mut queue = self.shared.lock();
        let number = queue.next;
        queue.next += 1;
        queue.calls.push((number, touches));
        Turn {
            shared: Arc::clone(&self.shared),
            number,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner) // each change of it is whole
    }
}

impl Turn {
    /// Runs the call when no earlier one that touches the same is left.
    pub async fn run(self, tool: &dyn Tool, call: Call) -> Result<Observation, ToolError> {
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => return Err(ToolError::Cancelled),
            () = self.come() => {}
        }
        tool.run(call).await
    }

    async fn come(&self) {
        loop {
            let left = self.shared.left.notified();
            tokio::pin!(left);
            left.as_mut().enable(); // before looking, so that no one can leave unnoticed
            if self.is_free() {
                return;
            }
            left.await;
        }
    }

    fn is_free(&self) -> bool {
        let queue = self.shared.lock();
        let mut earlier = queue.calls.iter().take_while(|(number, _)| *number < self.number);
        let own = queue.calls.iter().find(|(number, _)| *number == self.number);
        own.is_none_or(|(_, own)| !earlier.any(|(_, touches)| own.conflicts_with(touches)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.shared
            .lock()
            .calls
            .retain(|(number, _)| *number != self.number);
        self.shared.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_call_waits_for_every_earlier_one_that_it_conflicts_with_and_for_no_other() {
        let turns = Turns::default();
        let shell = |name: &str| Touches::Shell(name.to_owned());
        let first = turns.queue(shell("main"));
        let beside = turns.queue(shell("server"));
        let second = turns.queue(shell("main"));
        let third = turns.queue(shell("main"));
        let came = |turn: &Turn| turn.come().now_or_never().is_some();
        assert_eq!(
            [&first, &beside, &second, &third].map(came),
            [true, true, false, false]
        );
        let mut waiting = Box::pin(second.come());
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(first);
        assert!(waiting.as_mut().now_or_never().is_some());
        assert!(!came(&third));
        drop(waiting);
        drop(second);
        assert!(came(&third));
    }
}
