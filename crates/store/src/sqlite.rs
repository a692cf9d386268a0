//! The store in one SQLite file.
//!
//! One thread writes, in batches ([`writer`]), and remembers where logs go on ([`database`]); a few connections
//! read beside it ([`readers`]); another thread carries what was written to the disk ([`flusher`]); followers are
//! told of each commit ([`follow`]). The statements are in [`conversations`], [`documents`], [`search`],
//! [`events`], [`facets`], [`leases`] and [`rewrite`].

mod backup;
mod conversations;
mod database;
mod documents;
mod error;
mod events;
mod facets;
mod flusher;
mod follow;
mod leases;
mod micros;
mod open;
mod readers;
mod request;
mod restore;
mod rewrite;
mod room;
mod said;
mod schema;
mod search;
mod writer;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use deft_types::{ConversationId, Event, EventId, Seq, Status, UserId};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::time::MissedTickBehavior;

use self::database::Database;
pub use self::events::{DAMAGED_EVENT, MAX_EVENT_BYTES};
use self::flusher::Flusher;
use self::follow::Followers;
use self::readers::Readers;
use self::request::Submit;
pub use self::restore::Restoring;
use self::room::Room;
use self::writer::Writer;
use crate::error::StoreError;
use crate::filter::{Direction, EventFilter};
use crate::lease::{Fencing, LEASE_RENEWAL, Lease};
use crate::owner::Owner;
use crate::record::{ConversationRecord, Cursor, KeyOrder, NewConversation, SaidPage, Search, Usage};
use crate::store::{EventStream, Rewrite, Store};

/// What "committed" promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Survives the death of every process of ours. A power cut may take the last 50 ms.
    #[default]
    Process,
    /// Survives a power cut. Each batch waits for the disk.
    Fsync,
}

/// How a store writes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What "committed" promises.
    pub durability: Durability,
    /// How many events one commit takes at most. An append is never split, so it may be exceeded by one.
    pub batch_events: usize,
    /// How long a commit that will be synced waits for others to share the sync.
    pub batch_delay: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            batch_events: 4096,
            batch_delay: Duration::from_millis(1),
        }
    }
}

/// The store in one SQLite file. Dropping it finishes what is queued and closes the file.
pub struct SqliteStore {
    followers: Arc<Followers>,
    readers: Arc<Readers>,
    writer: Writer,
}

impl SqliteStore {
    /// Opens the file, or makes it and its directory. Short, but blocking.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let connection = open::writable(path, options.durability)?;
        let followers = Arc::new(Followers::default());
        let flusher = Flusher::start(path, options.durability)?;
        let room = match options.durability {
            Durability::Process => None,
            Durability::Fsync => Some(Room::new(path)),
        };
        let writer = Writer::start(
            Database::new(connection, room),
            flusher,
            Arc::clone(&followers),
            options,
        )?;
        Ok(Self {
            followers,
            readers: Arc::new(Readers::new(path)),
            writer,
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // Before the writer's connection, which tidies the file up if it is the last.
        self.followers.close();
        self.readers.close();
    }
}

impl Store for SqliteStore {
    fn create(&self, conversation: NewConversation) -> BoxFuture<'_, Result<(), StoreError>> {
        let create = move |db: &mut Database| conversations::create(db.change(), &conversation);
        self.writer.submit.run(1, create, |()| {}).boxed()
    }

