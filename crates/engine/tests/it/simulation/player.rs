//! Somebody who does anything to a conversation, at any time, and looks after each step whether all is well.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use deft_engine::{CommandError, Conversation, Fork, Limits, OpenError};
use deft_store::{NewConversation, StoreError};
use deft_types::{ConfirmationPolicy, ConversationId, EventId, Message, Role, Status};
use serde_json::Value;
use tokio::task::JoinSet;

use super::cast::{Cast, limits};
use super::executor::Place;
use super::follower::Follower;
use super::log::Logs;
use super::ponder::tools;
use super::scene::{Life, Scene};

/// Within so long, in simulated time, everything must have been answered: the slowest part takes a minute.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// How often somebody looks at a conversation whose store has lied.
const LOOKS: usize = 10;

/// See the module.
pub(crate) struct Player {
    pub(super) scene: Arc<Scene>,
    pub(super) logs: Arc<Logs>,
    pub(super) place: Arc<Place>,
    pub(super) id: ConversationId,
    pub(super) cast: Arc<Cast>,
    follower: Follower,
    pub(super) life: Arc<Life>,
    pub(super) conversation: Option<Conversation>,
    /// A process that does not know that another has taken its place.
    pub(super) replaced: Option<Conversation>,
    /// Commands that nobody waits for yet.
    pub(super) pending: JoinSet<(&'static str, bool)>,
    pub(super) said: Vec<EventId>,
    /// Messages that were put into the queue.
    pub(super) queued: Vec<EventId>,
    pub(super) copy: Option<ConversationId>,
    /// The copy that was asked for last.
    pub(super) forking: Option<(NewConversation, Fork)>,
}

impl Player {
    pub(crate) fn new(scene: Arc<Scene>) -> Self {
        let dice = &scene.dice;
        let id = ConversationId(dice.uuid());
        let logs = Arc::new(Logs::default());
        logs.create(id, Value::Null).unwrap();
        let place = Place::new(scene.clone(), logs.clone(), id, tools());
        let cast = Arc::new(Cast::new(scene.clone(), logs.clone()));
        Self {
            follower: Follower::new(scene.clone(), logs.clone(), id),
            place: Arc::new(place),
            life: Arc::new(Life::new(limits(), None)),
            cast,
            conversation: None,
            replaced: None,
            pending: JoinSet::new(),
            said: Vec::new(),
            queued: Vec::new(),
            copy: None,
            forking: None,
            scene,
            logs,
            id,
        }
    }

    /// Plays the whole of it: first anything, then what a person would do who wants to go on.
    pub(crate) async fn play(mut self) {
        let steps = 5 + self.scene.dice.below(30);
        for _ in 0..steps {
            self.open().await;
            Box::pin(self.step()).await;
            self.look().await;
            if self.scene.violation().is_some() {
                return;
            }
        }
        self.scene.tell("nothing goes wrong any more");
        self.scene.calm_down();
        Box::pin(self.recover()).await;
    }

    /// Opens a conversation as a new process would; nothing if that process dies of it.
    async fn load(&self, place: &Arc<Place>, life: &Arc<Life>) -> Option<Conversation> {
        let opened = self.patiently("open", life, self.cast.open(place, life)).await?;
        match opened {
            Ok(conversation) => Some(conversation),
            Err(OpenError::Store(error)) => {
                self.scene.tell(format!("cannot open: {error}"));
                None
            }
            Err(OpenError::Schema(error)) => panic!("{error}"),
        }
    }

    /// A process that has the conversation in memory, if none has.
    pub(super) async fn open(&mut self) {
        if self.life.dead.is_cancelled() {
            self.forget();
        }
        while self.conversation.is_none() {
            let points = self.scene.dice.one_in(4).then(|| 1 + self.scene.dice.below(60));
            self.life = Arc::new(Life::new(limits(), points));
            self.scene.tell("a process opens the conversation");
            self.conversation = self.load(&self.place, &self.life).await;
        }
    }

    pub(super) fn forget(&mut self) {
        self.conversation = None;
        self.pending.abort_all(); // nobody answers them
        self.pending = JoinSet::new();
    }

    pub(super) fn conversation(&self) -> Conversation {
        self.conversation.clone().unwrap()
    }

    /// Waits for something that must come; nothing if the process dies first.
    pub(super) async fn patiently<T>(
        &self,
        what: &str,
        life: &Life,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        tokio::select! {
            biased;
            done = tokio::time::timeout(PATIENCE, work) => {
                self.scene.demand(done.is_ok(), || format!("invariant 4: {what} never comes to an end"));
                done.ok()
            }
            () = life.dead.cancelled() => None,
        }
    }

