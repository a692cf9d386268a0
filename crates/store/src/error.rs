//! What can go wrong, and what to do then.

use std::path::PathBuf;

use deft_types::{ConversationId, EventId, Seq};

/// Why a store could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Nothing by that id: never created, or deleted since.
    #[error("there is no conversation {0}; it may have been deleted")]
    NotFound(ConversationId),

    /// The id is taken.
    #[error("a conversation {0} exists already; open that one, or choose another id")]
    Exists(ConversationId),

    /// Another process writes to it and is alive.
    #[error(
        "conversation {conversation} is being run by process {pid} on {host}; \
         use it there, stop that process, or try again when it has ended"
    )]
    Busy {
        /// The conversation.
        conversation: ConversationId,
        /// The process.
        pid: u32,
        /// Where it runs.
        host: String,
    },

    /// The lease is no longer ours: somebody else writes now. Stop, and load the conversation anew.
    #[error(
        "another process has taken over conversation {0} because this one did not renew its lease in time; \
         nothing was written: load the conversation again"
    )]
    Fenced(ConversationId),

    /// The event is in the log already. None of the append was written.
    #[error("event {id} is already in the log at position {seq}; nothing was written")]
    Duplicate {
        /// The event.
        id: EventId,
        /// Where it stands.
        seq: Seq,
    },

    /// The event is larger than an event may be.
    #[error("event {id} has {bytes} bytes, more than the {limit} that an event may have; shorten its output")]
    TooLarge {
        /// The event.
        id: EventId,
        /// Its size as JSON.
        bytes: usize,
        /// What is allowed.
        limit: usize,
    },

    /// The event has no JSON form.
    #[error("event {id} cannot be written as JSON: {detail}")]
    Unwritable {
        /// The event.
        id: EventId,
        /// Why.
        detail: String,
    },

    /// The file was written by a later version of this program. It was not touched.
    #[error(
        "{path} has schema version {found}, this program knows versions up to {known}; \
         use the newer program that wrote it, or another file. The file was not changed"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// Ours.
        known: i64,
    },

    /// The file is something else. It was not touched.
    #[error(
        "{path} is not a conversation store ({detail}); move it away or name another file. \
         The file was not changed"
    )]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        detail: String,
    },

    /// There is a directory where the file should be.
    #[error("the store {0} is a directory, but must be a file; move the directory away and try again")]
    IsDirectory(PathBuf),

    /// The file cannot be opened or created.
    #[error("cannot open the store {path}: {detail}; check that its directory exists and may be written to")]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// Why.
        detail: String,
    },

    /// Pages of the file are damaged.
    #[error(
        "the store's file is damaged ({detail}); stop the program, copy the file with its -wal file, \
         and restore it with `sqlite3 FILE .recover`"
    )]
    Damaged {
        /// Where.
        detail: String,
    },

    /// No space left. Nothing was written; the next append works when there is space again.
    #[error("the disk that holds the store is full; nothing was written. Free some space and try again")]
    Full,

    /// The file or its file system may not be written to.
    #[error(
        "the store may not be written to (read-only file or file system); nothing was written. \
         Make it writable and try again"
    )]
    ReadOnly,

    /// Another process kept the file locked for too long.
    #[error("another process has kept the store locked for too long; nothing was written. Try again")]
    Locked,

    /// The operating system or the database failed otherwise.
    #[error("the store could not be read or written: {0}; check the disk and try again")]
    Io(String),

    /// The store was closed while the request waited.
    #[error("the store is closed; open it again")]
    Closed,
}