    fn conversation(
        &self,
        id: ConversationId,
    ) -> BoxFuture<'_, Result<Option<ConversationRecord>, StoreError>> {
        self.readers.read(move |db| conversations::get(db, id)).boxed()
    }

    fn settings(&self, id: ConversationId) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        self.readers
            .read(move |db| conversations::settings(db, id))
            .boxed()
    }

    fn change_settings(
        &self,
        id: ConversationId,
        fields: Map<String, Value>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let change = move |db: &mut Database| conversations::change_settings(db.change(), id, &fields);
        self.writer.submit.run(1, change, |()| {}).boxed()
    }

    fn list(
        &self,
        behind: Option<Cursor>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<ConversationRecord>, StoreError>> {
        self.readers
            .read(move |db| conversations::list(db, behind, limit))
            .boxed()
    }

    fn search(
        &self,
        search: Search,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<ConversationRecord>, StoreError>> {
        self.readers
            .read(move |db| search::search(db, search, limit))
            .boxed()
    }

    fn search_said(
        &self,
        words: Vec<String>,
        search: Search,
        limit: usize,
    ) -> BoxFuture<'_, Result<SaidPage, StoreError>> {
        let until = Instant::now() + said::TIME_LIMIT;
        self.readers
            .read(move |db| said::search(db, &words, search, limit, until))
            .boxed()
    }

    fn count(&self, owner: Option<UserId>, status: Option<Status>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.readers
            .read(move |db| search::count(db, owner, status))
            .boxed()
    }

    fn usage(&self, owner: UserId) -> BoxFuture<'_, Result<Usage, StoreError>> {
        self.readers.read(move |db| search::usage(db, owner)).boxed()
    }

    fn find<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<ConversationId>, StoreError>> {
        let prefix = prefix.to_owned();
        self.readers
            .read(move |db| conversations::find(db, &prefix))
            .boxed()
    }

    fn acquire<'a>(
        &'a self,
        id: ConversationId,
        owner: &'a Owner,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        let owner = owner.clone();
        async move {
            let acquire =
                move |db: &mut Database| leases::acquire(db.change(), id, &owner, SystemTime::now());
            let submit = &self.writer.submit;
            let fencing = submit.run(1, acquire, |_| {}).await?;
            let renewal = tokio::spawn(keep_renewing(submit.clone(), id, fencing));
            let submit = submit.clone();
            let release = move || submit.run_unanswered(move |db| leases::release(db.change(), fencing));
            Ok(Lease::new(id, fencing, renewal, release))
        }
        .boxed()
    }

    fn is_held<'a>(
        &'a self,
        id: ConversationId,
        seen_by: &'a Owner,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let seen_by = seen_by.clone();
        self.readers
            .read(move |db| leases::is_held(db, id, &seen_by, SystemTime::now()))
            .boxed()
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        renew(&self.writer.submit, lease.conversation(), lease.fencing()).boxed()
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let fencing = lease.fencing();
            let release = move |db: &mut Database| leases::release(db.change(), fencing);
            self.writer.submit.run(1, release, |()| {}).await?;
            lease.disarm();
            Ok(())
        }
        .boxed()
    }

    fn append<'a>(
        &'a self,
        lease: &'a Lease,
        events: Vec<Event>,
    ) -> BoxFuture<'a, Result<Range<Seq>, StoreError>> {
        async move {
            let (id, fencing) = (lease.conversation(), lease.fencing());
            let batch = events::Batch::new(events)?;
            let events = batch.events();
            let followers = Arc::clone(&self.followers);
            let count = events.len();
            let append = move |db: &mut Database| events::append(db, id, fencing, &batch, SystemTime::now());
            let publish = move |range: &Range<Seq>| followers.publish(id, range.start, &events);
            self.writer.submit.run(count, append, publish).await
        }
        .boxed()
    }

    fn read(
        &self,
        id: ConversationId,
        from: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Seq, Event)>, StoreError>> {
        self.readers
            .read(move |db| events::read(db, id, from, limit))
            .boxed()
    }

    fn find_events(
        &self,
        id: ConversationId,
        filter: EventFilter,
        direction: Direction,
        first: Option<Seq>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Seq, Event)>, StoreError>> {
        self.readers
            .read(move |db| facets::find(db, id, &filter, direction, first, limit))
            .boxed()
    }

    fn count_events(
        &self,
        id: ConversationId,
        filter: EventFilter,
    ) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.readers
            .read(move |db| facets::count(db, id, &filter))
            .boxed()
    }

    fn position<'a>(
        &'a self,
        id: ConversationId,
        event: &'a EventId,
    ) -> BoxFuture<'a, Result<Option<Seq>, StoreError>> {
        let event = event.clone();
        self.readers
            .read(move |db| events::position(db, id, &event))
            .boxed()
    }

    fn follow(&self, id: ConversationId, from: Seq) -> EventStream {
        follow::follow(&self.followers, Arc::clone(&self.readers), id, from)
    }

    fn delete(&self, id: ConversationId) -> BoxFuture<'_, Result<(), StoreError>> {
        let followers = Arc::clone(&self.followers);
        let delete = move |db: &mut Database| conversations::delete(db.change(), id);
        self.writer
            .submit
            .run(1, delete, move |()| followers.deleted(id))
            .boxed()
    }

    fn document<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let key = key.to_owned();
        self.readers.read(move |db| documents::get(db, &key)).boxed()
    }

    fn documents<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<(String, String)>, StoreError>> {
        let prefix = prefix.to_owned();
        self.readers.read(move |db| documents::list(db, &prefix)).boxed()
    }

    fn documents_page<'a>(
        &'a self,
        prefix: &'a str,
        beyond: Option<&'a str>,
        order: KeyOrder,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, StoreError>> {
        let (prefix, beyond) = (prefix.to_owned(), beyond.map(str::to_owned));
        let page = move |db: &_| documents::page(db, &prefix, beyond.as_deref(), order, limit);
        self.readers.read(page).boxed()
    }

    fn count_documents<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        let prefix = prefix.to_owned();
        self.readers.read(move |db| documents::count(db, &prefix)).boxed()
    }

    fn swap_document(
        &self,
        key: String,
        from: Option<String>,
        to: Option<String>,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        let swap =
            move |db: &mut Database| documents::swap(db.change(), &key, from.as_deref(), to.as_deref());
        self.writer.submit.run(1, swap, |_| {}).boxed()
    }

    fn rewrite(&self, edit: Rewrite) -> BoxFuture<'_, Result<usize, StoreError>> {
        let rewrite = move |db: &mut Database| rewrite::rewrite(db.change(), edit.as_ref());
        self.writer.submit.run(1, rewrite, |_| {}).boxed()
    }

    fn sync(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.readers.sync().boxed()
    }
}

async fn renew(submit: &Submit, id: ConversationId, fencing: Fencing) -> Result<(), StoreError> {
    let renew = move |db: &mut Database| leases::renew(db.change(), id, fencing, SystemTime::now());
    submit.run(1, renew, |()| {}).await
}

/// Runs until its lease drops it, or until there is nothing left to renew.
async fn keep_renewing(submit: Submit, id: ConversationId, fencing: Fencing) {
    let mut ticks = tokio::time::interval(LEASE_RENEWAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await; // the first comes at once
    loop {
        ticks.tick().await;
        match renew(&submit, id, fencing).await {
            Ok(()) => {}
            Err(StoreError::Fenced(_) | StoreError::Closed) => return,
            Err(error) => tracing::warn!(conversation = %id, %error, "a lease could not be renewed"),
        }
    }
}
