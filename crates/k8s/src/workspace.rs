//! A conversation's pod, from its making to its end.

mod making;

use std::path::PathBuf;
use std::time::Duration;

use deft_types::ConversationId;
use deft_workspace::{Glance, Stream, Terms, Workspace, WorkspaceError};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::io::AsyncBufReadExt;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::ending::{End, LOOK_PAUSE};
use crate::error::K8sError;
use crate::exec::Exec;
use crate::manifest::{Delivery, EXECUTOR, Options, PRIVATE, PROGRAM};
use crate::pod::{Doing, Pod};

/// How long a pod may take until its executor runs: an image may have to be pulled.
const READY_LIMIT: Duration = Duration::from_secs(600);
/// How long no node may take a pod until we say so.
const SCHEDULE_LIMIT: Duration = Duration::from_secs(30);
/// How long an executor may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long the cluster may take to notice that a container has ended.
const NOTICE_LIMIT: Duration = Duration::from_secs(20);
const OUR_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A pod with the executor in it. It is made when it is first opened and found again by its name after a restart of
/// ours. When nobody has talked to it for long enough it ends; the next one has the same files, which stay until
/// [`PodWorkspace::remove`].
#[derive(Clone, Debug)]
pub struct PodWorkspace {
    /// The cluster.
    pub cluster: Cluster,
    /// This program: a static one, with the `executor` command.
    pub program: PathBuf,
    /// How it gets into the pod.
    pub delivery: Delivery,
    /// Whose pod it is.
    pub conversation: ConversationId,
    /// The installation of this program that looks after it: letters and digits, at most 63.
    pub owner: String,
    /// The image.
    pub image: String,
    /// What it may do and have.
    pub options: Options,
    /// What the executor is told.
    pub terms: Terms,
}

impl PodWorkspace {
    /// The name of its pod, and of all else that is made for it.
    pub fn name(&self) -> String {
        format!("deft-{}", self.conversation.hex())
    }

    /// Ends the pod. The files stay.
    pub async fn stop(&self) -> Result<(), K8sError> {
        self.cluster.end_pod(&self.name()).await.map(drop)
    }

    /// Ends the pod and deletes all that was made for it, with the files. A claim that the user had before stays.
    pub async fn remove(&self) -> Result<(), K8sError> {
        self.cluster.remove_all(&self.name()).await
    }

    async fn look(&self) -> Result<Option<Pod>, K8sError> {
        self.cluster.pod(&self.name()).await
    }

    async fn connect(&self) -> Result<Exec, K8sError> {
        let connected = self.try_connect().await;
        // So it is with a pod that goes just now, also while it takes our program.
        let may_be_over = matches!(
            connected,
            Err(K8sError::Ended(_) | K8sError::Broken { .. } | K8sError::Refused { status: 500, .. })
        );
        if may_be_over && self.has_ended().await? {
            return self.try_connect().await;
        }
        connected
    }