    /// Gives a command, and waits for what comes of it or not.
    pub(super) async fn command<T: Send + 'static>(
        &mut self,
        what: &'static str,
        command: impl Future<Output = Result<T, CommandError>> + Send + 'static,
    ) -> Option<T> {
        self.scene.tell(what);
        if self.scene.dice.one_in(3) {
            self.pending.spawn(async move { (what, command.await.is_ok()) });
            return None;
        }
        let done = self.patiently(what, &self.life, command).await?;
        if let Err(error) = &done {
            self.scene.tell(format!("{what}: {error}"));
            let closed = matches!(error, CommandError::Closed);
            self.scene
                .demand(!closed, || format!("{what}: nobody closed it: {error}"));
        }
        done.ok()
    }

    /// Invariants 1 and 5, and whatever was noticed elsewhere.
    async fn look(&mut self) {
        if let Some(replaced) = &self.replaced
            && self.scene.dice.one_in(2)
        {
            let id = EventId::from(self.scene.dice.uuid());
            let told = replaced.send(id, Message::text(Role::User, "to the wrong one"));
            let told = tokio::time::timeout(PATIENCE, told).await;
            let fenced = !matches!(told, Ok(Ok(())));
            self.scene.demand(fenced, || {
                "invariant 5: two processes write to the log".to_owned()
            });
            if matches!(told, Ok(Err(CommandError::Store(StoreError::Fenced(_))))) {
                self.replaced = None;
            }
        }
        while self.pending.try_join_next().is_some() {}
        let Some(conversation) = self.conversation.clone() else {
            return;
        };
        for left in (0..LOOKS).rev() {
            let live = self
                .patiently("inspect", &self.life, conversation.inspect())
                .await;
            let compared = match live {
                None => return,
                Some(Ok(live)) => self.follower.compare(&live).await,
                Some(Err(error)) => Err(format!("it cannot be looked at: {error}")),
            };
            match compared {
                Ok(()) => {
                    self.scene.lied.store(false, Ordering::Relaxed);
                    return;
                }
                // Whoever was lied to asks the store what it has, which may fail again.
                Err(_) if left > 0 && self.scene.lied.load(Ordering::Relaxed) => {}
                Err(wrong) => return self.scene.accuse(wrong),
            }
        }
    }

    /// Invariant 4: whatever was done to it, it takes the next message and answers it.
    async fn recover(&mut self) {
        self.open().await;
        let conversation = self.conversation();
        let pending = std::mem::take(&mut self.pending);
        if !self.life.dead.is_cancelled() {
            self.patiently("a command", &self.life, pending.join_all()).await;
        }
        {
            let mut now = self.life.limits.lock().unwrap();
            let parallel_calls = now.parallel_calls.max(limits().parallel_calls); // more may be open
            *now = Limits {
                parallel_calls,
                ..limits()
            };
        }
        self.go_on(&conversation, &self.place).await;
        self.look().await;
        if let Some(copy) = self.copy {
            let place = Place::new(self.scene.clone(), self.logs.clone(), copy, tools());
            let (place, life) = (Arc::new(place), Arc::new(Life::new(limits(), None)));
            match self.load(&place, &life).await {
                Some(conversation) => self.go_on(&conversation, &place).await,
                None => self.scene.accuse("invariant 4: a copy cannot be opened"),
            }
        }
    }

    async fn go_on(&self, conversation: &Conversation, place: &Place) {
        let message = EventId::from(self.scene.dice.uuid());
        let text = "and now the last one";
        let go_on = async {
            conversation.set_limits(limits()).await?;
            conversation.set_policy(ConfirmationPolicy::NeverConfirm).await?;
            conversation
                .send(message, Message::text(Role::User, text))
                .await?;
            for _ in 0..10 {
                conversation.run().await?;
                let settled = conversation.settled().await;
                if settled.status == Status::Finished {
                    break;
                }
                if let Some(fault) = settled.fault {
                    self.scene.tell(format!("the run halts: {fault}"));
                }
            }
            conversation.inspect().await
        };
        let life = Life::new(limits(), None);
        let Some(ended) = self.patiently("the last run", &life, go_on).await else {
            return;
        };
        match ended {
            Ok(state) => {
                let done = state.status == Status::Finished && state.open_calls() == 0;
                self.scene.demand(done, || {
                    let (status, open) = (state.status, state.open_calls());
                    format!("invariant 4: the last run ends with the status {status} and {open} open calls")
                });
                let asked = place.asked.lock().unwrap();
                self.scene.demand(asked.heard(text), || {
                    let last = asked.last();
                    format!("invariant 4: the model does not see the last message, but {last:?}")
                });
            }
            Err(error) => self
                .scene
                .accuse(format!("invariant 4: it does not go on: {error}")),
        }
    }
}
