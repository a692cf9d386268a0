//! A workspace that another server keeps.

use std::path::PathBuf;

use deft_types::ConversationId;
use deft_workspace::{Glance, Stream, Terms, Workspace, WorkspaceError};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::error::RemoteError;
use crate::runtime_api::{RuntimeApi, SandboxSpec};
use crate::server::AgentServer;
use crate::socket::{self, Asked};
use crate::tunnel;

/// Who has the workspace.
#[derive(Clone, Debug)]
pub enum Host {
    /// A server that runs.
    Server(AgentServer),
    /// A hosted sandbox with a server in it, which is started for the conversation.
    Sandbox(RuntimeApi, SandboxSpec),
}

/// How the executor's frames get to us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Over a socket if the server is a Deft, else through commands.
    #[default]
    Best,
    /// Through commands, whatever the server is.
    Commands,
}

/// Whether an executor is started that does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    IfNeeded,
    Never,
}

/// A workspace that another server keeps. Its executor outlives a dropped connection and ends itself when nobody has
/// come back in time (at a Deft: as that one is set).
#[derive(Clone, Debug)]
pub struct RemoteWorkspace {
    /// Who has it.
    pub host: Host,
    /// How we talk.
    pub way: Way,
    /// The directory to work in, there.
    pub directory: String,
    /// This program, here: a static one, with the `executor` command.
    pub program: PathBuf,
    /// Whose executor it is.
    pub conversation: ConversationId,
    /// What the executor is told.
    pub terms: Terms,
}

impl RemoteWorkspace {
    /// Lets a hosted sandbox sleep. It is woken when it is next opened. A server that was there before stays as it is.
    pub async fn pause(&self) -> Result<(), RemoteError> {
        match &self.host {
            Host::Server(_) => Ok(()),
            Host::Sandbox(api, _) => match api.find(self.conversation).await? {
                Some(sandbox) if sandbox.is_running() => api.pause(&sandbox).await,
                _ => Ok(()),
            },
        }
    }

    /// Ends a hosted sandbox for good. From a server that was there before only what was made for the conversation is
    /// removed.
    pub async fn remove(&self) -> Result<(), RemoteError> {
        match &self.host {
            Host::Server(server) => {
                socket::forget(server, self.conversation).await?;
                tunnel::remove(server, self).await
            }
            Host::Sandbox(api, _) => match api.find(self.conversation).await? {
                Some(sandbox) => api.stop(&sandbox).await,
                None => Ok(()),
            },
        }
    }

    async fn server(&self, start: Start) -> Result<Option<AgentServer>, RemoteError> {
        match (&self.host, start) {
            (Host::Server(server), _) => Ok(Some(server.clone())),
            (Host::Sandbox(api, spec), Start::IfNeeded) => api.ready(spec, self.conversation).await.map(Some),
            (Host::Sandbox(api, _), Start::Never) => match api.find(self.conversation).await? {
                Some(sandbox) if sandbox.is_running() => api.server(&sandbox).map(Some),
                _ => Ok(None),
            },
        }
    }

    async fn connect(&self, start: Start) -> Result<Option<Box<dyn Stream>>, RemoteError> {
        let Some(server) = self.server(start).await? else {
            return Ok(None);
        };
        let asked = match self.way {
            Way::Best => socket::join(&server, self.conversation, &self.directory, start).await?,
            Way::Commands => Asked::Foreign,
        };
        match asked {
            Asked::Joined(stream) => Ok(Some(stream)),
            Asked::NoneRuns => Ok(None),
            Asked::Foreign => {
                let opened = tunnel::open(&server, self, start).await?;
                Ok(opened.map(|stream| Box::new(stream) as Box<dyn Stream>))
            }
        }
    }
}

impl Workspace for RemoteWorkspace {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        async {
            let opened = self.connect(Start::IfNeeded).await?;
            opened.ok_or_else(|| {
                let reason = "it has none and started none".to_owned();
                let server = "the server".to_owned();
                RemoteError::Workspace { server, reason }.into()
            })
        }
        .boxed()
    }

    fn glance(&self) -> BoxFuture<'_, Result<Glance, WorkspaceError>> {
        async {
            if let Host::Sandbox(api, _) = &self.host
                && api.find(self.conversation).await?.is_none()
            {
                return Ok(Glance::Nothing); // nothing is paid for before it is used
            }
            self.open().await.map(Glance::Opened)
        }
        .boxed()
    }

    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        async {
            let found = self.connect(Start::Never).await;
            let found = found.inspect_err(|error| tracing::debug!("no executor was found: {error}"));
            found.ok().flatten()
        }
        .boxed()
    }
}
