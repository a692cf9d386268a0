//! The engine's end of a connection to an executor.

mod console;
mod figures;
mod files;
mod git;
mod live;
mod ports;
mod program;
mod running_call;
mod shell;
mod work;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deft_tools::SecretSet;
use deft_types::{Action, ActionId, McpApprovals, McpServerStatus};
use futures::stream::{self, BoxStream};
use futures::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::checkpoints::{CheckpointReply, CheckpointRequest};
use crate::frame::{self, Hello, Outcome, PROTOCOL_VERSION, Reply, Request};
use work::Asked;

pub use console::{ConsoleKeys, ConsoleScreen, ConsoleStream};
pub use live::Pictures;
pub use ports::PortStream;
pub use program::{ProgramEnding, ProgramStream};
pub use running_call::RunningCall;
pub use shell::{CommandUpdate, Following};
pub use work::{Download, Upload};

/// How long an executor may take to introduce itself.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Requests that wait to be written.
const MAX_QUEUED_REQUESTS: usize = 256;
/// Updates of one call that wait to be read; beyond it pieces of output are left out.
const MAX_QUEUED_UPDATES: usize = 256;

/// Why there is no talking to an executor.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The stream failed. Connect again.
    #[error("the connection to the executor failed: {0}")]
    Io(#[from] io::Error),
    /// It did not introduce itself. Start a new one.
    #[error("the executor did not introduce itself within {} seconds", HELLO_TIMEOUT.as_secs())]
    Silent,
    /// It is of another version of this program. Stop it and start a new one.
    #[error(
        "the executor of this workspace is of another version of this program (it speaks protocol {theirs}, this one \
         {PROTOCOL_VERSION}); it ends by itself when nobody has talked to it for a few minutes, or at once if you end the \
         process `deft executor` there; then try again"
    )]
    Version {
        /// The executor's version.
        theirs: u32,
    },
    /// The first frame was something else. Connect to an executor.
    #[error("the other end does not speak the executor protocol")]
    Protocol,
}

/// What happens to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// It wrote something.
    Output(String),
    /// It ended. The result is kept by the executor until [`Client::acknowledge`].
    Ended(Outcome),
    /// The executor never heard of it (only after [`Client::collect`]).
    Unknown,
    /// The connection broke; connect again and collect.
    Lost,
}

/// A connection to an executor. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    hello: Arc<Hello>,
    requests: mpsc::Sender<Request>,
    calls: Arc<Calls>,
    _tasks: Arc<Tasks>,
}

/// What this connection waits for; `None` once it has ended.
struct Calls {
    open: Mutex<Option<Open>>,
    asked: Arc<Asked>,
    servers: watch::Sender<Vec<McpServerStatus>>,
}

/// Calls that have not ended, and requests to start servers that have not been answered.
#[derive(Default)]
struct Open {
    calls: HashMap<ActionId, mpsc::Sender<Update>>,
    starts: HashMap<Uuid, oneshot::Sender<StartedServers>>,
    /// Questions about checkpoints.
    asked: HashMap<Uuid, oneshot::Sender<CheckpointReply>>,
}

/// How servers are doing, or why none could be started.
pub type StartedServers = Result<Vec<McpServerStatus>, String>;

