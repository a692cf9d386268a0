//! What is asked of the writer, and the way there.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::database::Database;
use crate::error::StoreError;

/// How many requests may be queued; more than that wait in their callers.
pub(super) const QUEUE_LIMIT: usize = 1024;

pub(super) enum Message {
    Request(Box<dyn Request>),
    Stop,
}

/// One change to the database, and what follows from it.
pub(super) trait Request: Send {
    /// How much of a batch it fills.
    fn events(&self) -> usize;
    /// Makes the change. On an error the writer undoes it, and may then ask for it again.
    fn run(&mut self, database: &mut Database) -> Result<(), StoreError>;
    /// Answers its caller, when the change is committed or has failed.
    fn finish(&mut self, outcome: Result<(), StoreError>);
}

struct Pending<T, W, C> {
    events: usize,
    work: W,
    value: Option<T>,
    /// What to call when it is committed, and whom to answer.
    then: Option<(C, oneshot::Sender<Result<T, StoreError>>)>,
    _place: OwnedSemaphorePermit,
}

impl<T, W, C> Request for Pending<T, W, C>
where
    T: Send,
    W: Fn(&mut Database) -> Result<T, StoreError> + Send,
    C: FnOnce(&T) + Send,
{
    fn events(&self) -> usize {
        self.events
    }

    fn run(&mut self, database: &mut Database) -> Result<(), StoreError> {
        self.value = Some((self.work)(database)?);
        Ok(())
    }

    fn finish(&mut self, outcome: Result<(), StoreError>) {
        let Some((committed, answer)) = self.then.take() else {
            return;
        };
        let outcome = outcome.and_then(|()| self.value.take().ok_or(StoreError::Closed));
        if let Ok(value) = &outcome {
            committed(value);
        }
        let _ = answer.send(outcome); // the caller may be gone
    }
}

/// The way to the writer.
#[derive(Clone)]
pub(super) struct Submit {
    queue: SyncSender<Message>,
    room: Arc<Semaphore>,
}

impl Submit {
    /// For a queue with room for [`QUEUE_LIMIT`] requests and a [`Message::Stop`].
    pub(super) fn new(queue: SyncSender<Message>) -> Self {
        Self {
            queue,
            room: Arc::new(Semaphore::new(QUEUE_LIMIT)),
        }
    }

    /// Has a change made that fills a batch like so many events. Resolves when it is committed; the writer
    /// has then called `committed`, in the order of the commits.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        events: usize,
        work: impl Fn(&mut Database) -> Result<T, StoreError> + Send + 'static,
        committed: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = Arc::clone(&self.room)
            .acquire_owned()
            .await
            .map_err(|_| StoreError::Closed)?;
        let (answer, answered) = oneshot::channel();
        self.send(Pending {
            events,
            work,
            value: None,
            then: Some((committed, answer)),
            _place: place,
        })?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Has a change made if there is room in the queue, and does not wait for it.
    pub(super) fn run_unanswered(
        &self,
        work: impl Fn(&mut Database) -> Result<(), StoreError> + Send + 'static,
    ) {
        if let Ok(place) = Arc::clone(&self.room).try_acquire_owned() {
            let (answer, _) = oneshot::channel();
            let committed = |&(): &()| {};
            let pending = Pending {
                events: 1,
                work,
                value: None,
                then: Some((committed, answer)),
                _place: place,
            };
            let _ = self.send(pending); // only a closed store refuses it
        }
    }

    /// Lets nothing more in. What is queued will be done.
    pub(super) fn close(&self) {
        self.room.close();
        let _ = self.queue.send(Message::Stop);
    }

    fn send(&self, request: impl Request + 'static) -> Result<(), StoreError> {
        self.queue
            .try_send(Message::Request(Box::new(request)))
            .map_err(|_| StoreError::Closed)
    }
}
