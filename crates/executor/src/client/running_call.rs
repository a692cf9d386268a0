//! A tool call, as a client waits for it.

use tokio::sync::mpsc;

use super::Update;

/// A call that was made or joined.
pub struct RunningCall {
    pub(super) updates: mpsc::Receiver<Update>,
}

impl RunningCall {
    /// What happens next. After anything but `Output` there is no more.
    pub async fn next(&mut self) -> Update {
        self.updates.recv().await.unwrap_or(Update::Lost)
    }

    /// Waits for the end, letting output go by.
    pub async fn end(mut self) -> Update {
        loop {
            match self.next().await {
                Update::Output(_) => {}
                end @ (Update::Ended(_) | Update::Unknown | Update::Lost) => return end,
            }
        }
    }
}
