//! The statements that look for conversations.

use deft_types::{ConversationId, Status};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::conversations::{COLUMNS, record};
use crate::error::StoreError;
use crate::record::{ConversationRecord, Order, Search};

/// Those that fit, from a given one on.
pub(super) fn search(
    connection: &Connection,
    search: Search,
    limit: usize,
) -> Result<Vec<ConversationRecord>, StoreError> {
    let (column, comparison, direction) = match search.order {
        Order::Created => ("created_at", ">=", "ASC"),
        Order::CreatedDescending => ("created_at", "<=", "DESC"),
        Order::Updated => ("updated_at", ">=", "ASC"),
        Order::UpdatedDescending => ("updated_at", "<=", "DESC"),
    };
    let from = match search.from {
        Some(id) => place(connection, column, id)?,
        None => None,
    };
    let (key, id) = from.unwrap_or(match comparison {
        ">=" => (i64::MIN, String::new()),
        _ => (i64::MAX, "g".to_owned()), // no id is as large
    });
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM conversations
         WHERE ({column}, id) {comparison} (?1, ?2) AND (?3 IS NULL OR status = ?3)
         ORDER BY {column} {direction}, id {direction} LIMIT ?4"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let records = select.query_map(params![key, id, search.status.map(Status::as_str), limit], record)?;
    Ok(records.collect::<Result<_, _>>()?)
}

/// How many there are.
pub(super) fn count(connection: &Connection, status: Option<Status>) -> Result<u64, StoreError> {
    let count: i64 = connection
        .prepare_cached("SELECT count(*) FROM conversations WHERE ?1 IS NULL OR status = ?1")?
        .query_row([status.map(Status::as_str)], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

fn place(
    connection: &Connection,
    column: &str,
    id: ConversationId,
) -> Result<Option<(i64, String)>, StoreError> {
    let place = connection
        .prepare_cached(&format!("SELECT {column}, id FROM conversations WHERE id = ?1"))?
        .query_row([id.hex()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(place)
}
