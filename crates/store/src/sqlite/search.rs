//! The statements that look for conversations.

use deft_types::{ConversationId, Money, Status, UserId};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::conversations::{COLUMNS, record};
use crate::error::StoreError;
use crate::record::{ConversationRecord, Order, Search, Usage};

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
         WHERE ({column}, id) {comparison} (?1, ?2) AND (?3 IS NULL OR status = ?3) AND owner IS ?5
         ORDER BY {column} {direction}, id {direction} LIMIT ?4"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let status = search.status.map(Status::as_str);
    let owner = search.owner.map(|owner| owner.hex());
    let records = select.query_map(params![key, id, status, limit, owner], record)?;
    Ok(records.collect::<Result<_, _>>()?)
}

/// How many somebody has.
pub(super) fn count(
    connection: &Connection,
    owner: Option<UserId>,
    status: Option<Status>,
) -> Result<u64, StoreError> {
    let count = connection
        .prepare_cached(
            "SELECT count(*) FROM conversations WHERE owner IS ?1 AND (?2 IS NULL OR status = ?2)",
        )?
        .query_row(
            params![owner.map(|owner| owner.hex()), status.map(Status::as_str)],
            |row| row.get(0),
        )?;
    Ok(whole(count))
}

/// What those of a user come to; the cost is also of those that were deleted.
pub(super) fn usage(connection: &Connection, owner: UserId) -> Result<Usage, StoreError> {
    let usage = connection
        .prepare_cached(
            "SELECT count(*), count(DISTINCT workspace),
                total(own_cost) + coalesce((SELECT cost FROM spent WHERE owner = ?1), 0)
             FROM conversations WHERE owner = ?1",
        )?
        .query_row([owner.hex()], |row| {
            Ok(Usage {
                conversations: whole(row.get(0)?),
                workspaces: whole(row.get(1)?),
                cost: Money::try_from(row.get::<_, f64>(2)?).unwrap_or_default(),
            })
        })?;
    Ok(usage)
}

fn whole(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
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
