//! Speaks the browser's debugging protocol over a pair of pipes: JSON, each message ended by a zero byte.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Messages that wait to be written.
const MAX_OUTGOING: usize = 256;
/// A longer message ends the connection. What we ask for is far shorter.
const MAX_MESSAGE_BYTES: u64 = 64 * 1024 * 1024;

/// Why a call has no result.
#[derive(Debug)]
pub(super) enum CallError {
    /// The browser has ended.
    Gone,
    /// The browser said no.
    Refused(String),
}

/// Something that happened in the browser.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) method: String,
    /// In which tab, for those that belong to one.
    pub(super) session: Option<String>,
    pub(super) params: Value,
}

/// A connection; it ends when it is dropped.
pub(super) struct Connection {
    outbox: Outbox,
    ended: CancellationToken,
    _tasks: JoinSet<()>,
}

impl Connection {
    /// Begins to speak. `on_event` must not wait: answers come behind events.
    pub(super) fn new(
        input: impl AsyncWrite + Unpin + Send + 'static,
        output: impl AsyncRead + Unpin + Send + 'static,
        on_event: impl Fn(Event, &Outbox) + Send + 'static,
    ) -> Self {
        let (outgoing, queue) = mpsc::channel(MAX_OUTGOING);
        let ended = CancellationToken::new();
        let outbox = Outbox {
            outgoing,
            calls: Arc::new(Mutex::new(Some(Calls::new()))),
            next: Arc::default(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(write(input, queue));
        tasks.spawn(read(output, outbox.clone(), ended.clone(), on_event));
        Self {
            outbox,
            ended,
            _tasks: tasks,
        }
    }

    pub(super) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Resolves when the browser has ended.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }
}

type Calls = HashMap<u64, oneshot::Sender<Result<Value, CallError>>>;

/// Sends what the browser is asked. Cheap to clone.
#[derive(Clone)]
pub(super) struct Outbox {
    outgoing: mpsc::Sender<Vec<u8>>,
    /// Calls that wait for their answers; `None` once there will be none.
    calls: Arc<Mutex<Option<Calls>>>,
    next: Arc<AtomicU64>,
}

impl Outbox {
    /// Asks the browser, or one of its tabs, for something.
    pub(super) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, CallError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            let calls = calls.as_mut().ok_or(CallError::Gone)?;
            calls.retain(|_, waiting| !waiting.is_closed()); // those that nobody waits for any more
            calls.insert(id, sender);
        }
        let message = message(id, session, method, &params);
        self.outgoing.send(message).await.map_err(|_| CallError::Gone)?;
        answer.await.unwrap_or(Err(CallError::Gone))
    }

    /// Asks for something whose answer does not matter.
    pub(super) fn post(&self, session: Option<&str>, method: &str, params: &Value) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        // A full queue belongs to a browser that reads no more, which the next call finds out.
        let _ = self.outgoing.try_send(message(id, session, method, params));
    }

    fn answer(&self, id: u64, answer: Result<Value, CallError>) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = calls.as_mut().and_then(|calls| calls.remove(&id)) {
            let _ = waiting.send(answer); // nobody waits any more
        }
    }

    /// Every call that waits hears that there is no answer.
    fn end(&self) {
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn message(id: u64, session: Option<&str>, method: &str, params: &Value) -> Vec<u8> {
    let mut message = json!({"id": id, "method": method, "params": params});
    if let Some(session) = session {
        message["sessionId"] = json!(session);
    }
    let mut bytes = message.to_string().into_bytes();
    bytes.push(0);
    bytes
}

async fn write(mut input: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = queue.recv().await {
        if input.write_all(&message).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incoming {
    id: Option<u64>,
    #[serde(default)]
    result: Value,
    error: Option<Fault>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    session_id: Option<String>,
}

#[derive(Deserialize)]
struct Fault {
    message: String,
}

async fn read(
    output: impl AsyncRead + Unpin,
    outbox: Outbox,
    ended: CancellationToken,
    on_event: impl Fn(Event, &Outbox),
) {
    let mut output = BufReader::new(output);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = (&mut output)
            .take(MAX_MESSAGE_BYTES)
            .read_until(0, &mut bytes)
            .await;
        if read.is_err() || bytes.pop() != Some(0) {
            break;
        }
        let Ok(incoming) = serde_json::from_slice::<Incoming>(&bytes) else {
            continue; // not for us to understand
        };
        match (incoming.id, incoming.method) {
            (Some(id), _) => {
                let refused = incoming.error.map(|fault| CallError::Refused(fault.message));
                outbox.answer(id, refused.map_or(Ok(incoming.result), Err));
            }
            (None, Some(method)) => {
                let event = Event {
                    method,
                    session: incoming.session_id,
                    params: incoming.params,
                };
                on_event(event, &outbox);
            }
            (None, None) => {}
        }
    }
    ended.cancel();
    outbox.end();
}
