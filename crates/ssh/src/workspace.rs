//! A directory of another machine, with the executor as a daemon beside it.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use deft_executor::Client;
use deft_executor::daemon::private_directory;
use deft_types::ConversationId;
use deft_workspace::{Program, Stream, Terms, Workspace, WorkspaceError};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::error::SshError;
use crate::script::{self, NOT_THERE, Places};
use crate::ssh::Target;
use crate::stream::{Begun, SshStream, begin};

/// How long it may take until an executor has answered: a connection is made, and a daemon started.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);
/// How long our program may take to the other machine.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(600);
/// How long anything short may take.
const SHORT_TIMEOUT: Duration = Duration::from_secs(30);

/// A directory of another machine. The executor there outlives a dropped connection, and ends itself when nobody has
/// come back in time.
#[derive(Clone, Debug)]
pub struct SshWorkspace {
    /// The machine.
    pub target: Target,
    /// The directory to work in, there.
    pub root: String,
    /// This program, here: a static one, with the `executor` command.
    pub program: PathBuf,
    /// Whose executor it is.
    pub conversation: ConversationId,
    /// What the executor is told.
    pub terms: Terms,
}

impl SshWorkspace {
    /// Whether the machine lets us in, and has the directory.
    pub async fn ping(&self) -> Result<(), SshError> {
        private_directory(&self.target.control_directory)?;
        let run = self.target.run(&script::is_directory(&self.root));
        self.target.finish("find the directory", run, SHORT_TIMEOUT).await
    }

    /// Ends the connection that is kept for the next use. The executor goes on.
    pub async fn disconnect(&self) -> Result<(), SshError> {
        let hang_up = self.target.hang_up();
        match self
            .target
            .finish("end the connection", hang_up, SHORT_TIMEOUT)
            .await
        {
            Err(error @ (SshError::NoSsh(_) | SshError::Slow { .. })) => Err(error),
            _ => Ok(()), // there may be none
        }
    }

    /// Ends the executor and deletes what we keep on the machine: with its last conversation, our program too. The
    /// directory that was worked in stays.
    pub async fn remove(&self) -> Result<(), SshError> {
        let (places, _) = self.places().await?;
        if let Some(stream) = self.join(&places).await?
            && let Ok(client) = Client::connect(stream).await
        {
            let _ = tokio::time::timeout(SHORT_TIMEOUT, client.shutdown()).await;
        }
        let remove = self.target.run(&places.remove());
        let removed = self
            .target
            .finish("remove our files", remove, SHORT_TIMEOUT)
            .await;
        self.disconnect().await?;
        removed
    }

    async fn connect(&self) -> Result<Box<SshStream>, SshError> {
        let (places, bytes) = self.places().await?;
        let attach = places.attach(&self.root, &self.terms);
        let mut begun = self.begin(&attach).await?;
        if let Begun::Ended(status, _) = &begun
            && status.code() == Some(NOT_THERE)
        {
            self.upload(&places.receive(bytes)).await?;
            begun = self.begin(&attach).await?;
        }
        match begun {
            Begun::Joined(stream) => Ok(stream),
            Begun::Ended(status, complaint) => Err(self.target.why("start the executor", status, &complaint)),
        }
    }

    /// A stream to the executor, if one runs.
    async fn join(&self, places: &Places) -> Result<Option<Box<SshStream>>, SshError> {
        match self.begin(&places.join()).await? {
            Begun::Joined(stream) => Ok(Some(stream)),
            Begun::Ended(status, complaint) => match self.target.why("join the executor", status, &complaint)
            {
                SshError::Failed { .. } => Ok(None), // the machine is there, but none runs on it
                error => Err(error),
            },
        }
    }

    async fn begin(&self, script: &str) -> Result<Begun, SshError> {
        private_directory(&self.target.control_directory)?;
        let child = self.target.run(script).stdin(Stdio::piped()).spawn();
        let begun = begin(child.map_err(SshError::NoSsh)?);
        let begun = tokio::time::timeout(OPEN_TIMEOUT, begun).await;
        begun
            .map_err(|_| self.target.slow("let the executor answer"))?
            .map_err(SshError::NoSsh)
    }

    async fn upload(&self, receive: &str) -> Result<(), SshError> {
        let file = File::open(&self.program).map_err(|error| self.unreadable(&error))?;
        let mut ssh = self.target.run(receive);
        ssh.stdin(file);
        self.target.finish("take our program", ssh, UPLOAD_TIMEOUT).await
    }

    /// Where our things are on the other machine, and how long our program is.
    async fn places(&self) -> Result<(Places, u64), SshError> {
        let program = Program::of(&self.program).await;
        let Program { hash, bytes } = program.map_err(|error| self.unreadable(&error))?;
        let conversation = self.conversation;
        Ok((Places { hash, conversation }, bytes))
    }

    fn unreadable(&self, error: &std::io::Error) -> SshError {
        SshError::Program {
            path: self.program.clone(),
            reason: error.to_string(),
        }
    }
}

impl Workspace for SshWorkspace {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        async { Ok(self.connect().await? as Box<dyn Stream>) }.boxed()
    }

    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        async {
            let (places, _) = self.places().await.ok()?;
            Some(self.join(&places).await.ok()?? as Box<dyn Stream>)
        }
        .boxed()
    }
}
