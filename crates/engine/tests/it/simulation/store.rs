//! The store as one process of a simulation sees it: slow at times, full at times, and deaf when the process is dead.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use deft_store::{
    ConversationRecord, Cursor, Direction, EventFilter, EventStream, KeyOrder, Lease, NewConversation, Owner,
    Rewrite, SaidPage, Search, Store, StoreError, Usage,
};
use deft_types::{ConversationId, Event, EventId, Seq, Status, UserId};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::log::Logs;
use super::scene::{Life, Scene};

/// See the module.
pub(crate) struct SimulatedStore {
    pub(crate) scene: Arc<Scene>,
    pub(crate) logs: Arc<Logs>,
    pub(crate) life: Arc<Life>,
}

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl SimulatedStore {
    /// Takes its time. A process may die before or after the work is done.
    async fn slowly(&self) {
        let most = if self.scene.fault(60) { 10_000 } else { 10 };
        self.life
            .survive(self.scene.pass(Duration::from_millis(most)))
            .await;
    }

    fn failure(&self, chances: usize) -> Result<(), StoreError> {
        if !self.scene.fault(chances) {
            return Ok(());
        }
        let io = StoreError::Io("a bad block".to_owned());
        let failures = [StoreError::Full, StoreError::Locked, StoreError::ReadOnly, io];
        let failure = self.scene.dice.pick(&failures).clone();
        self.scene.tell(format!("the store fails: {failure}"));
        Err(failure)
    }

    /// Says now and then that something failed which is done.
    fn lie(&self, chances: usize) -> Result<(), StoreError> {
        if !self.scene.fault(chances) {
            return Ok(());
        }
        self.scene
            .tell("the store says that it failed, but it has stored everything");
        self.scene.lied.store(true, Ordering::Relaxed);
        Err(StoreError::Io("the answer is lost".to_owned()))
    }

    async fn work<T>(
        &self,
        chances: usize,
        work: impl FnOnce(&Logs) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.slowly().await;
        self.failure(chances)?;
        let done = work(&self.logs);
        self.slowly().await;
        if self.scene.deaf.load(Ordering::Relaxed) {
            return Err(StoreError::Io("the answer is lost".to_owned()));
        }
        done
    }
}

