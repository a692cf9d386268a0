//! The statements about events.

use std::ops::Range;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use deft_types::{
    ConversationId, Event, EventBody, EventId, Extra, Money, Seq, Source, Status, Timestamp, Unknown,
};
use rusqlite::{CachedStatement, Connection, ErrorCode, OptionalExtension as _, Row, Rows, params};
use serde_json::json;

use super::database::Database;
use super::{conversations, facets, micros};
use crate::error::StoreError;
use crate::fold::Derived;
use crate::lease::Fencing;

/// The largest event, as JSON. Tools cut their output far below that.
pub const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// The kind of an event that cannot be read any more. Its `detail` says why.
pub const DAMAGED_EVENT: &str = "DamagedEvent";

/// How many events there may be whose places are not noted: reading looks through them all.
pub(super) const UNPLACED: usize = 512;

/// Events ready to be written: all that can be done without the database is done, in the caller's time.
pub(super) struct Batch {
    events: Arc<[Arc<Event>]>,
    json: Vec<String>,
    facets: Vec<String>,
    derived: Derived,
}

impl Batch {
    pub(super) fn new(events: Vec<Event>) -> Result<Self, StoreError> {
        let mut json = Vec::with_capacity(events.len());
        let mut facets = Vec::with_capacity(events.len());
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
            facets.push(facets::facet(event));
            derived.fold(event);
        }
        let events = events.into_iter().map(Arc::new).collect();
        Ok(Self {
            events,
            json,
            facets,
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
    database: &mut Database,
    id: ConversationId,
    fencing: Fencing,
    batch: &Batch,
    now: SystemTime,
) -> Result<Range<Seq>, StoreError> {
    let head = database.head(id)?;
    if head.writer != Some(fencing) {
        return Err(StoreError::Fenced(id));
    }
    let mut next = head.next_seq;
    for facet in &batch.facets {
        database.learn_facet(facet)?;
    }
    let mut insert = database.statement(
        "INSERT INTO events (conversation, seq, id, event, facet, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for ((event, json), facet) in batch.events.iter().zip(&batch.json).zip(&batch.facets) {
        let facet = database.facet(facet);
        let values = params![head.key, next, event.id.0, json, facet, event.timestamp.0];
        if let Err(error) = insert.execute(values) {
            return Err(duplicate(database, head.key, &event.id, &error).unwrap_or(error.into()));
        }
        next += 1;
    }
    drop(insert);
    index(database, head.key, next, &batch.derived, now)?;
    database.advance(id, next);
    Ok(seq(head.next_seq)..seq(next))
}

/// Writes what events change to the index.
fn index(
    database: &Database,
    key: i64,
    next_seq: i64,
    derived: &Derived,
    now: SystemTime,
) -> rusqlite::Result<usize> {
    let now = micros::from_time(now);
    if *derived == Derived::default() {
        // So for most events, and it takes half the time.
        return database
            .statement("UPDATE conversations SET next_seq = ?2, updated_at = ?3 WHERE key = ?1")?
            .execute([key, next_seq, now]);
    }
    database
        .statement(
            "UPDATE conversations SET next_seq = ?2, updated_at = ?3, title = coalesce(?4, title, ?5),
                status = coalesce(?6, status), cost = coalesce(?7, cost), tags = coalesce(?8, tags),
                own_cost = coalesce(?9, own_cost)
             WHERE key = ?1",
        )?
        .execute(params![
            key,
            next_seq,
            now,
            derived.given_title,
            derived.title,
            derived.status.map(Status::as_str),
            derived.cost.map(Money::as_dollars),
            derived.tags.as_ref().map(|tags| json!(tags).to_string()),
            derived.own_cost.map(Money::as_dollars),
        ])
}

/// The reason why an insertion failed, if it is that the event is there already.
fn duplicate(database: &Database, key: i64, id: &EventId, error: &rusqlite::Error) -> Option<StoreError> {
    if error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation) {
        return None;
    }
    Some(StoreError::Duplicate {
        id: id.clone(),
        seq: find(database.statement(FIND).ok()?, key, id).ok()??,
    })
}

/// Where an event stands, if it is there.
pub(super) fn position(
    connection: &Connection,
    id: ConversationId,
    event: &EventId,
) -> Result<Option<Seq>, StoreError> {
    let key = conversations::key(connection, id)?;
    Ok(find(connection.prepare_cached(FIND)?, key, event)?)
}

const FIND: &str = "SELECT seq FROM events WHERE id = ?2 AND conversation = ?1";

fn find(mut select: CachedStatement<'_>, key: i64, id: &EventId) -> rusqlite::Result<Option<Seq>> {
    select
        .query_row(params![key, id.0], |row| Ok(seq(row.get(0)?)))
        .optional()
}

/// Notes where events stand that were written since it was last done.
pub(super) fn place(database: &Database) -> rusqlite::Result<()> {
    for sql in [
        "INSERT INTO places SELECT conversation, seq, number, facet, at FROM events
         WHERE number > (SELECT number FROM placed) ORDER BY conversation, seq",
        "UPDATE placed SET number = (SELECT coalesce(max(number), 0) FROM events)",
    ] {
        database.statement(sql)?.execute([])?;
    }
    Ok(())
}

/// Events of a log, from a position on.
pub(super) fn read(
    connection: &Connection,
    id: ConversationId,
    from: Seq,
    limit: usize,
) -> Result<Vec<(Seq, Event)>, StoreError> {
    let key = conversations::key(connection, id)?;
    let from = i64::try_from(from.0).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(
        "SELECT places.seq, id, event FROM places JOIN events USING (number)
             WHERE places.conversation = ?1 AND places.seq >= ?2
         UNION ALL
         SELECT seq, id, event FROM events
             WHERE number > (SELECT number FROM placed) AND conversation = ?1 AND seq >= ?2
         ORDER BY 1 LIMIT ?3",
    )?;
    collect(select.query(params![key, from, limit])?, id)
}

/// Events from rows with their position, their id and their JSON.
pub(super) fn collect(mut rows: Rows<'_>, id: ConversationId) -> Result<Vec<(Seq, Event)>, StoreError> {
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
