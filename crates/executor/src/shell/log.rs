//! What a command wrote, until somebody has read it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use super::{Ended, OutputChannel, OutputChunk};

/// Output that is kept. Beyond it a command that is followed waits for its slowest follower, as at a pipe; of one
/// that nobody follows the oldest is forgotten.
const MAX_KEPT_BYTES: usize = 1024 * 1024;
/// The same once the shell has ended: room for what is left in its pipes.
const MAX_KEPT_AT_END: usize = 4 * 1024 * 1024;
/// What keeping a piece costs beside its bytes.
const CHUNK_COST: usize = 128;

#[derive(Default)]
pub(super) struct OutputLog {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<OutputChunk>,
    cost: usize,
    next: u64,
    /// What each follower reads next.
    followers: HashMap<u64, u64>,
    next_follower: u64,
    shell_ended: bool,
    ended: Option<Ended>,
}

impl State {
    /// Makes room by forgetting what nobody waits for; whether there is enough now.
    fn make_room(&mut self, cost: usize) -> bool {
        let limit = if self.shell_ended {
            MAX_KEPT_AT_END
        } else {
            MAX_KEPT_BYTES
        };
        while self.cost + cost > limit {
            let Some(oldest) = self.chunks.front() else {
                return true;
            };
            if self.followers.values().any(|reads| *reads <= oldest.order) {
                return false;
            }
            self.cost -= oldest.bytes.len() + CHUNK_COST;
            self.chunks.pop_front();
        }
        true
    }
}

impl OutputLog {
    /// Adds a piece, when there is room for it.
    pub(super) async fn push(&self, channel: OutputChannel, bytes: Bytes) {
        let cost = bytes.len() + CHUNK_COST;
        self.wait_until(|state| {
            if !state.make_room(cost) {
                return None;
            }
            let order = state.next;
            state.next += 1;
            state.cost += cost;
            let bytes = bytes.clone();
            state.chunks.push_back(OutputChunk {
                order,
                channel,
                bytes,
            });
            Some(())
        })
        .await;
        self.changed.notify_waiters();
    }

    /// The shell has ended; what it left is added without waiting for readers.
    pub(super) fn shell_ended(&self) {
        self.lock().shell_ended = true;
        self.changed.notify_waiters();
    }

    pub(super) fn end(&self, ended: Ended) {
        self.lock().ended = Some(ended);
        self.changed.notify_waiters();
    }

    pub(super) fn ended(&self) -> Option<Ended> {
        self.lock().ended
    }

    pub(super) async fn wait_for_end(&self) {
        self.wait_until(|state| state.ended).await;
    }

    /// Reads from a piece on.
    pub(super) fn follow(self: Arc<Self>, from: u64) -> Follower {
        let mut state = self.lock();
        let key = state.next_follower;
        state.next_follower += 1;
        state.followers.insert(key, from);
        drop(state);
        Follower { log: self, key }
    }

    async fn wait_until<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            // Begins to listen before it looks, so that no change is missed.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = ready(&mut self.lock()) {
                return found;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who reads. While it exists nothing is forgotten that it has not read.
pub(super) struct Follower {
    log: Arc<OutputLog>,
    key: u64,
}

impl Follower {
    /// The next piece; `None` when the command has ended and all was read.
    pub(super) async fn next(&mut self) -> Option<OutputChunk> {
        let key = self.key;
        let next = self.log.wait_until(|state| {
            let from = state.followers.get(&key).copied().unwrap_or(0);
            let first = state.chunks.front().map_or(state.next, |chunk| chunk.order);
            let position = usize::try_from(from.saturating_sub(first)).unwrap_or(usize::MAX);
            match state.chunks.get(position).cloned() {
                Some(chunk) => {
                    state.followers.insert(key, chunk.order + 1);
                    Some(Some(chunk))
                }
                None => state.ended.map(|_| None),
            }
        });
        let next = next.await;
        self.log.changed.notify_waiters();
        next
    }

    pub(super) fn ended(&self) -> Option<Ended> {
        self.log.ended()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.log.lock().followers.remove(&self.key);
        self.log.changed.notify_waiters();
    }
}
