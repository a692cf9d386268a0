//! A store in which somebody sees what is theirs, and nothing else exists.

use std::ops::Range;
use std::sync::Arc;

use deft_store::{
    ConversationRecord, Cursor, Direction, EventFilter, EventStream, KeyOrder, Lease, NewConversation, Owner,
    Rewrite, SaidPage, Search, Store, StoreError, Usage,
};
use deft_types::{ConversationId, Event, EventId, Seq, Status, UserId};
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, stream};
use serde_json::{Map, Value};

use crate::security::Directory;

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// What one user sees of a store; or, without a user, what belongs to nobody.
///
/// Everything that is asked of conversations comes through here, so that no route can forget to ask whose one is.
pub(crate) struct ScopedStore {
    store: Arc<dyn Store>,
    user: Option<UserId>,
    directory: Arc<Directory>,
    /// What the keys of their documents begin with.
    folder: String,
}

impl ScopedStore {
    pub(crate) fn new(store: Arc<dyn Store>, user: Option<UserId>, directory: Arc<Directory>) -> Self {
        Self {
            store,
            user,
            directory,
            folder: user.map_or_else(String::new, |user| format!("users/{}/", user.hex())),
        }
    }

    /// Refuses what is somebody else's as if it were not there. Where there is nobody else, nothing is.
    async fn check(&self, id: ConversationId) -> Result<(), StoreError> {
        if !self.directory.has_users() {
            return Ok(());
        }
        match self.conversation(id).await? {
            Some(_) => Ok(()),
            None => Err(StoreError::NotFound(id)),
        }
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.folder)
    }
}