/// The two tasks of a connection end with its last client.
struct Tasks([JoinHandle<()>; 2]);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl Client {
    /// Introduces both ends to each other.
    pub async fn connect(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Result<Self, ClientError> {
        let (read, write) = tokio::io::split(stream);
        let mut replies = frame::reader::<Reply>(Box::pin(read));
        let mut writer = frame::writer::<Request>(Box::pin(write));
        writer
            .send(Request::Hello {
                version: PROTOCOL_VERSION,
            })
            .await?;
        let first = tokio::time::timeout(HELLO_TIMEOUT, replies.next())
            .await
            .map_err(|_| ClientError::Silent)?;
        let hello = match first {
            Some(Ok(Reply::Hello(hello))) => *hello,
            Some(Ok(_)) => return Err(ClientError::Protocol),
            Some(Err(error)) => return Err(error.into()),
            None => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        };
        if hello.version != PROTOCOL_VERSION {
            return Err(ClientError::Version {
                theirs: hello.version,
            });
        }

        let calls = Arc::new(Calls {
            open: Mutex::new(Some(Open::default())),
            asked: Arc::default(),
            servers: watch::Sender::default(),
        });
        let (requests, mut queue) = mpsc::channel::<Request>(MAX_QUEUED_REQUESTS);
        let write = tokio::spawn({
            let calls = calls.clone();
            async move {
                while let Some(request) = queue.recv().await {
                    if writer.send(request).await.is_err() {
                        return calls.close();
                    }
                }
            }
        });
        let read = tokio::spawn({
            let calls = calls.clone();
            async move {
                while let Some(Ok(reply)) = replies.next().await {
                    calls.deliver(reply);
                }
                calls.close();
            }
        });
        Ok(Self {
            hello: Arc::new(hello),
            requests,
            calls,
            _tasks: Arc::new(Tasks([write, read])),
        })
    }

    /// Whether the connection has ended: connect again.
    pub fn is_closed(&self) -> bool {
        self.calls.lock().is_none()
    }

    /// The executor's introduction.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Runs a tool, or joins the run of the same id.
    pub async fn call(&self, id: ActionId, tool: String, action: Action) -> RunningCall {
        let call = self.watch(&id);
        self.send(Request::Call {
            id,
            tool,
            action: Box::new(action),
            deadline_ms: None,
        })
        .await;
        call
    }

    /// Joins the run of this id, but never starts one.
    pub async fn collect(&self, id: ActionId) -> RunningCall {
        let call = self.watch(&id);
        self.send(Request::Collect { id }).await;
        call
    }

    /// Lets the executor forget a result that is stored now.
    pub async fn acknowledge(&self, id: ActionId) {
        self.send(Request::Ack { id }).await;
    }

    /// Stops a call. It still ends with a result.
    pub async fn cancel(&self, id: ActionId) {
        self.send(Request::Cancel { id }).await;
    }

    /// Gives the executor its secrets: commands sent after this can use them by name, and no result shows them. They
    /// replace those it had.
    pub async fn set_secrets(&self, secrets: SecretSet) {
        self.send(Request::SetSecrets { secrets }).await;
    }

    /// Starts the MCP servers of a configuration in the workspace, and waits until each is ready or has failed. The
    /// same request again tells how they are doing now; another configuration ends the servers of this one.
    pub async fn start_mcp(&self, config: Value, approvals: McpApprovals) -> StartedServers {
        let id = Uuid::new_v4();
        let (sender, answer) = oneshot::channel();
        if let Some(open) = self.calls.lock().as_mut() {
            open.starts.insert(id, sender);
        }
        self.send(Request::StartMcp {
            id,
            config,
            approvals,
        })
        .await;
        let lost = |_| {
            Err("the connection to the executor broke while it started MCP servers; connect again".into())
        };
        answer.await.unwrap_or_else(lost)
    }

    /// Tells how the MCP servers of the workspace are doing, whenever that has changed.
    pub fn mcp_changes(&self) -> BoxStream<'static, Vec<McpServerStatus>> {
        let mut servers = self.calls.servers.subscribe();
        servers.mark_changed(); // it may have been told before anybody listened
        stream::unfold(servers, |mut servers| async move {
            servers.changed().await.ok()?;
            let now = servers.borrow_and_update().clone();
            Some((now, servers))
        })
        .filter(|now| std::future::ready(!now.is_empty()))
        .boxed()
    }

    /// Ends the executor and everything it started, and waits until it is gone.
    pub async fn shutdown(&self) {
        self.send(Request::Shutdown).await;
        let mut gone = self.watch(&ActionId::from("shutdown"));
        while !matches!(gone.next().await, Update::Lost) {}
    }

    fn watch(&self, id: &ActionId) -> RunningCall {
        let (sender, updates) = mpsc::channel(MAX_QUEUED_UPDATES);
        if let Some(open) = self.calls.lock().as_mut() {
            open.calls.insert(id.clone(), sender);
        }
        RunningCall { updates }
    }

    /// Asks about checkpoints; nothing if the connection ends first.
    pub(crate) async fn ask_about_checkpoints(&self, request: CheckpointRequest) -> Option<CheckpointReply> {
        let (sender, reply) = oneshot::channel();
        let id = Uuid::new_v4();
        self.calls.lock().as_mut()?.asked.insert(id, sender);
        self.send(Request::Checkpoints { id, request }).await;
        reply.await.ok()
    }

    async fn send(&self, request: Request) {
        // A failed send means a broken connection, which every open call is told by `Lost`.
        let _ = self.requests.send(request).await;
    }
}

impl Calls {
    fn deliver(&self, reply: Reply) {
        match reply {
            Reply::Hello(_) => {}
            Reply::Output { id, chunk } => {
                let open = self.lock();
                // The last place is kept for the end of the call, which must not be left out.
                if let Some(sender) = open
                    .as_ref()
                    .and_then(|open| open.calls.get(&id))
                    .filter(|s| s.capacity() > 1)
                {
                    let _ = sender.try_send(Update::Output(chunk));
                }
            }
            Reply::Result { id, outcome } => self.end(&id, Update::Ended(outcome)),
            Reply::Unknown { id } => self.end(&id, Update::Unknown),
            Reply::McpServers { id, servers } => {
                if let Ok(now) = &servers {
                    self.servers.send_replace(now.clone()); // what was told before this is old
                }
                if let Some(sender) = self.lock().as_mut().and_then(|open| open.starts.remove(&id)) {
                    let _ = sender.send(servers);
                }
            }
            Reply::McpChanged { servers } => drop(self.servers.send_replace(servers)),
            Reply::Checkpoints { id, reply } => {
                if let Some(sender) = self.lock().as_mut().and_then(|open| open.asked.remove(&id)) {
                    let _ = sender.send(reply); // whoever asked may have stopped waiting
                }
            }
            Reply::Done { id, answer } => self.asked.done(id, answer),
            Reply::Stream { id, signal } => self.asked.streams.signal(id, signal),
            Reply::Data { id, bytes } => self.asked.streams.data(id, bytes),
        }
    }

    fn end(&self, id: &ActionId, update: Update) {
        if let Some(sender) = self.lock().as_mut().and_then(|open| open.calls.remove(id)) {
            let _ = sender.try_send(update);
        }
    }

    /// Dropping the senders is what tells every open call that the connection is lost.
    fn close(&self) {
        self.lock().take();
        self.asked.close();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
