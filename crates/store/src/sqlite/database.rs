//! The connection that writes, and what it remembers of the logs it writes to.

use std::collections::HashMap;

use deft_types::ConversationId;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _};

use super::facets;
use super::room::Room;
use crate::error::StoreError;
use crate::lease::Fencing;

/// How many logs to remember; with more than that, all are looked up anew.
const HEADS: usize = 1024;

/// How many facets to remember; a log of strangers may have any number.
const FACETS: usize = 1024;

/// Where a log goes on, and who may go on with it.
#[derive(Clone, Copy)]
pub(super) struct Head {
    /// The number that other tables know the conversation by.
    pub(super) key: i64,
    /// The position of the next event.
    pub(super) next_seq: i64,
    /// The lease in force.
    pub(super) writer: Option<Fencing>,
}

/// The connection that writes. Knows the heads of logs by heart, as long as nobody else can have changed them.
pub(super) struct Database {
    connection: Connection,
    heads: HashMap<ConversationId, Head>,
    /// Of when the heads were read.
    data_version: i64,
    room: Option<Room>,
    facets: HashMap<String, i64>,
}

impl Database {
    pub(super) fn new(connection: Connection, room: Option<Room>) -> Self {
        Self {
            connection,
            heads: HashMap::new(),
            data_version: 0,
            room,
            facets: HashMap::new(),
        }
    }

    /// Locks the file against other writers. From here on until the end of the transaction heads are true.
    pub(super) fn begin(&mut self) -> rusqlite::Result<()> {
        self.execute("BEGIN IMMEDIATE")?;
        let version = self.data_version()?;
        if version != self.data_version {
            self.heads.clear();
            self.data_version = version;
        }
        if let Some(room) = &mut self.room {
            // Where that fails, as on a full disk, SQLite will say so if it matters.
            let _ = room.make();
        }
        Ok(())
    }

    pub(super) fn commit(&self) -> rusqlite::Result<()> {
        self.execute("COMMIT")
    }

    /// Undoes what was done since the beginning, if SQLite has not done so by itself.
    pub(super) fn roll_back(&mut self) -> rusqlite::Result<()> {
        self.heads.clear();
        self.facets.clear();
        if self.is_rolled_back() {
            return Ok(());
        }
        self.execute("ROLLBACK")
    }

    /// Whether an error was such that SQLite undid the whole transaction.
    pub(super) fn is_rolled_back(&self) -> bool {
        self.connection.is_autocommit()
    }

    /// A point within a transaction to go back to.
    pub(super) fn mark(&self) -> rusqlite::Result<()> {
        self.execute("SAVEPOINT request")
    }

    /// Forgets the last mark.
    pub(super) fn unmark(&self) -> rusqlite::Result<()> {
        self.execute("RELEASE request")
    }

    /// Undoes what was done since the last mark.
    pub(super) fn back_to_mark(&mut self) -> rusqlite::Result<()> {
        self.heads.clear();
        self.facets.clear();
        self.execute("ROLLBACK TO request")
    }

    /// Changes when another connection has committed; nobody else does in this process.
    pub(super) fn data_version(&self) -> rusqlite::Result<i64> {
        self.connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))
    }

    /// For changes of any kind: after this, heads are looked up again.
    pub(super) fn change(&mut self) -> &Connection {
        self.heads.clear();
        &self.connection
    }

    /// For an append, which keeps heads true by [`Database::advance`].
    pub(super) fn statement(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.connection.prepare_cached(sql)
    }

    /// Where a log goes on.
    pub(super) fn head(&mut self, id: ConversationId) -> Result<Head, StoreError> {
        if let Some(head) = self.heads.get(&id) {
            return Ok(*head);
        }
        let head = self
            .statement(
                "SELECT key, next_seq, fencing FROM conversations
                 LEFT JOIN leases ON conversation = key WHERE id = ?1",
            )?
            .query_row([id.hex()], |row| {
                Ok(Head {
                    key: row.get(0)?,
                    next_seq: row.get(1)?,
                    writer: row.get::<_, Option<i64>>(2)?.map(Fencing),
                })
            })
            .optional()?
            .ok_or(StoreError::NotFound(id))?;
        if self.heads.len() >= HEADS {
            self.heads.clear();
        }
        self.heads.insert(id, head);
        Ok(head)
    }

    /// Events up to this position were written to a log.
    pub(super) fn advance(&mut self, id: ConversationId, next_seq: i64) {
        if let Some(head) = self.heads.get_mut(&id) {
            head.next_seq = next_seq;
        }
    }

    /// Gives a facet its number, if it has none yet.
    pub(super) fn learn_facet(&mut self, facet: &str) -> rusqlite::Result<()> {
        if !self.facets.contains_key(facet) {
            if self.facets.len() >= FACETS {
                self.facets.clear();
            }
            let number = facets::number(&self.connection, facet)?;
            self.facets.insert(facet.to_owned(), number);
        }
        Ok(())
    }

    /// The number of a facet that was learnt.
    pub(super) fn facet(&self, facet: &str) -> Option<i64> {
        self.facets.get(facet).copied()
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.statement(sql)?.execute([]).map(drop)
    }
}
