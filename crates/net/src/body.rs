//! What a server answers, in bounds.

use std::time::Duration;

use reqwest::{Error, Response};

/// What a server says of a refusal is read so far, and for so long.
const MAX_REASON: usize = 64 * 1024;
const REASON_LIMIT: Duration = Duration::from_secs(10);

/// The body of an answer; none if it has more bytes than that. A server may go on for ever.
pub async fn body(mut answer: Response, max_bytes: usize) -> Result<Option<Vec<u8>>, Error> {
    let mut whole = Vec::new();
    while let Some(piece) = answer.chunk().await? {
        if whole.len() + piece.len() > max_bytes {
            return Ok(None);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(Some(whole))
}

/// What a server says of its refusal, as much of it as comes soon.
pub async fn reason(mut answer: Response) -> String {
    let mut said = Vec::new();
    let read = async {
        while said.len() < MAX_REASON
            && let Ok(Some(piece)) = answer.chunk().await
        {
            said.extend_from_slice(&piece);
        }
    };
    let _ = tokio::time::timeout(REASON_LIMIT, read).await; // the status says enough
    said.truncate(MAX_REASON);
    String::from_utf8_lossy(&said).into_owned()
}
