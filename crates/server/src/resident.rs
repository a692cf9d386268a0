//! A conversation in memory: whoever watches it hears of it here, and its engine is started when it is needed.

mod watcher;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deft_engine::{Attendance, Conversation, Live};
use deft_store::ConversationRecord;
use deft_types::{ActionId, ConversationId, Seq};
use tokio::sync::{Notify, OnceCell, OwnedSemaphorePermit, broadcast, watch};
use tokio::time::Instant;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use self::watcher::Watcher;
use crate::agent::Agent;
use crate::catalog::Catalog;
use crate::failure::Failure;
use crate::info::Snapshot;
use crate::webhooks::Webhooks;
use crate::wire::Wire;
use crate::written::Written;

/// Signals that wait for a slow watcher; beyond it the oldest are lost, and the watcher is told.
const BACKLOG: usize = 1024;
/// The state that ends a run is not sent sooner than this after the answer to the request that began it: a
/// client takes it for the end only if it comes after that answer.
const STATE_AFTER_ANSWER: Duration = Duration::from_millis(200);

/// What is told to watchers and never stored.
#[derive(Clone)]
pub(crate) enum Signal {
    /// A piece of a reply or of output.
    Live(Arc<Live>),
    /// The whole state.
    State(Arc<Snapshot>, Audience),
}

/// Who hears of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    Everybody,
    /// Who knows our own frames. The contract's clients may take it for the end of a run that they ask for next.
    OwnFrames,
}

/// Why a socket is closed by us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// The server ends.
    Stopping,
    /// The conversation was deleted.
    Deleted,
    /// It was taken out of memory because its engine failed; a new connection finds it again.
    Reloaded,
}

/// See the module.
pub(crate) struct Resident {
    pub(crate) id: ConversationId,
    shown: Mutex<Shown>,
    pub(crate) farewell: watch::Sender<Option<Farewell>>,
    pub(crate) engine: OnceCell<Running>,
    /// Who of its watchers can be asked something.
    pub(crate) attendance: Attendance,
    /// The newest state that a watcher has asked for.
    latest: tokio::sync::Mutex<Option<Arc<Snapshot>>>,
    stage: Arc<Stage>,
    outdated: AtomicBool,
}

/// What its agent means for those who watch. Another model makes another agent.
#[derive(Clone)]
struct Shown {
    wire: Arc<Wire>,
    streams: bool,
}

impl Shown {
    fn of(agent: &Agent) -> Self {
        Self {
            wire: Arc::new(Wire::new(agent)),
            streams: agent.streams(),
        }
    }
}

/// The engine, with the task that tells watchers about it.
pub(crate) struct Running {
    pub(crate) conversation: Conversation,
    _watcher: AbortOnDropHandle<()>,
}

/// What a conversation and its watcher share.
struct Stage {
    signals: broadcast::Sender<Signal>,
    run: Mutex<Run>,
    /// Somebody wants the state to be told.
    wanted: Notify,
    /// How far the log is whose pieces were told.
    relayed: watch::Sender<Relayed>,
    /// What open calls have written so far. Held while pieces of it are told, so that nobody misses one or hears it twice.
    written: Mutex<Written>,
    /// When somebody last had to do with it, or something happened in it.
    used: Mutex<Instant>,
}

/// Whether somebody tells the pieces between events, and of which events all that came before them was told.
#[derive(Clone, Copy, Default)]
struct Relayed {
    is_on: bool,
    through: Option<Seq>,
}

#[derive(Default)]
struct Run {
    /// The places of runs that were asked for and have not begun, as far as the log is read: one for each request.
    next: Vec<OwnedSemaphorePermit>,
    /// The place of the run that the log is in.
    current: Option<OwnedSemaphorePermit>,
    request: Request,
}

/// The last request that asked for a run.
#[derive(Clone, Copy, Default)]
enum Request {
    #[default]
    None,
    UnderWay,
    Answered(Instant),
}

impl Resident {
    pub(crate) fn new(id: ConversationId, agent: &Agent) -> Self {
        Self {
            id,
            shown: Mutex::new(Shown::of(agent)),
            farewell: watch::Sender::new(None),
            engine: OnceCell::new(),
            attendance: Attendance::default(),
            latest: tokio::sync::Mutex::default(),
            stage: Arc::new(Stage {
                signals: broadcast::Sender::new(BACKLOG),
                run: Mutex::default(),
                wanted: Notify::new(),
                relayed: watch::Sender::default(),
                written: Mutex::default(),
                used: Mutex::new(Instant::now()),
            }),
            outdated: AtomicBool::new(false),
        }
    }

