//! One end of the stream to an agent: requests and their answers, and what comes without being asked for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};

use crate::error::{AgentError, METHOD_NOT_FOUND};
use crate::incoming::Incoming;

/// A longer message ends the connection.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Messages that wait to be written.
const MAX_OUTGOING: usize = 64;
/// What the agent has told and nobody has taken; beyond it the agent waits.
const MAX_INCOMING: usize = 256;

/// Takes out of a message what nobody is to see, before anybody does.
pub type Clean = Box<dyn Fn(&mut Value) + Send + Sync>;

type Answer = oneshot::Sender<Result<Value, (i64, String)>>;

/// The requests that have no answer yet; none once the stream has ended.
#[derive(Default)]
struct Open(Mutex<Option<HashMap<u64, Answer>>>);

/// See the module. Dropping it ends the stream.
pub(crate) struct Peer {
    outgoing: mpsc::Sender<String>,
    open: Arc<Open>,
    next: AtomicU64,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Open {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, Answer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Peer {
    pub(crate) fn new(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        clean: Clean,
    ) -> (Self, mpsc::Receiver<Incoming>) {
        let (read, write) = tokio::io::split(stream);
        let (outgoing, mut queue) = mpsc::channel::<String>(MAX_OUTGOING);
        let (told, incoming) = mpsc::channel(MAX_INCOMING);
        let open = Arc::new(Open(Mutex::new(Some(HashMap::new()))));
        let writing = tokio::spawn(async move {
            let mut lines = FramedWrite::new(Box::pin(write), LinesCodec::new());
            while let Some(line) = queue.recv().await {
                if lines.send(line).await.is_err() {
                    return; // the reader finds out, too
                }
            }
        });
        let reader = Reader {
            open: Arc::clone(&open),
            outgoing: outgoing.clone(),
            told,
        };
        let reading = tokio::spawn(async move {
            let mut lines = FramedRead::new(Box::pin(read), LinesCodec::new_with_max_length(MAX_LINE_BYTES));
            while let Some(Ok(line)) = lines.next().await {
                // What is no JSON is a word of some library that writes to the wrong stream.
                if let Ok(mut message) = serde_json::from_str::<Value>(&line) {
                    clean(&mut message);
                    reader.take(message).await;
                }
            }
            reader.open.lock().take();
        });
        let peer = Self {
            outgoing,
            open,
            next: AtomicU64::new(1),
            tasks: [writing, reading],
        };
        (peer, incoming)
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Value, AgentError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        match self.open.lock().as_mut() {
            Some(open) => drop(open.insert(id, sender)),
            None => return Err(AgentError::Gone),
        }
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        let refused = |(code, message)| AgentError::Refused {
            method: method.to_owned(),
            code,
            message,
        };
        answer.await.map_err(|_| AgentError::Gone)?.map_err(refused)
    }

    /// Tells something that has no answer.
    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Answers what the agent asked under this id.
    pub(crate) async fn answer(&self, id: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .await;
    }

    async fn send(&self, message: Value) {
        let _ = self.outgoing.send(message.to_string()).await; // a stream that has ended is noticed by its reader
    }
}

/// Takes what comes.
struct Reader {
    open: Arc<Open>,
    outgoing: mpsc::Sender<String>,
    told: mpsc::Sender<Incoming>,
}

impl Reader {
    async fn take(&self, mut message: Value) {
        let params = message["params"].take();
        match (message["method"].as_str(), &message["id"]) {
            (Some("session/update"), _) => self.tell(Incoming::update(params)).await,
            (Some("session/request_permission"), id) if !id.is_null() => {
                self.tell(Incoming::permission(id.clone(), params)).await;
            }
            (Some(method), id) if !id.is_null() => {
                let error = json!({"code": METHOD_NOT_FOUND, "message": format!("this client does not serve '{method}'")});
                let refusal = json!({"jsonrpc": "2.0", "id": id, "error": error});
                let _ = self.outgoing.send(refusal.to_string()).await; // as above
            }
            (Some(_), _) => {}
            (None, id) => self.settle(id.as_u64(), &mut message),
        }
    }

    async fn tell(&self, incoming: Incoming) {
        let _ = self.told.send(incoming).await; // nobody may listen any more
    }

    fn settle(&self, id: Option<u64>, message: &mut Value) {
        let asked = id.and_then(|id| self.open.lock().as_mut()?.remove(&id));
        let Some(asked) = asked else { return };
        let answer = match message.get("error").filter(|error| !error.is_null()) {
            Some(error) => Err((error["code"].as_i64().unwrap_or_default(), reason(error))),
            None => Ok(message["result"].take()),
        };
        let _ = asked.send(answer); // whoever asked may have stopped waiting
    }
}

/// The words of an error: agents put the reason into the message or into what belongs to it.
fn reason(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("no reason given");
    let details = error["data"]
        .as_str()
        .or_else(|| error["data"]["details"].as_str());
    match details {
        Some(details) if !message.contains(details) => format!("{message}: {details}"),
        _ => message.to_owned(),
    }
}
