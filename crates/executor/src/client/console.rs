//! A console of a workspace, as a client uses it.

use bytes::Bytes;

use super::Client;
use super::work::Pending;
use crate::console::{Console, ConsoleInput, ConsoleSize};
use crate::frame::Request;
use crate::request_error::RequestError;
use crate::stream::{Intake, Outlet};
use crate::work::Work;

impl Client {
    /// Opens a shell on a terminal of its own, in the workspace.
    pub async fn open_console(&self, size: ConsoleSize) -> Result<ConsoleStream, RequestError> {
        Ok(ConsoleStream {
            pending: self.begin(Work::Console(Console { size })).await?,
            _client: self.clone(),
        })
    }
}

/// A console. Dropping it ends its shell and all that it has started.
pub struct ConsoleStream {
    pending: Pending,
    /// The connection to the executor lives as long as its last client.
    _client: Client,
}

impl ConsoleStream {
    /// What goes into it and what it shows, to be used at once.
    pub fn split(&mut self) -> (ConsoleKeys<'_>, ConsoleScreen<'_>) {
        let (outlet, intake) = self.pending.pipe.split();
        (ConsoleKeys(outlet), ConsoleScreen(intake))
    }

    /// With which code its shell has ended, if that is known, or why there is none. To be asked when nothing more is shown.
    pub async fn ended(mut self) -> Result<Option<i32>, RequestError> {
        self.pending.answer().await
    }
}

/// What goes into a console.
pub struct ConsoleKeys<'a>(&'a Outlet<Request>);

impl ConsoleKeys<'_> {
    /// Waits while programs do not read what was typed.
    pub async fn send(&self, input: ConsoleInput) -> Result<(), RequestError> {
        for piece in input.pieces() {
            self.0.send(piece).await.map_err(|_| RequestError::Lost)?;
        }
        Ok(())
    }
}

/// What a console shows.
pub struct ConsoleScreen<'a>(Intake<'a, Request>);

impl ConsoleScreen<'_> {
    /// What comes next, with the codes that terminals know; `None` when its shell has ended.
    pub async fn next(&mut self) -> Option<Bytes> {
        self.0.receive().await.ok().flatten()
    }
}
