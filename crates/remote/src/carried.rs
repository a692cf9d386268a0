//! A byte stream whose bytes a task of ours carries.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio_util::task::AbortOnDropHandle;

/// Bytes on their way in each direction.
const MAX_WAITING_BYTES: usize = 256 * 1024;

/// What is written is carried to an executor, and what that says is read. Dropping it ends the connection.
pub(crate) struct Carried {
    stream: DuplexStream,
    _carrier: AbortOnDropHandle<()>,
}

impl Carried {
    /// A stream, and its other end in the hands of a carrier. The stream ends with it.
    pub(crate) fn by<F>(carrier: impl FnOnce(DuplexStream) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stream, far) = tokio::io::duplex(MAX_WAITING_BYTES);
        Self {
            stream,
            _carrier: AbortOnDropHandle::new(tokio::spawn(carrier(far))),
        }
    }
}

impl AsyncRead for Carried {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Carried {
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