    /// Whether the executor has ended, which the cluster is slow to notice.
    async fn has_ended(&self) -> Result<bool, K8sError> {
        let deadline = Instant::now() + NOTICE_LIMIT;
        while Instant::now() < deadline {
            let pod = self.look().await?.unwrap_or_default();
            if !matches!(pod.doing(), Doing::Runs) {
                return Ok(true);
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
        Ok(false)
    }

    async fn try_connect(&self) -> Result<Exec, K8sError> {
        let mut lost = None;
        if let Some(pod) = self.look().await? {
            match pod.doing() {
                Doing::Leaving | Doing::Over => {
                    if self.cluster.end_pod(&self.name()).await? == End::GivenUp {
                        let reason = "its node does not answer".to_owned();
                        lost = Some(K8sError::Lost { reason, hint: "" });
                    }
                }
                Doing::Lost(reason, hint) => {
                    lost = Some(K8sError::Lost { reason, hint });
                    self.stop().await?;
                }
                Doing::Coming | Doing::WantsProgram | Doing::Runs => self.same_version(&pod)?,
            }
        }
        self.make().await?;
        self.until_it_runs().await?;
        match lost {
            Some(lost) => Err(lost), // told once: it runs again now
            None => self.attach().await,
        }
    }

    /// Waits for the executor, and brings it to the pod if the pod waits for that.
    async fn until_it_runs(&self) -> Result<(), K8sError> {
        let begun = Instant::now();
        let (mut is_brought, mut is_refused) = (false, false);
        loop {
            let pod = self.look().await?.unwrap_or_default();
            match pod.doing() {
                Doing::Runs => return Ok(()),
                Doing::WantsProgram if !is_brought && self.delivery == Delivery::Stream => {
                    match self.bring().await {
                        Ok(()) => is_brought = true,
                        // It has ended meanwhile: another one of us may have been quicker.
                        Err(K8sError::Refused { status: 500, .. }) if !is_refused => is_refused = true,
                        Err(error) => return Err(error),
                    }
                }
                Doing::Over | Doing::Leaving => return Err(K8sError::Ended(pod.epitaph())),
                Doing::Lost(reason, hint) => return Err(K8sError::Lost { reason, hint }),
                Doing::Coming | Doing::WantsProgram => {}
            }
            if let Some(error) = pod.hopeless() {
                return Err(error);
            }
            let waited = begun.elapsed();
            if let Some(error) = pod.unscheduled().filter(|_| waited > SCHEDULE_LIMIT) {
                return Err(error);
            }
            if waited > READY_LIMIT {
                return Err(K8sError::Slow("have the pod ready"));
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    /// Runs a program in a container that is said to run. Refused, it asks again as long as that is said: a moment
    /// after a pod was made the cluster may still mean the one before it, which had the same name.
    async fn exec(&self, what: &'static str, container: &str, command: &[&str]) -> Result<Exec, K8sError> {
        let deadline = Instant::now() + NOTICE_LIMIT;
        loop {
            let refused = match self.cluster.exec(what, &self.name(), container, command).await {
                Err(error @ K8sError::Refused { status: 500, .. }) => error,
                begun => return begun,
            };
            tokio::time::sleep(LOOK_PAUSE).await;
            let pod = self.look().await?.unwrap_or_default();
            if !pod.is_running(container) || Instant::now() > deadline {
                return Err(refused);
            }
        }
    }

    /// Joins the executor, and waits until it has said something.
    async fn attach(&self) -> Result<Exec, K8sError> {
        let what = "join the executor in a pod";
        let command = [PROGRAM, "executor", "join", "--directory", PRIVATE];
        let mut exec = self.exec(what, EXECUTOR, &command).await?;
        match tokio::time::timeout(START_LIMIT, exec.stream.fill_buf()).await {
            Ok(Ok(bytes)) if !bytes.is_empty() => Ok(exec),
            Ok(_) => {
                let ended = tokio::time::timeout(START_LIMIT, exec.ended()).await;
                Err(K8sError::Ended(ended.unwrap_or_default().complaint))
            }
            Err(_) => Err(K8sError::Slow("let the executor answer")),
        }
    }

    async fn running(&self) -> Result<Option<Exec>, K8sError> {
        match self.look().await? {
            Some(pod) if matches!(pod.doing(), Doing::Runs) => {
                self.same_version(&pod)?;
                self.attach().await.map(Some)
            }
            _ => Ok(None),
        }
    }

    fn same_version(&self, pod: &Pod) -> Result<(), K8sError> {
        if pod.version() == OUR_VERSION {
            return Ok(());
        }
        Err(K8sError::Version {
            pod: self.name(),
            theirs: pod.version().to_owned(),
            ours: OUR_VERSION,
        })
    }
}

impl Workspace for PodWorkspace {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        async { Ok(Box::new(self.connect().await?.into_stream()) as Box<dyn Stream>) }.boxed()
    }

    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        async {
            let found = self.running().await;
            let found = found.inspect_err(|error| tracing::debug!("no executor was found: {error}"));
            found
                .ok()
                .flatten()
                .map(|exec| Box::new(exec.into_stream()) as Box<dyn Stream>)
        }
        .boxed()
    }

    fn glance(&self) -> BoxFuture<'_, Result<Glance, WorkspaceError>> {
        async {
            let conversation = self.conversation.to_string();
            if self.options.claim.is_none() && !self.cluster.has_any_of(&conversation).await? {
                return Ok(Glance::Nothing); // its volume will be empty
            }
            self.open().await.map(Glance::Opened)
        }
        .boxed()
    }
}
