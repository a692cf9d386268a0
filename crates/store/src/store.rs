//! The trait that every kind of store offers.

use std::ops::Range;
use std::sync::Arc;

use deft_types::{ConversationId, Event, EventId, Seq, Status, UserId};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::{Map, Value};

use crate::error::StoreError;
use crate::filter::{Direction, EventFilter};
use crate::lease::Lease;
use crate::owner::Owner;
use crate::record::{ConversationRecord, Cursor, KeyOrder, NewConversation, SaidPage, Search, Usage};

/// What a method of a store comes to.
type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The events of a conversation as they come. After an error it ends.
pub type EventStream = BoxStream<'static, Result<(Seq, Arc<Event>), StoreError>>;

/// A text that is kept beside the logs.
#[derive(Clone, Copy, Debug)]
pub enum Kept<'a> {
    /// A document.
    Document {
        /// Its key.
        key: &'a str,
        /// Its text.
        text: &'a str,
    },
    /// The settings that a conversation was created with, as JSON.
    Settings {
        /// The conversation.
        conversation: ConversationId,
        /// The JSON.
        text: &'a str,
    },
}

/// Gives the text that is to stand in the place of another; none leaves it. May be asked twice.
pub type Rewrite = Arc<dyn Fn(Kept<'_>) -> Option<String> + Send + Sync>;

/// The logs of all conversations.
///
/// Dropping the future of a method that writes does not undo it: once queued, it is carried out.
pub trait Store: Send + Sync {
    /// Begins a conversation with an empty log.
    fn create(&self, conversation: NewConversation) -> Answer<'_, ()>;

    /// What the index says of a conversation.
    fn conversation(&self, id: ConversationId) -> Answer<'_, Option<ConversationRecord>>;

    /// The settings that a conversation was created with.
    fn settings(&self, id: ConversationId) -> Answer<'_, Option<Value>>;

    /// Gives some of those settings, which are an object, new values.
    fn change_settings(&self, id: ConversationId, fields: Map<String, Value>) -> Answer<'_, ()>;

    /// The newest conversations first; those behind the cursor, where there is one.
    fn list(&self, behind: Option<Cursor>, limit: usize) -> Answer<'_, Vec<ConversationRecord>>;

    /// Those that fit, in the order that is asked for.
    fn search(&self, search: Search, limit: usize) -> Answer<'_, Vec<ConversationRecord>>;

    /// Those that fit, and in which all these words stand in one message of the user's or the agent's. As many are looked
    /// through as a moment allows.
    fn search_said(&self, words: Vec<String>, search: Search, limit: usize) -> Answer<'_, SaidPage>;

    /// How many somebody has (none: whoever owns the store); of those that are doing this, where that is asked.
    fn count(&self, owner: Option<UserId>, status: Option<Status>) -> Answer<'_, u64>;

    /// What those of a user come to.
    fn usage(&self, owner: UserId) -> Answer<'_, Usage>;

    /// A few ids that begin so, with or without dashes: two are enough to see that it is ambiguous.
    fn find<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<ConversationId>>;

    /// Becomes the one writer of a conversation. The lease renews itself until it is released or dropped.
    fn acquire<'a>(&'a self, id: ConversationId, owner: &'a Owner) -> Answer<'a, Lease>;

    /// Whether somebody who lives is the writer of a conversation. Changes nothing.
    fn is_held<'a>(&'a self, id: ConversationId, seen_by: &'a Owner) -> Answer<'a, bool>;

    /// Prolongs a lease now; tells whether its holder is still the writer.
    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, ()>;

    /// Gives a lease back, so that another may write at once.
    fn release(&self, lease: Lease) -> Answer<'_, ()>;

    /// Adds events to the end of the log, all or none. Resolves only when they are committed.
    fn append<'a>(&'a self, lease: &'a Lease, events: Vec<Event>) -> Answer<'a, Range<Seq>>;

    /// Up to `limit` events from a position on. One that cannot be read any more comes as the kind
    /// [`DAMAGED_EVENT`](crate::DAMAGED_EVENT), in its place.
    fn read(&self, id: ConversationId, from: Seq, limit: usize) -> Answer<'_, Vec<(Seq, Event)>>;

    /// Up to `limit` events that fit, in the order that is asked for, from a position on. Reads no others.
    fn find_events(
        &self,
        id: ConversationId,
        filter: EventFilter,
        direction: Direction,
        first: Option<Seq>,
        limit: usize,
    ) -> Answer<'_, Vec<(Seq, Event)>>;

    /// How many events fit. Reads none.
    fn count_events(&self, id: ConversationId, filter: EventFilter) -> Answer<'_, u64>;

    /// Where an event stands in a log, if it is there.
    fn position<'a>(&'a self, id: ConversationId, event: &'a EventId) -> Answer<'a, Option<Seq>>;

    /// Every event from a position on, once, in order, and then each new one as it is committed. Ends when
    /// the conversation is deleted or the store closed. A slow follower holds nobody up and loses nothing.
    fn follow(&self, id: ConversationId, from: Seq) -> EventStream;

    /// Removes a conversation and its log.
    fn delete(&self, id: ConversationId) -> Answer<'_, ()>;

    /// What is kept under a key beside the conversations.
    fn document<'a>(&'a self, key: &'a str) -> Answer<'a, Option<String>>;

    /// Everything whose key begins so, in the order of the keys.
    fn documents<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<(String, String)>>;

    /// Some of those whose key begins so: as many as `limit` says, beyond a key in their order.
    fn documents_page<'a>(
        &'a self,
        prefix: &'a str,
        beyond: Option<&'a str>,
        order: KeyOrder,
        limit: usize,
    ) -> Answer<'a, Vec<(String, String)>>;

    /// How many there are whose key begins so.
    fn count_documents<'a>(&'a self, prefix: &'a str) -> Answer<'a, u64>;

    /// Puts one text in the place of another, if that is what is there; whether it was. None is no text.
    fn swap_document(&self, key: String, from: Option<String>, to: Option<String>) -> Answer<'_, bool>;

    /// Puts other texts in the place of kept ones, as `edit` says, all or none; how many.
    fn rewrite(&self, edit: Rewrite) -> Answer<'_, usize>;

    /// Resolves when everything committed so far would survive a power cut.
    fn sync(&self) -> Answer<'_, ()>;
}
