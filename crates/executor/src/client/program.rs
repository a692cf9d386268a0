//! Programs of a workspace that are talked to, as a client uses them.

use tokio::io::DuplexStream;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use super::Client;
use super::work::Piece;
use crate::holding::Holding;
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
        let stream = Holding::new(near, self.clone());
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

/// What a program reads and writes. The connection to the executor lives as long as its last client.
pub type ProgramStream = Holding<DuplexStream, Client>;
