//! The statements about documents: small texts by their keys.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::StoreError;
use crate::record::KeyOrder;

/// One document.
pub(super) fn get(connection: &Connection, key: &str) -> Result<Option<String>, StoreError> {
    let mut select = connection.prepare_cached("SELECT text FROM documents WHERE key = ?1")?;
    Ok(select.query_row([key], |row| row.get(0)).optional()?)
}

/// Those whose keys begin so, by their keys.
pub(super) fn list(connection: &Connection, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT key, text FROM documents WHERE key >= ?1 AND key < ?1 || char(1114111) ORDER BY key",
    )?;
    let found = select.query_map([prefix], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Some of those, beyond a key in their order.
pub(super) fn page(
    connection: &Connection,
    prefix: &str,
    beyond: Option<&str>,
    order: KeyOrder,
    limit: usize,
) -> Result<Vec<(String, String)>, StoreError> {
    let mut select = connection.prepare_cached(match order {
        KeyOrder::Ascending => {
            "SELECT key, text FROM documents WHERE key >= ?1 AND key < ?1 || char(1114111) AND (?2 IS NULL OR key > ?2)
             ORDER BY key LIMIT ?3"
        }
        KeyOrder::Descending => {
            "SELECT key, text FROM documents WHERE key >= ?1 AND key < ?1 || char(1114111) AND (?2 IS NULL OR key < ?2)
             ORDER BY key DESC LIMIT ?3"
        }
    })?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = select.query_map(params![prefix, beyond, limit], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// How many there are whose keys begin so.
pub(super) fn count(connection: &Connection, prefix: &str) -> Result<u64, StoreError> {
    let mut select = connection
        .prepare_cached("SELECT count(*) FROM documents WHERE key >= ?1 AND key < ?1 || char(1114111)")?;
    let count: i64 = select.query_row([prefix], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Puts one text in the place of another, if that is still there; whether it was.
pub(super) fn swap(
    connection: &Connection,
    key: &str,
    from: Option<&str>,
    to: Option<&str>,
) -> Result<bool, StoreError> {
    if get(connection, key)?.as_deref() != from {
        return Ok(false);
    }
    match to {
        Some(text) => connection
            .prepare_cached("INSERT OR REPLACE INTO documents (key, text) VALUES (?1, ?2)")?
            .execute(params![key, text])?,
        None => connection
            .prepare_cached("DELETE FROM documents WHERE key = ?1")?
            .execute([key])?,
    };
    Ok(true)
}
