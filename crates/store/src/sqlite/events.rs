//! The statements about events.

use std::ops::Range;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use deft_types::{
    ConversationId, Event, EventBody, EventId, Extra, Money, Seq, Source, Status, Timestamp, Unknown,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, params};

use super::{conversations, micros};
use crate::error::StoreError;
use crate::fold::Derived;
use crate::lease::Fencing;

/// The largest event, as JSON. Tools cut their output far below that.
pub const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// The kind of an event that cannot be read any more. Its `detail` says why.
pub const DAMAGED_EVENT: &str = "DamagedEvent";

/// The last position there is room for, see the schema: more than a disk holds.
const LAST_SEQ: i64 = (1 << 36) - 1;

/// Events ready to be written: all that can be done without the database is done, in the caller's time.
pub(super) struct Batch {
    events: Arc<[Arc<Event>]>,
    json: Vec<String>,
    derived: Derived,
}

impl Batch {
    pub(super) fn new(events: Vec<Event>) -> Result<Self, StoreError> {
        let mut json = Vec::with_capacity(events.len());
        let mut derived = Derived::default();
        for event in &events {
            let id = || event.id.clone();
            let text = serde_json::to_string(event).map_err(|error| StoreError::Unwritable {
                id: id(),
                detail: error.to_string(),
            })?;
            if text.len() > MAX_EVENT_BYTES {
                return Err(StoreError::TooLarge {
                    id: id(),
                    bytes: text.len(),
                    limit: MAX_EVENT_BYTES,
                });
            }
            json.push(text);
            derived.fold(event);
        }
        let events = events.into_iter().map(Arc::new).collect();
        Ok(Self {
            events,
            json,
            derived,
        })
    }

    /// The events, to be told to followers.
    pub(super) fn events(&self) -> Arc<[Arc<Event>]> {
        Arc::clone(&self.events)
    }
}

/// Adds events to a log, if the lease is still in force, and what they change to the index.
pub(super) fn append(
    connection: &Connection,
    id: ConversationId,
    fencing: Fencing,
    batch: &Batch,
    now: SystemTime,
) -> Result<Range<Seq>, StoreError> {
    let (key, first, writer): (i64, i64, Option<i64>) = connection
        .prepare_cached(
            "SELECT key, next_seq, fencing FROM conversations
             LEFT JOIN leases ON conversation = key WHERE id = ?1",
        )?
        .query_row([id.hex()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?
        .ok_or(StoreError::NotFound(id))?;
    if writer != Some(fencing.0) {
        return Err(StoreError::Fenced(id));
    }

    let mut insert =
        connection.prepare_cached("INSERT INTO events (place, id, event) VALUES (?1 << 36 | ?2, ?3, ?4)")?;
    let mut next = first;
    for (event, json) in batch.events.iter().zip(&batch.json) {
        if let Err(error) = insert.execute(params![key, next, event.id.0, json]) {
            return Err(duplicate(connection, key, &event.id, &error).unwrap_or(error.into()));
        }
        next += 1;
    }

    let derived = &batch.derived;
    connection
        .prepare_cached(
            "UPDATE conversations SET next_seq = ?2, updated_at = ?3, title = coalesce(title, ?4),
                status = coalesce(?5, status), cost = coalesce(?6, cost)
             WHERE key = ?1",
        )?
        .execute(params![
            key,
            next,
            micros::from_time(now),
            derived.title,
            derived.status.map(Status::as_str),
            derived.cost.map(Money::as_dollars),
        ])?;
    Ok(seq(first)..seq(next))
}

/// The reason why an insertion failed, if it is that the event is there already.
fn duplicate(connection: &Connection, key: i64, id: &EventId, error: &rusqlite::Error) -> Option<StoreError> {
    if error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation) {
        return None;
    }
    Some(StoreError::Duplicate {
        id: id.clone(),
        seq: find(connection, key, id).ok()??,
    })
}

/// Where an event stands, if it is there.
pub(super) fn position(
    connection: &Connection,
    id: ConversationId,
    event: &EventId,
) -> Result<Option<Seq>, StoreError> {
    let key = conversations::key(connection, id)?;
    Ok(find(connection, key, event)?)
}

fn find(connection: &Connection, key: i64, id: &EventId) -> rusqlite::Result<Option<Seq>> {
    connection
        .prepare_cached("SELECT place & 0xfffffffff FROM events WHERE place >> 36 = ?1 AND id = ?2")?
        .query_row(params![key, id.0], |row| Ok(seq(row.get(0)?)))
        .optional()
}

/// Events of a log, from a position on.
pub(super) fn read(
    connection: &Connection,
    id: ConversationId,
    from: Seq,
    limit: usize,
) -> Result<Vec<(Seq, Event)>, StoreError> {
    let key = conversations::key(connection, id)?;
    let from = i64::try_from(from.0).unwrap_or(LAST_SEQ).min(LAST_SEQ);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(
        "SELECT place & 0xfffffffff, id, event FROM events
         WHERE place >= ?1 << 36 | ?2 AND place < (?1 + 1) << 36 ORDER BY place LIMIT ?3",
    )?;
    let mut rows = select.query(params![key, from, limit])?;
    let mut events: Vec<(Seq, Event)> = Vec::new();
    while let Some(row) = rows.next()? {
        let seq = seq(row.get(0)?);
        let event = serde_json::from_slice(bytes(row, 2)?).or_else(|error| {
            tracing::error!(conversation = %id, %seq, %error, "an event in the log is damaged");
            let before = events.last().map(|(_, event)| &event.timestamp);
            Ok::<_, rusqlite::Error>(damaged(bytes(row, 1)?, before, &error))
        })?;
        events.push((seq, event));
    }
    Ok(events)
}

/// What stands in for an event that cannot be read, so that its log stays whole.
fn damaged(id: &[u8], before: Option<&Timestamp>, error: &serde_json::Error) -> Event {
    let fields = Extra::from_iter([("detail".to_owned(), error.to_string().into())]);
    Event {
        id: EventId(String::from_utf8_lossy(id).into_owned()),
        // Clients sort by it.
        timestamp: before.cloned().unwrap_or_else(|| Timestamp::at(UNIX_EPOCH)),
        source: Source::Environment,
        parent_id: None,
        body: EventBody::Unknown(Unknown {
            fields,
            kind: DAMAGED_EVENT.to_owned(),
        }),
    }
}

fn bytes<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a [u8]> {
    Ok(row.get_ref(column)?.as_bytes()?)
}

fn seq(number: i64) -> Seq {
    Seq(u64::try_from(number).unwrap_or(0))
}
