//! Remembers: the event logs of all conversations, their index, and who may write to which.
//!
//! Knows nothing of agents, models or HTTP. It does not judge events; it keeps them in order, once, and
//! hands them out again. What the index says (status, title, cost) is folded from the events themselves.
//!
//! Begin reading at [`Store`], the trait everything above uses; [`SqliteStore`] keeps it in one file.

mod create_with;
mod error;
mod filter;
mod fold;
mod lease;
mod old_log;
mod owner;
mod record;
mod sqlite;
mod store;

pub use create_with::create_with;
pub use error::StoreError;
pub use filter::{Direction, EventFilter};
pub use fold::{Derived, TITLE_CHARS};
pub use lease::{Fencing, Lease};
pub use old_log::{OldLog, OldLogError, old_logs_at};
pub use owner::Owner;
pub use record::{ConversationRecord, Cursor, KeyOrder, NewConversation, Order, SaidPage, Search, Usage};
pub use sqlite::{DAMAGED_EVENT, Durability, MAX_EVENT_BYTES, Options, Restoring, SqliteStore};
pub use store::{EventStream, Kept, Rewrite, Store};
