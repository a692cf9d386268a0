//! A connection that does not close while its client still speaks.
//!
//! Whoever is refused may not have sent all of its body yet. A system that closes a connection with something unread in it
//! resets it, and the client loses the answer that says why. So what still comes is thrown away for a moment, unless the
//! server stops: nobody waits then for connections that may only be idle.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// How long a client may go on speaking when it has its answer.
const LIMIT: Duration = Duration::from_secs(2);
/// What is thrown away at once.
const PIECE: usize = 16 * 1024;

/// Whether a body was left unread, as the one who reads it says to its connection.
#[derive(Clone, Default)]
pub(crate) struct Unread(Arc<AtomicBool>);

impl Unread {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// See the module.
pub(crate) struct Lingering {
    stream: TcpStream,
    unread: Unread,
    stopping: CancellationToken,
    /// Until when what comes is thrown away, once all was said from here.
    closing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Lingering {
    pub(crate) fn new(stream: TcpStream, unread: Unread, stopping: CancellationToken) -> Self {
        Self {
            stream,
            unread,
            stopping,
            closing: None,
        }
    }
}

impl AsyncRead for Lingering {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.closing.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            if !this.unread.0.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
        }
        let stopping = &this.stopping;
        let closing = this.closing.get_or_insert_with(|| {
            let stopping = stopping.clone();
            Box::pin(async move {
                stopping.run_until_cancelled(tokio::time::sleep(LIMIT)).await;
            })
        });
        let mut piece = [0; PIECE];
        while closing.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer))?;
            if buffer.filled().is_empty() {
                break; // the client is done
            }
        }
        this.closing = None;
        this.unread.0.store(false, Ordering::Relaxed); // whoever asks again is done at once
        Poll::Ready(Ok(()))
    }
}
