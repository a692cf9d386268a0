//! Ports of a workspace, as a client uses them.

use tokio::io::DuplexStream;
use tokio_util::task::AbortOnDropHandle;

use super::Client;
use super::work::Piece;
use crate::holding::Holding;
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
        Ok(Holding::new(
            near,
            (AbortOnDropHandle::new(carrying), self.clone()),
        ))
    }
}

/// Bytes to and from a program of the workspace. Dropping it closes the connection, for which the client must live too: its
/// own connection lives as long as its last copy.
pub type PortStream = Holding<DuplexStream, (AbortOnDropHandle<()>, Client)>;
