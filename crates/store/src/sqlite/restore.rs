//! Puts a copy of a store in the place of another.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{SqliteStore, open};
use crate::error::StoreError;

/// What a copy is called until it is whole.
const UNFINISHED: &str = ".restoring";
/// What the store is called that was there before.
const REPLACED: &str = ".replaced";

/// A copy of a backup that stands beside the place where it belongs.
pub struct Restoring {
    unfinished: PathBuf,
    to: PathBuf,
}

impl SqliteStore {
    /// Looks whether a backup is whole and of this program, and copies it beside the store that it is to become.
    /// Nothing is changed yet; dropping it leaves nothing behind. Blocking, and long for a large store.
    pub fn begin_restore(backup: &Path, to: &Path) -> Result<Restoring, StoreError> {
        let not_ours = |detail: &str| StoreError::NotAStore {
            path: backup.to_owned(),
            detail: detail.to_owned(),
        };
        let cannot = |path: &Path, error: io::Error| StoreError::CannotOpen {
            path: path.to_owned(),
            detail: error.to_string(),
        };
        if !backup.is_file() {
            return Err(not_ours("it is not a file"));
        }
        open::inspect(backup)?;
        let source = open::readable(backup)?;
        let tables: i64 = source.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables == 0 {
            return Err(not_ours("it is empty"));
        }
        check(&source)?;
        let restoring = Restoring {
            unfinished: beside(to, UNFINISHED),
            to: to.to_owned(),
        };
        remove(&restoring.unfinished)?; // of one that was cut off
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&restoring.unfinished)
            .map_err(|error| cannot(&restoring.unfinished, error))?;
        source.execute("VACUUM INTO ?1", [restoring.unfinished.display().to_string()])?;
        let copy = open::checkpointing(&restoring.unfinished)?;
        // Whoever wrote when the backup was made does not write here.
        copy.execute("DELETE FROM leases", [])?;
        check(&copy)?;
        drop(copy);
        file.sync_all()
            .map_err(|error| cannot(&restoring.unfinished, error))?;
        Ok(restoring)
    }
}

impl Restoring {
    /// Puts the copy in its place, in one step. A store that is there must not be in use; it is kept under another
    /// name, which is given back.
    pub fn finish(self) -> Result<Option<PathBuf>, StoreError> {
        let failed = |error: io::Error| StoreError::Io(error.to_string());
        let mut held = None; // until the end: nobody may open the old store meanwhile
        let mut replaced = None;
        if self.to.try_exists().map_err(failed)? {
            match hold(&self.to) {
                Ok(store) => held = Some(store),
                Err(StoreError::Damaged { .. }) => set_log_aside(&self.to)?, // a reason to restore
                Err(error) => return Err(error),
            }
            let kept = beside(&self.to, REPLACED);
            remove(&kept)?;
            fs::hard_link(&self.to, &kept).map_err(failed)?;
            replaced = Some(kept);
        }
        fs::rename(&self.unfinished, &self.to).map_err(failed)?;
        let directory = self.to.parent().unwrap_or(Path::new("."));
        fs::File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(failed)?;
        drop(held);
        Ok(replaced)
    }
}

impl Drop for Restoring {
    fn drop(&mut self) {
        let _ = remove(&self.unfinished); // it is gone where all went well
    }
}

/// Sees whether a file is whole.
fn check(store: &Connection) -> Result<(), StoreError> {
    let found: String = store.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found == "ok" {
        return Ok(());
    }
    Err(StoreError::Damaged { detail: found })
}

/// Has a store for oneself, in one file: what is in its write-ahead log is moved into it.
fn hold(path: &Path) -> Result<Connection, StoreError> {
    let store = open::checkpointing(path)?;
    let _: String = store.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))?;
    store.execute_batch("BEGIN EXCLUSIVE")?;
    Ok(store)
}

/// The write-ahead log of a store that cannot be read must not be taken for that of the next one.
fn set_log_aside(path: &Path) -> Result<(), StoreError> {
    let log = open::wal(path);
    match fs::rename(&log, beside(&log, REPLACED)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::Io(error.to_string())),
        _ => Ok(()),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::CannotOpen {
            path: path.to_owned(),
            detail: error.to_string(),
        }),
        _ => Ok(()),
    }
}
