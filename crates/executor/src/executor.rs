//! Runs calls and keeps their results until they are acknowledged.

mod publish;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use deft_tools::{Call, Mask, OutputSink, Toolbox, Turns};
use deft_types::{Action, ActionId};
use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::checkpoints::{CheckpointReply, CheckpointRequest};
use crate::frame::{self, Hello, Outcome, PROTOCOL_VERSION, Reply, Request};
use crate::journal::{Admission, Entry, Journal};
use crate::sleep::SLEEP_LIMIT;
use crate::stream::Streams;
use crate::work::{Work, Worker};
use publish::publish;

/// Replies of one connection that wait to be written; beyond it its calls' output waits.
const MAX_QUEUED_REPLIES: usize = 256;
/// A longer answer is not passed on. Well below what a frame and a stored event may have.
const MAX_OUTCOME_BYTES: usize = 32 * 1024 * 1024;

/// The tools of one workspace, and the calls made to them. Cheap to clone.
#[derive(Clone)]
pub struct Executor {
    shared: Arc<Shared>,
}

struct Shared {
    hello: Hello,
    tools: Toolbox,
    turns: Turns,
    journal: Journal,
    worker: Arc<Worker>,
    running: TaskTracker,
    shutdown_requested: CancellationToken,
    closed: CancellationToken,
}

impl Executor {
    /// An executor over these tools. `workspace` is the directory they work in, told to clients.
    pub fn new(tools: Toolbox, workspace: String) -> Self {
        Self::with_roots(tools, workspace, Vec::new())
    }

