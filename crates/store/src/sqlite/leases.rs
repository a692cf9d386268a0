//! The statements about leases.

use std::time::SystemTime;

use deft_types::ConversationId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{conversations, micros};
use crate::error::StoreError;
use crate::lease::{Fencing, LEASE_TTL};
use crate::owner::Owner;

/// Makes an owner the writer, unless another one is and lives.
pub(super) fn acquire(
    connection: &Connection,
    id: ConversationId,
    owner: &Owner,
    now: SystemTime,
) -> Result<Fencing, StoreError> {
    let key = conversations::key(connection, id)?;
    if let Some(holder) = holder(connection, key, owner, now)?.filter(|holder| holder != owner) {
        return Err(StoreError::Busy {
            conversation: id,
            pid: holder.pid(),
            host: holder.host().to_owned(),
        });
    }
    let owner = serde_json::to_string(owner).map_err(|error| StoreError::Io(error.to_string()))?;
    connection
        .prepare_cached("REPLACE INTO leases (conversation, owner, expires_at) VALUES (?1, ?2, ?3)")?
        .execute(params![key, owner, micros::from_time(now + LEASE_TTL)])?;
    Ok(Fencing(connection.last_insert_rowid()))
}

/// Whether a conversation has a writer that lives, as far as somebody sees.
pub(super) fn is_held(
    connection: &Connection,
    id: ConversationId,
    seen_by: &Owner,
    now: SystemTime,
) -> Result<bool, StoreError> {
    let key = conversations::key(connection, id)?;
    Ok(holder(connection, key, seen_by, now)?.is_some())
}

fn holder(
    connection: &Connection,
    key: i64,
    seen_by: &Owner,
    now: SystemTime,
) -> Result<Option<Owner>, StoreError> {
    let lease: Option<(String, i64)> = connection
        .prepare_cached("SELECT owner, expires_at FROM leases WHERE conversation = ?1")?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let in_force = lease.filter(|(_, expires_at)| is_in_force(*expires_at, now));
    let holder = in_force.and_then(|(holder, _)| serde_json::from_str::<Owner>(&holder).ok());
    Ok(holder.filter(|holder| !holder.is_gone(seen_by)))
}

/// Prolongs a lease that nobody has taken over.
pub(super) fn renew(
    connection: &Connection,
    id: ConversationId,
    fencing: Fencing,
    now: SystemTime,
) -> Result<(), StoreError> {
    let renewed = connection
        .prepare_cached("UPDATE leases SET expires_at = ?2 WHERE fencing = ?1")?
        .execute(params![fencing.0, micros::from_time(now + LEASE_TTL)])?;
    if renewed == 0 {
        Err(StoreError::Fenced(id))
    } else {
        Ok(())
    }
}

/// Gives a lease back; one that was taken over stays where it is.
pub(super) fn release(connection: &Connection, fencing: Fencing) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM leases WHERE fencing = ?1")?
        .execute([fencing.0])?;
    Ok(())
}

/// A lease that would run longer than leases do was made before the clock was set back: it does not count.
/// A holder who lives will be fenced, so a wrong clock costs it the lease and nothing else.
fn is_in_force(expires_at: i64, now: SystemTime) -> bool {
    (micros::from_time(now)..=micros::from_time(now + LEASE_TTL)).contains(&expires_at)
}
