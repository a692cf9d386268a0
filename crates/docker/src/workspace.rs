//! A conversation's container, from its making to its end.

mod checking;
mod image_lines;
mod joining;
mod making;

use std::path::PathBuf;
use std::time::Duration;

use deft_types::ConversationId;
use deft_workspace::{Glance, LocalWorkspace, Preparation, Stream, Terms, Workspace, WorkspaceError};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::api::Ask;
use crate::attached::Attached;
use crate::build::Layers;
use crate::container::{Delivery, Files, Options, WORKSPACE};
use crate::engine::{CONVERSATION, Container, Docker};
use crate::error::DockerError;

/// How long a container may take to end by itself before it is killed.
const STOP_SECONDS: &str = "5";
/// How long a container may take to be gone after its executor, and how often that is looked at.
const END_LIMIT: Duration = Duration::from_secs(5);
const END_PAUSE: Duration = Duration::from_millis(20);
const OUR_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A container with the executor in it. It is made when it is first opened, found again by its labels after a
/// restart of ours, and stays (ended, when nobody has talked to it for long enough) until [`DockerWorkspace::remove`].
#[derive(Clone)]
pub struct DockerWorkspace {
    /// The engine.
    pub docker: Docker,
    /// This program: a static one, with the `executor` command.
    pub program: PathBuf,
    /// How it gets into the container.
    pub delivery: Delivery,
    /// Whose container it is.
    pub conversation: ConversationId,
    /// The installation of this program that looks after it, so that it does not clear away another one's.
    pub owner: String,
    /// The image, pulled if it is not here.
    pub image: String,
    /// What the image is to have beside: it is built if that is not there.
    pub layers: Layers,
    /// The files to work on.
    pub files: Files,
    /// Reads a directory of this machine as long as no container runs.
    pub reader: Option<LocalWorkspace>,
    /// What it may do and have.
    pub options: Options,
    /// What the executor is told.
    pub terms: Terms,
    /// Tells how far the image is while it is pulled or built.
    pub preparation: Preparation,
}

/// What a container is told.
#[derive(Clone, Copy)]
enum Order {
    Start,
    Pause,
    Unpause,
}

impl DockerWorkspace {
    /// The name of its container.
    pub fn name(&self) -> String {
        format!("deft-{}", self.conversation.hex())
    }

    /// Freezes everything in the container, if it runs; it goes on when it is next opened.
    pub async fn pause(&self) -> Result<(), DockerError> {
        match self.look().await? {
            Some(container) if container.state == "running" => self.order(&container.id, Order::Pause).await,
            _ => Ok(()),
        }
    }

    /// Ends everything in the container, which stays with its files.
    pub async fn stop(&self) -> Result<(), DockerError> {
        let Some(container) = self.look().await? else {
            return Ok(());
        };
        if container.state == "paused" {
            self.order(&container.id, Order::Unpause).await?; // the frozen cannot be ended in good order
        }
        let stop = Ask::post("stop a container", format!("/containers/{}/stop", container.id));
        self.docker.tell(stop.query(&[("t", STOP_SECONDS)])).await
    }

    /// Removes what was made for the conversation.
    pub async fn remove(&self) -> Result<(), DockerError> {
        self.docker.remove_of(&self.conversation.to_string()).await
    }

    async fn connect(&self) -> Result<Attached, DockerError> {
        match self.try_connect().await {
            // It was told to end just before, and its container is started again.
            Err(DockerError::Ended { .. }) if self.has_ended().await? => self.try_connect().await,
            connected => connected,
        }
    }

    /// Whether the container has ended, or does so within a moment.
    async fn has_ended(&self) -> Result<bool, DockerError> {
        let deadline = Instant::now() + END_LIMIT;
        while Instant::now() < deadline {
            let container = self.look().await?;
            if container.is_none_or(|container| container.state != "running") {
                return Ok(true);
            }
            tokio::time::sleep(END_PAUSE).await;
        }
        Ok(false)
    }

