//! Shows what a call writes while it runs.

use bytes::Bytes;
use deft_tools::{MaskedStream, Secrets};
use tokio::sync::{broadcast, mpsc};

/// Makes text of output, without secrets: a character that is split between two chunks is put together again.
pub(super) async fn publish(
    mut chunks: mpsc::Receiver<Bytes>,
    secrets: &Secrets,
    output: &broadcast::Sender<String>,
) {
    let (mut masked, mut pending) = (MaskedStream::default(), Vec::new());
    while let Some(chunk) = chunks.recv().await {
        masked.push(&secrets.mask(), &chunk, |bytes| pending.extend_from_slice(bytes));
        let whole = match std::str::from_utf8(&pending) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(), // the rest is still to come
            _ => pending.len(),
        };
        send_text(&mut pending, whole, output);
    }
    masked.end(&secrets.mask(), |bytes| pending.extend_from_slice(bytes));
    let rest = pending.len();
    send_text(&mut pending, rest, output);
}

fn send_text(pending: &mut Vec<u8>, length: usize, output: &broadcast::Sender<String>) {
    let text = String::from_utf8_lossy(&pending[..length]).into_owned();
    pending.drain(..length);
    if !text.is_empty() {
        let _ = output.send(text); // nobody watching is fine
    }
}