impl Store for SimulatedStore {
    fn create(&self, conversation: NewConversation) -> Answer<'_, ()> {
        async move {
            let NewConversation { id, settings, .. } = conversation;
            self.work(20, move |logs| logs.create(id, settings)).await?;
            self.lie(20)
        }
        .boxed()
    }

    fn acquire<'a>(&'a self, id: ConversationId, _: &'a Owner) -> Answer<'a, Lease> {
        async move {
            let fencing = self.work(20, |logs| logs.acquire(id)).await?;
            let logs = self.logs.clone();
            let renewal = tokio::spawn(async {}); // it never runs out by itself
            Ok(Lease::new(id, fencing, renewal, move || {
                logs.release(id, fencing);
            }))
        }
        .boxed()
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, ()> {
        let id = lease.conversation();
        let held = move |logs: &Logs| {
            logs.look(id, |log| log.is_written_by(&self.life))?
                .then_some(())
                .ok_or(StoreError::Fenced(id))
        };
        self.work(30, held).boxed()
    }

    fn release(&self, lease: Lease) -> Answer<'_, ()> {
        async move {
            self.slowly().await;
            drop(lease); // which gives it back
            Ok(())
        }
        .boxed()
    }

    fn append<'a>(&'a self, lease: &'a Lease, events: Vec<Event>) -> Answer<'a, Range<Seq>> {
        async move {
            let work = move |logs: &Logs| logs.append(lease.conversation(), lease.fencing(), events);
            let appended = self.work(40, work).await?;
            self.lie(60)?;
            Ok(appended)
        }
        .boxed()
    }

    fn read(&self, id: ConversationId, from: Seq, limit: usize) -> Answer<'_, Vec<(Seq, Event)>> {
        self.work(40, move |logs| logs.read(id, from, limit)).boxed()
    }

    fn delete(&self, id: ConversationId) -> Answer<'_, ()> {
        self.work(40, move |logs| logs.delete(id)).boxed()
    }

    fn conversation(&self, _: ConversationId) -> Answer<'_, Option<ConversationRecord>> {
        self.work(40, |_| Ok(None)).boxed() // only its workspace matters, which has no rules here
    }

    fn settings(&self, id: ConversationId) -> Answer<'_, Option<Value>> {
        self.work(40, move |logs| logs.look(id, |log| Some(log.settings.clone())))
            .boxed()
    }

    fn change_settings(&self, _: ConversationId, _: Map<String, Value>) -> Answer<'_, ()> {
        unreachable!("{UNUSED}")
    }

    fn list(&self, _: Option<Cursor>, _: usize) -> Answer<'_, Vec<ConversationRecord>> {
        unreachable!("{UNUSED}")
    }

    fn search(&self, _: Search, _: usize) -> Answer<'_, Vec<ConversationRecord>> {
        unreachable!("{UNUSED}")
    }

    fn search_said(&self, _: Vec<String>, _: Search, _: usize) -> Answer<'_, SaidPage> {
        unreachable!("{UNUSED}")
    }

    fn count(&self, _: Option<UserId>, _: Option<Status>) -> Answer<'_, u64> {
        unreachable!("{UNUSED}")
    }

    fn is_held<'a>(&'a self, _: ConversationId, _: &'a Owner) -> Answer<'a, bool> {
        unreachable!("{UNUSED}")
    }

    fn usage(&self, _: UserId) -> Answer<'_, Usage> {
        unreachable!("{UNUSED}")
    }

    fn find<'a>(&'a self, _: &'a str) -> Answer<'a, Vec<ConversationId>> {
        unreachable!("{UNUSED}")
    }

    fn find_events(
        &self,
        _: ConversationId,
        _: EventFilter,
        _: Direction,
        _: Option<Seq>,
        _: usize,
    ) -> Answer<'_, Vec<(Seq, Event)>> {
        unreachable!("{UNUSED}")
    }

    fn count_events(&self, _: ConversationId, _: EventFilter) -> Answer<'_, u64> {
        unreachable!("{UNUSED}")
    }

    fn position<'a>(&'a self, id: ConversationId, event: &'a EventId) -> Answer<'a, Option<Seq>> {
        self.work(40, move |logs| logs.look(id, |log| log.place(event)))
            .boxed()
    }

    fn follow(&self, _: ConversationId, _: Seq) -> EventStream {
        unreachable!("{UNUSED}")
    }

    fn document<'a>(&'a self, _: &'a str) -> Answer<'a, Option<String>> {
        self.work(40, |_| Ok(None)).boxed()
    }

    fn documents<'a>(&'a self, _: &'a str) -> Answer<'a, Vec<(String, String)>> {
        self.work(40, |_| Ok(Vec::new())).boxed()
    }

    fn documents_page<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a str>,
        _: KeyOrder,
        _: usize,
    ) -> Answer<'a, Vec<(String, String)>> {
        unreachable!("{UNUSED}")
    }

    fn count_documents<'a>(&'a self, _: &'a str) -> Answer<'a, u64> {
        unreachable!("{UNUSED}")
    }

    fn swap_document(&self, _: String, _: Option<String>, _: Option<String>) -> Answer<'_, bool> {
        unreachable!("{UNUSED}")
    }

    fn rewrite(&self, _: Rewrite) -> Answer<'_, usize> {
        unreachable!("{UNUSED}")
    }

    fn sync(&self) -> Answer<'_, ()> {
        unreachable!("{UNUSED}")
    }
}

const UNUSED: &str = "the engine has no use for this part of a store";
