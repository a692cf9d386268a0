//! What the browser of a workspace shows, as a client watches it.

use bytes::Bytes;

use super::Client;
use super::work::{Pending, Piece};
use crate::live::Assembly;
use crate::request_error::RequestError;
use crate::work::Work;

impl Client {
    /// Watches the browser of the workspace.
    pub async fn watch_browser(&self) -> Result<Pictures, RequestError> {
        Ok(Pictures {
            pending: self.begin(Work::Live).await?,
            assembly: Assembly::default(),
            _client: self.clone(),
        })
    }
}

/// Pictures (JPEG) of what the browser shows. Dropping it ends the watching.
pub struct Pictures {
    pending: Pending,
    assembly: Assembly,
    /// The connection to the executor lives as long as its last client.
    _client: Client,
}

impl Pictures {
    /// The next picture. Empty: there is nothing to see now.
    pub async fn next(&mut self) -> Result<Bytes, RequestError> {
        loop {
            if let Some(picture) = self.assembly.take()? {
                return Ok(picture);
            }
            match self.pending.piece::<()>().await? {
                Piece::Data(bytes) => self.assembly.add(&bytes),
                Piece::Answer(()) => return Err(RequestError::Lost),
            }
        }
    }
}