    async fn try_connect(&self) -> Result<Attached, DockerError> {
        let container = match self.look().await? {
            Some(container) => container,
            None => self.create().await?,
        };
        self.same_version(&container)?;
        let id = &container.id;
        match container.state.as_str() {
            "running" => {}
            "paused" => self.order(id, Order::Unpause).await?,
            "created" => {
                self.check_directory()?;
                self.furnish(&container).await?;
                self.order(id, Order::Start).await?;
            }
            _ => {
                self.check_directory()?;
                let before = self.inspect(id).await?;
                self.order(id, Order::Start).await?;
                if before.oom_killed {
                    return Err(self.out_of_memory()); // told once: it runs again now
                }
            }
        }
        self.attach(id).await
    }

    /// Whether the directory that the engine will mount is still what was named, which had no link in it.
    fn check_directory(&self) -> Result<(), DockerError> {
        let Files::Directory(path) = &self.files else {
            return Ok(());
        };
        match path.canonicalize() {
            Ok(to) if to != *path => Err(DockerError::Link {
                path: path.clone(),
                to,
            }),
            _ => Ok(()), // one that is not here is the engine's to find
        }
    }

    async fn running(&self) -> Result<Option<Attached>, DockerError> {
        let Some(container) = self.look().await? else {
            return Ok(None);
        };
        self.same_version(&container)?;
        match container.state.as_str() {
            "running" => {}
            "paused" => self.order(&container.id, Order::Unpause).await?,
            _ => return Ok(None),
        }
        self.attach(&container.id).await.map(Some)
    }

    /// Whether the engine says so. One that is down has none that runs.
    async fn is_running(&self) -> bool {
        let container = self.look().await.ok().flatten();
        container.is_some_and(|container| container.state == "running")
    }

    /// The conversation's container, if it has one.
    async fn look(&self) -> Result<Option<Container>, DockerError> {
        let label = format!("{CONVERSATION}={}", self.conversation);
        Ok(self.docker.labelled(&[label]).await?.pop())
    }

    fn same_version(&self, container: &Container) -> Result<(), DockerError> {
        if container.version() == OUR_VERSION {
            return Ok(());
        }
        Err(DockerError::Version {
            container: self.name(),
            theirs: container.version().to_owned(),
            ours: OUR_VERSION,
        })
    }

    async fn order(&self, id: &str, order: Order) -> Result<(), DockerError> {
        let (what, verb) = match order {
            Order::Start => ("start a container", "start"),
            Order::Pause => ("pause a container", "pause"),
            Order::Unpause => ("wake a container", "unpause"),
        };
        self.docker
            .tell(Ask::post(what, format!("/containers/{id}/{verb}")))
            .await
    }

    fn out_of_memory(&self) -> DockerError {
        DockerError::OutOfMemory {
            limit: self.options.limits.memory_bytes,
        }
    }
}

impl Workspace for DockerWorkspace {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        async { Ok(Box::new(self.connect().await?) as Box<dyn Stream>) }.boxed()
    }

    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        async {
            let found = self.running().await;
            let found = found.inspect_err(|error| tracing::debug!("no executor was found: {error}"));
            found
                .ok()
                .flatten()
                .map(|stream| Box::new(stream) as Box<dyn Stream>)
        }
        .boxed()
    }

    fn glance(&self) -> BoxFuture<'_, Result<Glance, WorkspaceError>> {
        async {
            if let Some(reader) = &self.reader
                && !self.is_running().await
                && let Ok(stream) = reader.open().await
            {
                let root = WORKSPACE.to_owned();
                return Ok(Glance::Beside { stream, root });
            }
            if let Files::Volume(name) | Files::OwnVolume(name) = &self.files
                && !self.docker.has_volume(name).await?
            {
                return Ok(Glance::Nothing); // it will be made with the container
            }
            self.open().await.map(Glance::Opened)
        }
        .boxed()
    }

    fn preparation(&self) -> Option<&Preparation> {
        Some(&self.preparation)
    }
}
