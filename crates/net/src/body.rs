//! What a server answers, in bounds.

use reqwest::{Error, Response};

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
