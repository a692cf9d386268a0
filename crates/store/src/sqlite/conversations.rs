//! The statements about the index of conversations.

use deft_types::{ConversationId, Money, Seq, Status, UserId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error as ValueError;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::micros;
use crate::error::StoreError;
use crate::record::{ConversationRecord, Cursor, NewConversation};

/// How many ids a search by prefix gives.
const FOUND: usize = 10;

pub(super) const COLUMNS: &str =
    "id, created_at, updated_at, workspace, title, status, cost, next_seq, owner, tags";

/// Adds a conversation.
pub(super) fn create(connection: &Connection, new: &NewConversation) -> Result<(), StoreError> {
    let added = connection
        .prepare_cached(
            "INSERT INTO conversations (id, created_at, updated_at, workspace, owner) VALUES (?1, ?2, ?2, ?3, ?4)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            new.id.hex(),
            micros::from_time(new.created_at),
            new.workspace,
            new.owner.map(|owner| owner.hex()),
        ])?;
    if added == 0 {
        return Err(StoreError::Exists(new.id));
    }
    let key = connection.last_insert_rowid();
    connection
        .prepare_cached("INSERT INTO settings (conversation, settings) VALUES (?1, ?2)")?
        .execute(params![key, new.settings.to_string()])?;
    Ok(())
}

/// The number that other tables know a conversation by.
pub(super) fn key(connection: &Connection, id: ConversationId) -> Result<i64, StoreError> {
    connection
        .prepare_cached("SELECT key FROM conversations WHERE id = ?1")?
        .query_row([id.hex()], |row| row.get(0))
        .optional()?
        .ok_or(StoreError::NotFound(id))
}

/// One line of the index.
pub(super) fn get(
    connection: &Connection,
    id: ConversationId,
) -> Result<Option<ConversationRecord>, StoreError> {
    let mut select =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM conversations WHERE id = ?1"))?;
    Ok(select.query_row([id.hex()], record).optional()?)
}

/// The settings a conversation was created with.
pub(super) fn settings(connection: &Connection, id: ConversationId) -> Result<Option<Value>, StoreError> {
    let text: Option<String> = connection
        .prepare_cached(
            "SELECT settings FROM settings JOIN conversations ON key = conversation WHERE id = ?1",
        )?
        .query_row([id.hex()], |row| row.get(0))
        .optional()?;
    let parse = |text: String| serde_json::from_str(&text);
    let unreadable = |error| StoreError::Damaged {
        detail: format!("settings of {id}: {error}"),
    };
    text.map(parse).transpose().map_err(unreadable)
}

/// Replaces fields of the settings.
pub(super) fn change_settings(
    connection: &Connection,
    id: ConversationId,
    fields: &Map<String, Value>,
) -> Result<(), StoreError> {
    let mut all = match settings(connection, id)? {
        Some(Value::Object(all)) => all,
        Some(_) => Map::new(),
        None => return Err(StoreError::NotFound(id)),
    };
    all.extend(fields.clone());
    connection
        .prepare_cached("UPDATE settings SET settings = ?2 WHERE conversation = ?1")?
        .execute(params![key(connection, id)?, Value::Object(all).to_string()])?;
    Ok(())
}

/// The newest conversations behind a cursor.
pub(super) fn list(
    connection: &Connection,
    behind: Option<Cursor>,
    limit: usize,
) -> Result<Vec<ConversationRecord>, StoreError> {
    // No id is as large as `g`.
    let (created_at, id) = behind.map_or((i64::MAX, "g".to_owned()), |cursor| {
        (micros::from_time(cursor.created_at), cursor.id.hex())
    });
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM conversations WHERE (created_at, id) < (?1, ?2)
         ORDER BY created_at DESC, id DESC LIMIT ?3"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let records = select.query_map(params![created_at, id, limit], record)?;
    Ok(records.collect::<Result<_, _>>()?)
}

/// Ids that begin so.
pub(super) fn find(connection: &Connection, prefix: &str) -> Result<Vec<ConversationId>, StoreError> {
    let prefix = prefix.replace('-', "").to_ascii_lowercase();
    let mut select = connection.prepare_cached(&format!(
        "SELECT id FROM conversations WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT {FOUND}"
    ))?;
    let ids = select.query_map([prefix], |row| id(row, 0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Removes a conversation and everything of it, but not what it has cost its owner.
pub(super) fn delete(connection: &Connection, id: ConversationId) -> Result<(), StoreError> {
    let key = key(connection, id)?;
    for sql in [
        "INSERT INTO spent SELECT owner, own_cost FROM conversations WHERE key = ?1 AND owner IS NOT NULL
            ON CONFLICT (owner) DO UPDATE SET cost = cost + excluded.cost",
        "DELETE FROM events WHERE number IN (SELECT number FROM places WHERE conversation = ?1)",
        "DELETE FROM events WHERE conversation = ?1 AND number > (SELECT number FROM placed)",
        "DELETE FROM places WHERE conversation = ?1",
        "DELETE FROM leases WHERE conversation = ?1",
        "DELETE FROM settings WHERE conversation = ?1",
        "DELETE FROM conversations WHERE key = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([key])?;
    }
    // The numbers of the last events will be used again.
    connection
        .prepare_cached(
            "UPDATE placed SET number = min(number, (SELECT coalesce(max(number), 0) FROM events))",
        )?
        .execute([])?;
    Ok(())
}

pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<ConversationRecord> {
    let status: String = row.get(5)?;
    let status: Result<Status, ValueError> = Status::deserialize(status.as_str().into_deserializer());
    let next_seq: i64 = row.get(7)?;
    Ok(ConversationRecord {
        id: id(row, 0)?,
        created_at: micros::to_time(row.get(1)?),
        updated_at: micros::to_time(row.get(2)?),
        workspace: row.get(3)?,
        title: row.get(4)?,
        status: status.unwrap_or_default(),
        cost: Money::try_from(row.get::<_, f64>(6)?).unwrap_or_default(),
        last_seq: u64::try_from(next_seq - 1).ok().map(Seq),
        owner: owner(row, 8)?,
        tags: tags(row, 9)?,
    })
}

fn id(row: &Row<'_>, column: usize) -> rusqlite::Result<ConversationId> {
    uuid(&row.get::<_, String>(column)?, column).map(ConversationId)
}

/// Tags that cannot be read are none.
fn tags(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Map<String, Value>>> {
    let text: Option<String> = row.get(column)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

fn owner(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<UserId>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| uuid(&text, column).map(UserId)).transpose()
}

fn uuid(text: &str, column: usize) -> rusqlite::Result<Uuid> {
    let unreadable = |error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    };
    Uuid::parse_str(text).map_err(unreadable)
}