    /// The same, where files and repositories of other directories than the workspace may be asked for, too.
    pub fn with_roots(tools: Toolbox, workspace: String, others: Vec<PathBuf>) -> Self {
        let roots = std::iter::once(PathBuf::from(&workspace)).chain(others).collect();
        let worker = Worker::new(
            roots,
            tools.env().to_vec(),
            tools.secrets().clone(),
            tools.live_view().clone(),
        );
        let hello = Hello {
            version: PROTOCOL_VERSION,
            instance: Uuid::new_v4(),
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            workspace,
            tools: tools.specs(),
        };
        let shared = Shared {
            hello,
            tools,
            turns: Turns::default(),
            journal: Journal::default(),
            worker: Arc::new(worker),
            running: TaskTracker::new(),
            shutdown_requested: CancellationToken::new(),
            closed: CancellationToken::new(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Serves one connection until it ends or the executor does. Calls go on without it.
    pub async fn serve(&self, stream: impl AsyncRead + AsyncWrite) {
        self.shared.worker.sleep.end();
        let (read, write) = tokio::io::split(stream);
        let mut requests = frame::reader::<Request>(Box::pin(read));
        let mut writer = frame::writer::<Reply>(Box::pin(write));
        if writer
            .send(Reply::Hello(Box::new(self.shared.hello.clone())))
            .await
            .is_err()
        {
            return;
        }
        let (replies, mut queue) = mpsc::channel::<Reply>(MAX_QUEUED_REPLIES);
        let mut forwards = JoinSet::new();
        let streams = Arc::new(Streams::default());
        let mut news = self.shared.tools.follow_servers();
        loop {
            tokio::select! {
                () = self.shared.closed.cancelled() => break,
                Some(reply) = queue.recv() => if writer.send(reply).await.is_err() { break },
                Some(servers) = news.next() => {
                    if writer.send(Reply::McpChanged { servers }).await.is_err() { break }
                }
                Some(_) = forwards.join_next(), if !forwards.is_empty() => {}
                request = requests.next() => match request {
                    Some(Ok(request)) => self.handle(request, &replies, &streams, &mut forwards),
                    Some(Err(_)) | None => break,
                },
            }
        }
    }

    /// How long to wait for the next client: those whose programs sleep can do so for longer than `linger`.
    pub(crate) fn patience(&self, linger: Duration) -> Duration {
        if self.shared.worker.sleep.is_asleep() {
            linger.max(SLEEP_LIMIT)
        } else {
            linger
        }
    }

    /// Resolves when a client asked for the end.
    pub async fn shutdown_requested(&self) {
        self.shared.shutdown_requested.cancelled().await;
    }

    /// Stops every call and ends everything the tools started; then connections end, which tells their
    /// clients that nothing is left.
    pub async fn close(&self) {
        tokio::join!(self.shared.tools.close(), self.shared.worker.shells.close());
        self.shared.running.close();
        // Calls whose processes are gone end at once; a tool that does not must not keep us.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.shared.running.wait()).await;
        self.shared.closed.cancel();
    }

    fn handle(
        &self,
        request: Request,
        replies: &mpsc::Sender<Reply>,
        streams: &Arc<Streams>,
        forwards: &mut JoinSet<()>,
    ) {
        let journal = &self.shared.journal;
        match request {
            // A call would wait for what sleeps.
            Request::Work {
                id,
                work: Work::Sleep,
            } if !journal.is_idle() => {
                let answer_now = Reply::Done {
                    id,
                    answer: Ok(false.into()),
                };
                forwards.spawn(answer(answer_now, replies.clone()));
                return;
            }
            Request::Work {
                work: Work::Sleep, ..
            } => self.shared.worker.sleep.want(),
            _ => self.shared.worker.sleep.end(),
        }
        match request {
            Request::Hello { .. } => {} // the client checks the version: ours is already on its way
            Request::Call {
                id,
                tool,
                action,
                deadline_ms,
            } => match journal.admit(&id) {
                Admission::Run(entry, outcome) => {
                    // Joined before it starts, so that no output is missed.
                    forwards.spawn(forward(id.clone(), entry.clone(), replies.clone()));
                    self.start(
                        id,
                        &tool,
                        *action,
                        deadline_ms.map(Duration::from_millis),
                        entry,
                        outcome,
                    );
                }
                Admission::Join(entry) => {
                    forwards.spawn(forward(id, entry, replies.clone()));
                }
                Admission::Refuse(message) => {
                    let outcome = Outcome::Failed { message };
                    forwards.spawn(answer(Reply::Result { id, outcome }, replies.clone()));
                }
            },
            Request::Collect { id } => match journal.find(&id) {
                Some(entry) => {
                    forwards.spawn(forward(id, entry, replies.clone()));
                }
                None => {
                    forwards.spawn(answer(Reply::Unknown { id }, replies.clone()));
                }
            },
            Request::Ack { id } => journal.acknowledge(&id),
            Request::Cancel { id } => {
                if let Some(entry) = journal.find(&id) {
                    entry.cancel.cancel();
                }
            }
            Request::SetSecrets { secrets } => self.shared.tools.secrets().set(secrets),
            Request::StartMcp {
                id,
                config,
                approvals,
            } => {
                let (shared, replies) = (self.shared.clone(), replies.clone());
                forwards.spawn(async move {
                    let servers = shared.tools.start_servers(config, approvals).await;
                    answer(Reply::McpServers { id, servers }, replies).await;
                });
            }
            Request::Checkpoints { id, request } => {
                let done = self.about_checkpoints(request);
                let replies = replies.clone();
                forwards.spawn(async move {
                    let reply = done.await;
                    answer(Reply::Checkpoints { id, reply }, replies).await;
                });
            }
            Request::Work { id, work } => self.shared.worker.start(id, work, streams, replies, forwards),
            Request::Stream { id, signal } => streams.signal(id, signal),
            Request::Data { id, bytes } => streams.data(id, bytes),
            Request::Shutdown => self.shared.shutdown_requested.cancel(),
        }
    }

    /// Starts what was asked at once: it goes on if the client does not wait for it.
    fn about_checkpoints(&self, request: CheckpointRequest) -> impl Future<Output = CheckpointReply> + use<> {
        let failed = |message: &str| CheckpointReply::Failed {
            message: message.to_owned(),
        };
        let mask = self.shared.tools.secrets().mask();
        let is_restore = matches!(request, CheckpointRequest::Restore { .. });
        let work = if is_restore && !self.shared.journal.is_idle() {
            Err(failed(
                "a tool is at work in this workspace; wait for it or stop it, then restore again",
            ))
        } else {
            match self.shared.tools.checkpoints() {
                Some(checkpoints) => Ok(self
                    .shared
                    .running
                    .spawn_blocking(move || request.answer(&checkpoints, &mask))),
                None => Err(failed("there is no workspace here to keep checkpoints of")),
            }
        };
        async move {
            match work {
                Ok(task) => task
                    .await
                    .unwrap_or_else(|_| failed("the executor ended before it was done")),
                Err(refused) => refused,
            }
        }
    }

    fn start(
        &self,
        id: ActionId,
        tool: &str,
        action: Action,
        deadline: Option<Duration>,
        entry: Entry,
        outcome: watch::Sender<Option<Outcome>>,
    ) {
        let Some(tool) = self.shared.tools.get(tool) else {
            let message = format!("The executor has no tool named '{tool}'.");
            let message = self.shared.tools.secrets().mask().hide(&message).into_owned();
            outcome.send_replace(Some(Outcome::Failed { message }));
            return;
        };
        // Taken here, not in the task: places are in the order of the calls.
        let turn = self.shared.turns.queue(tool.touches(&action));
        let (sink, chunks) = OutputSink::channel();
        let call = Call {
            id: id.clone(),
            action,
            output: sink,
            cancel: entry.cancel.clone(),
        };
        let shared = self.shared.clone();
        self.shared.running.spawn(async move {
            let run = async {
                let mut run = pin!(turn.run(tool.as_ref(), call));
                let Some(limit) = deadline else { return run.await };
                if let Ok(ended) = tokio::time::timeout(limit, &mut run).await {
                    return ended;
                }
                entry.cancel.cancel();
                run.await
            };
            // The call holds the sink, so the chunks end with it.
            let secrets = shared.tools.secrets();
            let (ended, ()) = tokio::join!(run, publish(chunks, secrets, &entry.output));
            let ended = match ended {
                Ok(observation) => Outcome::Observed {
                    observation: Box::new(observation),
                },
                Err(error) => Outcome::Failed {
                    message: error.to_string(),
                },
            };
            let ended = within_limit(without_secrets(ended, &secrets.mask()));
            outcome.send_replace(Some(ended));
            shared.journal.ended(&id);
        });
    }
}

/// An answer that would not fit into a frame or an event is replaced by one that says so.
fn within_limit(outcome: Outcome) -> Outcome {
    let size = serde_json::to_vec(&outcome).map_or(usize::MAX, |json| json.len());
    if size <= MAX_OUTCOME_BYTES {
        return outcome;
    }
    let message = format!(
        "The tool has done its work, but its answer of {size} bytes is longer than the {MAX_OUTCOME_BYTES} that can be \
         passed on. Look at the result in parts."
    );
    Outcome::Failed { message }
}

/// Hides secrets in every string of an answer, whichever tool gave it.
fn without_secrets(outcome: Outcome, mask: &Mask) -> Outcome {
    if mask.is_empty() {
        return outcome;
    }
    let hidden = serde_json::to_value(outcome).and_then(|mut value| {
        mask.hide_in(&mut value);
        serde_json::from_value(value)
    });
    hidden.unwrap_or_else(|_| Outcome::Failed {
        message: "The tool has done its work, but the value of a secret is also a word that its answer is built of, so \
                  that the answer cannot be shown."
            .to_owned(),
    })
}

async fn answer(reply: Reply, replies: mpsc::Sender<Reply>) {
    let _ = replies.send(reply).await;
}

/// Sends a call's output and then its result to one connection.
async fn forward(id: ActionId, mut entry: Entry, replies: mpsc::Sender<Reply>) {
    let mut output = entry.output.subscribe();
    let outcome = loop {
        tokio::select! {
            biased; // what was written before the end is told before it
            chunk = output.recv() => if let Ok(chunk) = chunk { // otherwise some were left out: we were slow
                answer(Reply::Output { id: id.clone(), chunk }, replies.clone()).await;
            },
            outcome = entry.ended() => break outcome,
        }
    };
    answer(Reply::Result { id, outcome }, replies).await;
}
