//! Bytes that belong to a request, in pieces, either way, many streams over one connection.
//!
//! A sender may be [`WINDOW`] pieces ahead of its receiver and gets a credit for each piece that was taken. So a
//! slow reader costs bounded memory and holds up nobody but its own stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::frame::Frame;

/// The most bytes in one piece.
pub const CHUNK_BYTES: usize = 128 * 1024;
/// Pieces that may be on their way or wait for their receiver.
const WINDOW: usize = 8;
/// Requests of one connection that have not been answered.
pub(crate) const MAX_STREAMS: usize = 256;
/// How long a sender waits for a receiver that takes nothing.
const STALL_LIMIT: Duration = Duration::from_secs(600);

/// What is said about a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// A piece was taken: there is room for another.
    Credit,
    /// That was the last piece.
    End,
    /// Nobody waits for the answer any more.
    Abort,
}

/// The other end gave up, or the connection did.
#[derive(Debug)]
pub(crate) struct Aborted;

/// The open streams of one connection, by id.
#[derive(Default)]
pub(crate) struct Streams(Mutex<HashMap<Uuid, Inlet>>);

struct Inlet {
    /// `None` is the end.
    pieces: mpsc::Sender<Option<Bytes>>,
    credit: Arc<Semaphore>,
    aborted: CancellationToken,
}

impl Drop for Inlet {
    fn drop(&mut self) {
        self.credit.close();
        self.aborted.cancel();
    }
}

impl Streams {
    /// Opens a stream; `None` if there are too many or the id is in use.
    pub(crate) fn open<F: Frame>(self: &Arc<Self>, id: Uuid, frames: mpsc::Sender<F>) -> Option<Pipe<F>> {
        let (sender, pieces) = mpsc::channel(WINDOW + 1);
        let (credit, aborted) = (Arc::new(Semaphore::new(WINDOW)), CancellationToken::new());
        let mut open = self.lock();
        if open.len() >= MAX_STREAMS || open.contains_key(&id) {
            return None;
        }
        let inlet = Inlet {
            pieces: sender,
            credit: credit.clone(),
            aborted: aborted.clone(),
        };
        open.insert(id, inlet);
        Some(Pipe {
            outlet: Outlet { id, frames, credit },
            pieces,
            aborted,
            streams: self.clone(),
        })
    }

    /// A piece came. One that is too large or too early ends the stream: that is no sender of ours.
    pub(crate) fn data(&self, id: Uuid, bytes: Bytes) {
        if bytes.len() > CHUNK_BYTES {
            return self.close(id);
        }
        self.push(id, Some(bytes));
    }

    pub(crate) fn signal(&self, id: Uuid, signal: Signal) {
        match signal {
            Signal::Credit => {
                if let Some(inlet) = self.lock().get(&id) {
                    inlet.credit.add_permits(1);
                }
            }
            Signal::End => self.push(id, None),
            Signal::Abort => self.close(id),
        }
    }

    pub(crate) fn close(&self, id: Uuid) {
        self.lock().remove(&id);
    }

    pub(crate) fn close_all(&self) {
        self.lock().clear();
    }

