//! What happened to the commands of one place, as far back as is remembered.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deft_store::StoreError;
use deft_types::BashEvent;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use uuid::Uuid;

use super::kept::Kept;

/// Events that are remembered, and bytes of output among them; beyond it the oldest are forgotten.
const MAX_EVENTS: usize = 10_000;
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Events that wait for a slow watcher.
const BACKLOG: usize = 256;

/// See the module.
pub(crate) struct History {
    kept: Kept,
    /// What is kept, once more: clients ask for it many times a second.
    past: Mutex<Past>,
    news: broadcast::Sender<BashEvent>,
    running: Mutex<HashMap<Uuid, Running>>,
}

#[derive(Default)]
struct Past {
    events: VecDeque<BashEvent>,
    bytes: usize,
}

struct Running {
    stop: CancellationToken,
    _task: AbortOnDropHandle<()>,
}

/// Which events are wanted.
#[derive(Default)]
pub(crate) struct Filter {
    pub(crate) kind: Option<String>,
    pub(crate) command: Option<Uuid>,
    pub(crate) order_above: Option<i64>,
    pub(crate) from: Option<String>,
    pub(crate) before: Option<String>,
}

impl Filter {
    fn admits(&self, event: &BashEvent) -> bool {
        let of_command = |wanted| match event {
            BashEvent::Output(output) => output.command_id == wanted,
            _ => false,
        };
        let above = |order| match event {
            BashEvent::Output(output) => i64::try_from(output.order).unwrap_or(i64::MAX) > order,
            _ => true,
        };
        let when = timestamp(event);
        self.kind.as_ref().is_none_or(|kind| event.kind() == kind)
            && self.command.is_none_or(of_command)
            && self.order_above.is_none_or(above)
            && self.from.as_ref().is_none_or(|from| when >= from.as_str())
            && self.before.as_ref().is_none_or(|before| when < before.as_str())
    }
}

impl Past {
    /// Adds an event; gives those that are forgotten for it.
    fn add(&mut self, event: BashEvent) -> Vec<BashEvent> {
        self.bytes += size(&event);
        self.events.push_back(event);
        let mut forgotten = Vec::new();
        while self.events.len() > MAX_EVENTS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.events.pop_front() else {
                break;
            };
            self.bytes -= size(&oldest);
            forgotten.push(oldest);
        }
        forgotten
    }
}

impl History {
    /// With all that is kept.
    pub(crate) async fn open(kept: Kept) -> Result<Self, StoreError> {
        let mut past = Past::default();
        for event in kept.load().await? {
            past.add(event);
        }
        Ok(Self {
            kept,
            past: Mutex::new(past),
            news: broadcast::Sender::new(BACKLOG),
            running: Mutex::default(),
        })
    }

    /// Keeps an event, then tells it to who listens.
    pub(crate) async fn add(&self, event: BashEvent) {
        if let Err(error) = self.kept.add(&event).await {
            tracing::warn!(%error, "what a command did is remembered only until the server stops");
        }
        let forgotten = {
            let mut past = self.past();
            let forgotten = past.add(event.clone());
            let _ = self.news.send(event); // nobody listening is fine
            forgotten
        };
        self.remove(&forgotten).await;
    }

    async fn remove(&self, forgotten: &[BashEvent]) {
        for event in forgotten {
            if let Err(error) = self.kept.remove(event).await {
                return tracing::warn!(%error, "what commands did long ago stays in the store");
            }
        }
    }

    /// What is remembered, and everything from now on.
    pub(crate) fn follow(&self) -> (Vec<BashEvent>, broadcast::Receiver<BashEvent>) {
        let past = self.past();
        (past.events.iter().cloned().collect(), self.news.subscribe())
    }

    pub(crate) fn search(&self, filter: &Filter) -> Vec<BashEvent> {
        let past = self.past();
        past.events
            .iter()
            .filter(|event| filter.admits(event))
            .cloned()
            .collect()
    }

    /// An event by its id, which has no dashes.
    pub(crate) fn get(&self, wanted: &str) -> Option<BashEvent> {
        let past = self.past();
        past.events.iter().find(|event| id(event) == wanted).cloned()
    }

    /// Forgets everything; gives how much that was.
    pub(crate) async fn clear(&self) -> usize {
        let past = std::mem::take(&mut *self.past());
        let events = Vec::from(past.events);
        self.remove(&events).await;
        events.len()
    }

    /// Has a command followed until it ends.
    pub(crate) fn begin<F>(
        self: &Arc<Self>,
        following: &TaskTracker,
        id: Uuid,
        follow: impl FnOnce(CancellationToken) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = CancellationToken::new();
        let followed = follow(stop.clone());
        let history = Arc::clone(self);
        let mut running = self.running();
        let task = following.spawn(async move {
            followed.await;
            history.running().remove(&id);
        });
        let task = AbortOnDropHandle::new(task);
        running.insert(id, Running { stop, _task: task });
    }

    /// Ends a command. False: there is none of this id.
    pub(crate) fn stop(&self, id: Uuid) -> bool {
        if let Some(running) = self.running().get(&id) {
            running.stop.cancel();
            return true;
        }
        let id = id.simple().to_string();
        matches!(self.get(&id), Some(BashEvent::Command(_)))
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.running().is_empty()
    }

    /// Whether somebody needs it in memory.
    pub(crate) fn is_in_use(&self) -> bool {
        self.is_running() || self.news.receiver_count() > 0
    }

    /// Stops to follow all commands.
    pub(crate) fn abandon(&self) {
        let running = std::mem::take(&mut *self.running());
        drop(running);
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<Uuid, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of an event, without dashes.
pub(crate) fn id(event: &BashEvent) -> String {
    let id = match event {
        BashEvent::Command(command) => command.id,
        BashEvent::Output(output) => output.id,
        BashEvent::Error(error) => error.id,
        BashEvent::Unknown(_) => Uuid::nil(),
    };
    id.simple().to_string()
}

pub(super) fn timestamp(event: &BashEvent) -> &str {
    match event {
        BashEvent::Command(command) => &command.timestamp,
        BashEvent::Output(output) => &output.timestamp,
        BashEvent::Error(error) => &error.timestamp,
        BashEvent::Unknown(_) => "",
    }
}

fn size(event: &BashEvent) -> usize {
    match event {
        BashEvent::Command(command) => command.command.len(),
        BashEvent::Output(output) => {
            let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            length(&output.stdout) + length(&output.stderr)
        }
        BashEvent::Error(_) | BashEvent::Unknown(_) => 0,
    }
}
