//! Programs of a workspace that are talked to, as a client uses them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use super::Client;
use super::work::Piece;
use crate::ports::carry;
use crate::program::{Program, ProgramEnd};
use crate::request_error::RequestError;
use crate::work::Work;

/// Bytes that wait at our end of a stream, each way.
const BUFFER: usize = 64 * 1024;

impl Client {
    /// Starts a program in the workspace: its standard streams, and what tells how it ended.
    pub async fn start_program(
        &self,
        program: Program,
    ) -> Result<(ProgramStream, ProgramEnding), RequestError> {
        let mut pending = self.begin(Work::Program(program)).await?;
        if let Piece::Answer(ProgramEnd { .. }) = pending.piece().await? {
            return Err(RequestError::Lost); // one that was started says so first
        }
        let (near, far) = tokio::io::duplex(BUFFER);
        let (ended, ending) = oneshot::channel();
        let carrying = tokio::spawn(async move {
            carry(&mut pending.pipe, far).await;
            if let Ok(end) = pending.answer::<ProgramEnd>().await {
                let _ = ended.send(end); // nobody may want to know
            }
        });
        let stream = ProgramStream {
            near,
            _client: self.clone(),
        };
        let ending = ProgramEnding {
            ending,
            _carrying: AbortOnDropHandle::new(carrying),
        };
        Ok((stream, ending))
    }
}

/// Tells how a program ended. Dropping it ends the program and all that it has started.
pub struct ProgramEnding {
    ending: oneshot::Receiver<ProgramEnd>,
    _carrying: AbortOnDropHandle<()>,
}

impl ProgramEnding {
    /// Waits for the end; none if it cannot be known.
    pub async fn known(self) -> Option<ProgramEnd> {
        self.ending.await.ok()
    }
}

/// What a program reads and writes.
pub struct ProgramStream {
    near: DuplexStream,
    /// The connection to the executor lives as long as its last client.
    _client: Client,
}

impl AsyncRead for ProgramStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.near).poll_read(cx, buf)
    }
}

impl AsyncWrite for ProgramStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.near).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.near).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.near).poll_shutdown(cx)
    }
}
