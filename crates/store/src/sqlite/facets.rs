//! What events are, without reading them: the statements that find and count them by it.
//!
//! A facet is a kind, a source and, for a state update, its key. There are few, so each has a number, and that
//! stands beside the place of an event, with its time.

use deft_types::{ConversationId, Event, EventBody, Seq, Source};
use rusqlite::{Connection, named_params};

use super::{conversations, events};
use crate::error::StoreError;
use crate::filter::{Direction, EventFilter};

/// What one event is, in one text: kind, source and key, with a character between that no name has.
pub(super) fn facet(event: &Event) -> String {
    let key = match &event.body {
        EventBody::StateUpdate(update) => update.key.as_str(),
        _ => "",
    };
    format!("{}\0{}\0{key}", event.kind(), source(event.source))
}

/// The number of a facet, which gets one if it has none.
pub(super) fn number(connection: &Connection, facet: &str) -> rusqlite::Result<i64> {
    let mut parts = facet.split('\0');
    let mut next = || parts.next().unwrap_or_default();
    let parts = [next(), next(), next()];
    connection
        .prepare_cached("INSERT INTO facets (kind, source, key) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?
        .execute(parts)?;
    connection
        .prepare_cached("SELECT facet FROM facets WHERE kind = ?1 AND source = ?2 AND key = ?3")?
        .query_row(parts, |row| row.get(0))
}

/// Which facets and times are wanted, of a log whose key is `:log`.
const WANTED: &str = "conversation = :log AND seq BETWEEN :low AND :high
    AND facet IN (SELECT facet FROM facets
        WHERE (:kind IS NULL OR kind = :kind) AND (:source IS NULL OR source = :source)
            AND key NOT IN (SELECT value FROM json_each(:hidden)))
    AND (:from IS NULL OR at >= :from) AND (:before IS NULL OR at < :before)";

/// Events that fit, in order, from a position on.
pub(super) fn find(
    connection: &Connection,
    id: ConversationId,
    filter: &EventFilter,
    direction: Direction,
    first: Option<Seq>,
    limit: usize,
) -> Result<Vec<(Seq, Event)>, StoreError> {
    let first = first.map(|seq| i64::try_from(seq.0).unwrap_or(i64::MAX));
    let (low, high, order) = match direction {
        Direction::Forward => (first.unwrap_or(0), i64::MAX, "ASC"),
        Direction::Backward => (0, first.unwrap_or(i64::MAX), "DESC"),
    };
    let mut select = connection.prepare_cached(&format!(
        "SELECT seq, id, event FROM
            (SELECT places.seq AS seq, number FROM places WHERE {WANTED}
             UNION ALL SELECT seq, number FROM events WHERE number > (SELECT number FROM placed) AND {WANTED}
             ORDER BY 1 {order} LIMIT :limit)
         JOIN events USING (number, seq) ORDER BY 1 {order}"
    ))?;
    let rows = select.query(named_params! {
        ":log": conversations::key(connection, id)?,
        ":low": low,
        ":high": high,
        ":kind": filter.kind,
        ":source": filter.source.map(source),
        ":hidden": hidden(filter),
        ":from": filter.from.as_ref().map(|from| &from.0),
        ":before": filter.before.as_ref().map(|before| &before.0),
        ":limit": i64::try_from(limit).unwrap_or(i64::MAX),
    })?;
    events::collect(rows, id)
}

/// How many fit.
pub(super) fn count(
    connection: &Connection,
    id: ConversationId,
    filter: &EventFilter,
) -> Result<u64, StoreError> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT (SELECT count(*) FROM places WHERE {WANTED})
            + (SELECT count(*) FROM events WHERE number > (SELECT number FROM placed) AND {WANTED})"
    ))?;
    let count: i64 = select.query_row(
        named_params! {
            ":log": conversations::key(connection, id)?,
            ":low": 0,
            ":high": i64::MAX,
            ":kind": filter.kind,
            ":source": filter.source.map(source),
            ":hidden": hidden(filter),
            ":from": filter.from.as_ref().map(|from| &from.0),
            ":before": filter.before.as_ref().map(|before| &before.0),
        },
        |row| row.get(0),
    )?;
    Ok(u64::try_from(count).unwrap_or(0))
}

fn hidden(filter: &EventFilter) -> String {
    serde_json::json!(filter.without_keys).to_string()
}

/// As it stands in the JSON of events, which older ones were indexed from.
fn source(source: Source) -> &'static str {
    match source {
        Source::Agent => "agent",
        Source::User => "user",
        Source::Environment => "environment",
        Source::Hook => "hook",
    }
}
