//! A copy of the whole store, made while others use it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::{SqliteStore, open};
use crate::error::StoreError;

impl SqliteStore {
    /// Writes everything that is committed in the store at `path` to a new file, for its user alone. Others may
    /// read and write meanwhile. Blocking, and long for a large store.
    pub fn back_up(path: &Path, to: &Path) -> Result<(), StoreError> {
        let source = open::readable(path)?;
        let cannot = |error: std::io::Error| StoreError::CannotOpen {
            path: to.to_owned(),
            detail: error.to_string(),
        };
        // SQLite takes an empty file for none, and would make one that others can read.
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(to);
        let file = made.map_err(cannot)?;
        let copied = source.execute("VACUUM INTO ?1", [to.display().to_string()]);
        let done = copied
            .map_err(StoreError::from)
            .and_then(|_| file.sync_all().map_err(cannot));
        if done.is_err() {
            let _ = std::fs::remove_file(to); // half a copy is worse than none
        }
        done
    }
}
