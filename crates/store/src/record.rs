//! What the index says of a conversation.

use std::time::SystemTime;

use deft_types::{ConversationId, Money, Seq, Status, UserId};
use serde_json::{Map, Value};

/// A conversation to begin.
#[derive(Clone, Debug)]
pub struct NewConversation {
    /// Its id.
    pub id: ConversationId,
    /// When it begins.
    pub created_at: SystemTime,
    /// Where its files are, in the words of whoever made the workspace.
    pub workspace: String,
    /// The engine's own settings for it, kept as they are.
    pub settings: Value,
    /// Whose it is. None: of whoever owns the store.
    pub owner: Option<UserId>,
}

/// A line of the index.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationRecord {
    /// Its id.
    pub id: ConversationId,
    /// When it began.
    pub created_at: SystemTime,
    /// When its last event came.
    pub updated_at: SystemTime,
    /// Where its files are.
    pub workspace: String,
    /// What it was called, or else how the user's first message begins.
    pub title: Option<String>,
    /// What it is doing.
    pub status: Status,
    /// What it has cost.
    pub cost: Money,
    /// Its last event; none while the log is empty.
    pub last_seq: Option<Seq>,
    /// Whose it is. None: of whoever owns the store.
    pub owner: Option<UserId>,
    /// The tags that it was given since it began.
    pub tags: Option<Map<String, Value>>,
}

/// What somebody's conversations come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// How many there are.
    pub conversations: u64,
    /// In how many workspaces.
    pub workspaces: u64,
    /// What they have cost, and those that were deleted.
    pub cost: Money,
}

impl ConversationRecord {
    /// Where a list that ended with this record goes on.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            created_at: self.created_at,
            id: self.id,
        }
    }
}

/// A place in the list of conversations. Stays good when conversations come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// When the conversation before it began.
    pub created_at: SystemTime,
    /// The conversation before it.
    pub id: ConversationId,
}

/// Which conversations to look for, and in which order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Search {
    /// Whose they are. None: those of whoever owns the store.
    pub owner: Option<UserId>,
    /// Only those that are doing this.
    pub status: Option<Status>,
    /// Their order.
    pub order: Order,
    /// The first to give. One that does not exist counts as none.
    pub from: Option<ConversationId>,
}

/// How documents are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrder {
    /// By their keys.
    Ascending,
    /// The other way round.
    Descending,
}

/// How a list of conversations is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The oldest first.
    Created,
    /// The newest first.
    #[default]
    CreatedDescending,
    /// The one that was quiet for longest first.
    Updated,
    /// The one that changed last first.
    UpdatedDescending,
}

/// Conversations in which something was said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SaidPage {
    /// Those that were found.
    pub found: Vec<ConversationRecord>,
    /// Where to go on: the first that was not looked at, if there is one.
    pub next: Option<ConversationId>,
}
