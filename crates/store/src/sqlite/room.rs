//! Room in the write-ahead log, made before it is needed.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::open;

/// So much is made at once.
const CHUNK: usize = 512 * 1024;

/// Keeps the write-ahead log's file ahead of what is written to it. To sync what was written over zeros costs a
/// disk about half of what it costs to sync a file that has grown, because only data has changed.
pub(super) struct Room {
    path: PathBuf,
    /// Opened in the first transaction, for which SQLite makes the file.
    wal: Option<File>,
    /// How long we made the file.
    made: u64,
}

impl Room {
    pub(super) fn new(database: &Path) -> Self {
        Self {
            path: open::wal(database),
            wal: None,
            made: 0,
        }
    }

    /// Makes room if the last was used up. Only for whoever holds the write lock: nobody else writes to the file
    /// then, and nobody reads what stands behind the last commit.
    pub(super) fn make(&mut self) -> io::Result<()> {
        let wal = match &mut self.wal {
            Some(wal) => wal,
            none => none.insert(OpenOptions::new().append(true).open(&self.path)?),
        };
        // Not from its metadata: a file whose times were looked at has them written with the next sync.
        let length = wal.seek(SeekFrom::End(0))?;
        if length > self.made && length < open::WAL_BYTES_KEPT {
            wal.write_all(&vec![0; CHUNK])?;
            self.made = length + CHUNK as u64;
        }
        Ok(())
    }
}