impl Store for ScopedStore {
    fn create(&self, conversation: NewConversation) -> Answer<'_, ()> {
        let owner = self.user;
        self.store.create(NewConversation {
            owner,
            ..conversation
        })
    }

    fn conversation(&self, id: ConversationId) -> Answer<'_, Option<ConversationRecord>> {
        async move {
            let found = self.store.conversation(id).await?;
            Ok(found.filter(|record| record.owner == self.user))
        }
        .boxed()
    }

    fn settings(&self, id: ConversationId) -> Answer<'_, Option<Value>> {
        async move {
            match self.check(id).await {
                Ok(()) => self.store.settings(id).await,
                Err(StoreError::NotFound(_)) => Ok(None),
                Err(error) => Err(error),
            }
        }
        .boxed()
    }

    fn change_settings(&self, id: ConversationId, fields: Map<String, Value>) -> Answer<'_, ()> {
        async move {
            self.check(id).await?;
            self.store.change_settings(id, fields).await
        }
        .boxed()
    }

    fn list(&self, behind: Option<Cursor>, limit: usize) -> Answer<'_, Vec<ConversationRecord>> {
        async move {
            let (mut own, mut behind) = (Vec::new(), behind);
            while own.len() < limit {
                let page = self.store.list(behind, limit).await?;
                let Some(last) = page.last() else { break };
                behind = Some(last.cursor());
                own.extend(page.into_iter().filter(|record| record.owner == self.user));
            }
            own.truncate(limit);
            Ok(own)
        }
        .boxed()
    }

    fn search(&self, search: Search, limit: usize) -> Answer<'_, Vec<ConversationRecord>> {
        let owner = self.user;
        self.store.search(Search { owner, ..search }, limit)
    }

    fn search_said(&self, words: Vec<String>, search: Search, limit: usize) -> Answer<'_, SaidPage> {
        let owner = self.user;
        self.store.search_said(words, Search { owner, ..search }, limit)
    }

    fn count(&self, _: Option<UserId>, status: Option<Status>) -> Answer<'_, u64> {
        self.store.count(self.user, status)
    }

    fn usage(&self, owner: UserId) -> Answer<'_, Usage> {
        self.store.usage(owner)
    }

    fn find<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<ConversationId>> {
        async move {
            let mut own = Vec::new();
            for id in self.store.find(prefix).await? {
                if self.conversation(id).await?.is_some() {
                    own.push(id);
                }
            }
            Ok(own)
        }
        .boxed()
    }

    fn is_held<'a>(&'a self, id: ConversationId, seen_by: &'a Owner) -> Answer<'a, bool> {
        async move {
            self.check(id).await?;
            self.store.is_held(id, seen_by).await
        }
        .boxed()
    }

    fn acquire<'a>(&'a self, id: ConversationId, owner: &'a Owner) -> Answer<'a, Lease> {
        async move {
            self.check(id).await?;
            self.store.acquire(id, owner).await
        }
        .boxed()
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, ()> {
        self.store.renew(lease)
    }

    fn release(&self, lease: Lease) -> Answer<'_, ()> {
        self.store.release(lease)
    }

    fn append<'a>(&'a self, lease: &'a Lease, events: Vec<Event>) -> Answer<'a, Range<Seq>> {
        self.store.append(lease, events)
    }

    fn read(&self, id: ConversationId, from: Seq, limit: usize) -> Answer<'_, Vec<(Seq, Event)>> {
        async move {
            self.check(id).await?;
            self.store.read(id, from, limit).await
        }
        .boxed()
    }

    fn find_events(
        &self,
        id: ConversationId,
        filter: EventFilter,
        direction: Direction,
        first: Option<Seq>,
        limit: usize,
    ) -> Answer<'_, Vec<(Seq, Event)>> {
        async move {
            self.check(id).await?;
            self.store.find_events(id, filter, direction, first, limit).await
        }
        .boxed()
    }

    fn count_events(&self, id: ConversationId, filter: EventFilter) -> Answer<'_, u64> {
        async move {
            self.check(id).await?;
            self.store.count_events(id, filter).await
        }
        .boxed()
    }

    fn position<'a>(&'a self, id: ConversationId, event: &'a EventId) -> Answer<'a, Option<Seq>> {
        async move {
            self.check(id).await?;
            self.store.position(id, event).await
        }
        .boxed()
    }

    fn follow(&self, id: ConversationId, from: Seq) -> EventStream {
        if !self.directory.has_users() {
            return self.store.follow(id, from);
        }
        let (store, user) = (Arc::clone(&self.store), self.user);
        let own = async move {
            match store.conversation(id).await {
                Ok(Some(record)) if record.owner == user => store.follow(id, from),
                Ok(_) => stream::iter([Err(StoreError::NotFound(id))]).boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            }
        };
        own.flatten_stream().boxed()
    }

    fn delete(&self, id: ConversationId) -> Answer<'_, ()> {
        async move {
            self.check(id).await?;
            self.store.delete(id).await
        }
        .boxed()
    }

    fn document<'a>(&'a self, key: &'a str) -> Answer<'a, Option<String>> {
        async move { self.store.document(&self.key(key)).await }.boxed()
    }

    fn documents<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<(String, String)>> {
        async move {
            let found = self.store.documents(&self.key(prefix)).await?;
            let own = |(key, text): (String, String)| (key[self.folder.len()..].to_owned(), text);
            Ok(found.into_iter().map(own).collect())
        }
        .boxed()
    }

    fn documents_page<'a>(
        &'a self,
        prefix: &'a str,
        beyond: Option<&'a str>,
        order: KeyOrder,
        limit: usize,
    ) -> Answer<'a, Vec<(String, String)>> {
        async move {
            let (prefix, beyond) = (self.key(prefix), beyond.map(|beyond| self.key(beyond)));
            let page = self
                .store
                .documents_page(&prefix, beyond.as_deref(), order, limit);
            let own = |(key, text): (String, String)| (key[self.folder.len()..].to_owned(), text);
            Ok(page.await?.into_iter().map(own).collect())
        }
        .boxed()
    }

    fn count_documents<'a>(&'a self, prefix: &'a str) -> Answer<'a, u64> {
        async move { self.store.count_documents(&self.key(prefix)).await }.boxed()
    }

    fn swap_document(&self, key: String, from: Option<String>, to: Option<String>) -> Answer<'_, bool> {
        self.store.swap_document(self.key(&key), from, to)
    }

    /// Nobody may rewrite what is everybody's.
    fn rewrite(&self, _: Rewrite) -> Answer<'_, usize> {
        async { Ok(0) }.boxed()
    }

    fn sync(&self) -> Answer<'_, ()> {
        self.store.sync()
    }
}
