//! Plain commands of a workspace, as a client asks for them.

use uuid::Uuid;

use super::Client;
use super::work::{Pending, Piece};
use crate::request_error::RequestError;
use crate::shell::{CommandInfo, Ended, OutputChunk, ShellCommand, ShellRequest};
use crate::work::Work;

impl Client {
    /// Starts a command under an id of the caller's choice, once. It runs on whatever becomes of the connection.
    pub async fn start_command(&self, id: Uuid, command: ShellCommand) -> Result<(), RequestError> {
        self.ask(Work::Shell(ShellRequest::Start { id, command })).await
    }

    /// What a command has written, from a piece on, and writes until it ends.
    pub async fn follow_command(&self, id: Uuid, from: u64) -> Result<Following, RequestError> {
        let pending = self.begin(Work::Shell(ShellRequest::Follow { id, from })).await?;
        Ok(Following(pending))
    }

    /// Ends a command and all it started; returns when they are gone.
    pub async fn stop_command(&self, id: Uuid) -> Result<(), RequestError> {
        self.ask(Work::Shell(ShellRequest::Stop { id })).await
    }

    /// The commands that run or have not been acknowledged.
    pub async fn commands(&self) -> Result<Vec<CommandInfo>, RequestError> {
        self.ask(Work::Shell(ShellRequest::List)).await
    }

    /// Lets the executor forget a command, now or when it has ended.
    pub async fn acknowledge_command(&self, id: Uuid) -> Result<(), RequestError> {
        self.ask(Work::Shell(ShellRequest::Acknowledge { id })).await
    }
}

/// A command that is followed. One that is followed but not read waits when it has written much.
pub struct Following(Pending);

/// What happens to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandUpdate {
    /// It wrote something.
    Output(OutputChunk),
    /// It ended. There is no more.
    Ended(Ended),
}

impl Following {
    /// What happens next.
    pub async fn next(&mut self) -> Result<CommandUpdate, RequestError> {
        match self.0.piece().await? {
            Piece::Data(bytes) => OutputChunk::from_piece(bytes)
                .map(CommandUpdate::Output)
                .ok_or_else(|| RequestError::failed("the executor sent something that is no output")),
            Piece::Answer(ended) => Ok(CommandUpdate::Ended(ended)),
        }
    }
}
