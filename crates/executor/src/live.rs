//! What the browser of the workspace shows, picture by picture.
//!
//! A picture is its length in four bytes and then its bytes, in as many pieces as that takes. The length 0 says that there
//! is nothing to see. Whoever is slow misses pictures, and never gets half of one.

use bytes::{Bytes, BytesMut};
use deft_tools::LiveView;
use serde_json::Value;

use crate::frame::Reply;
use crate::request_error::RequestError;
use crate::stream::Pipe;

/// A larger picture is not sent, and none is taken.
pub(crate) const MAX_PICTURE_BYTES: usize = 2 * 1024 * 1024;

/// Sends pictures until nobody wants them any more.
pub(crate) async fn perform(view: &LiveView, pipe: &mut Pipe<Reply>) -> Result<Value, RequestError> {
    let mut pictures = view.look();
    loop {
        let picture = pictures.borrow_and_update().clone().unwrap_or_default();
        if picture.len() <= MAX_PICTURE_BYTES {
            let length = u32::try_from(picture.len()).map_err(RequestError::failed)?;
            send(pipe, Bytes::copy_from_slice(&length.to_be_bytes())).await?;
            send(pipe, picture).await?;
        }
        pictures.changed().await.map_err(|_| RequestError::Lost)?;
    }
}

async fn send(pipe: &Pipe<Reply>, piece: Bytes) -> Result<(), RequestError> {
    pipe.send(piece).await.map_err(|_| RequestError::Lost)
}

/// Puts pictures together again from their pieces.
#[derive(Default)]
pub(crate) struct Assembly {
    bytes: BytesMut,
}

impl Assembly {
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
    }

    /// The next picture that is whole; an empty one says that there is nothing to see.
    pub(crate) fn take(&mut self) -> Result<Option<Bytes>, RequestError> {
        let Some((length, _)) = self.bytes.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MAX_PICTURE_BYTES {
            return Err(RequestError::TooLarge {
                what: "a picture of the browser".to_owned(),
                limit: MAX_PICTURE_BYTES as u64,
            });
        }
        if self.bytes.len() < 4 + length {
            return Ok(None);
        }
        let _ = self.bytes.split_to(4);
        Ok(Some(self.bytes.split_to(length).freeze()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn pictures_are_put_together_from_any_pieces() {
        let sent = [
            &3_u32.to_be_bytes()[..],
            b"one",
            &0_u32.to_be_bytes(),
            &2_u32.to_be_bytes(),
            b"ab",
        ]
        .concat();
        for size in 1..sent.len() {
            let (mut assembly, mut found) = (Assembly::default(), Vec::new());
            for piece in sent.chunks(size) {
                assembly.add(piece);
                while let Some(picture) = assembly.take().unwrap() {
                    found.push(picture);
                }
            }
            assert_eq!(found, [&b"one"[..], b"", b"ab"], "{size}");
        }
        let mut huge = Assembly::default();
        huge.add(&u32::MAX.to_be_bytes());
        assert!(huge.take().is_err());
    }
}