    /// Something has changed that only a new engine knows of. It gets one when it does not run any more.
    pub(crate) fn outdate(&self) {
        self.outdated.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_outdated(&self) -> bool {
        self.outdated.load(Ordering::Relaxed)
    }

    /// A state that is not older than an event. It is read once for all who watch.
    pub(crate) async fn state_after(
        &self,
        catalog: &Catalog,
        event: Option<Seq>,
    ) -> Result<Arc<Snapshot>, Failure> {
        let mut latest = self.latest.lock().await;
        if let Some(state) = latest.as_ref().filter(|state| state.after >= event) {
            return Ok(Arc::clone(state));
        }
        let state = Arc::new(catalog.snapshot(self.id).await?);
        *latest = Some(Arc::clone(&state));
        Ok(state)
    }

    /// Writes its events.
    pub(crate) fn wire(&self) -> Arc<Wire> {
        Arc::clone(&self.shown().wire)
    }

    /// Whether clients want to see replies piece by piece.
    pub(crate) fn streams(&self) -> bool {
        self.shown().streams
    }

    /// From now on it is another agent.
    pub(crate) fn show(&self, agent: &Agent) {
        *self.shown() = Shown::of(agent);
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows whoever watches something that its engine does not know of.
    pub(crate) fn show_live(&self, live: Live) {
        let _ = self.stage.signals.send(Signal::Live(Arc::new(live))); // nobody listening is fine
    }

    /// Shows whoever knows our own frames where it stands in its log now.
    pub(crate) fn show_place(&self, state: Snapshot) {
        let signal = Signal::State(Arc::new(state), Audience::OwnFrames);
        let _ = self.stage.signals.send(signal); // nobody listening is fine
    }

    /// Hears every signal from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Signal> {
        self.stage.signals.subscribe()
    }

    /// The same, with what open calls have written until now.
    pub(crate) fn listen_with_written(&self) -> (broadcast::Receiver<Signal>, Vec<(ActionId, String)>) {
        let written = self.stage.written();
        (self.stage.signals.subscribe(), written.all())
    }

    /// Waits until every piece that was there before an event is among the signals.
    pub(crate) async fn relayed(&self, event: Seq) {
        let mut relayed = self.stage.relayed.subscribe();
        let are_told = |now: &Relayed| !now.is_on || now.through >= Some(event);
        let _ = relayed.wait_for(are_told).await; // it lives as long as the conversation does
    }

    /// How many listen.
    pub(crate) fn listeners(&self) -> usize {
        self.stage.signals.receiver_count()
    }

    /// Somebody has to do with it just now.
    pub(crate) fn touch(&self) {
        self.stage.touch();
    }

    /// For how long nobody has had to do with it and nothing has happened in it.
    pub(crate) fn idle_for(&self) -> Duration {
        if self.is_running() {
            return Duration::ZERO;
        }
        let used = self.stage.used.lock();
        used.unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// A run that is asked for takes its place, which is free again when the run ends.
    pub(crate) fn begin_run(&self, place: OwnedSemaphorePermit) {
        let mut run = self.stage.run();
        run.next.push(place);
        run.request = Request::UnderWay;
    }

    /// There is no run to begin: there is nothing to do, or one is under way. Gives back a place that was taken.
    pub(crate) fn begin_no_run(&self) {
        self.stage.run().next.pop();
    }

    pub(crate) fn is_running(&self) -> bool {
        let run = self.stage.run();
        !run.next.is_empty() || run.current.is_some()
    }

    /// The request that asked for a run is about to be answered.
    pub(crate) fn answered(&self) {
        self.stage.run().request = Request::Answered(Instant::now());
    }

    /// Has the state told to everybody soon.
    pub(crate) fn tell_state(&self) {
        self.stage.wanted.notify_one();
    }

    /// Tells watchers what the engine does from now on, when the index says this.
    pub(crate) fn watch(
        &self,
        catalog: Arc<Catalog>,
        webhooks: Arc<Webhooks>,
        conversation: Conversation,
        now: &ConversationRecord,
        watchers: &TaskTracker,
    ) -> Running {
        let from = now.last_seq.map_or(Seq::FIRST, Seq::next);
        self.stage.relayed.send_replace(Relayed {
            is_on: true,
            through: now.last_seq,
        });
        let watcher = Watcher {
            id: self.id,
            catalog,
            webhooks,
            live: conversation.live(),
            stage: Arc::clone(&self.stage),
            farewell: self.farewell.subscribe(),
            due: None,
        };
        Running {
            conversation,
            _watcher: AbortOnDropHandle::new(watchers.spawn(watcher.run(from, now.status))),
        }
    }
}

impl Stage {
    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the state may be told, if not now.
    fn too_early(&self) -> Option<Instant> {
        let now = Instant::now();
        let may = match self.run().request {
            Request::None => return None,
            Request::UnderWay => now + STATE_AFTER_ANSWER,
            Request::Answered(when) => when + STATE_AFTER_ANSWER,
        };
        (may > now).then_some(may)
    }
}
