//! Stores, conversations and events to test with.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use deft_store::{Lease, NewConversation, Options, Owner, SqliteStore, Store};
use deft_types::{
    ConversationId, ConversationStateUpdateEvent, Event, EventBody, EventId, Extra, Message, MessageEvent,
    Role, Source, Timestamp,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

/// A store in a directory of its own, which goes with it.
pub(crate) struct Sample {
    pub(crate) store: SqliteStore,
    directory: TempDir,
}

impl Sample {
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("deft.db"), options).unwrap();
        Self { store, directory }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("deft.db")
    }

    /// The same file once more, as another process would open it.
    pub(crate) fn another(&self) -> SqliteStore {
        open(&self.path())
    }

    /// Closes the store and keeps its file.
    pub(crate) fn close(self) -> (PathBuf, TempDir) {
        (self.path(), self.directory)
    }

    /// A connection behind the store's back.
    pub(crate) fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }

    /// A new conversation that we write to.
    pub(crate) async fn conversation(&self) -> Lease {
        let id = create(&self.store).await;
        self.store.acquire(id, &Owner::this_process()).await.unwrap()
    }
}

pub(crate) fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::default()).unwrap()
}

pub(crate) async fn create(store: &SqliteStore) -> ConversationId {
    let id = ConversationId(Uuid::new_v4());
    store.create(new(id)).await.unwrap();
    id
}

pub(crate) fn new(id: ConversationId) -> NewConversation {
    NewConversation {
        id,
        created_at: SystemTime::now(),
        workspace: "/somewhere".to_owned(),
        settings: json!({"model": "some"}),
        owner: None,
    }
}

pub(crate) fn event(id: &str, source: Source, body: impl Into<EventBody>) -> Event {
    Event {
        id: EventId::from(id),
        timestamp: Timestamp("2026-11-15T01:14:49.212782".to_owned()),
        source,
        parent_id: None,
        body: body.into(),
    }
}

pub(crate) fn message(id: &str) -> Event {
    said(id, &format!("Message {id}"))
}

pub(crate) fn said(id: &str, text: &str) -> Event {
    event(
        id,
        Source::User,
        MessageEvent::new(Message::text(Role::User, text)),
    )
}

pub(crate) fn state(id: &str, key: &str, value: Value) -> Event {
    let update = ConversationStateUpdateEvent {
        key: key.to_owned(),
        value,
        extra: Extra::new(),
    };
    event(id, Source::Environment, update)
}
