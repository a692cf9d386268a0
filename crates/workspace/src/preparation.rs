//! What is told while a workspace is made ready, which can take minutes.

use tokio::sync::broadcast;

/// Lines that wait for a slow listener; beyond it the oldest are left out.
const BACKLOG: usize = 256;

/// Tells whoever listens, line by line. Cheap to clone.
#[derive(Clone)]
pub struct Preparation(broadcast::Sender<String>);

impl Default for Preparation {
    fn default() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }
}

impl Preparation {
    /// Tells a line, to the log too.
    pub fn tell(&self, line: String) {
        tracing::info!(line, "a workspace is made ready");
        let _ = self.0.send(line); // nobody listening is fine
    }

    /// The lines from now on.
    pub fn listen(&self) -> broadcast::Receiver<String> {
        self.0.subscribe()
    }
}