    fn push(&self, id: Uuid, piece: Option<Bytes>) {
        let mut open = self.lock();
        if open
            .get(&id)
            .is_some_and(|inlet| inlet.pieces.try_send(piece).is_err())
        {
            open.remove(&id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Inlet>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One end of a stream. Dropping it closes the stream.
pub(crate) struct Pipe<F: Frame> {
    outlet: Outlet<F>,
    pieces: mpsc::Receiver<Option<Bytes>>,
    aborted: CancellationToken,
    streams: Arc<Streams>,
}

/// What is sent over a stream.
pub(crate) struct Outlet<F> {
    id: Uuid,
    frames: mpsc::Sender<F>,
    credit: Arc<Semaphore>,
}

/// What comes over a stream.
pub(crate) struct Intake<'a, F> {
    pieces: &'a mut mpsc::Receiver<Option<Bytes>>,
    outlet: &'a Outlet<F>,
}

impl<F: Frame> Outlet<F> {
    /// Sends bytes, in as many pieces as they need.
    pub(crate) async fn send(&self, mut bytes: Bytes) -> Result<(), Aborted> {
        while !bytes.is_empty() {
            let piece = bytes.split_to(bytes.len().min(CHUNK_BYTES));
            let credit = tokio::time::timeout(STALL_LIMIT, self.credit.acquire()).await;
            credit.map_err(|_| Aborted)?.map_err(|_| Aborted)?.forget();
            let frame = F::data(self.id, piece);
            self.frames.send(frame).await.map_err(|_| Aborted)?;
        }
        Ok(())
    }

    /// Says something about the stream.
    pub(crate) async fn signal(&self, signal: Signal) -> Result<(), Aborted> {
        let frame = F::signal(self.id, signal);
        self.frames.send(frame).await.map_err(|_| Aborted)
    }
}

impl<F: Frame> Intake<'_, F> {
    /// The next piece; `None` at the end.
    pub(crate) async fn receive(&mut self) -> Result<Option<Bytes>, Aborted> {
        let piece = self.pieces.recv().await.ok_or(Aborted)?;
        if piece.is_some() {
            // A connection that cannot take it has ended, which the next piece will tell.
            let _ = self.outlet.signal(Signal::Credit).await;
        }
        Ok(piece)
    }
}

impl<F: Frame> Pipe<F> {
    /// The two directions, to be used at once.
    pub(crate) fn split(&mut self) -> (&Outlet<F>, Intake<'_, F>) {
        let intake = Intake {
            pieces: &mut self.pieces,
            outlet: &self.outlet,
        };
        (&self.outlet, intake)
    }

    /// Sends bytes, in as many pieces as they need.
    pub(crate) async fn send(&self, bytes: Bytes) -> Result<(), Aborted> {
        self.outlet.send(bytes).await
    }

    /// Says something about the stream.
    pub(crate) async fn signal(&self, signal: Signal) -> Result<(), Aborted> {
        self.outlet.signal(signal).await
    }

    /// Tells the other end, if there is room to, that nobody waits for it. For where nothing can be awaited.
    pub(crate) fn give_up(&self) {
        let Outlet { id, frames, .. } = &self.outlet;
        let _ = frames.try_send(F::signal(*id, Signal::Abort));
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn receive(&mut self) -> Result<Option<Bytes>, Aborted> {
        self.split().1.receive().await
    }

    /// Cancelled when the other end gives up.
    pub(crate) fn aborted(&self) -> CancellationToken {
        self.aborted.clone()
    }
}

impl<F: Frame> Drop for Pipe<F> {
    fn drop(&mut self) {
        self.streams.close(self.outlet.id);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::frame::Reply;

    #[tokio::test]
    async fn a_sender_waits_for_credit_and_one_that_does_not_loses_its_stream_only() {
        let (sender, mut frames) = mpsc::channel::<Reply>(64);
        let streams = Arc::new(Streams::default());
        let (id, other) = (Uuid::new_v4(), Uuid::new_v4());
        let mut pipe = streams.open(id, sender.clone()).unwrap();
        let kept = streams.open(other, sender.clone()).unwrap();
        assert!(streams.open(id, sender).is_none(), "an id is used once");

        for _ in 0..WINDOW {
            pipe.send(Bytes::from_static(b"x")).await.unwrap();
        }
        {
            let mut next = std::pin::pin!(pipe.send(Bytes::from_static(b"y")));
            assert!(next.as_mut().now_or_never().is_none(), "the window is full");
            streams.signal(id, Signal::Credit);
            next.await.unwrap();
        }
        for _ in 0..=WINDOW {
            assert!(matches!(frames.recv().await, Some(Reply::Data { .. })));
        }

        for _ in 0..WINDOW + 2 {
            streams.data(id, Bytes::from_static(b"flood"));
        }
        assert!(pipe.aborted().is_cancelled());
        while pipe.receive().await.is_ok() {}
        streams.data(other, Bytes::from(vec![0; CHUNK_BYTES]));
        assert!(!kept.aborted().is_cancelled());
        streams.data(other, Bytes::from(vec![0; CHUNK_BYTES + 1]));
        assert!(
            kept.aborted().is_cancelled(),
            "a piece must not be larger than all others"
        );
        assert!(kept.send(Bytes::from_static(b"x")).await.is_err());
    }
}
