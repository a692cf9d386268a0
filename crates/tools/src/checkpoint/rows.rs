//! Contents as rows of one database: a file for each would cost more than what is in it.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use super::hash::Hash;

/// How long another program, such as one that makes a backup, may hold the database.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// A copy that a power cut spoils is noticed when it is read, so nothing waits for the disk.
const SCHEMA: &str = "PRAGMA auto_vacuum = full; PRAGMA journal_mode = truncate; PRAGMA synchronous = off;
    CREATE TABLE IF NOT EXISTS contents (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL) STRICT;";

/// The database, opened when it is needed first.
pub(super) struct Rows {
    path: PathBuf,
    connection: Mutex<Option<Connection>>,
    /// Something failed since the last [`Rows::commit`]: what was put may be gone, and what was not found may be there.
    failed: AtomicBool,
}

impl Rows {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            connection: Mutex::new(None),
            failed: AtomicBool::new(false),
        }
    }

    /// For whoever looks anew at what is there.
    pub(super) fn forget_failures(&self) {
        self.failed.store(false, Ordering::Relaxed);
    }

    /// Keeps a content; gives how many bytes that added. It is on the disk after [`Rows::commit`].
    pub(super) fn put(&self, hash: Hash, bytes: &[u8]) -> io::Result<u64> {
        self.with(|database| {
            if database.is_autocommit() {
                database.execute_batch("BEGIN IMMEDIATE")?;
            }
            let mut insert =
                database.prepare_cached("INSERT INTO contents VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
            if insert.execute((hash.bytes(), bytes))? > 0 {
                return Ok(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            }
            if read(database, hash)?.is_none_or(|known| known != bytes) {
                database.execute(
                    "UPDATE contents SET bytes = ?2 WHERE hash = ?1",
                    (hash.bytes(), bytes),
                )?;
            }
            Ok(0)
        })
    }

    /// Ends what [`Rows::put`] has begun. Fails if anything has failed since, also a content that was only looked for.
    pub(super) fn commit(&self) -> io::Result<()> {
        if self.failed.swap(false, Ordering::Relaxed) {
            *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = None;
            return Err(io::Error::other(
                "contents that are kept cannot be read; try again",
            ));
        }
        self.with(|database| {
            if database.is_autocommit() {
                return Ok(());
            }
            database.execute_batch("COMMIT")
        })
    }

    pub(super) fn get(&self, hash: Hash) -> Option<Vec<u8>> {
        self.with(|database| read(database, hash)).ok().flatten()
    }

    pub(super) fn size(&self, hash: Hash) -> Option<u64> {
        let sql = "SELECT length(bytes) FROM contents WHERE hash = ?1";
        let size = self.with(|database| {
            let mut select = database.prepare_cached(sql)?;
            select
                .query_row([hash.bytes()], |row| row.get::<_, i64>(0))
                .optional()
        });
        size.ok().flatten().map(i64::cast_unsigned)
    }

    /// Deletes everything but these; gives the bytes that are left.
    pub(super) fn keep_only(&self, kept: &HashSet<Hash>) -> io::Result<u64> {
        self.with(|database| {
            let is_kept = |bytes: &[u8]| Hash::from_bytes(bytes).is_some_and(|hash| kept.contains(&hash));
            let mut select = database.prepare("SELECT rowid, hash, length(bytes) FROM contents")?;
            let mut rows = select.query(())?;
            let (mut gone, mut left) = (Vec::<i64>::new(), 0_u64);
            while let Some(row) = rows.next()? {
                if is_kept(row.get_ref(1)?.as_blob()?) {
                    left += row.get::<_, i64>(2)?.cast_unsigned();
                } else {
                    gone.push(row.get(0)?);
                }
            }
            drop(rows);
            database.execute_batch("BEGIN IMMEDIATE")?;
            let mut delete = database.prepare("DELETE FROM contents WHERE rowid = ?1")?;
            for row in gone {
                delete.execute([row])?;
            }
            database.execute_batch("COMMIT")?;
            Ok(left)
        })
    }

    /// What fails leaves nothing half done: the next one opens the database anew. One that is damaged is put aside, for
    /// a workspace without old checkpoints is better than one without new ones.
    fn with<T>(&self, run: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> io::Result<T> {
        let mut guard = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let database = match guard.take() {
            Some(database) => Ok(database),
            None => self.open(),
        };
        let done = database.and_then(|database| {
            let done = run(&database)?;
            *guard = Some(database);
            Ok(done)
        });
        done.map_err(|error| {
            self.failed.store(true, Ordering::Relaxed);
            let code = error.sqlite_error_code();
            if matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)) {
                let _ = fs::rename(&self.path, self.path.with_extension("damaged")); // else it is told again
            }
            io::Error::other(error)
        })
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(&self.path, flags)?;
        database.busy_timeout(MAX_WAIT)?;
        database.execute_batch(SCHEMA)?;
        Ok(database)
    }
}

fn read(database: &Connection, hash: Hash) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut select = database.prepare_cached("SELECT bytes FROM contents WHERE hash = ?1")?;
    select.query_row([hash.bytes()], |row| row.get(0)).optional()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_beside_a_failure_does_not_count_as_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("contents.sqlite");
        let rows = Rows::new(path.clone());
        let [known, new] = [b"known", b"a new"].map(|bytes| (Hash::of(bytes), bytes));
        rows.put(known.0, known.1).unwrap();
        rows.commit().unwrap();
        fs::write(&path, "not what it was").unwrap();
        assert_eq!(rows.get(known.0), None);
        rows.put(new.0, new.1).unwrap();
        rows.commit().unwrap_err();
        assert_eq!(rows.get(new.0), None);
        rows.put(new.0, new.1).unwrap();
        rows.commit().unwrap();
        assert_eq!(rows.get(new.0).as_deref(), Some(&new.1[..]));
    }
}
