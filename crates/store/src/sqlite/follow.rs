//! Followers: those who want every event as it comes.
//!
//! A follower first reads what is stored and then listens. What it hears is a hint that saves reading: if it
//! missed something, because it was slow or because another process wrote, it reads again from where it is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deft_types::{ConversationId, Event, Seq};
use futures::StreamExt as _;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender, channel};

use super::events;
use super::readers::Readers;
use crate::store::EventStream;

/// How many events a follower may be behind before it has to read them again.
const LIVE_EVENTS: usize = 256;

/// How many events a follower reads at once.
const PAGE: usize = 256;

#[derive(Clone)]
enum News {
    Event(Seq, Arc<Event>),
    /// Another process may have written.
    ChangedElsewhere,
    Deleted,
}

/// All followers of all conversations.
#[derive(Default)]
pub(super) struct Followers {
    channels: Mutex<HashMap<ConversationId, Sender<News>>>,
}

impl Followers {
    /// Tells of events that were just committed.
    pub(super) fn publish(&self, id: ConversationId, first: Seq, events: &[Arc<Event>]) {
        if let Some(channel) = self.channels().get(&id) {
            for (seq, event) in (first.0..).map(Seq).zip(events) {
                let _ = channel.send(News::Event(seq, Arc::clone(event))); // the last may be just leaving
            }
        }
    }

    /// Tells that a conversation is gone.
    pub(super) fn deleted(&self, id: ConversationId) {
        if let Some(channel) = self.channels().remove(&id) {
            let _ = channel.send(News::Deleted);
        }
    }

    /// Has everybody read again.
    pub(super) fn changed_elsewhere(&self) {
        for channel in self.channels().values() {
            let _ = channel.send(News::ChangedElsewhere);
        }
    }

    /// Ends all streams.
    pub(super) fn close(&self) {
        self.channels().clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.channels().is_empty()
    }

    fn subscribe(self: &Arc<Self>, id: ConversationId) -> Subscription {
        let mut channels = self.channels();
        let channel = channels.entry(id).or_insert_with(|| channel(LIVE_EVENTS).0);
        Subscription {
            id,
            news: channel.subscribe(),
            followers: Arc::clone(self),
        }
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<ConversationId, Sender<News>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Subscription {
    id: ConversationId,
    news: Receiver<News>,
    followers: Arc<Followers>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut channels = self.followers.channels();
        // One receiver is this one.
        if channels
            .get(&self.id)
            .is_some_and(|channel| channel.receiver_count() <= 1)
        {
            channels.remove(&self.id);
        }
    }
}

/// The events of a conversation from a position on.
pub(super) fn follow(
    followers: &Arc<Followers>,
    readers: Arc<Readers>,
    id: ConversationId,
    from: Seq,
) -> EventStream {
    // Listen before reading, so that nothing falls between.
    let mut subscription = followers.subscribe(id);
    async_stream::try_stream! {
        let mut next = from;
        loop {
            let page = readers.read(move |db| events::read(db, id, next, PAGE)).await?;
            let is_full = page.len() == PAGE;
            for (seq, event) in page {
                next = seq.next();
                yield (seq, Arc::new(event));
            }
            if is_full {
                continue;
            }
            loop {
                match subscription.news.recv().await {
                    Ok(News::Event(seq, event)) if seq == next => {
                        next = seq.next();
                        yield (seq, event);
                    }
                    Ok(News::Event(seq, _)) if seq < next => {} // it was read already
                    Ok(News::Event(..) | News::ChangedElsewhere) | Err(RecvError::Lagged(_)) => break,
                    Ok(News::Deleted) | Err(RecvError::Closed) => return,
                }
            }
        }
    }
    .boxed()
}
