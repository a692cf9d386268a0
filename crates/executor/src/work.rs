//! What can be asked of a workspace beside tool calls: files, git, plain commands, ports, programs
//! that are talked to, consoles, the browser's picture and how much is used. People and servers ask for
//! it, not agents, so it is answered once and forgotten when the connection ends; only commands live on.

use std::path::PathBuf;
use std::sync::Arc;

use deft_tools::{LiveView, Secrets};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::console::{Console, Consoles};
use crate::figures::figures;
use crate::files::{FileRequest, Files, Roots};
use crate::frame::Reply;
use crate::git::{Git, GitRequest};
use crate::live;
use crate::ports::{self, PortRequest};
use crate::program::{Program, Programs};
use crate::request_error::RequestError;
use crate::shell::{ShellRequest, Shells};
use crate::sleep::Sleep;
use crate::stream::{MAX_STREAMS, Pipe, Streams};

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "on", content = "request", rename_all = "snake_case")]
pub enum Work {
    /// About files.
    File(FileRequest),
    /// About git repositories.
    Git(GitRequest),
    /// About plain commands.
    Shell(ShellRequest),
    /// About ports that are served.
    Port(PortRequest),
    /// A program that is talked to over its standard streams.
    Program(Program),
    /// A shell on a terminal of its own, for a person.
    Console(Console),
    /// What the browser shows, until nobody wants to see it any more.
    Live,
    /// How much is used.
    Figures,
    /// Let what runs sleep until somebody wants something.
    Sleep,
}

/// Does the work of one workspace.
pub(crate) struct Worker {
    files: Files,
    git: Git,
    pub(crate) shells: Shells,
    programs: Programs,
    consoles: Consoles,
    live_view: LiveView,
    workspace: PathBuf,
    pub(crate) sleep: Sleep,
}

impl Worker {
    /// For the workspace and further roots. `env` is the whole environment of programs that are started.
    pub(crate) fn new(
        roots: Vec<PathBuf>,
        env: Vec<(String, String)>,
        secrets: Secrets,
        live_view: LiveView,
    ) -> Self {
        let workspace = roots.first().cloned().unwrap_or_default();
        let roots = Arc::new(Roots::new(roots));
        Self {
            files: Files::new(roots.clone()),
            git: Git::new(roots.clone(), &env),
            programs: Programs::new(workspace.clone(), env.clone(), secrets.clone()),
            consoles: Consoles::new(roots.clone(), env.clone()),
            shells: Shells::new(roots, env, secrets),
            live_view,
            workspace,
            sleep: Sleep::default(),
        }
    }

    /// Begins a piece of work, which ends with its connection, or earlier if the client gives up.
    pub(crate) fn start(
        self: &Arc<Self>,
        id: Uuid,
        work: Work,
        streams: &Arc<Streams>,
        replies: &mpsc::Sender<Reply>,
        tasks: &mut JoinSet<()>,
    ) {
        let (worker, replies) = (self.clone(), replies.clone());
        let pipe = streams.open(id, replies.clone());
        tasks.spawn(async move {
            let answer = match pipe {
                None => Err(RequestError::Busy {
                    what: "requests on this connection".to_owned(),
                    limit: MAX_STREAMS,
                }),
                Some(mut pipe) => tokio::select! {
                    () = pipe.aborted().cancelled_owned() => return,
                    answer = worker.perform(work, &mut pipe) => answer,
                },
            };
            let _ = replies.send(Reply::Done { id, answer }).await;
        });
    }

    async fn perform(&self, work: Work, pipe: &mut Pipe<Reply>) -> Result<Value, RequestError> {
        match work {
            Work::File(request) => self.files.perform(request, pipe).await,
            Work::Git(request) => self.git.perform(request).await,
            Work::Shell(request) => self.shells.perform(request, pipe).await,
            Work::Port(request) => ports::perform(request, pipe).await,
            Work::Program(program) => self.programs.perform(&program, pipe).await,
            Work::Console(console) => self.consoles.perform(&console, pipe).await,
            Work::Figures => {
                let workspace = self.workspace.clone();
                value(blocking(move || Ok(figures(&workspace))).await?)
            }
            Work::Sleep => {
                let sleep = self.sleep.clone();
                value(blocking(move || Ok(sleep.begin())).await?)
            }
            Work::Live => live::perform(&self.live_view, pipe).await,
        }
    }
}

/// An answer as it goes over the wire.
pub(crate) fn value(answer: impl Serialize) -> Result<Value, RequestError> {
    serde_json::to_value(answer).map_err(RequestError::failed)
}

/// Runs what waits for the disk where it holds up nobody.
pub(crate) async fn blocking<T: Send + 'static>(
    run: impl FnOnce() -> Result<T, RequestError> + Send + 'static,
) -> Result<T, RequestError> {
    tokio::task::spawn_blocking(run)
        .await
        .map_err(RequestError::failed)?
}
