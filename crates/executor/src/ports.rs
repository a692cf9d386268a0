//! Ports that programs of the workspace serve: which there are, and bytes to and from one.
//!
//! Connections are made by the executor, because only there is the network that those programs have.

mod listening;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::frame::{Frame, Reply};
use crate::request_error::RequestError;
use crate::stream::{Aborted, Pipe, Signal};
use crate::work::{blocking, value};

pub use listening::ListeningPort;

/// How long a program may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// The most that is read at once: a stream that waits for its reader holds so much eight times.
const PIECE_BYTES: usize = 32 * 1024;
/// The first piece of a stream says that there is a connection.
const CONNECTED: Bytes = Bytes::from_static(b"connected");

/// What can be asked about ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PortRequest {
    /// Which are served? Answered with a list of [`ListeningPort`]s.
    List,
    /// Carry bytes to a port of the loopback address and back. Answered when both directions have ended.
    Connect {
        /// The port.
        port: u16,
    },
}

pub(crate) async fn perform(request: PortRequest, pipe: &mut Pipe<Reply>) -> Result<Value, RequestError> {
    match request {
        PortRequest::List => value(blocking(|| Ok(listening::ports())).await?),
        PortRequest::Connect { port } => {
            let program = connect(port).await?;
            let _ = program.set_nodelay(true); // slower without, no more
            let told = pipe.send(CONNECTED).await;
            told.map_err(|_| RequestError::Lost)?;
            carry(pipe, program).await;
            value(())
        }
    }
}

/// Programs that say `localhost` may have meant either address.
async fn connect(port: u16) -> Result<TcpStream, RequestError> {
    let attempt = async {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                TcpStream::connect((Ipv6Addr::LOCALHOST, port))
                    .await
                    .map_err(|_| error)
            }
            connected => connected,
        }
    };
    match timeout(CONNECT_LIMIT, attempt).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Err(RequestError::NothingListens { port })
        }
        Ok(Err(error)) => Err(RequestError::failed(format!("port {port}: {error}"))),
        Err(_) => Err(RequestError::failed(format!(
            "port {port} did not accept a connection within {} seconds",
            CONNECT_LIMIT.as_secs()
        ))),
    }
}

/// Carries bytes between a stream of ours and another one until both directions have ended, or either end is gone.
pub(crate) async fn carry<F: Frame>(pipe: &mut Pipe<F>, other: impl AsyncRead + AsyncWrite) {
    let (mut from_other, mut to_other) = tokio::io::split(other);
    let (outlet, mut intake) = pipe.split();
    let out = async {
        loop {
            let mut piece = BytesMut::with_capacity(PIECE_BYTES);
            match from_other.read_buf(&mut piece).await {
                Ok(0) => return outlet.signal(Signal::End).await,
                Ok(_) => outlet.send(piece.freeze()).await?,
                Err(_) => return Err(Aborted),
            }
        }
    };
    let into = async {
        while let Some(piece) = intake.receive().await? {
            to_other.write_all(&piece).await.map_err(|_| Aborted)?;
        }
        to_other.shutdown().await.map_err(|_| Aborted)
    };
    // One that fails takes the other with it: there is nobody left to read or to write.
    let _ = tokio::try_join!(out, into);
}
