//! JSON-RPC with a server's process over its standard streams.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::diagnostic::Diagnostic;
use crate::error::ServerError;
use crate::message;
use crate::place;

/// Messages that wait to be written; a server that reads no more is given up.
const MAX_QUEUED: usize = 256;
/// Problems of one file that are kept.
const MAX_DIAGNOSTICS: usize = 1000;
/// Files whose problems are kept.
const MAX_FILES: usize = 2000;

/// What a server has published of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    /// The version of the text it is about, if it says so.
    pub(crate) version: Option<i64>,
    /// How often it has published something of this file.
    pub(crate) times: u64,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// A running server.
pub(crate) struct Connection {
    outgoing: mpsc::Sender<Value>,
    shared: Arc<Shared>,
    next_id: AtomicI64,
    group: Option<Pid>,
    tasks: Vec<JoinHandle<()>>,
}

/// Who waits for the answer with which number.
type Waiting = HashMap<i64, oneshot::Sender<Result<Value, String>>>;

struct Shared {
    /// Requests without an answer; `None` once the server is gone.
    waiting: Mutex<Option<Waiting>>,
    published: Mutex<HashMap<PathBuf, Published>>,
    news: watch::Sender<News>,
}

/// What a server has told unasked.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// Changes with everything it publishes.
    published: u64,
    /// Work that it has begun and not ended, such as reading the project.
    at_work: usize,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL); // it may be gone already
        }
    }
}

impl Connection {
    /// Starts a program in a directory, with nothing in its environment but this.
    pub(crate) fn start(
        argv: &[&str],
        directory: &Path,
        env: &[(String, String)],
    ) -> Result<Self, ServerError> {
        let program = argv.first().copied().unwrap_or_default();
        let failed = |reason: String| ServerError::Start {
            program: program.to_owned(),
            reason,
        };
        let mut child = Command::new(program)
            .args(argv.get(1..).unwrap_or_default())
            .env_clear()
            .envs(env.iter().map(|(name, value)| (name, value)))
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0) // what it starts ends with it
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("its streams are not connected".to_owned()));
        };
        let shared = Arc::new(Shared {
            waiting: Mutex::new(Some(HashMap::new())),
            published: Mutex::default(),
            news: watch::Sender::new(News::default()),
        });
        let (outgoing, queue) = mpsc::channel(MAX_QUEUED);
        let tasks = vec![
            tokio::spawn(write_all(queue, stdin)),
            tokio::spawn(read_all(child, stdout, shared.clone(), outgoing.clone())),
        ];
        Ok(Self {
            outgoing,
            shared,
            next_id: AtomicI64::new(1),
            group,
            tasks,
        })
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.shared.waiting().is_none()
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, ServerError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        match self.shared.waiting().as_mut() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(ServerError::Ended),
        };
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        match tokio::time::timeout(limit, answer).await {
            Ok(Ok(answer)) => answer.map_err(ServerError::Refused),
            Ok(Err(_)) => Err(ServerError::Ended),
            Err(_) => {
                if let Some(waiting) = self.shared.waiting().as_mut() {
                    waiting.remove(&id);
                }
                let _ = self.notify("$/cancelRequest", &json!({"id": id})); // it need not listen
                Err(ServerError::Late(limit))
            }
        }
    }

    /// Tells something that has no answer.
    pub(crate) fn notify(&self, method: &str, params: &Value) -> Result<(), ServerError> {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    fn send(&self, message: Value) -> Result<(), ServerError> {
        self.outgoing.try_send(message).map_err(|_| ServerError::Ended)
    }

    /// What it has published of a file.
    pub(crate) fn published(&self, path: &Path) -> Published {
        let published = self
            .shared
            .published
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        published.get(path).cloned().unwrap_or_default()
    }

    /// Waits until it publishes anything. Never ends if it is gone: set a limit.
    pub(crate) async fn next_publication(&self) {
        let mut news = self.shared.news.subscribe();
        let before = news.borrow_and_update().published;
        if news.wait_for(|news| news.published != before).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until it tells of work.
    pub(crate) async fn work(&self) {
        let mut news = self.shared.news.subscribe();
        let _ = news.wait_for(|news| news.at_work > 0).await; // we hold the sender
    }

    /// Waits until it has no work that it told of.
    pub(crate) async fn rest(&self) {
        let mut news = self.shared.news.subscribe();
        let _ = news.wait_for(|news| news.at_work == 0).await; // we hold the sender
    }
}

async fn write_all(mut queue: mpsc::Receiver<Value>, mut stdin: ChildStdin) {
    while let Some(message) = queue.recv().await {
        if message::write(&mut stdin, &message).await.is_err() {
            return; // the reader notices
        }
    }
}

/// Reads until the server ends or talks nonsense; then it is ended, and whoever waits is told.
async fn read_all(mut child: Child, stdout: ChildStdout, shared: Arc<Shared>, outgoing: mpsc::Sender<Value>) {
    let mut stdout = BufReader::new(stdout);
    while let Ok(Some(message)) = message::read(&mut stdout).await {
        if let Some(answer) = shared.take(&message) {
            // Waiting here could stop both ends; a server that reads nothing gets nothing.
            let _ = outgoing.try_send(answer);
        }
    }
    shared.waiting().take();
    let _ = child.kill().await; // it may be gone already
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message from the server; gives what to answer.
    fn take(&self, message: &Value) -> Option<Value> {
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => {
                let result = match method {
                    // It asks for the settings of each part: it has its own.
                    "workspace/configuration" => {
                        json!(vec![Value::Null; params["items"].as_array().map_or(0, Vec::len)])
                    }
                    // Only the agent edits files.
                    "workspace/applyEdit" => json!({"applied": false}),
                    _ => Value::Null,
                };
                Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
            }
            (Some("textDocument/publishDiagnostics"), None) => {
                self.publish(params);
                None
            }
            (Some("$/progress"), None) => {
                self.news
                    .send_modify(|news| match params["value"]["kind"].as_str() {
                        Some("begin") => news.at_work += 1,
                        Some("end") => news.at_work = news.at_work.saturating_sub(1),
                        _ => {}
                    });
                None
            }
            (Some(_), None) => None,
            (None, _) => {
                let id = message["id"].as_i64()?;
                let sender = self.waiting().as_mut()?.remove(&id)?;
                let refused = message["error"]["message"].as_str();
                let _ = sender.send(match refused {
                    Some(refused) => Err(refused.to_owned()),
                    None => Ok(message["result"].clone()),
                }); // whoever asked may have stopped waiting
                None
            }
        }
    }

    fn publish(&self, params: &Value) {
        let Some(path) = params["uri"].as_str().and_then(place::path) else {
            return;
        };
        {
            let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
            if published.len() >= MAX_FILES && !published.contains_key(&path) {
                return;
            }
            let file = published.entry(path).or_default();
            file.version = params["version"].as_i64();
            file.times += 1;
            let all = params["diagnostics"].as_array().into_iter().flatten();
            file.diagnostics = all.filter_map(Diagnostic::read).take(MAX_DIAGNOSTICS).collect();
        }
        self.news.send_modify(|news| news.published += 1);
    }
}
