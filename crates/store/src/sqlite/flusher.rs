//! Carries what was committed to the disk, away from the path of those who wait for a commit.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::{Durability, open, readers};
use crate::error::StoreError;

/// How long after a commit its sync begins. With up to two syncs of 10 ms on top, a power cut takes less than
/// the last 50 ms.
const FLUSH_AFTER: Duration = Duration::from_millis(25);

/// The write-ahead log is moved into the database file when it has so many pages. Not sooner, because the first
/// commit after that has to wait for a sync.
const CHECKPOINT_PAGES: i64 = 3000;

/// Owns the thread that syncs and checkpoints; dropping it ends the thread.
pub(super) struct Flusher {
    dirty: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    pub(super) fn start(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        let (dirty, commits) = sync_channel(1);
        let work = Work {
            connection: open::checkpointing(path)?,
            wal: open::wal(path),
            durability,
            commits,
        };
        let thread = thread::Builder::new()
            .name("store-flusher".to_owned())
            .spawn(move || work.run())?;
        Ok(Self {
            dirty: Some(dirty),
            thread: Some(thread),
        })
    }

    /// There is something new. Never waits.
    pub(super) fn mark_dirty(&self) {
        if let Some(dirty) = &self.dirty {
            // Full means that the thread has been told and has not begun yet.
            let _ = dirty.try_send(());
        }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.dirty = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    connection: Connection,
    wal: PathBuf,
    durability: Durability,
    commits: Receiver<()>,
}

impl Work {
    fn run(self) {
        while self.commits.recv().is_ok() {
            let goes_on = self.gather();
            if self.durability == Durability::Process
                && let Err(error) = readers::sync(&self.wal)
            {
                tracing::error!(%error, "committed events could not be synced; a power cut would lose them");
            }
            if let Err(error) = self.checkpoint() {
                tracing::warn!(%error, "the write-ahead log could not be moved into the store's file");
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Lets further commits share the sync. False when there will be no more.
    fn gather(&self) -> bool {
        let deadline = Instant::now() + FLUSH_AFTER;
        loop {
            match self
                .commits
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// Moves the write-ahead log into the file when it has grown long. Blocks neither readers nor the writer.
    fn checkpoint(&self) -> rusqlite::Result<()> {
        let pages = |mode| {
            self.connection
                .query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
                    Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
                })
        };
        let (in_log, moved) = pages("NOOP")?;
        if in_log - moved >= CHECKPOINT_PAGES {
            pages("PASSIVE")?;
        }
        Ok(())
    }
}
