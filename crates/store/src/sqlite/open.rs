//! Opening the file: first a look that changes nothing, then for real.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Durability, schema};
use crate::error::StoreError;

/// How long to wait for another process that is writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait before asking again, where SQLite does not wait.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// How many compiled statements a connection keeps: more than there are.
const STATEMENT_CACHE: usize = 64;

/// The write-ahead log grows to so many pages if the flusher cannot keep up; then the writer itself empties it.
const WAL_PAGES_LIMIT: i64 = 16 * 1024;

/// The write-ahead log is cut back to so many bytes when it is empty.
pub(super) const WAL_BYTES_KEPT: u64 = 16 * 1024 * 1024;

/// What the writer keeps in memory of the file.
const CACHE_KIBIBYTES: i64 = 16 * 1024;

/// The one connection that writes. Makes the file where there is none.
pub(super) fn writable(path: &Path, durability: Durability) -> Result<Connection, StoreError> {
    let cannot = |detail: String| StoreError::CannotOpen {
        path: path.to_owned(),
        detail,
    };
    if path.is_dir() {
        return Err(StoreError::IsDirectory(path.to_owned()));
    }
    if path.try_exists().map_err(|error| cannot(error.to_string()))? {
        inspect(path)?;
    } else {
        create(path).map_err(|error| cannot(error.to_string()))?;
    }

    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    if connection.is_readonly("main")? {
        return Err(StoreError::ReadOnly); // where SQLite cannot write, it opens the file for reading
    }
    let found = schema::migrate(&mut connection)?;
    if found > schema::VERSION {
        return Err(newer(path, found)); // it came between the look and the opening
    }
    if enter_wal(&connection)? != "wal" {
        return Err(cannot(
            "its file system cannot hold a write-ahead log; use a local disk".to_owned(),
        ));
    }
    let synchronous = match durability {
        // The log is synced by the flusher; what NORMAL syncs keeps the file whole over a power cut.
        Durability::Process => "NORMAL",
        Durability::Fsync => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIBIBYTES)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES_LIMIT)?;
    connection.pragma_update(None, "journal_size_limit", WAL_BYTES_KEPT.cast_signed())?;
    Ok(connection)
}

/// Has the file use a write-ahead log; gives the mode it is in. That needs the file for oneself once, and SQLite
/// does not wait for it.
fn enter_wal(connection: &Connection) -> Result<String, StoreError> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        let mode = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0));
        match mode.map_err(StoreError::from) {
            Err(StoreError::Locked) if Instant::now() < deadline => thread::sleep(BUSY_PAUSE),
            result => return result,
        }
    }
}

/// A connection that only reads.
pub(super) fn readable(path: &Path) -> Result<Connection, StoreError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// A connection that moves the write-ahead log into the file.
pub(super) fn checkpointing(path: &Path) -> Result<Connection, StoreError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// The write-ahead log that belongs to a file.
pub(super) fn wal(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

fn connect(path: &Path, mode: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Or else SQLite compiles statements anew whenever their parameters change, in search of a better plan.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Makes an empty file that nobody else may read.
fn create(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    // Never by opening an existing file: closing it again would drop the locks that SQLite holds on it.
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Refuses a file that is not ours to change, without changing it.
pub(super) fn inspect(path: &Path) -> Result<(), StoreError> {
    // A connection that takes the file for immutable makes no files beside it, but sees no write-ahead log.
    if wal(path).exists() {
        return look(path, "");
    }
    match look(path, "?immutable=1") {
        // It takes no locks either: another process may be just making the file.
        Err(StoreError::NotAStore { .. }) => look(path, ""),
        found => found,
    }
}

fn look(path: &Path, parameters: &str) -> Result<(), StoreError> {
    let not_ours = |detail: String| StoreError::NotAStore {
        path: path.to_owned(),
        detail,
    };
    let facts = || -> rusqlite::Result<(i64, i64, i64)> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(uri(path) + parameters, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok((
            schema::version(&connection)?,
            connection.pragma_query_value(None, "application_id", |row| row.get(0))?,
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
        ))
    };
    let (version, application, tables) = facts().map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => not_ours(error.to_string()),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError::CannotOpen {
            path: path.to_owned(),
            detail: error.to_string(),
        },
        _ => error.into(),
    })?;
    let is_empty = version == 0 && tables == 0;
    if !is_empty && application != schema::APPLICATION_ID {
        return Err(not_ours("it is the database of another program".to_owned()));
    }
    if version > schema::VERSION {
        return Err(newer(path, version));
    }
    Ok(())
}

fn newer(path: &Path, found: i64) -> StoreError {
    StoreError::Newer {
        path: path.to_owned(),
        found,
        known: schema::VERSION,
    }
}

/// A path as SQLite reads it in a URI.
fn uri(path: &Path) -> String {
    let escape = |byte: &u8| format!("%{byte:02x}");
    let bytes = path.as_os_str().as_encoded_bytes();
    format!("file:{}", bytes.iter().map(escape).collect::<String>())
}
