//! Ports of a workspace, as a client uses them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::task::JoinHandle;

use super::Client;
use super::work::Piece;
use crate::ports::{ListeningPort, PortRequest, carry};
use crate::request_error::RequestError;
use crate::work::Work;

/// Bytes that wait at our end of a stream, each way.
const BUFFER: usize = 64 * 1024;

impl Client {
    /// The ports that programs of the workspace serve.
    pub async fn ports(&self) -> Result<Vec<ListeningPort>, RequestError> {
        self.ask(Work::Port(PortRequest::List)).await
    }

    /// Connects to a port on the loopback address of the workspace.
    pub async fn connect_port(&self, port: u16) -> Result<PortStream, RequestError> {
        let mut pending = self.begin(Work::Port(PortRequest::Connect { port })).await?;
        if let Piece::Answer(()) = pending.piece().await? {
            return Err(RequestError::Lost); // without a connection there is no answer but an error
        }
        let (near, far) = tokio::io::duplex(BUFFER);
        let carrying = tokio::spawn(async move { carry(&mut pending.pipe, far).await });
        Ok(PortStream {
            near,
            carrying,
            _client: self.clone(),
        })
    }
}

/// Bytes to and from a program of the workspace. Dropping it closes the connection.
pub struct PortStream {
    near: DuplexStream,
    carrying: JoinHandle<()>,
    /// The connection to the executor lives as long as its last client.
    _client: Client,
}

impl Drop for PortStream {
    fn drop(&mut self) {
        self.carrying.abort();
    }
}

impl AsyncRead for PortStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.near).poll_read(cx, buf)
    }
}

impl AsyncWrite for PortStream {
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
