//! Frames of the session socket: events with their `seq`, and pieces of replies on their way.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::event::Event;
use crate::id::{EventId, Seq};

/// One frame.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionFrame {
    /// The first frame: what will be replayed.
    Sync {
        /// The first event that is replayed.
        from_seq: Option<Seq>,
        /// The last event before it goes live.
        through_seq: Option<Seq>,
    },
    /// An event of the log.
    Durable {
        /// Its position.
        seq: Seq,
        /// The event.
        event: Box<Event>,
    },
    /// An event that is not stored.
    Transient {
        /// The event.
        event: Box<Event>,
    },
    /// A reply begins.
    ItemStarted {
        /// The id that the stored event will have.
        item_id: EventId,
        /// Which try, from 1.
        attempt: u32,
        /// The last event before it.
        anchor_seq: Option<Seq>,
    },
    /// A piece of a reply.
    Delta {
        /// The reply.
        item_id: EventId,
        /// Which try.
        attempt: u32,
        /// 0, 1, 2 … within the try.
        order: u64,
        /// Text or reasoning.
        kind: DeltaKind,
        /// The piece.
        content: String,
        /// The provider's id of the reply.
        chunk_id: Option<String>,
        /// Which of several choices.
        choice_index: Option<u32>,
    },
    /// A reply will not be completed.
    ItemAborted {
        /// The reply.
        item_id: EventId,
        /// Which try.
        attempt: u32,
        /// Why.
        reason: String,
    },
    /// Something the client sent could not be understood.
    Error {
        /// The kind of failure, for programs.
        code: String,
        /// What happened, for people.
        detail: String,
    },
}

/// What a piece of a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaKind {
    /// For the person.
    Text,
    /// The model's reasoning.
    Reasoning,
}
