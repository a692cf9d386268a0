//! Output on its way to whoever watches a call.

use bytes::Bytes;
use tokio::sync::mpsc;

/// How many chunks wait for a slow watcher before further ones are dropped.
pub const OUTPUT_QUEUE: usize = 64;

/// Takes chunks of output while a tool works. Best effort: when the watcher is slow chunks are dropped, because
/// the observation at the end says everything anyway and a command must not wait for a reader.
#[derive(Clone, Debug, Default)]
pub struct OutputSink(Option<mpsc::Sender<Bytes>>);

impl OutputSink {
    /// A sink that forgets everything.
    pub fn none() -> Self {
        Self(None)
    }

    /// A sink and the other end of it.
    pub fn channel() -> (Self, mpsc::Receiver<Bytes>) {
        let (sender, receiver) = mpsc::channel(OUTPUT_QUEUE);
        (Self(Some(sender)), receiver)
    }

    /// Gives a chunk to the watcher, if there is one with room for it.
    pub fn send(&self, chunk: &[u8]) {
        if let Some(sender) = &self.0 {
            // A full queue or a watcher who left costs only live display.
            let _ = sender.try_send(Bytes::copy_from_slice(chunk));
        }
    }
}
