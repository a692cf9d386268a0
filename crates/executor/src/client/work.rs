//! Pieces of work that a client waits for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::Client;
use crate::frame::Request;
use crate::request_error::RequestError;
use crate::stream::{MAX_STREAMS, Pipe, Signal, Streams};
use crate::work::Work;

type Answer = Result<Value, RequestError>;

/// What was asked over one connection and has not been answered. `None` once the connection has ended.
pub(super) struct Asked {
    pub(super) streams: Arc<Streams>,
    answers: Mutex<Option<HashMap<Uuid, oneshot::Sender<Answer>>>>,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            streams: Arc::default(),
            answers: Mutex::new(Some(HashMap::new())),
        }
    }
}

impl Asked {
    /// An answer came: the stream has ended, too, and what is left of it can still be read.
    pub(super) fn done(&self, id: Uuid, answer: Answer) {
        let asked = self.lock().as_mut().and_then(|answers| answers.remove(&id));
        if let Some(asked) = asked {
            let _ = asked.send(answer);
        }
        self.streams.close(id);
    }

    pub(super) fn close(&self) {
        self.lock().take();
        self.streams.close_all();
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<Uuid, oneshot::Sender<Answer>>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// Asks, and waits for the answer.
    pub(super) async fn ask<T: DeserializeOwned>(&self, work: Work) -> Result<T, RequestError> {
        self.begin(work).await?.answer().await
    }

    /// Asks for something with a stream.
    pub(super) async fn begin(&self, work: Work) -> Result<Pending, RequestError> {
        let id = Uuid::new_v4();
        let asked = self.calls.asked.clone();
        let busy = || RequestError::Busy {
            what: "requests on this connection".to_owned(),
            limit: MAX_STREAMS,
        };
        let pipe = asked.streams.open(id, self.requests.clone()).ok_or_else(busy)?;
        let (sender, answer) = oneshot::channel();
        if let Some(answers) = asked.lock().as_mut() {
            answers.insert(id, sender);
        }
        let pending = Pending {
            id,
            pipe,
            answer,
            asked,
            answered: false,
        };
        self.send(Request::Work { id, work }).await;
        Ok(pending)
    }
}

/// Something that was asked for. Dropping it tells the executor that nobody waits.
pub(super) struct Pending {
    id: Uuid,
    pub(super) pipe: Pipe<Request>,
    answer: oneshot::Receiver<Answer>,
    asked: Arc<Asked>,
    answered: bool,
}

impl Pending {
    /// Waits for the answer.
    pub(super) async fn answer<T: DeserializeOwned>(&mut self) -> Result<T, RequestError> {
        let answer = (&mut self.answer).await;
        self.answered = true;
        let value = answer.map_err(|_| RequestError::Lost)??;
        serde_json::from_value(value).map_err(RequestError::failed)
    }

    /// The next piece; when there is no more, the answer.
    pub(super) async fn piece<T: DeserializeOwned>(&mut self) -> Result<Piece<T>, RequestError> {
        match self.pipe.receive().await {
            Ok(Some(bytes)) => Ok(Piece::Data(bytes)),
            Ok(None) | Err(_) => Ok(Piece::Answer(self.answer().await?)),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.answered {
            if let Some(answers) = self.asked.lock().as_mut() {
                answers.remove(&self.id);
            }
            self.pipe.give_up();
        }
    }
}

/// What comes out of a stream.
pub(super) enum Piece<T> {
    Data(Bytes),
    Answer(T),
}

/// Bytes on their way here. Dropping it ends the stream.
pub struct Download(pub(super) Pending, pub(super) End);

/// Whether a download has ended.
#[derive(PartialEq, Eq)]
pub(super) enum End {
    Open,
    Reached,
}

impl Download {
    /// The next piece; `None` when all of it has come. What came before an error is not the whole.
    pub async fn next(&mut self) -> Result<Option<Bytes>, RequestError> {
        if self.1 == End::Reached {
            return Ok(None);
        }
        match self.0.piece::<u64>().await {
            Ok(Piece::Data(bytes)) => Ok(Some(bytes)),
            Ok(Piece::Answer(_)) => {
                self.1 = End::Reached;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Bytes on their way to a workspace. Dropping it before [`Upload::finish`] leaves everything there as it was.
pub struct Upload(pub(super) Pending);

impl Upload {
    /// Sends bytes. Waits while the executor is behind.
    pub async fn send(&mut self, bytes: Bytes) -> Result<(), RequestError> {
        match self.0.pipe.send(bytes).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.0.answer::<u64>().await.err().unwrap_or(RequestError::Lost)),
        }
    }

    /// That was all: waits until it is in place and gives the number of bytes.
    pub async fn finish(mut self) -> Result<u64, RequestError> {
        let _ = self.0.pipe.signal(Signal::End).await; // if that fails the answer says why
        self.0.answer().await
    }
}
