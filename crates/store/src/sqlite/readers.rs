//! The connections that read. The writer never holds them up.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio_util::task::AbortOnDropHandle;

use super::open;
use crate::error::StoreError;

/// How many reads run at the same time; others wait.
const READERS: usize = 4;

/// A small pool of read-only connections, each opened when it is first needed.
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    room: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            idle: Mutex::default(),
            room: Arc::new(Semaphore::new(READERS)),
        }
    }

    /// Runs a query on a thread that may block.
    ///
    /// Waiting for a place is a task of its own: whoever asks may do something else meanwhile, and a place that it was
    /// given but does not take would be lost to all others.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = Arc::clone(self);
        let reading = tokio::spawn(async move {
            let room = Arc::clone(&readers.room).acquire_owned().await;
            let place = room.map_err(|_| StoreError::Closed)?;
            let reading = spawn_blocking(move || {
                let idle = readers.idle().pop();
                let connection = idle.map_or_else(|| open::readable(&readers.path), Ok)?;
                let answer = query(&connection);
                if !readers.room.is_closed() {
                    readers.idle().push(connection);
                }
                drop(place);
                answer
            });
            reading.await.map_err(|_| StoreError::Closed)?
        });
        AbortOnDropHandle::new(reading)
            .await
            .map_err(|_| StoreError::Closed)?
    }

    /// Syncs what has been committed.
    pub(super) async fn sync(&self) -> Result<(), StoreError> {
        let wal = open::wal(&self.path);
        let syncing = spawn_blocking(move || sync(&wal));
        Ok(syncing.await.map_err(|_| StoreError::Closed)??)
    }

    /// Closes the connections and refuses further reads.
    pub(super) fn close(&self) {
        self.room.close();
        self.idle().clear();
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries a write-ahead log to the disk. What has left the log for the database file was synced on the way.
pub(super) fn sync(wal: &Path) -> io::Result<()> {
    match File::open(wal) {
        Ok(file) => file.sync_data(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
