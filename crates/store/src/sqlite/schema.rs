//! The tables, and how an older file gets them.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;

/// Marks a file as ours: "deft" in ASCII.
pub(super) const APPLICATION_ID: i64 = 0x6465_6674;

/// The steps from an empty file to the present schema. A file's version (`PRAGMA user_version`) is the number
/// of steps it has taken. Never change a step that was released: add one.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE conversations (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE, -- without dashes
        created_at INTEGER NOT NULL, -- microseconds since 1970, as all times here
        updated_at INTEGER NOT NULL,
        workspace TEXT NOT NULL,
        -- Folded from the events:
        title TEXT,
        status TEXT NOT NULL DEFAULT 'idle',
        cost REAL NOT NULL DEFAULT 0,
        next_seq INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX conversations_by_age ON conversations (created_at, id);

    -- Apart, because a row is written anew with each append and settings are large.
    CREATE TABLE settings (
        conversation INTEGER PRIMARY KEY,
        settings TEXT NOT NULL
    ) STRICT;

    -- The place is the conversation's key times 2^36 plus the seq. It is the rowid, so a log stands together and
    -- needs no index; a table without rowid would put every event over 1000 bytes on a page of its own.
    CREATE TABLE events (
        place INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        event TEXT NOT NULL -- JSON, as on the wire
    ) STRICT;
    CREATE UNIQUE INDEX events_by_id ON events (place >> 36, id);

    -- AUTOINCREMENT: a fencing number is never used twice, not even after its row is gone.
    CREATE TABLE leases (
        fencing INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation INTEGER NOT NULL UNIQUE,
        owner TEXT NOT NULL, -- JSON
        expires_at INTEGER NOT NULL
    ) STRICT;
",
    // Events in the order of their commits, whatever their conversation: those that are committed together stand
    // together, and a commit writes few pages. Ids grow with time too, so they come first in their index.
    //
    // Where an event stands is noted later, for many at once: the numbers up to `placed.number` are in `places`.
    "ALTER TABLE events RENAME TO events_by_place;
    DROP INDEX events_by_id;
    CREATE TABLE events (
        number INTEGER PRIMARY KEY,
        conversation INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        event TEXT NOT NULL -- JSON, as on the wire
    ) STRICT;
    INSERT INTO events (conversation, seq, id, event)
        SELECT place >> 36, place & 0xfffffffff, id, event FROM events_by_place ORDER BY place;
    DROP TABLE events_by_place;
    CREATE UNIQUE INDEX events_by_id ON events (id, conversation);

    CREATE TABLE places (
        conversation INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (conversation, seq)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO places SELECT conversation, seq, number FROM events ORDER BY conversation, seq;
    CREATE TABLE placed (number INTEGER NOT NULL) STRICT; -- one row
    INSERT INTO placed SELECT coalesce(max(number), 0) FROM events;
",
    // Whatever is kept beside conversations. Secret texts come here sealed.
    "CREATE TABLE documents (key TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;",
    // What events are, to find and count them without reading them. One that cannot be read has no facet.
    "CREATE TABLE facets (
        facet INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        source TEXT NOT NULL,
        key TEXT NOT NULL, -- of a state update; of others empty
        UNIQUE (kind, source, key)
    ) STRICT;
    ALTER TABLE events ADD COLUMN facet INTEGER;
    ALTER TABLE events ADD COLUMN at TEXT;
    ALTER TABLE places ADD COLUMN facet INTEGER;
    ALTER TABLE places ADD COLUMN at TEXT;
    CREATE TEMP TABLE known AS
        SELECT number, event ->> 'kind' AS kind, event ->> 'source' AS source, event ->> 'timestamp' AS at,
            iif(event ->> 'kind' = 'ConversationStateUpdateEvent', coalesce(event ->> 'key', ''), '') AS key
        FROM events WHERE json_valid(event) AND json_type(event) = 'object';
    INSERT INTO facets (kind, source, key)
        SELECT DISTINCT kind, source, key FROM known WHERE kind IS NOT NULL AND source IS NOT NULL;
    UPDATE events SET at = known.at, facet = facets.facet
        FROM known JOIN facets USING (kind, source, key) WHERE known.number = events.number;
    UPDATE places SET at = events.at, facet = events.facet FROM events WHERE events.number = places.number;
    DROP TABLE known;
",
    // Users: a conversation without one is that of whoever owns the file.
    "ALTER TABLE conversations ADD COLUMN owner TEXT; -- without dashes
    CREATE INDEX conversations_by_owner ON conversations (owner, created_at, id);",
    // Titles and tags that were given: events say them now, where settings did before.
    "ALTER TABLE conversations ADD COLUMN tags TEXT;
    UPDATE conversations SET title = settings ->> 'title'
        FROM settings WHERE conversation = key AND settings ->> 'title' IS NOT NULL;",
    // What users have spent in conversations that are gone: it stays spent.
    "CREATE TABLE spent (owner TEXT PRIMARY KEY, cost REAL NOT NULL) STRICT, WITHOUT ROWID;",
    // What a conversation has spent itself: what a user has spent is the sum, in which nothing may stand twice.
    "ALTER TABLE conversations ADD COLUMN own_cost REAL NOT NULL DEFAULT 0;
    UPDATE conversations SET own_cost = cost;",
];

/// The version that this program writes.
#[allow(clippy::cast_possible_wrap)] // a handful
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// A file's version.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings a file to the present version, in one transaction. Gives the version it found: if that is newer
/// than ours, nothing was done.
pub(super) fn migrate(connection: &mut Connection) -> Result<i64, StoreError> {
    // The write lock first: two processes may open a new file at the same moment.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    let taken = usize::try_from(found).unwrap_or(0);
    let missing = MIGRATIONS.get(taken..).unwrap_or_default();
    if !missing.is_empty() {
        for step in missing {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()?;
    }
    Ok(found)
}
