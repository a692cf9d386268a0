//! The streams of a process in a container, which the engine sends in frames over one connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use deft_executor::frame::MAX_FRAME_BYTES;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, BufReader, ReadBuf};

/// Of what the process says about errors, so much is kept.
const MAX_COMPLAINT_BYTES: usize = 4096;
/// Which stream (1: output, 2: errors), three empty bytes, and the length of what follows.
const HEADER_BYTES: usize = 8;
const OUTPUT: u8 = 1;
/// An executor's first byte is the highest one of a frame's length. Words begin with a larger one.
const MAX_FIRST_BYTE: usize = MAX_FRAME_BYTES >> 24;

/// A process in a container: what is written goes to its input, what is read is its output.
pub(crate) struct Attached<T = TokioIo<Upgraded>> {
    stream: BufReader<T>,
    header: [u8; HEADER_BYTES],
    /// Bytes of the header that are there.
    known: usize,
    /// Bytes of the frame that are still to come.
    left: usize,
    complaint: Vec<u8>,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Attached<T> {
    pub(crate) fn new(stream: T) -> Self {
        Self {
            stream: BufReader::new(stream),
            header: [0; HEADER_BYTES],
            known: 0,
            left: 0,
            complaint: Vec::new(),
        }
    }

    /// Waits until there is output to read, or the process has ended.
    pub(crate) async fn has_output(&mut self) -> io::Result<bool> {
        std::future::poll_fn(|context| self.poll_output(context)).await
    }

    /// Waits until the executor has said something. An engine that could not run the program says why where its
    /// output would be: that is a complaint, and no answer.
    pub(crate) async fn is_answered(&mut self) -> io::Result<bool> {
        if !self.has_output().await? {
            return Ok(false);
        }
        let first = self.stream.fill_buf().await?.first();
        if first.is_some_and(|&byte| usize::from(byte) <= MAX_FIRST_BYTE) {
            return Ok(true);
        }
        let mut words = vec![0; MAX_COMPLAINT_BYTES];
        let count = self.read(&mut words).await?;
        self.complaint.extend_from_slice(&words[..count]);
        Ok(false)
    }

    /// What it said about errors until now.
    pub(crate) fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.complaint).trim().to_owned()
    }

    /// Reads on until the next bytes are output.
    fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut space = [0; 1024];
        loop {
            if self.left == 0 {
                let mut buffer = ReadBuf::new(&mut self.header[self.known..]);
                ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
                let count = buffer.filled().len();
                if count == 0 {
                    return Poll::Ready(Ok(false));
                }
                self.known += count;
                if self.known == HEADER_BYTES {
                    let [_, _, _, _, length @ ..] = self.header;
                    self.left = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                    self.known = 0;
                }
            } else if self.header[0] == OUTPUT {
                return Poll::Ready(Ok(true));
            } else {
                let most = self.left.min(space.len());
                let mut buffer = ReadBuf::new(&mut space[..most]);
                ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
                let piece = buffer.filled();
                if piece.is_empty() {
                    return Poll::Ready(Ok(false));
                }
                self.left -= piece.len();
                let room = MAX_COMPLAINT_BYTES.saturating_sub(self.complaint.len());
                self.complaint.extend_from_slice(&piece[..piece.len().min(room)]);
            }
        }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for Attached<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !ready!(self.poll_output(context))? {
            return Poll::Ready(Ok(()));
        }
        let most = self.left.min(buffer.remaining());
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut part))?;
        let count = part.filled().len();
        self.left -= count;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Attached<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn output_is_put_together_and_errors_are_kept_apart_however_the_bytes_arrive() {
        let frames = b"\x01\0\0\0\0\0\0\x03abc\x02\0\0\0\0\0\0\x04oops\x01\0\0\0\0\0\0\x02de";
        for piece in [1, 5, frames.len()] {
            let (near, mut far) = tokio::io::duplex(64);
            let mut attached = Attached::new(near);
            let (text, ()) = tokio::join!(
                async {
                    assert!(attached.has_output().await.unwrap());
                    let mut text = String::new();
                    attached.read_to_string(&mut text).await.unwrap();
                    text
                },
                async {
                    for bytes in frames.chunks(piece) {
                        far.write_all(bytes).await.unwrap();
                        far.flush().await.unwrap();
                    }
                    drop(far);
                }
            );
            assert_eq!((text.as_str(), attached.complaint().as_str()), ("abcde", "oops"));
        }
    }

    #[tokio::test]
    async fn words_of_the_engine_are_not_taken_for_an_executor() {
        for (frame, is_answered, complaint) in [
            (&b"\x01\0\0\0\0\0\0\x04\0\0\0\x02"[..], true, ""),
            (b"\x01\0\0\0\0\0\0\x0dcannot exec\r\n", false, "cannot exec"),
            (b"", false, ""),
        ] {
            let mut attached = Attached::new(io::Cursor::new(frame.to_vec()));
            assert_eq!(attached.is_answered().await.unwrap(), is_answered);
            assert_eq!(attached.complaint(), complaint);
        }
    }
}
